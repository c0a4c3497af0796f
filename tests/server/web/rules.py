"""All sentences of the rules that pages may show, found in the sources as `vetro.server.web.rule_texts` knows them.

``python -m tests.server.web.rules`` prints entries for those that the German file lacks.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from string import Formatter

from tests.server.web.findings import CHECKING, SOURCE, findings_of
from tests.server.web.sentences import Raised, texts
from tests.server.web.wording import entry
from vetro.server.web.language import read
from vetro.server.web.rule_texts import path_of

GERMAN = path_of("de")
#: Where errors that reach pages are raised.
_RAISING = (
    "server/accounts", "server/catalog", "server/environments", "server/forms", "server/tasks/class_names.py",
    "server/tasks/concurrency.py", "server/tasks/queue.py", "server/tasks/wait.py", "server/environments/lookup.py",
    "server/quotas", "server/api/v2/package_parts.py", "server/tasks/completion.py", "server/web", "forms/builders.py",
    "forms/check.py", "forms/contexts.py", "forms/contracts.py", "forms/sessions", "forms/removal.py",
    "forms/dynamic/types", "muranopl/contracts/runtime.py", "engine/planning/report.py",
)  # fmt: skip
#: What only administrators see, in a terminal or the log.
_TERMINAL = (
    "server/accounts/keystone.py", "server/accounts/policy_file.py", "server/environments/networks.py",
)  # fmt: skip
#: Modules in which each text that begins with a capital and has a blank in it is such a sentence.
_TEXTS = (
    "clouds/quotas.py",
    "forms/texts.py", "forms/form_source.py", "forms/dynamic/last_step.py", "forms/dynamic/types",
)  # fmt: skip


@cache
def rules() -> dict[str, str]:
    """Sentence, with the names of its values in braces -> the file that says it."""
    found: dict[str, str] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        sentences: list[str] = []
        if place.startswith(_TEXTS):
            sentences += _all_of(ast.parse(path.read_text("utf-8")))
        if (place.startswith(_RAISING) and not place.startswith(_TERMINAL)) or place == "forms/dynamic/errors.py":
            module = importlib.import_module("vetro." + place.removesuffix(".py").replace("/", "."))
            sentences += Raised(ast.parse(path.read_text("utf-8")), vars(module)).sentences()
        for sentence in sentences:
            literals = _literals(sentence)
            if " " in literals and any(part.isalpha() and len(part) > 1 for part in literals.split()):
                found.setdefault(sentence, place)
    known = {_shape(sentence) for sentence in found}
    for place in CHECKING:
        for sentence in findings_of(place):
            literals = _literals(sentence)
            if re.search(r"[^\W\d]{2}", literals) and " " in literals and _shape(sentence) not in known:
                known.add(_shape(sentence))
                found[sentence] = place
    return found


def translated() -> dict[str, str]:
    """Sentences of the German file, without words that stand in sentences."""
    entries = read(GERMAN.read_text("utf-8"))
    return {message: text for message, text in entries.items() if message and "\4" not in message}


def missing() -> dict[str, str]:
    """Sentences that the German file lacks -> the file that says them."""
    known = translated()
    return {sentence: place for sentence, place in rules().items() if sentence not in known}


def _literals(sentence: str) -> str:
    return "".join(literal for literal, *_ in Formatter().parse(sentence))


def _shape(sentence: str) -> tuple[str, ...]:
    """What sentences have in common that differ in the names of their values only."""
    return tuple(literal + "{" * (name is not None) for literal, name, *_ in Formatter().parse(sentence))


def _all_of(tree: ast.AST) -> Iterator[str]:
    inner: set[ast.AST] = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        for body in (getattr(node, "body", None),):
            if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
                inner.add(body[0].value)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node not in inner:
            if isinstance(node, ast.Constant):
                # These are formats themselves.
                text = node.value if isinstance(node.value, str) else ""
                yield from [text] if " " in text and text[0].isupper() else []
            else:
                yield from (text for text in texts(node, {}) if " " in text and text[0].isupper())


if __name__ == "__main__":
    import django

    django.setup()
    for one, where in missing().items():
        print(entry(one, where))
