"""What a browser sent -> answers: `read` turns names (see `names`) and texts into JSON, `changed` adds and moves items.

Nothing here trusts what came: whatever names say, the form session checks the answers against the form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Final

from django.http import QueryDict
from django.utils.translation import gettext as _

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic
from vetro.forms import entry
from vetro.forms.model import Field, Kind, flaw
from vetro.model.paths import ABSENT, child, pointer, steps_of
from vetro.model.secrets import is_mark
from vetro.server.errors import Invalid
from vetro.server.web.views.wizard.names import ENTRIES, GONE, HEADER, ITEMS, KEPT, KEY, TEXT, TICKED

_KINDS: Final[Mapping[str, Kind]] = {
    "s": "string", "i": "integer", "n": "number", "b": "boolean", "c": "choice", "r": "reference", "j": "json",
}  # fmt: skip
#: Values of the input that stands for a list or map itself: it is there, it is null, it was never answered.
SET, NULL, UNSET = "set", "null", ""
#: The object that is shown stays in its reference.
SAME = "."
#: Levels of nesting; the form session has its own limit.
_DEEPEST = 100


@dataclass(slots=True)
class Node:
    """What was sent for one place: texts by letter, flags of its value, and the places below."""

    texts: dict[str, list[str]] = field(default_factory=dict)
    flags: str = ""
    below: dict[str, Node] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Read:
    """Answers, and what was wrong with how they were entered. ``picked``: a class for a new object was chosen."""

    answers: dict[str, Any]
    tree: Node
    problems: Sequence[Diagnostic] = ()
    picked: bool = False


def read(sent: QueryDict, *, final: bool = False) -> Read:
    """The answers of a page; ``final``: entries of maps in which nothing was typed count no more. Raises `Invalid`."""
    root = Node()
    for name in sent:
        code, dot, place = name.partition(".")
        if not dot or not code or not place or not code[0].isascii() or code[1:].strip("?!"):
            continue
        steps = steps_of("/" + place)
        if len(steps) > _DEEPEST:
            raise Invalid(_("The answers are nested too deeply."))
        node = root
        for step in steps:
            node = node.below.setdefault(step, Node())
        node.texts[code[0]] = sent.getlist(name)
        if code[0] in _KINDS:
            node.flags = code[1:]
    reader = _Reader(final)
    answers = reader.fields(root, "")
    return Read(answers, root, reader.problems, reader.picked)


def answers_below(told: Read, name: str) -> dict[str, Any]:
    """The answers that were sent for places below one of the page."""
    node = told.tree.below.get(name)
    return {} if node is None else _Reader(False).fields(node, "")


def changed(told: Read, do: str, place: str, blank: Any) -> dict[str, Any]:
    """The answers with an item added at the end, removed, or moved ``up`` or ``down``. Raises `Invalid`."""
    steps = _steps(told.tree, steps_of("/" + place))
    above, last = (steps, "") if do == "add" else (steps[:-1], steps[-1])
    answers: dict[str, Any] = told.answers
    around: Any = answers
    for step in above[:-1]:
        around = child(around, step)
    held = child(around, above[-1]) if above else answers
    if do == "add":
        made = _added(held, blank)
        if isinstance(around, list):
            around[int(above[-1])] = made
        elif isinstance(around, dict):
            around[above[-1]] = made
        else:
            raise _lost()
        return answers
    if isinstance(held, dict) and do == "remove" and last in held:
        del held[last]
    elif isinstance(held, list) and last.isdecimal() and int(last) < len(held):
        at = int(last)
        to = {"remove": -1, "up": max(at - 1, 0), "down": min(at + 1, len(held) - 1)}[do]
        item = held.pop(at)
        if to >= 0:
            held.insert(to, item)
    else:
        raise _lost()
    return answers


def _lost() -> Invalid:
    return Invalid(_("What you wanted to change is not there any more."), hint=_("Load the page again."))


def _added(held: Any, blank: Any) -> Any:
    if isinstance(blank, Mapping) and "key" in blank:
        entries = held if isinstance(held, dict) else {}
        return {**entries, "": blank["key"]} if "" not in entries else entries
    return [*(held if isinstance(held, list) else ()), blank]


def _steps(node: Node | None, steps: list[str]) -> list[str]:
    """Places as they were named -> steps into the answers: numbers count from 0, entries have their keys."""
    found = []
    for step in steps:
        name = step
        below = node.below.get(step) if node is not None else None
        if node is not None and ITEMS in node.texts and step in node.texts[ITEMS][1:]:
            name = str(node.texts[ITEMS][1:].index(step))
        elif below is not None and KEY in below.texts:
            name = below.texts[KEY][-1]
        found.append(name)
        node = below
    return found


class _Reader:
    """Reads one page."""

    def __init__(self, final: bool) -> None:
        self._final = final
        self.problems: list[Diagnostic] = []
        self.picked = False

    def fields(self, node: Node, path: str) -> dict[str, Any]:
        """What stands below a place, by name; what was not answered is left out."""
        made = {}
        for name, below in node.below.items():
            if KEY not in below.texts:
                value = self._value(below, path + pointer(name))
                if value is not ABSENT:
                    made[name] = value
        return made

    def _value(self, node: Node, path: str) -> Any:
        texts = node.texts
        if ITEMS in texts:
            marker, *keys = texts[ITEMS]
            if not keys:
                return {NULL: None, SET: []}.get(marker, ABSENT)
            items = [self._value(node.below.get(key, Node()), path + pointer(i)) for i, key in enumerate(keys)]
            return [None if item is ABSENT else item for item in items]
        if TICKED in texts:
            marker, *ticked = texts[TICKED]
            return [_json(text) for text in ticked] if ticked else {NULL: None, SET: []}.get(marker, ABSENT)
        if ENTRIES in texts:
            return self._entries(node, path)
        if KEPT in texts:
            return _secret(node)
        if "r" in texts:
            chosen = texts["r"][-1]
            if chosen.startswith("+"):
                self.picked = True
                return {"?": {"type": chosen[1:]}}
            if chosen != SAME:
                return chosen[1:] if chosen.startswith("=") else None if "?" in node.flags else ABSENT
        if HEADER in texts:
            header = _json(texts[HEADER][-1])
            own = self.fields(node, path)
            return {"?": header, **own} if isinstance(header, dict) else own
        return texts[TEXT][-1] if TEXT in texts else _scalar(node)

    def _entries(self, node: Node, path: str) -> Any:
        made: dict[str, Any] = self.fields(node, path)
        marker, *keys = node.texts[ENTRIES]
        for name in keys:
            below = node.below.get(name, Node())
            key = (below.texts.get(KEY) or [""])[-1]
            value = self._value(below, path + pointer(key))
            if self._final and key == "" and value in (ABSENT, None, ""):
                continue
            if key in made:
                self.problems.append(flaw(path, _("There are two entries with the name “%s”.") % key, "unique"))
                key = _free(key, made)
            made[key] = None if value is ABSENT else value
        if not made and marker != SET:
            return None if marker == NULL else ABSENT
        return made


def _free(key: str, taken: Mapping[str, Any]) -> str:
    """Another name for an entry whose name is taken: nothing that was typed is lost."""
    number = 2
    while f"{key} {number}" in taken:
        number += 1
    return f"{key} {number}"


def _secret(node: Node) -> Any:
    """What was typed; nothing typed keeps the secret."""
    typed = node.texts[TEXT][-1] if TEXT in node.texts else _scalar(node)
    if typed not in (ABSENT, None, ""):
        return typed
    if GONE in node.texts:
        return "" if TEXT in node.texts else typed
    marker = _json(node.texts[KEPT][-1])
    return marker if is_mark(marker) else ABSENT


def _scalar(node: Node) -> Any:
    for letter, kind in _KINDS.items():
        if letter in node.texts and kind != "reference":
            text = node.texts[letter][-1]
            asked = Field("", kind, "", nullable="?" in node.flags, required="!" in node.flags)
            if kind == "choice" and text != "":
                return _json(text)
            # Browsers end lines with CR LF, whatever stood there.
            return entry.read(asked, text.replace("\r\n", "\n"))
    return ABSENT


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
