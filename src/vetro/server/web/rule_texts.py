"""`in_words`: what the rules say in English, in the language of the page.

Rules, forms and contracts know nothing of languages: they raise sentences. ``locale/*/LC_MESSAGES/rules.po`` has these
sentences with names for their values, ``There is no user '{name}'.``, and what they are in another language with the
same names, in any order. Here a sentence is recognised by the words around its values, and said anew. Values that are
sentences of rules themselves, after a colon for example, are said anew, too, and so are entries with the contexts
``word`` and ``part``: ``a list``, ``the type of {what}``. The latter are nothing but values, the former labels as well.
All other values stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Formatter

from django.utils.translation import get_language

from vetro.server.web.language import SOURCE, read

#: Values that may be sentences or words of rules.
_INNER = frozenset(
    (
        "answer", "article", "describe", "error", "first", "found", "join", "message", "place", "problem", "reason",
        "text", "unit", "value", "what", "where", "why", "words",
    )
)  # fmt: skip
#: Of sentences that have too few words of their own to be known by them, such as "{what} is {describe}": what a value
#: has to look like.
_LOOKS = {"describe": re.compile(r"a list|a mapping|empty|nothing|'.*'", re.DOTALL), "leading": re.compile(r"\w+")}
_LOOKS["described"], _LOOKS["word"] = _LOOKS["describe"], _LOOKS["leading"]
#: Before a value that may be anything.
_QUOTES = frozenset("'`")
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
    """``literals`` stand around the values called ``names``: one more than there are names.

    ``weight`` is their length together: how much of a text it explains.
    """

    literals: tuple[str, ...]
    names: tuple[str, ...]
    text: str
    weight: int

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
            looks = _LOOKS.get(name.rstrip("0123456789"))
            if looks is not None and not looks.fullmatch(text, at, stop) and text[at - 1 : at] not in _QUOTES:
                return None
            found[name] = text[at:stop]
            at = stop + len(literal)
        return found

    def certain(self, values: Mapping[str, str]) -> bool:
        """No value in quotes has one itself: other words may explain it better then."""
        around = zip(self.names, self.literals, self.literals[1:], strict=False)
        return not any(a.endswith("'") and b.startswith("'") and "'" in values[name] for name, a, b in around)


class _Language:
    def __init__(self, entries: Mapping[str, str]) -> None:
        self._words = {key.partition("\4")[2]: text for key, text in entries.items() if key.startswith("word\4")}
        self._exact: dict[str, str] = {}
        found: list[_Sentence] = []
        for message, text in entries.items():
            if not message or "\4" in message:
                continue
            sentence = _sentence(message, text)
            if sentence.names:
                found.append(sentence)
            else:
                self._exact[_lower(sentence.literals[0])] = text.format()
        by_beginning: dict[str, list[_Sentence]] = {"": []}
        for sentence in found:
            by_beginning.setdefault(_beginning(sentence.literals[0]), []).append(sentence)
        #: By how they begin, those first that explain most of a text; those that begin with a value are in each list.
        self._sentences = {
            begins: _heaviest_first([*sentences, *(by_beginning[""] if begins else ())])
            for begins, sentences in by_beginning.items()
        }
        parts = {key.partition("\4")[2]: text for key, text in entries.items() if key.startswith("part\4")}
        #: What is a value only: with values of its own, and without.
        self._parts = _heaviest_first(_sentence(part, text) for part, text in parts.items() if "{" in part)
        self._terms = {**self._words, **{part: text for part, text in parts.items() if "{" not in part}}

    def exactly(self, text: str) -> str | None:
        return self._exact.get(_lower(_open(text))) or self._words.get(text)

    def said(self, text: str, depth: int = 0) -> str:
        plain = _open(text)
        exact = self._exact.get(_lower(plain))
        if exact is not None:
            return exact
        possible: tuple[_Sentence, dict[str, str]] | None = None
        for sentence in self._sentences.get(_beginning(plain), self._sentences[""]):
            values = sentence.values(plain)
            if values is not None and sentence.certain(values):
                return self._with(sentence, values, depth)
            if values is not None:
                possible = possible or (sentence, values)
        if possible is not None:
            return self._with(*possible, depth)
        head, colon, rest = text.partition(": ")
        if colon and depth < _DEEPEST:
            return head + colon + self.said(rest, depth + 1)
        return text

    def _with(self, sentence: _Sentence, values: Mapping[str, str], depth: int) -> str:
        said = dict(values)
        for name, before in zip(sentence.names, sentence.literals, strict=False):
            # What somebody wrote stands in quotes, even where it is a word of rules.
            if name.rstrip("0123456789") in _INNER and (name == "what" or before[-1:] not in _QUOTES):
                said[name] = self._inner(values[name], depth)
        text = sentence.text.format_map(said)
        first = values[sentence.names[0]] in self._terms and sentence.text.startswith("{")
        return text[:1].upper() + text[1:] if first else text

    def _inner(self, value: str, depth: int) -> str:
        if depth >= _DEEPEST:
            return value
        words = value.split(" or ")
        if all(word in self._terms for word in words):
            return f" {self._words['or']} ".join(self._terms[word] for word in words)
        for part in self._parts:
            values = part.values(value)
            if values is not None:
                return self._with(part, values, depth + 1)
        return self.said(value, depth + 1)


@lru_cache
def _known(language: str) -> _Language | None:
    path = path_of(language)
    return _Language(read(path.read_text("utf-8"))) if language.isalpha() and path.is_file() else None


def _sentence(message: str, text: str) -> _Sentence:
    literals, names = [""], []
    for literal, name, *_ in Formatter().parse(_open(message)):
        literals[-1] += literal  # a brace that stands for itself divides literals, too
        if name is not None:
            names.append(name)
            literals.append("")
    return _Sentence(tuple(literals), tuple(names), text, sum(map(len, literals)))


def _heaviest_first(sentences: Iterable[_Sentence]) -> list[_Sentence]:
    return sorted(sentences, key=lambda sentence: -sentence.weight)


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
