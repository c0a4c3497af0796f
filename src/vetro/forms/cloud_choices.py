"""Fields of classes that name something of a cloud: lists to choose from instead of names to type.

Which fields do is said by `io.murano.metadata.forms.Control`: its ``widget`` is one of `LISTS`. The classes of
``io.murano.resources`` say it of their properties, authors of theirs. A list is an offer, not a rule: contracts take
any text, so what is stored stays, whether the cloud has it or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.engine.models.usual_values import FLAVOR, ImageOffer, flavor, image
from vetro.forms.model import Choice, Field
from vetro.yaql.errors import VetroError

Record = Mapping[str, Any]
#: Widget -> the list of the cloud behind it (`vetro.forms.cloud_lists`).
LISTS: Final[Mapping[str, str]] = {
    "flavor": "flavors",
    "image": "images",
    "keypair": "keypairs",
    "zone": "availability_zones",
    "network": "networks",
    "subnet": "networks",
    "security_group": "security_groups",
    "volume": "volumes",
    "snapshot": "snapshots",
    "region": "regions",
}


#: So many of the largest flavors: of more that is left nothing is said.
_LITTLE: Final = 4


@dataclass(frozen=True, slots=True)
class QuotaLeft:
    """What a project may have still: processors, MiB of memory, GiB of disks; None: any number."""

    processors: int | None = None
    memory: int | None = None
    disk: int | None = None


class CloudChoices:
    """The lists of one cloud for one form. ``read`` gives a list by its name and raises `VetroError` where the cloud
    does not tell; ``left``: what the quota leaves, None where nobody counts."""

    def __init__(
        self, read: Callable[[str], Sequence[Any]], left: Callable[[], QuotaLeft | None] = lambda: None
    ) -> None:
        self._read = read
        self._left = left
        self._known: dict[str, tuple[tuple[Choice, ...], str, str, Any]] = {}

    def offered(self, field: Field) -> Field:
        """``field`` with the choices of its widget, if it is for a text, or a list of texts, of a cloud."""
        if field.secret or field.read_only or field.widget not in LISTS:
            return field
        if field.kind == "list" and field.items is not None and field.items.kind == "string":
            items = self.offered(replace(field.items, widget=field.widget))
            return replace(field, items=items, help=field.help or items.help)
        if field.kind != "string":
            return field
        choices, help_, failure, usual = self._choices(field.widget)
        if failure:
            return replace(field, help=_joined(field.help, failure))
        return replace(
            field,
            kind="choice",
            choices=choices,
            choices_source=LISTS[field.widget],
            initial=usual if field.initial is None else field.initial,
            help=_joined(field.help, help_),
        )

    def flavor(self, wanted: str = FLAVOR) -> str | None:
        """The flavor for a server that is to be as large as ``wanted``; None where the cloud does not tell."""
        try:
            rows = self._read(LISTS["flavor"])
        except VetroError:
            return None
        return flavor(rows, wanted) if rows else None

    def _choices(self, widget: str) -> tuple[tuple[Choice, ...], str, str, Any]:
        """Choices, what is to be said of them, why there are none, and which one a new form begins with."""
        known = self._known.get(widget)
        if known is None:
            try:
                rows = self._read(LISTS[widget])
            except VetroError as error:
                text = Text("There is no list to choose from: {message} Type a name.", message=_ended(error.message))
                known = ((), "", text, None)
            else:
                left = self._left() if widget == "flavor" else None
                help_ = _in_words(left, rows) if left is not None else ""
                choices = tuple(_MAKERS.get(widget, _named)(rows, left))
                known = (choices, help_, "", _usual_image(rows) if widget == "image" else None)
            self._known[widget] = known
        return known


def _joined(*texts: str) -> str:
    found = [text for text in texts if text]
    return found[0] if len(found) == 1 else " ".join(found)


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


# -- choices out of rows -----------------------------------------------------------------------------------------------


def _flavors(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    for row in sorted(rows, key=lambda row: (*by_size(row), str(row["name"]))):
        name = str(row["name"])
        label = Text("{name}: {size}", name=name, size=flavor_size(row))
        if left is not None and _exceeds(left, *(_number(row.get(key)) for key in ("vcpus", "ram", "disk"))):
            label = Text("{label} (more than the quota leaves)", label=label)
        yield Choice(name, label)


def by_size(row: Record) -> tuple[int, ...]:
    """What flavors are sorted by, smallest first: memory, then processors, then disk."""
    return tuple(_number(row.get(key)) for key in ("ram", "vcpus", "disk"))


def flavor_size(row: Record) -> Text:
    """What a flavor has, in words."""
    processors, memory, disk = (_number(row.get(key)) for key in ("vcpus", "ram", "disk"))
    sizes = {"memory": _size(memory), "disk": disk}
    if processors == 1:
        return Text("1 processor, {memory} GiB memory, {disk} GiB disk", **sizes)
    return Text("{processors} processors, {memory} GiB memory, {disk} GiB disk", processors=processors, **sizes)


def _started(rows: Sequence[Any]) -> list[Any]:
    """Images that can be started."""
    return [row for row in rows if str(row.get("status") or "active").lower() == "active"]


def _usual_image(rows: Sequence[Any]) -> str | None:
    """The image that a new form begins with."""
    ready = _started(rows)
    return image(
        ImageOffer(value, f"{row.get('name')} {_title(row)}", bool(_mark(row)))
        for row, value in zip(ready, _values(ready), strict=True)
    )


def _images(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    """By title, those that can be started; by name where no two have the same."""
    ready = _started(rows)
    found = [Choice(value, _title(row) or str(value)) for row, value in zip(ready, _values(ready), strict=True)]
    return sorted(found, key=lambda choice: (choice.label.casefold(), str(choice.value)))


def _zones(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    names = sorted(str(row["name"]) for row in rows if row.get("available", True) and row.get("name"))
    return [Choice(name, name) for name in names]


def _networks(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    inner = [row for row in rows if not row.get("external")]
    found = [Choice(value, str(row.get("name") or value)) for row, value in zip(inner, _values(inner), strict=True)]
    return sorted(found, key=lambda choice: choice.label.casefold())


def _subnets(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    found = []
    for row in rows:
        for one in row.get("subnets", ()):
            name = str(one.get("name") or one["id"])
            found.append(Choice(name, f"{name} ({one['cidr']})" if one.get("cidr") else name, group=str(row["name"])))
    return sorted(found, key=lambda choice: (str(choice.group).casefold(), choice.label.casefold()))


def _stored(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    free = [row for row in rows if str(row.get("status") or "available").lower() == "available"]
    return [Choice(str(row["id"]), str(row.get("name") or row["id"])) for row in free]


def _named(rows: Sequence[Any], left: QuotaLeft | None) -> Iterable[Choice]:
    return [Choice(name, name) for name in sorted(map(str, rows))]


_MAKERS: Final[Mapping[str, Callable[[Sequence[Any], QuotaLeft | None], Iterable[Choice]]]] = {
    "flavor": _flavors,
    "image": _images,
    "zone": _zones,
    "network": _networks,
    "subnet": _subnets,
    "volume": _stored,
    "snapshot": _stored,
}


def _values(rows: Sequence[Record]) -> list[str]:
    """The name of each row; its id where it has none, or another one has the same."""
    names = [str(row.get("name") or "") for row in rows]
    return [name if name and names.count(name) == 1 else str(row["id"]) for name, row in zip(names, rows, strict=True)]


def _mark(row: Record) -> Mapping[str, Any]:
    """What an operator has marked an image with."""
    try:
        mark = json.loads(row.get("murano") or "{}")
    except (TypeError, ValueError, RecursionError):
        return {}
    return mark if isinstance(mark, dict) else {}


def _title(row: Record) -> str:
    """What an operator has marked an image with, else its name."""
    return str(_mark(row).get("title") or row.get("name") or "")


def _number(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) else 0


def _size(mebibytes: int) -> str:
    return f"{mebibytes / 1024:.2f}".rstrip("0").rstrip(".")


def _exceeds(left: QuotaLeft, processors: int, memory: int, disk: int) -> bool:
    wanted = ((left.processors, processors), (left.memory, memory), (left.disk, disk))
    return any(limit is not None and asked > limit for limit, asked in wanted)


def _in_words(left: QuotaLeft, rows: Sequence[Any]) -> str:
    """What is left, where it is little beside what there is to choose."""
    largest = [max((_number(row.get(key)) for row in rows), default=0) * _LITTLE for key in ("vcpus", "ram", "disk")]
    if None in (left.processors, left.memory, left.disk) or not _exceeds(left, *largest):
        return ""
    return Text(
        "The quota leaves {processors} processors, {memory} GiB of memory and {disk} GiB of disks.",
        processors=left.processors,
        memory=_size(left.memory or 0),
        disk=left.disk,
    )
