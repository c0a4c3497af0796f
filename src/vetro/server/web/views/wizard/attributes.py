"""Attributes of inputs: what native controls check, what `fields.js` checks, what the author of a definition adds."""

from __future__ import annotations

import json
import re

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from vetro.forms.entry import html_attributes
from vetro.forms.model import Field
from vetro.server.web.rule_words import in_words

#: What `widgetAttrs` may set: nothing that runs, loads, names or hides anything.
_AUTHORS = frozenset(
    (
        "autocapitalize", "autocomplete", "cols", "dir", "inputmode", "lang", "max", "maxlength", "min", "minlength",
        "placeholder", "readonly", "rows", "size", "spellcheck", "step", "title", "wrap",
    )
)  # fmt: skip
_DATA = re.compile(r"data-(?!v-|hx-|bs-|field|copy|confirm|live)[a-z][a-z0-9-]*")
_INPUT = {"integer": "numeric", "number": "decimal"}


def attributes_of(item: Field, id: str) -> SafeString:
    """Attributes of the one input of a field, besides ``name``, ``type`` and ``value``; escaped."""
    made: dict[str, str] = {
        name: value for name, value in item.attributes.items() if name in _AUTHORS or _DATA.fullmatch(name)
    }
    made.pop("data-server-checks", None)
    made |= html_attributes(item)
    if item.secret:
        made["autocomplete"] = "new-password"
        if item.answered and item.value is not None:
            made.pop("required", None)
    if item.kind in ("integer", "number"):
        # A field for numbers would swallow what is none; checks are ours, so a text will do.
        made["inputmode"] = _INPUT[item.kind]
        made["data-v-kind"] = item.kind
        made |= {f"data-v-{name}": made.pop(name) for name in ("min", "max", "step") if name in made}
    limits = item.constraints
    if item.kind in ("string", "text") and limits.min_length:
        made["data-v-min-length"] = str(limits.min_length)
    if item.kind in ("string", "text") and limits.max_length is not None:
        made["data-v-max-length"] = str(limits.max_length)
    otherwise = item.messages.get("invalid", "")
    patterns = [[p.regex, in_words(p.message) or otherwise] for p in limits.patterns if p.in_browser]
    if patterns:
        made["data-v-patterns"] = json.dumps(patterns)
    texts = {code: text for code, text in item.messages.items() if code != "instead"}
    if texts:
        made["data-v-messages"] = json.dumps(texts)
    if item.confirms:
        made["data-v-confirms"] = item.confirms
    described = [f"{id}-help"] if item.help or item.description else []
    if item.problems:
        made["aria-invalid"] = "true"
        described.append(f"{id}-error")
    if described:
        made["aria-describedby"] = " ".join(described)
    return format_html_join("", ' {}="{}"', made.items())
