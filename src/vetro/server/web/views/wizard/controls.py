"""Fields of the form model -> what templates show: one `Control` a field, with everything computed.

Every control has a *mark*, a digest of all that it shows except what a person types: the browser says which marks it
has, and only controls whose marks differ are sent again (`steps`).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from vetro.forms import entry
from vetro.forms.fill import ENTRIES as ENTRIES_SECTION
from vetro.forms.model import FILE, Choice, Field, Page, Picker, Section, ranked
from vetro.forms.password_generator import can_be_made
from vetro.model.files import stored_in
from vetro.model.header import header_of, label_of, label_of_type
from vetro.model.paths import pointer
from vetro.server.language import translated
from vetro.server.web.views.wizard.attributes import attributes_of
from vetro.server.web.views.wizard.control import Control, Group, Option, every, top
from vetro.server.web.views.wizard.defaults import with_default
from vetro.server.web.views.wizard.input import NULL, SAME, SET, UNSET
from vetro.server.web.views.wizard.names import ENTRIES, GONE, HEADER, ITEMS, KEPT, KEY, TICKED, element_id, name_of

#: More choices than these are searched, not scrolled through.
SEARCHED = 30


def groups_of(page: Page, *, plain: bool, below: str = "", uploads: tuple[str, int] = ("", 0)) -> list[Group]:
    """The controls of a page. ``plain``: of a definition. ``below``: the pointer of its answers within all of them.
    ``uploads``: where files go to, and their bytes at most."""
    return _Maker(plain, uploads).groups(page.sections, below, below)


def builder_groups(page: Page) -> list[Group]:
    """The controls of a model builder's own form."""
    return _Maker(False).groups(page.sections, "", "")


