"""`Secrets`: the secret texts of one run, and their removal from whatever is said about it.

Values stay plain text: packages compute with them, and what they make of them (a connection string, a script, a
template) holds them. So what leaves a run for people (errors, reports, log lines, plans) is searched for the texts
that a property, an argument or a store called secret, as they are and as JSON, Python, pages, shells, URLs and Base64
write them.
docs/decisions/0013-secrets-by-value.md says why.
"""

from __future__ import annotations

import base64
import collections.abc as abc
import html
import json
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from vetro.diagnostics import edited

#: What is said in the place of a secret.
MASK: Final = "••••••"
#: Characters of the shortest text that is looked for anywhere, and of one that is looked for as a word of its own.
#: Shorter ones are only masked where a message is about the very value: their letters are in every sentence.
ANYWHERE: Final = 6
AS_WORD: Final = 4
#: Of texts that are at least so long the first and last characters are looked for, too: messages are cut.
LONG: Final = 16
END: Final = 12
#: Characters of a line of a secret (a key, a certificate) that is looked for by itself.
LINE: Final = 16
#: Most texts of a run, and characters of them. A run with more says nothing but `TOO_MANY` where a text could hold one.
MOST: Final = 4096
CHARACTERS: Final = 16 << 20
TOO_MANY: Final = "(not shown: the run knows too many secrets)"


