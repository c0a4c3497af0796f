"""One value from a person at a terminal, by the kind of its field."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from vetro.cli import output as out
from vetro.cli.forms.terminal import LITERAL, TerminalIO, entered
from vetro.cli.plaindata import json_text
from vetro.forms import password_generator
from vetro.forms.entry import read
from vetro.forms.model import Choice, Field, ranked
from vetro.forms.validation import limits_in_words
from vetro.model.files import stored_in
from vetro.model.paths import ABSENT

#: Choices that are listed at once; more by search.
LISTED = 20
#: What is typed for a secret that is to be made up.
MAKE = "+"
#: What means "the answer stays".
KEPT = object()

#: (what, search) -> choices and whether there are more.
Search = Callable[[str, str], tuple[Sequence[Choice], bool]]
#: Path -> the object that the file is for whoever asked for it; raises `OSError`.
Upload = Callable[[str], Mapping[str, Any]]


def current(field: Field) -> Any:
    """What the field holds, or what it would hold."""
    return field.value if field.answered else field.initial


def explanation(field: Field) -> list[str]:
    """What there is to say about a field."""
    limits = field.constraints
    told = [field.description_title, field.description, field.help]
    if field.description_title == field.label:
        del told[0]
    if field.placeholder and field.kind != "boolean" and field.placeholder != "Optional":
        told.append(f"without an answer: {field.placeholder}")
    told += limits_in_words(limits)
    for part in (limits, *limits.get("allOf", ())):
        if "regex" in part:
            told.append(part.get("messages", {}).get("pattern") or f"It must match {part['regex']}")
    told.append("An answer is needed." if field.required else "It may stay empty.")
    return [line for text in dict.fromkeys(told) if text for line in text.splitlines()]


def prompt_of(label: str, field: Field, shown: str = "") -> str:
    """``Label * [what it holds]: ``."""
    star = out.style(" *", fg="red") if field.required and field.enabled else ""
    held = f" [{shown}]" if shown else ""
    return out.style(label, bold=True) + star + out.style(held, dim=True) + ": "


def ask_text(io: TerminalIO, label: str, field: Field, *, raw: bool) -> Any:
    """Text, number or JSON; ``raw``: the text as it was typed. `ABSENT`: leave it empty; `KEPT`: as it was."""
    held = current(field)
    shown = "" if held is None else held if isinstance(held, str) else "".join(json_text(held).split("\n"))
    if field.kind == "text":
        return _ask_lines(io, label, field, shown)
    text = entered(io, prompt_of(label, field, shown), explanation(field))
    if text is None:
        return ABSENT
    if text == "":
        return KEPT
    return text if raw else read(field, text)


def _ask_lines(io: TerminalIO, label: str, field: Field, shown: str) -> Any:
    lines = shown.splitlines()
    first = lines[0] + (" …" if len(lines) > 1 else "") if lines else ""
    text = entered(io, prompt_of(label + " (a line with only . ends it)", field, first), explanation(field))
    if text is None:
        return ABSENT
    if text == "":
        return KEPT
    found: list[str] = []
    while text != ".":
        found.append("." if text == LITERAL + "." else text)
        text = io.line("  ")
    return "\n".join(found)


def ask_yes(io: TerminalIO, label: str, field: Field, default: bool) -> Any:
    """Yes or no."""
    while True:
        text = entered(io, prompt_of(label, field, "Y/n" if default else "y/N"), explanation(field))
        if text is None:
            return ABSENT
        word = text.strip().lower()
        if word == "":
            return KEPT if field.answered else default
        if word in ("y", "yes", "true", "on", "1"):
            return True
        if word in ("n", "no", "false", "off", "0"):
            return False
        io.say("  Type y or n.")


def ask_secret(io: TerminalIO, label: str, field: Field) -> Any:
    """A secret, typed twice, or made up and shown this once."""
    makes = password_generator.can_be_made(field)
    shown = ["set; Enter keeps it"] if field.answered else []
    shown += [f"{MAKE} makes one up"] if makes else []
    while True:
        text = entered(_Hidden(io), prompt_of(label, field, ", ".join(shown)), explanation(field))
        if text is None:
            return ABSENT
        if text == "":
            return KEPT
        if makes and text.strip() == MAKE:
            made = next(password_generator.candidates(field), None)
            if made is None:
                io.say("  No password could be made by its rules. Type one.")
                continue
            io.say(f"  {made}")
            return made
        if io.secret(prompt_of(f"{label}, again", field)) == text:
            return text
        io.say("  These are not the same. Once more.")


def ask_file(io: TerminalIO, label: str, field: Field, upload: Upload | None) -> Any:
    """A file, by its path. Without ``upload`` none is taken: only actions are given files, which go after a while."""
    held = stored_in(current(field))
    about = f"{label} (path of a file)" if upload is not None else f"{label} (a file, which is given to actions only)"
    prompt = prompt_of(about, field, "" if held is None else held[0])
    while True:
        text = entered(io, prompt, explanation(field))
        if text is None:
            return ABSENT
        if text == "":
            return KEPT
        if upload is None:
            io.say("  Files are given to actions of applications in an environment, and this is none.")
            continue
        try:
            return upload(os.path.expanduser(text))
        except OSError as error:
            io.say(f"  {out.shown(text)} cannot be read: {error.strerror}")


def ask_several(io: TerminalIO, label: str, field: Field, choices: Sequence[Choice]) -> Any:
    """Any number of the choices, in their order: by numbers, labels or values with commas between them."""
    held = current(field) or []
    shown = ", ".join(c.label for c in choices if c.value in held)
    while True:
        _list(io, choices, choices, *(c for c in choices if c.value in held))
        text = entered(io, prompt_of(f"{label} (with commas between them)", field, shown), explanation(field))
        if text is None:
            return []
        if text == "":
            return KEPT
        words = [word.strip() for word in text.split(",") if word.strip()]
        chosen = [pick(choices, word) for word in words]
        wrong = [word for word, one in zip(words, chosen, strict=True) if one is None or one.disabled]
        if not wrong:
            return [c.value for c in choices if c in chosen]
        io.say(f"  There is no '{wrong[0]}' among them.")


class _Hidden:
    """A terminal whose lines are not shown."""

    def __init__(self, io: TerminalIO) -> None:
        self.say = io.say
        self.line = io.secret
        self.secret = io.secret


def ask_choice(io: TerminalIO, label: str, field: Field, choices: Sequence[Choice]) -> Any:
    """One of the choices: by number, label or value."""
    held, choices = current(field), ranked(choices)
    default = next((c for c in choices if c.value == held and type(c.value) is type(held)), None)
    wanted = ""
    while True:
        found = [c for c in choices if wanted.casefold() in f"{c.label} {c.value}".casefold()] if wanted else choices
        _list(io, choices, found, default)
        shown = default.label if default is not None else ""
        text = entered(io, prompt_of(label, field, shown), explanation(field))
        if text is None:
            return ABSENT
        if text == "":
            return KEPT if field.answered or default is None else default.value
        if text.startswith("/"):
            wanted = text[1:].strip()
            continue
        chosen = pick(choices, text.strip())
        if chosen is not None and not chosen.disabled:
            return chosen.value
        io.say("  Type the number, the label or the value of one of them; /text searches.")


def pick(choices: Sequence[Choice], text: str) -> Choice | None:
    """The choice with this number, value or label; None where there is none, or more than one."""
    if text.isdecimal() and 1 <= int(text) <= len(choices):
        return choices[int(text) - 1]
    for test in (lambda c: str(c.value) == text, lambda c: c.label == text, lambda c: c.label.lower() == text.lower()):
        found = [choice for choice in choices if test(choice)]
        if len(found) == 1:
            return found[0]
    return None


def _list(io: TerminalIO, every: Sequence[Choice], found: Sequence[Choice], *marked: Choice | None) -> None:
    if not every:
        io.say("  There is nothing to choose from.")
    heading = None
    for choice in found[:LISTED]:
        if choice.group is not None and choice.group != heading:
            io.say(f"  {choice.group}")
        heading = choice.group
        number = every.index(choice) + 1
        mark = "*" if any(choice is one for one in marked) else " "
        io.say(f" {mark}{number:>3}  {choice.noted or choice.value}{' (cannot be chosen)' if choice.disabled else ''}")
    if len(found) > LISTED:
        io.say(f"      and {len(found) - LISTED} more; /text searches")
    if every and not found:
        io.say("  Nothing of this name.")


def ask_object(io: TerminalIO, label: str, field: Field, search: Search) -> Any:
    """An object that is there (its id), or a new one (its header)."""
    assert field.picker is not None
    wanted = ""
    held = current(field)
    while True:
        existing, more = search("existing", wanted)
        types, more_types = search("types", wanted)
        offered = [*existing, *(Choice({"?": {"type": c.value}}, f"new: {c.label}", group="New") for c in types)]
        default = next((c for c in existing if c.value == held), None)
        _list(io, offered, offered, default)
        if more or more_types:
            io.say("      and more; /text searches")
        shown = default.label if default is not None else "as it is" if isinstance(held, dict) else ""
        only = offered[0] if len(offered) == 1 and field.required and not shown else None
        text = entered(io, prompt_of(label, field, only.label if only is not None else shown), explanation(field))
        if text is None:
            return ABSENT
        if text == "":
            return only.value if only is not None else KEPT
        if text.startswith("/"):
            wanted = text[1:].strip()
            continue
        chosen = pick(offered, text.strip())
        if chosen is not None:
            return chosen.value
        io.say("  Type the number or the label of one of them; /text searches.")
