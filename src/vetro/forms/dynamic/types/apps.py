"""Applications of the environment to choose from, or to add: every type that is no other type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.diagnostics import Text
from vetro.forms.dynamic.environment import Row
from vetro.forms.dynamic.types.base import Resolved
from vetro.forms.dynamic.types.choices import Select
from vetro.forms.model import Choice, Kind, Picker

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look


class Application(Select):
    """The id of an application in the environment whose class is one of ``classes``, or inherits one."""

    kind: ClassVar[Kind] = "reference"
    widget = "app-select"
    own = frozenset({"empty_value_message"})
    moving = True
    empty = None

    def __init__(self, classes: Sequence[str]) -> None:
        self.classes = tuple(classes)

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        packages = look.ask(lambda: self._packages(look), field) or []
        services = (look.ask(look.services, field) or ()) if packages else ()
        types = {str(name) for row in packages for name in row.get("classes") or [row["fqn"]]}
        found = [
            Choice(str(row["id"]), str(row.get("name") or row["id"]))
            for row in services
            if str(row["type"]).partition("/")[0] in types
        ]
        if len(found) == 1 and field.initial is None:
            field.initial = found[0].value
        field.choices = [Choice("", values.get("empty_value_message") or Text("Select Application")), *found]
        if not packages and not field.unavailable:
            tried = ", ".join(self.classes)
            field.instead = Text("Couldn't find any apps, required for this field.\nTried: {tried}", tried=tried)
        offered = {str(row["fqn"]): Choice(str(row["fqn"]), str(row.get("name") or row["fqn"])) for row in packages}
        field.picker = Picker(
            self.classes[0],
            owned=False,
            nullable=not field.required,
            existing=field.choices,
            types=() if field.hidden else sorted(offered.values(), key=lambda c: c.label),
        )

    def _packages(self, look: Look) -> list[Row]:
        return [row for name in self.classes for row in look.packages(name)]

    def clean(self, raw: Any, field: Resolved) -> Any:
        return super().clean(raw, field) or None
