"""All texts of the pages that can be translated, found in templates and sources.

``python -m tests.server.web.wording`` prints entries for those that the German file lacks.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from vetro.server.language import SOURCE, read

SERVER = Path(__file__).parents[3] / "src" / "vetro" / "server"
GERMAN = SOURCE / "de" / "LC_MESSAGES" / "django.po"
_FUNCTIONS = {"_", "gettext", "gettext_lazy", "gettext_noop", "ngettext", "pgettext", "npgettext"}
#: What templatize leaves of a template that matters: calls, with texts as Python writes them.
_CALL = re.compile(
    r"""\b(?:_|gettext|ngettext|pgettext|npgettext)\((?:u?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|[\w, ])*\)"""
)


def texts() -> dict[str, str]:
    """Message (as in `vetro.server.language.read`) -> the file that says it."""
    found: dict[str, str] = {}
    for path in sorted(SERVER.rglob("*.py")):
        for message in _of_source(path.read_text("utf-8")):
            found.setdefault(message, path.name)
    for path in sorted((SERVER / "web" / "templates").rglob("*.html")):
        for message in _of_template(path.read_text("utf-8")):
            found.setdefault(message, f"{path.parent.name}/{path.name}")
    return found


def translated() -> dict[str, str]:
    """Entries of the German file, without its header."""
    return {message: text for message, text in read(GERMAN.read_text("utf-8")).items() if message}


def missing() -> dict[str, str]:
    """Texts that the German file lacks -> the file that says them."""
    known = translated()
    return {message: place for message, place in texts().items() if message not in known}


def _of_template(source: str) -> Iterator[str]:
    from django.utils.translation.template import templatize

    for call in _CALL.findall(templatize(source)):
        yield from _of_source(call)


def _of_source(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", "")
        if name not in _FUNCTIONS:
            continue
        given = [arg.value for arg in node.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if not given:
            continue
        context = f"{given.pop(0)}\4" if name in ("pgettext", "npgettext") else ""
        yield context + "\0".join(given[: 2 if name in ("ngettext", "npgettext") else 1])


def entry(message: str, place: str) -> str:
    """An entry that waits for its translation."""
    quoted = [f'"{_escaped(part)}"' for part in message.split("\0")]
    lines = [f"#: {place}", f"msgid {quoted[0]}"]
    if len(quoted) > 1:
        return "\n".join([*lines, f"msgid_plural {quoted[1]}", 'msgstr[0] ""', 'msgstr[1] ""', ""])
    return "\n".join([*lines, 'msgstr ""', ""])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


if __name__ == "__main__":
    for one, where in missing().items():
        print(entry(one, where))
