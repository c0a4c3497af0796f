"""All templates of messages, found in the sources, and those that the German file lacks.

``python -m tests.server.messages`` prints entries for these.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from string import Formatter

from tests.server.web.wording import entry
from vetro.server.language import messages_of, read

SOURCE = Path(__file__).parents[2] / "src" / "vetro"
GERMAN = messages_of("de")
#: Where no page shows what is said: terminals, logs.
TERMINAL: tuple[str, ...] = ("cli/",)


@cache
def templates() -> dict[str, str]:
    """Template -> the file that says it."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        if not place.startswith(TERMINAL):
            for template in templates_of(path.read_text("utf-8")):
                if has_words(template):
                    found.setdefault(template, place)
    return found


def templates_of(source: str) -> Iterator[str]:
    """The templates of a module. Raises `ValueError` for one that is computed."""
    if "from vetro.diagnostics import" not in source:
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Text":
            given = node.args[0] if node.args else None
            if not isinstance(given, ast.Constant) or not isinstance(given.value, str):
                raise ValueError(f"line {node.lineno}: the template of a message is a text, not {ast.unparse(node)}")
            yield given.value


def has_words(template: str) -> bool:
    """Whether there is anything to translate."""
    return any(character.isalpha() for literal, *_ in Formatter().parse(template) for character in literal)


def names(template: str) -> list[str]:
    """The places of a template."""
    return sorted({name for _, name, *_ in Formatter().parse(template) if name is not None})


def translations() -> dict[str, str]:
    """Entries of the German file, without its header."""
    return {message: text for message, text in read(GERMAN.read_text("utf-8")).items() if message}


def missing() -> dict[str, str]:
    """Templates that the German file lacks -> the file that says them."""
    known = {key(template) for template in translations()}
    return {template: place for template, place in templates().items() if key(template) not in known}


def key(template: str) -> str:
    """What sentences and parts of sentences have in common: they have one translation."""
    return template[:1].lower() + template[1:].removesuffix(".")


if __name__ == "__main__":
    for one, where in missing().items():
        print(entry(one, where))
