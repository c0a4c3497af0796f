"""What resources need of the quotas of their project, also of those that a template only describes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.clouds.interface import CloudError
from vetro.clouds.stacks.convergence.live import LiveStack, TemplateScope
from vetro.clouds.stacks.state.inventory import Inventory, fixed_id
from vetro.clouds.stacks.state.snapshot_rows import ids_kept
from vetro.clouds.stacks.templates.functions import Unknown, resolve
from vetro.clouds.stacks.templates.limits import MOST_RESOURCES

_GROUP = "OS::Heat::ResourceGroup"
#: Types of resources that count, and their properties that say how much.
_COUNTED: Mapping[str, tuple[str, ...]] = {
    "OS::Nova::Server": ("flavor",),
    "OS::Neutron::Net": (),
    "OS::Cinder::Volume": ("size", "source_volid", "snapshot_id", "backup_id"),
    "OS::Neutron::FloatingIP": (),
    "OS::Nova::FloatingIP": (),
}
_SOURCES = (("source_volid", "volume"), ("snapshot_id", "snapshot"), ("backup_id", "backup"))
_SIZES = {"processors": "vcpus", "memory": "ram", "disk": "disk"}
#: More than any machine has; sums of it stay whole numbers of the database.
_MOST = 1 << 40


def needs_of(type_name: str, props: Mapping[str, Any], things: Inventory) -> dict[str, int]:
    """What a resource counts as; properties that are not known yet count as nothing."""
    if type_name == "OS::Nova::Server":
        flavor = _found(things, "flavor", props.get("flavor"))
        return {"servers": 1, **{name: _whole(flavor.get(field)) for name, field in _SIZES.items()}}
    if type_name == "OS::Cinder::Volume":
        size = props.get("size")
        for name, kind in _SOURCES if not size else ():
            size = size or _found(things, kind, props.get(name)).get("size")
        return {"volumes": 1, "volume_space": _whole(size)}
    if type_name == "OS::Neutron::Net":
        return {"networks": 1}
    return {"addresses": 1} if type_name in _COUNTED else {}


def plan(live: LiveStack, things: Inventory) -> None:
    """Notes in ``live.quota_needs`` what a staged change needs, by id of the resource, as far as its template tells.

    What a template does not tell (the size of a group that follows from an attribute) is counted when it is made.
    """
    live.kept = ids_kept(things.database, live.row.owner)
    for name in live.dirty:
        if not live.enabled(name):
            continue
        type_name = live.types[name]
        if type_name not in _COUNTED and type_name != _GROUP:
            continue
        state = live.states.get(name)
        id = state.id if state is not None else fresh_id(live, name)
        if type_name == _GROUP:
            live.quota_needs.update(_group(live, name, id, things))
        else:
            live.quota_needs[id] = _needs(live, type_name, live.definitions[name].properties, things)


def fresh_id(live: LiveStack, name: str) -> str:
    """The first id of a resource that neither one to be removed has, nor one that a snapshot keeps."""
    count = 0
    while (id := resource_id(live.row.id, name, count)) in live.old or id in live.kept:
        count += 1
    return id


def resource_id(stack: str, name: str, count: int = 0) -> str:
    """The id of a resource: it follows from stack and name; ``count`` of its ids are taken by those it replaces."""
    return fixed_id("resource", stack, name, str(count))


def _needs(live: LiveStack, type_name: str, properties: Mapping[str, Any], things: Inventory) -> dict[str, int]:
    known = {key: _value(live, properties[key]) for key in _COUNTED[type_name] if key in properties}
    return needs_of(type_name, known, things)


def _group(live: LiveStack, name: str, group: str, things: Inventory) -> dict[str, dict[str, int]]:
    properties = live.definitions[name].properties
    body = properties.get("resource_def")
    if not isinstance(body, Mapping) or not isinstance(body.get("type"), str):
        return {}
    type_name = live.environment.actual(name, body["type"])
    count = min(_whole(_value(live, properties.get("count", 1))), MOST_RESOURCES)
    if type_name not in _COUNTED:
        return {}
    given = body.get("properties")
    one = _needs(live, type_name, given if isinstance(given, Mapping) else {}, things)
    return {resource_id(group, str(number)): one for number in range(count)}


def _value(live: LiveStack, raw: Any) -> Any:
    try:
        return resolve(raw, TemplateScope(live))
    except (Unknown, CloudError):  # whatever is wrong with it was said, or is said when it is made
        return None


def _found(things: Inventory, kind: Any, ref: Any) -> Mapping[str, Any]:
    if not isinstance(ref, (str, int)) or isinstance(ref, bool):
        return {}
    try:
        return things.find(kind, str(ref)) or {}
    except CloudError:
        return {}


def _whole(value: Any) -> int:
    """A count as a template may write it; 0 for what is none."""
    try:
        return min(max(int(value), 0), _MOST) if isinstance(value, (int, str)) else 0
    except ValueError:
        return 0