class _Maker:
    def __init__(self, plain: bool, uploads: tuple[str, int] = ("", 0)) -> None:
        self._plain = plain
        self._uploads = uploads

    def groups(self, sections: Sequence[Section], path: str, place: str) -> list[Group]:
        made = []
        for section in sections:
            if section.name == ENTRIES_SECTION and path and section.title == "":
                continue
            group = Group(translated(section.title), translated(section.description), [])
            for item in section.fields:
                control = self.control(item, path + pointer(item.name), place + pointer(item.name))
                (group.advanced if item.level == "advanced" else group.controls).append(control)
            if group.controls or group.advanced:
                made.append(group)
        return made

    def control(self, item: Field, path: str, place: str) -> Control:
        """``place`` begins with a slash that names do not have."""
        below = place[1:]
        item = spoken(with_default(item))
        made = Control(element_id(path), path, below, name_of(item, below, plain=self._plain), item, "text")
        if not item.visible:
            made.template = ""
        elif item.widget == "error-text":
            made.template, made.text, made.single = "note", item.messages.get("instead", ""), False
        elif item.secret:
            self._secret(made)
        elif item.read_only:
            made.template, made.text, made.single = "fixed", _said(item), False
        elif self._plain and item.kind not in ("boolean", "choice", "reference"):
            self._text(made)
        else:
            getattr(self, f"_{item.kind}", self._text)(made)
        if made.single:
            made.attributes = attributes_of(item, made.id)
        made.mark = _mark(made)
        return made

    # -- one input -----------------------------------------------------------------------------------------------------

    def _text(self, made: Control) -> None:
        item = made.field
        value = _value(item)
        long = item.kind in ("text", "json") or item.widget == "textarea"
        made.template = "textarea" if long else "text"
        if isinstance(value, list) and item.widget == "names":
            made.text = ", ".join(map(str, value))
        elif item.kind == "json" and value is not None:
            made.text = json.dumps(value, ensure_ascii=False, indent=1)
        else:
            made.text = entry.shown(item, value)

    def _secret(self, made: Control) -> None:
        item = made.field
        made.template = "secret"
        if item.kind in ("text", "json", "map", "list", "object", "tuple"):
            made.template = "secret_long"
        made.made_up = can_be_made(item) and not item.confirms
        if item.answered and item.value is not None:
            made.hidden.append((f"{KEPT}.{made.place}", json.dumps(item.value)))
            if item.nullable or not item.required:
                made.gone = f"{GONE}.{made.place}"

    def _boolean(self, made: Control) -> None:
        value = _value(made.field)
        if made.field.nullable and not self._plain:
            made.template = "select"
            words = [Option("true", _("Yes"), value is True), Option("false", _("No"), value is False)]
            made.options = [(None, [Option("", _("Not set"), value is None), *words])]
        else:
            made.template, made.checked = "checkbox", value is True or value == "True"

    def _choice(self, made: Control) -> None:
        item = made.field
        key = entry.choice_key if self._plain else _as_json
        value = _value(item)
        chosen = None if value is None else key(value)
        shown = ranked(item.choices)
        rows = [(choice, key(choice.value)) for choice in shown]
        listed = [Option(text, c.noted, text == chosen, c.disabled) for c, text in rows]
        first: list[Option] = []
        if not self._plain and (item.nullable or chosen is None):
            first = [Option("", _("Not set") if item.nullable else _("Choose…"), chosen is None)]
        if chosen and not any(option.selected for option in listed):
            first.append(Option(chosen, str(value), True))
        made.template = "select"
        made.options = [(None, first), *_grouped(shown, listed)]
        if len(listed) > SEARCHED:
            made.search = "choices"

    def _reference(self, made: Control) -> None:
        picker, value = made.field.picker, _value(made.field) or None
        assert picker is not None
        made.template = "reference"
        if made.field.widget == FILE and not self._plain:
            self._file(made, value)
            return
        if self._plain:
            listed = [Option(str(c.value or ""), c.label, c.value == value, c.disabled) for c in picker.existing]
            if value and not any(option.selected for option in listed):
                listed.append(Option(str(value), str(value), True))
            made.options = [(None, listed)]
            made.creates = [(_create(made.place, choice), choice.label) for choice in picker.types]
            return
        if isinstance(value, Mapping):
            made.single = False
            header = value.get("?") or {}
            made.class_name = label_of_type(header.get("type"))
            made.hidden.append((f"{HEADER}.{made.place}", json.dumps(header)))
            made.groups = self.groups(made.field.sections, made.path, "/" + made.place)
            made.missing = [one.field.label for one in every(top(made.groups)) if _is_missing(one)]
        made.options = _picks(
            picker, None if isinstance(value, Mapping) else value, made.class_name, required=made.field.required
        )
        counts = (("existing", picker.more_existing, picker.existing), ("types", picker.more_types, picker.types))
        made.search = " ".join(what for what, more, there in counts if more or len(there) > SEARCHED)

    def _file(self, made: Control, value: Any) -> None:
        """A file of any size: a script sends it before the form is sent, which then holds what the service calls it."""
        made.template = "file"
        made.upload, made.most = self._uploads
        made.single = bool(made.upload)
        made.text = _as_json(value) if isinstance(value, Mapping) else ""
        stored = stored_in(value)
        made.given = None if stored is None else (stored[0], stored[3])
        inner = [problem for section in made.field.sections for part in section.fields for problem in part.problems]
        made.field = replace(made.field, problems=(*made.field.problems, *inner))

    # -- several -------------------------------------------------------------------------------------------------------

    def _list(self, made: Control) -> None:
        item = made.field
        made.template, made.single = "list", False
        if _is_set(item):
            self._set(made)
            return
        rows = [row for section in item.sections for row in section.fields]
        made.hidden.append((f"{ITEMS}.{made.place}", _there(item)))
        fixed = len(item.leading) if item.kind == "tuple" else 0
        for number, row in enumerate(rows):
            control = self.control(row, f"{made.path}/{number}", f"/{made.place}/{number}")
            control.remove = _do("remove", control.place)
            control.up = _do("up", control.place) if number > fixed else ""
            control.down = _do("down", control.place) if fixed <= number < len(rows) - 1 else ""
            made.items.append(control)
            made.hidden.append((f"{ITEMS}.{made.place}", str(number)))
        template = item.leading[len(rows)] if len(rows) < fixed else item.items
        most = item.constraints.get("maxItems")
        if template is not None and (most is None or len(rows) < most):
            made.add = _do("add", made.place, _blank(template))

    _tuple = _list

    def _set(self, made: Control) -> None:
        """Choices of which any number is ticked."""
        item = made.field
        assert item.items is not None
        made.template = "checks"
        held = list(map(_as_json, item.value or ())) if item.answered else []
        made.hidden.append((f"{TICKED}.{made.place}", _there(item)))
        listed = [
            Option(text, choice.label, text in held, choice.disabled and text not in held)
            for choice in item.items.choices
            for text in (_as_json(choice.value),)
        ]
        made.options = _grouped(item.items.choices, listed)

    def _map(self, made: Control) -> None:
        item = made.field
        made.template, made.single = "map", False
        made.hidden.append((f"{ENTRIES}.{made.place}", _there(item)))
        made.groups = self.groups(item.sections, made.path, "/" + made.place)
        rows = [row for section in item.sections if section.name == ENTRIES_SECTION for row in section.fields]
        for number, row in enumerate(rows):
            shown = replace(row, label=_("Value"))
            control = self.control(shown, made.path + pointer(row.name), f"/{made.place}/+{number}")
            control.key_name = f"{KEY}.{control.place}"
            control.remove = _do("remove", control.place)
            made.items.append(control)
            made.hidden.append((f"{ENTRIES}.{made.place}", f"+{number}"))
        most = item.constraints.get("maxProperties")
        if item.items is not None and (most is None or len(rows) < most):
            # An entry without value would count as none, and be gone with the next look at the form.
            made.add = _do("add", made.place, {"key": item.items.initial or ""})

    _object = _map


