"""`in_words`: what the rules say in English, in the language of the page.

Rules, forms and contracts know nothing of languages: they raise sentences. ``locale/*/LC_MESSAGES/rules.po`` has these
sentences with names for their values, ``There is no user '{name}'.``, and what they are in another language with the
same names, in any order. Here a sentence is recognised by the words around its values, and said anew. Values that are
sentences of rules themselves, after a colon for example, are said anew, too; all other values stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Formatter

from django.utils.translation import get_language

from vetro.server.web.language import SOURCE, read

#: Values that may be sentences or words of rules.
_INNER = frozenset(("answer", "error", "first", "join", "message", "text", "unit", "value", "what", "why", "words"))
#: Sentences in sentences.
_DEEPEST = 4
#: Characters by which sentences are looked up.
_FIRST = 4


def path_of(language: str) -> Path:
    """The file with the sentences of a language."""
    return SOURCE / language / "LC_MESSAGES" / "rules.po"


def in_words(text: str | None) -> str:
    """The sentence in the language of the page; as it is where nobody translated it, empty for None."""
    if not text:
        return ""
    known = _known((get_language() or "en").partition("-")[0])
    return text if known is None else known.said(text)


def phrase(text: str) -> str:
    """The same for a label or a help text, which a package may have written: only if it is exactly one of the rules'
    own."""
    known = _known((get_language() or "en").partition("-")[0]) if text else None
    return text if known is None else known.exactly(text) or text


@dataclass(frozen=True, slots=True)
class _Sentence:
    """``literals`` stand around the values called ``names``: one more than there are names."""

    literals: tuple[str, ...]
    names: tuple[str, ...]
    text: str

    @property
    def weight(self) -> int:
        """How much of a text it explains."""
        return sum(map(len, self.literals))

    def values(self, text: str) -> dict[str, str] | None:
        """The values in a text that is this sentence; None for another one. Linear in the text."""
        first, last = self.literals[0], self.literals[-1]
        # What goes into forms as a problem begins with a capital letter, whatever the rule wrote.
        if len(text) < self.weight or not text.endswith(last) or not _same_beginning(text, first):
            return None
        found: dict[str, str] = {}
        at, end = len(first), len(text) - len(last)
        for name, literal in zip(self.names, self.literals[1:], strict=True):
            stop = end if literal is last and len(found) == len(self.names) - 1 else text.find(literal, at, end)
            if stop < at:
                return None
            found[name] = text[at:stop]
            at = stop + len(literal)
        return found


class _Language:
    def __init__(self, entries: Mapping[str, str]) -> None:
        self._words = {key.partition("\4")[2]: text for key, text in entries.items() if key.startswith("word\4")}
        self._exact: dict[str, str] = {}
        found: list[_Sentence] = []
        for message, text in entries.items():
            if not message or "\4" in message:
                continue
            parts = list(Formatter().parse(_open(message)))
            names = tuple(name for _, name, *_ in parts if name is not None)
            literals = [literal for literal, *_ in parts]
            if parts[-1][1] is not None:
                literals.append("")
            if names:
                found.append(_Sentence(tuple(literals), names, text))
            else:
                self._exact[_lower("".join(literals))] = text.format()
        #: By how they begin, those first that explain most of a text; "" are those that begin with a value.
        self._sentences: dict[str, list[_Sentence]] = {}
        for sentence in sorted(found, key=lambda sentence: -sentence.weight):
            self._sentences.setdefault(_beginning(sentence.literals[0]), []).append(sentence)

    def exactly(self, text: str) -> str | None:
        return self._exact.get(_lower(_open(text))) or self._words.get(text)

    def said(self, text: str, depth: int = 0) -> str:
        plain = _open(text)
        exact = self._exact.get(_lower(plain))
        if exact is not None:
            return exact
        for sentence in self._candidates(plain):
            values = sentence.values(plain)
            if values is not None:
                return sentence.text.format_map(
                    {name: self._inner(name, value, depth) for name, value in values.items()}
                )
        head, colon, rest = text.partition(": ")
        if colon and depth < _DEEPEST:
            return head + colon + self.said(rest, depth + 1)
        return text

    def _candidates(self, text: str) -> list[_Sentence]:
        fitting = [*self._sentences.get(_beginning(text), ()), *self._sentences.get("", ())]
        return sorted(fitting, key=lambda sentence: -sentence.weight)

    def _inner(self, name: str, value: str, depth: int) -> str:
        if name.rstrip("0123456789") not in _INNER or depth >= _DEEPEST:
            return value
        words = value.split(" or ")
        if all(word in self._words for word in words):
            return f" {self._words['or']} ".join(self._words[word] for word in words)
        return self.said(value, depth + 1)


@lru_cache
def _known(language: str) -> _Language | None:
    path = path_of(language)
    return _Language(read(path.read_text("utf-8"))) if language.isalpha() and path.is_file() else None


def _open(text: str) -> str:
    """A sentence without its full stop, which some rules leave out."""
    return text[:-1] if text.endswith(".") else text


def _beginning(text: str) -> str:
    """What sentences that may be meant have in common; too short a beginning says nothing."""
    return text[:_FIRST].lower() if len(text) >= _FIRST else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]


def _same_beginning(text: str, beginning: str) -> bool:
    return text.startswith(beginning) or (bool(beginning) and _lower(text).startswith(_lower(beginning)))
