"""Resources that are stacks: groups of equal resources, and templates used as types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from vetro.clouds.stacks.state.inventory import Inventory
from vetro.clouds.stacks.templates.functions import ReferenceInvalid, text_of, walk
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.templates.limits import MOST_RESOURCES
from vetro.clouds.stacks.types.base import Call, Prop, PropertyInvalid, ResourceType

_VERSION = {"heat_template_version": "2021-04-16"}


class Nested(ResourceType):
    """Root of both: the work is done by the interpreter."""

    driven = True
    resumes = True

    def create(self, call: Call) -> None:
        """Pushes the inner stack; one that failed in the middle goes on."""
        assert call.nesting is not None
        call.nesting.push(call, *self.content(call))

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Pushes the inner stack."""
        self.create(call)

    def delete(self, call: Call) -> None:
        """Deletes the inner stack."""
        assert call.nesting is not None
        call.nesting.delete(call)

    @abstractmethod
    def content(self, call: Call) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """Template and parameters of the inner stack."""

    def show(self, call: Call) -> Any:
        """The outputs."""
        assert call.nesting is not None
        return dict(call.nesting.outputs(call))


class TemplateResource(Nested):
    """A template of the stack's files used as a type: properties are its parameters, outputs its attributes."""

    anything = True

    def content(self, call: Call) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The file, and the properties."""
        assert call.nesting is not None
        return call.nesting.file(call, call.type), call.props

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Never: what must be replaced inside is replaced there."""
        return False

    def reference(self, call: Call) -> Any:
        """The output ``OS::stack_id`` when the template has one, else the id."""
        assert call.nesting is not None
        return call.nesting.outputs(call).get("OS::stack_id", call.id)

    def attribute(self, call: Call, name: str, path: list[Any]) -> Any:
        """An output, or with ``resource.x`` something of a resource inside."""
        assert call.nesting is not None
        if name == "outputs":
            return walk(dict(call.nesting.outputs(call)), path)
        if name.startswith("resource."):
            return _inside(call, name.split(".", 1)[1], path)
        outputs = call.nesting.outputs(call)
        if name == "show" or name in outputs:
            return walk(outputs.get(name), path) if name in outputs else walk(self.show(call), path)
        raise ReferenceInvalid(f"the template {call.type} has no output '{name}'{meant(name, outputs)}")


class ResourceGroup(Nested):
    """OS::Heat::ResourceGroup: ``count`` equal resources; ``%index%`` in their properties is their number."""

    properties: Mapping[str, Prop] = {
        "count": Prop("integer", default=1, update=True),
        "index_var": Prop(default="%index%", update=True),
        "resource_def": Prop("map", required=True, update=True),
        "removal_policies": Prop("list", update=True, fields={"resource_list": Prop("list")}),
        "removal_policies_mode": Prop(update=True, allowed=("append", "update")),
    }

    def check(self, props: Mapping[str, Any], things: Inventory, known: Collection[str]) -> None:
        """A count that is possible, and a definition with a type."""
        if not 0 <= props.get("count", 1) <= MOST_RESOURCES:
            raise PropertyInvalid(f"count must be from 0 to {MOST_RESOURCES}, not {props['count']}")
        body = props.get("resource_def")
        if body is None:
            return
        if not isinstance(body.get("type"), str):
            raise PropertyInvalid("resource_def needs a type")
        if unknown := sorted(set(body) - {"type", "properties", "metadata"}):
            raise PropertyInvalid(f"resource_def has an unknown key '{unknown[0]}'; it has type, properties, metadata")

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """Never: members are replaced inside."""
        return False

    def knows(self, name: str) -> bool:
        """Every name: it may be an attribute of the members."""
        return True

    def create(self, call: Call) -> None:
        """As `Nested.create`; groups of groups of groups are refused before their members are written down."""
        assert call.nesting is not None
        call.nesting.make_room(call, call.props["count"])
        super().create(call)

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Pushes the inner stack: most of its resources may be there already."""
        super().create(call)

    def content(self, call: Call) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """One resource for each number that was not given up."""
        body, variable = call.props["resource_def"], call.props["index_var"]
        removed = set(call.data.get("removed", ()))
        for policy in call.props.get("removal_policies") or ():
            for item in policy.get("resource_list") or ():
                removed.add(text_of(item))
        call.data["removed"] = sorted(removed)
        names: list[str] = []
        number = 0
        while len(names) < call.props["count"]:
            if str(number) not in removed:
                names.append(str(number))
            number += 1
        return {**_VERSION, "resources": {name: _numbered(body, variable, name) for name in names}}, {}

    def attribute(self, call: Call, name: str, path: list[Any]) -> Any:
        """``refs``, ``refs_map``, ``attributes``, ``resource.N…``, or an attribute of all members as a list."""
        assert call.nesting is not None
        members = dict(sorted(call.nesting.references(call).items(), key=lambda item: int(item[0])))
        if name == "refs":
            return walk(list(members.values()), path)
        if name == "refs_map":
            return walk(members, path)
        if name == "removed_rsrc_list":
            return walk(call.data.get("removed", []), path)
        if name == "show":
            return walk(self.show(call), path)
        if name.startswith("resource."):
            return _inside(call, name.split(".", 1)[1], path)
        if name == "attributes":
            if not path:
                raise ReferenceInvalid(f"get_attr of the group '{call.name}' needs the name of an attribute")
            one, rest = text_of(path[0]), path[1:]
            return {member: call.nesting.attribute(call, member, one, rest) for member in members}
        return [call.nesting.attribute(call, member, name, path) for member in members]


def _inside(call: Call, rest: str, path: list[Any]) -> Any:
    """``N`` is the reference of a member, ``N.attribute`` an attribute of it."""
    assert call.nesting is not None
    member, _, attribute = rest.partition(".")
    references = call.nesting.references(call)
    if member not in references:
        raise ReferenceInvalid(f"the resource '{call.name}' has no member '{member}'{meant(member, references)}")
    if not attribute and path:
        attribute, path = text_of(path[0]), path[1:]
    return call.nesting.attribute(call, member, attribute, path) if attribute else references[member]


def _numbered(value: Any, variable: str, number: str) -> Any:
    """The value with the variable replaced in all texts and keys."""
    if isinstance(value, str):
        return value.replace(variable, number) if variable else value
    if isinstance(value, Mapping):
        return {_numbered(key, variable, number): _numbered(item, variable, number) for key, item in value.items()}
    return [_numbered(item, variable, number) for item in value] if isinstance(value, list) else value