class Secrets:
    """The secrets of a run. False while there are none. Use it from one thread at a time."""

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self.clear()
        for text in texts:
            self.add(text)

    def clear(self) -> None:
        """There are none any more."""
        self._texts: dict[str, None] = {}
        #: What is looked for, longest first; and the short ones, with their pattern.
        self._forms: list[str] = []
        self._short: list[str] = []
        self._words: re.Pattern[str] | None = None
        #: Texts that neither holds yet.
        self._new: list[str] = []
        self._overflow = False
        self._characters = 0
        #: Texts that were added since somebody last took them out (`vetro.engine.task.pipe_effects`).
        self.fresh: list[str] = []

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, value: Any) -> None:
        """Every text and number in ``value`` is secret from now on. Objects are not: their classes say what is."""
        if value.__class__ is str:
            self._add(value)
            return
        work = [value]
        while work:
            item = work.pop()
            if isinstance(item, str):
                self._add(item)
            elif isinstance(item, bytes):
                self._add(item.decode("utf-8", "replace"))
            elif isinstance(item, abc.Mapping):
                if "?" not in item:
                    work.extend(item.values())
            elif isinstance(item, (list, tuple, abc.Set)):
                work.extend(item)
            elif isinstance(item, (int, float)) and not isinstance(item, bool) and abs(item) < 1 << 512:
                self._add(str(item))

    def _add(self, text: str) -> None:
        if not text or text in self._texts:
            return
        self._characters += len(text)
        if len(self._texts) >= MOST or self._characters > CHARACTERS:
            self._overflow = True
            return
        self._texts[text] = None
        self.fresh.append(text)
        self._new.append(text)

    def knows(self, value: Any) -> bool:
        """Whether this very value is one, however short."""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            return False
        return (str(value) if not isinstance(value, str) else value) in self._texts

    def text(self, text: str) -> str:
        """``text`` without the secrets in it."""
        if not self._texts:
            return text
        if self._overflow and len(text) >= AS_WORD:
            return TOO_MANY
        if self._new:
            self._prepare()
        for form in self._forms:
            if len(form) < LONG:
                if form in text:
                    text = text.replace(form, MASK)
            elif form[:END] in text or form[-END:] in text:
                text = _without(text, form)
        return text if self._words is None else self._words.sub(MASK, text)

    def data(self, value: Any) -> Any:
        """Plain data without the secrets in its texts and keys; the same object when there are none."""
        if not self._texts:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, abc.Mapping):
            return {self.data(key): self.data(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(item) for item in value]
        return value

    def error(self, error: BaseException) -> None:
        """Takes the secrets out of an error and those behind it: messages, hints, notes, what was thrown."""
        seen: set[int] = set()
        work: list[BaseException | None] = [error] if self._texts else []
        while work:
            item = work.pop()
            if item is None or id(item) in seen:
                continue
            seen.add(id(item))
            try:
                item.args = tuple(self._kept(arg) for arg in item.args)
            except (AttributeError, TypeError):  # pragma: no cover - an exception that guards its arguments
                pass
            for name, value in _attributes(item).items():
                made = self._kept(value)
                if made is not value:
                    setattr(item, name, made)
            work += [item.__cause__, item.__context__]
            cause = getattr(item, "cause", None)
            work.append(cause if isinstance(cause, BaseException) else None)

    def _kept(self, value: Any) -> Any:
        """`data` of a value in an error, of the kind that it was; the same object where nothing is secret."""
        if isinstance(value, str):
            made = edited(value, self.text)
            return value if made == value else made
        if isinstance(value, abc.Mapping):
            pairs = [(self._kept(key), self._kept(item)) for key, item in value.items()]
            same = all(k is a and v is b for (k, v), (a, b) in zip(pairs, value.items(), strict=True))
            return value if same else _mapping_like(value, dict(pairs))
        if value.__class__ in (list, tuple):
            items = [self._kept(item) for item in value]
            return value if all(a is b for a, b in zip(items, value, strict=True)) else value.__class__(items)
        return value

    def _prepare(self) -> None:
        forms: dict[str, None] = dict.fromkeys(self._forms)
        short = len(self._short)
        for text in self._new:
            for part in (text, *(line for line in text.splitlines() if len(line.strip()) >= LINE)):
                if len(part) >= ANYWHERE:
                    forms.update(dict.fromkeys(form for form in _spellings(part) if len(form) >= ANYWHERE))
                elif len(part) >= AS_WORD:
                    self._short.append(re.escape(part))
        self._forms = sorted(forms, key=len, reverse=True)
        if len(self._short) > short:  # a word of four letters in a class name or a path is no secret
            self._words = re.compile(rf"(?<![\w./-])(?:{'|'.join(self._short)})(?![\w/]|[.-]\w)")
        self._new.clear()


def _attributes(error: BaseException) -> dict[str, Any]:
    """What the error has, also in slots."""
    found = dict(vars(error))
    for cls in type(error).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        found.update({name: getattr(error, name) for name in names if hasattr(error, name)})
    return found


def _without(text: str, form: str) -> str:
    """``text`` without a long secret, also where only its beginning or its end is there: messages are cut."""
    return _without_beginnings(_without_beginnings(text, form)[::-1], form[::-1])[::-1]


def _without_beginnings(text: str, form: str) -> str:
    head, parts, done = form[:END], [], 0
    while (at := text.find(head, done)) >= 0:
        end = at + END
        while end < len(text) and end - at < len(form) and text[end] == form[end - at]:
            end += 1
        parts += [text[done:at], MASK]
        done = end
    return "".join([*parts, text[done:]])


def _mapping_like(value: Mapping[Any, Any], made: dict[Any, Any]) -> Mapping[Any, Any]:
    kind: Any = value.__class__
    return made if kind is dict else kind(made)


def _spellings(text: str) -> Iterator[str]:
    """How a text stands in others: as it is, escaped, in pages, command lines and URLs, and in Base64."""
    yield text
    yield text.strip()
    yield json.dumps(text)[1:-1]
    yield json.dumps(text, ensure_ascii=False)[1:-1]
    yield repr(text)[1:-1]
    for quotes in (True, False):
        yield html.escape(text, quotes)
    yield html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")  # as other languages write them
    yield html.escape(text).replace("&#x27;", "&apos;")
    yield text.replace("'", "'\"'\"'")
    yield text.replace("'", "'\\''")
    data = text.encode("utf-8", "surrogatepass")
    in_urls = "".join(chr(byte) if byte in _PLAIN_IN_URLS else f"%{byte:02X}" for byte in data)
    yield in_urls
    yield in_urls.replace("%2F", "/")
    yield in_urls.replace("%20", "+")
    yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), in_urls)
    for before in range(3):
        form = base64_form(data, before)
        yield form
        yield form.replace("+", "-").replace("/", "_")


_PLAIN_IN_URLS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~")


def inside_base64(before: int, length: int) -> tuple[int, int]:
    """Which characters of Base64 depend on nothing but ``length`` bytes behind ``before`` others: from, to."""
    return -(-before * 8 // 6), (before + length) * 8 // 6


def base64_form(data: bytes, before: int) -> str:
    """What of ``data`` stands in the Base64 of anything that holds it behind so many bytes (0, 1 or 2 of three)."""
    first, last = inside_base64(before, len(data))
    return base64.b64encode(bytes(before) + data).decode("ascii")[first:last]


# -- the secrets of the run that is under way --------------------------------------------------------------------------

_NONE: Final = Secrets()
_here = threading.local()


def current() -> Secrets:
    """The secrets of the run that this thread is in; outside of runs there are none. Only to be read."""
    found: Secrets = getattr(_here, "secrets", _NONE)
    return found


@contextmanager
def running(secrets: Secrets) -> Iterator[None]:
    """Makes ``secrets`` those of this thread."""
    before = current()
    _here.secrets = secrets
    try:
        yield
    finally:
        _here.secrets = before
