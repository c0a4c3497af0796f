"""Attributes of inputs: what native controls check, what `fields.js` checks, what the author of a definition adds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from vetro.forms.entry import html_attributes
from vetro.forms.model import FILE, Field
from vetro.forms.vocabulary import checks_of
from vetro.server.language import translated

#: What `widgetAttrs` may set: nothing that runs, loads, names or hides anything.
_AUTHORS = frozenset(
    (
        "autocapitalize", "autocomplete", "cols", "dir", "inputmode", "lang", "max", "maxlength", "min", "minlength",
        "placeholder", "readonly", "rows", "size", "spellcheck", "step", "title", "wrap",
    )
)  # fmt: skip
_DATA = re.compile(r"data-(?!v-|hx-|bs-|field|copy|confirm|live)[a-z][a-z0-9-]*")
_INPUT = {"integer": "numeric", "number": "decimal"}
_TEXTS = frozenset(("string", "text"))
#: Kinds of fields whose one input is checked before anything is sent.
_CHECKED = _TEXTS | _INPUT.keys()


def attributes_of(item: Field, id: str) -> SafeString:
    """Attributes of the one input of a field, besides ``name``, ``type`` and ``value``; escaped."""
    made: dict[str, str] = {
        name: value for name, value in item.attributes.items() if name in _AUTHORS or _DATA.fullmatch(name)
    }
    made.pop("data-server-checks", None)
    made |= html_attributes(item)
    if item.kind == "reference" and item.widget == FILE:
        # Without scripts nobody can give one, and nothing would say why the form is not sent.
        made["data-required"] = made.pop("required", "no")
    if item.secret:
        made["autocomplete"] = "new-password"
        if item.answered and item.value is not None:
            made.pop("required", None)
    if item.kind in ("integer", "number"):
        # A field for numbers would swallow what is none; checks are ours, so a text will do.
        made["inputmode"] = _INPUT[item.kind]
        made = {name: value for name, value in made.items() if name not in ("min", "max", "step")}
    checks = _checks(item)
    if checks:
        made["data-v-schema"] = json.dumps(checks, ensure_ascii=False)
    if item.confirms:
        made["data-v-confirms"] = item.confirms
    described = [f"{id}-help"] if item.help or item.description else []
    if item.problems:
        made["aria-invalid"] = "true"
        described.append(f"{id}-error")
    if described:
        made["aria-describedby"] = " ".join(described)
    return format_html_join("", ' {}="{}"', made.items())


def _checks(item: Field) -> dict[str, Any]:
    """The schema that `fields.js` checks; empty where any text will do. Its texts are in the language of the page."""
    schema: dict[str, Any] = {}
    if item.kind in _CHECKED:
        schema = checks_of(item)
    elif item.messages:
        schema = {"messages": item.messages}
    return {} if schema.keys() == {"type"} and item.kind in _TEXTS else _said(schema)


def _said(schema: Mapping[str, Any]) -> dict[str, Any]:
    said = {name: value for name, value in schema.items() if name not in ("messages", "allOf", "regex")}
    texts = {code: translated(text) for code, text in schema.get("messages", {}).items() if code != "instead"}
    parts = [_said(part) for part in schema.get("allOf", ())]
    return {**said, **({"messages": texts} if texts else {}), **({"allOf": parts} if parts else {})}