def _is_set(item: Field) -> bool:
    """Whether a list is one of choices, of which each may be taken once: boxes say that better than items.

    A list in an order of its own stays a list.
    """
    items = item.items
    if item.kind != "list" or items is None or items.kind != "choice" or items.nullable:
        return False
    known = [_as_json(choice.value) for choice in items.choices]
    held = list(map(_as_json, (item.value if item.answered else item.initial) or ()))
    return 0 < len(known) <= SEARCHED and held == [text for text in known if text in held]


def _is_missing(control: Control) -> bool:
    item = control.field
    if not (item.required and item.enabled and control.shown and control.single):
        return False
    return item.kind != "boolean" and _value(item) in (None, "")


def _value(item: Field) -> Any:
    return item.value if item.answered else item.initial


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _do(what: str, place: str, blank: Any = None) -> str:
    return json.dumps({"do": what, "at": place, **({"blank": blank} if what == "add" else {})})


def _create(place: str, choice: Choice) -> str:
    return json.dumps({"do": "create", "at": place, "package": str(choice.value)})


def _blank(template: Field) -> Any:
    """The value of an item that was just added."""
    if template.initial is not None:
        return template.initial
    if template.kind in ("map", "object"):
        return {}
    return [] if template.kind in ("list", "tuple") else None


def _there(item: Field) -> str:
    if not item.answered:
        return SET if item.initial in ([], {}) and not item.nullable else UNSET
    return NULL if item.value is None else SET


def _said(item: Field) -> str:
    """A value that cannot be changed, as text."""
    value = _value(item)
    for choice in (*item.choices, *(item.picker.existing if item.picker is not None else ())):
        if choice.value == value:
            return choice.label
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if header_of(value) is not None:
        return label_of(value)
    return "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _grouped(choices: Sequence[Choice], options: Sequence[Option]) -> list[tuple[str | None, Sequence[Option]]]:
    found: dict[str | None, list[Option]] = {}
    for choice, option in zip(choices, options, strict=True):
        found.setdefault(choice.group, []).append(option)
    return list(found.items())


def _picks(picker: Picker, value: Any, class_name: str, *, required: bool) -> list[tuple[str | None, Sequence[Option]]]:
    """What can stand in a reference: nothing, what is there, a new object; ``class_name``: of the one that stands."""
    first = [Option("", _("Choose…") if required else _("Not set"), value is None and not class_name)]
    if class_name:
        first.append(Option(SAME, _("New: %s") % class_name, True))
    there = [Option(f"={c.value}", _known_as(c), c.value == value, c.disabled) for c in picker.existing]
    if value is not None and not any(option.selected for option in there):
        there.append(Option(f"={value}", _("An object that is not there any more"), True))
    new = [Option(f"+{c.value}", _("New: %s") % c.label, False, c.disabled) for c in picker.types]
    found: list[tuple[str | None, Sequence[Option]]] = [(None, first)]
    if there:
        found.append((_("In this environment"), there))
    if new:
        found.append((_("Create"), new))
    return found


def _known_as(choice: Choice) -> str:
    """The name of an object, and its class, unless that is in the name already."""
    if not choice.group or choice.group.casefold() in choice.label.casefold():
        return choice.label
    return f"{choice.label} ({choice.group})"


def _mark(made: Control) -> str:
    item = made.field
    # Attributes hold what native checks need; `text` is what somebody may be typing just now.
    about: tuple[Any, ...] = (
        made.template, item.label, item.description, item.help, item.required, item.enabled, made.attributes,
        item.constraints.get("uniqueItems"), len(made.items), made.creates, made.add, made.search, made.class_name,
        [(heading, [(o.value, o.label, o.disabled) for o in rows]) for heading, rows in made.options],
        [value for name, value in made.hidden if name[0] == HEADER],
    )  # fmt: skip
    if made.template in ("fixed", "note"):
        about = (*about, made.text)
    return f"{zlib.crc32(repr(about).encode('utf-8', 'surrogatepass')):x}"


def spoken(item: Field) -> Field:
    """A field in the language of the page: texts that are ours, and those that its package translates; not those in
    it."""
    return replace(
        item,
        label=translated(item.label),
        description=translated(item.description),
        description_title=translated(item.description_title),
        help=translated(item.help),
        placeholder=translated(item.placeholder),
        messages={code: translated(text) for code, text in item.messages.items()},
        choices=_choices(item.choices),
        picker=item.picker
        and replace(item.picker, existing=_choices(item.picker.existing), types=_choices(item.picker.types)),
    )


def _choices(choices: Sequence[Choice]) -> Sequence[Choice]:
    return [
        replace(
            one,
            label=translated(one.label),
            group=None if one.group is None else translated(one.group),
            note=translated(one.note),
        )
        for one in choices
    ]
