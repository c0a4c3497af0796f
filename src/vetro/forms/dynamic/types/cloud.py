"""Things of a cloud to choose from: flavor, image, keypair, azone, securitygroup, volume, zone."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.diagnostics import Text
from vetro.forms.cloud_choices import by_size, flavor_size
from vetro.forms.dynamic.attributes import Convert, anything, fold, whole
from vetro.forms.dynamic.environment import Row
from vetro.forms.dynamic.types.base import Resolved, sent_text
from vetro.forms.dynamic.types.choices import Select, not_offered
from vetro.forms.model import Choice
from vetro.yaql.values import FDict

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look

#: Requirements of flavors: part of the name behind min_ or max_ -> key of a row.
_MEASURES = {"disk": "disk", "vcpus": "vcpus", "memory_mb": "ram"}


class CloudSelect(Select):
    """A list that is read from the cloud."""

    moving = True

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        found = look.ask(lambda: self.offers(field, values, look), field)
        field.choices = () if found is None else found

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        """What there is to choose from."""
        raise NotImplementedError


def requirements(value: Any) -> Mapping[str, int]:
    """Limits of flavors by folded name: ``min_`` or ``max_`` and disk (GB), vcpus, memory_mb. Raises ValueError."""
    if value is None:
        return {}
    if not isinstance(value, FDict):
        raise ValueError(Text("must be a mapping such as {{min_vcpus: 2}}"))
    found: dict[str, int] = {}
    for key, item in value.items():
        name = fold(str(key))
        limit = whole(item) if is_requirement(name) else None
        if limit is not None:
            found[name] = limit
    return found


def is_requirement(name: str) -> bool:
    """Whether a folded name is a limit of flavors; others are ignored."""
    return name[:4] in ("min_", "max_") and name[4:] in _MEASURES


class Flavor(CloudSelect):
    """A size of a server. The control holds the id, the value is the name; null where there is none to choose."""

    own = frozenset({"requirements"})
    conversions: ClassVar[Mapping[str, Convert]] = {"requirements": requirements}

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        limits = values.get("requirements") or {}
        rows = sorted((r for r in look.cloud("flavors") if _meets(r, limits)), key=lambda r: str(r["name"]))
        sizes = sorted(map(by_size, rows))
        choices = [
            Choice(str(r["id"]), str(r["name"]), note=flavor_size(r), rank=sizes.index(by_size(r))) for r in rows
        ]
        wanted = field.initial
        chosen = next((c.value for c in choices if str(wanted) in (c.value, c.label)), None)
        if chosen is None:
            chosen = next((c.value for c in choices if "medium" in c.label), None)
        field.initial = wanted if chosen is None else chosen
        return choices

    def clean(self, raw: Any, field: Resolved) -> Any:
        sent = sent_text(raw, field)
        if sent == "":
            return "" if field.choices else None
        for choice in field.choices:
            if choice.value == sent:
                return choice.label
        raise not_offered(sent, field)

    def received(self, raw: Any, field: Resolved) -> Any:
        sent = super().received(raw, field)
        if sent == "" and not field.choices:
            return None
        return next((c.label for c in field.choices if c.value == sent), sent)


def _meets(row: Row, limits: Mapping[str, int]) -> bool:
    for name, limit in limits.items():
        size = row[_MEASURES[name[4:]]]
        if size < limit if name.startswith("min_") else size > limit:
            return False
    return True


class Image(CloudSelect):
    """An image that is marked for the catalog."""

    own = frozenset({"image_type"})
    conversions: ClassVar[Mapping[str, Convert]] = {"image_type": anything}

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        wanted = values.get("image_type")
        found: list[Choice] = []
        broken = False
        for row in look.cloud("images"):
            if not row.get("murano") or row.get("image_type") == "snapshot":
                continue
            marks = _marks(row["murano"])
            if marks is None:
                broken = True
                continue
            if wanted and not _is_type(marks.get("type"), str(wanted)):
                continue
            title = str(marks.get("title") or row.get("name") or row["id"])
            status = row.get("status", "active")
            active = str(status).lower() == "active"
            found.append(Choice(str(row["id"]), title if active else f"{title} ({status})", disabled=not active))
        if broken:
            field.notices = (*field.notices, Text("Invalid murano image metadata"))
        found.sort(key=lambda c: c.label)
        if len(found) == 1:
            field.initial = found[0].value if field.initial is None else field.initial
            return found
        return [Choice("", Text("Select Image") if found else Text("No images available")), *found]


def _marks(text: Any) -> Mapping[str, Any] | None:
    try:
        marks = json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        return None
    return marks if isinstance(marks, dict) else None


def _is_type(found: Any, wanted: str) -> bool:
    return isinstance(found, str) and (found == wanted or found.startswith(wanted + "."))


class NamedSelect(CloudSelect):
    """Names in order, behind an empty choice. ``alone``: the only one there is gets chosen at first."""

    source = ""
    nothing_chosen = ""
    nothing_there = ""
    alone = False

    def names(self, look: Look) -> list[str]:
        """What is offered, in any order."""
        return [str(row["name"]) if isinstance(row, Mapping) else str(row) for row in look.cloud(self.source)]

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        names = sorted(set(self.names(look)))
        if self.alone and len(names) == 1 and field.initial is None:
            field.initial = names[0]
        empty = self.nothing_chosen if names or not self.nothing_there else self.nothing_there
        return [Choice("", empty), *(Choice(name, name) for name in names)]


class Keypair(NamedSelect):
    """The name of a key pair."""

    source = "keypairs"
    nothing_chosen = Text("No keypair")
    alone = True


class SecurityGroup(NamedSelect):
    """A security group; those that the engine makes are left out."""

    source = "security_groups"
    nothing_chosen = Text("Application default security group")

    def names(self, look: Look) -> list[str]:
        return [name for name in super().names(look) if not name.startswith("murano--")]


class DnsZone(NamedSelect):
    """The name of a DNS zone."""

    source = "zones"
    nothing_chosen = Text("No DNS zone")
    nothing_there = Text("No DNS zones available")


class AvailabilityZone(CloudSelect):
    """An availability zone; there is no empty choice."""

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        names = sorted(str(row["name"]) for row in look.cloud("availability_zones") if row.get("available", True))
        return [Choice(n, n) for n in names] or [Choice("", Text("No availability zones available"))]


class Volume(CloudSelect):
    """A volume or a snapshot of one, as its id."""

    own = frozenset({"include_snapshots", "include_volumes"})

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        rows: list[Row] = []
        for attribute, source in (("include_volumes", "volumes"), ("include_snapshots", "snapshots")):
            if values.get(attribute, True):
                rows += [row for row in look.cloud(source) if str(row.get("status", "")).lower() == "available"]
        found = sorted((Choice(str(r["id"]), str(r.get("name") or r["id"])) for r in rows), key=lambda c: c.label)
        return [Choice("", Text("Select volume") if found else Text("No volumes available")), *found]
