"""The languages of the service: `translated` says a message in the language of the page, `compiled` is for gettext.

Texts of pages are in ``locale/*/LC_MESSAGES/django.po`` beside this file, templates of messages in ``messages.po``.

The source holds text only, so nobody needs gettext's programs, neither in a checkout nor to build a wheel; the binary
form is a cache in the data directory.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import shutil
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import get_language, override

from vetro.diagnostics import AuthorText, Text

SOURCE = Path(__file__).parent / "locale"
_LINE = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d)\])?\s+)?(".*")')
_MAGIC = 0x950412DE


def compiled(data: Path, source: Path = SOURCE) -> Path | None:
    """The folder for ``LOCALE_PATHS``, made in ``data`` where it is missing; None where nothing can be written there.

    Pages are English then. Copies of other versions are removed.
    """
    texts = {path.relative_to(source): path.read_bytes() for path in sorted(source.glob("*/LC_MESSAGES/django.po"))}
    digest = hashlib.sha256(b"\0".join(bytes(path) + b"\0" + text for path, text in texts.items())).hexdigest()[:16]
    folder = data / "locale" / digest
    if folder.is_dir():
        return folder
    draft = data / "locale" / f".{digest}.{os.getpid()}"
    try:
        # The data directory is for its owner only, whoever comes first.
        data.mkdir(parents=True, exist_ok=True, mode=0o700)
        for path, text in texts.items():
            target = (draft / path).with_suffix(".mo")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(binary(read(text.decode())))
        try:
            draft.rename(folder)
        except OSError:
            shutil.rmtree(draft, ignore_errors=True)
            if not folder.is_dir():
                raise
        for old in folder.parent.iterdir():
            if old != folder and not old.name.startswith("."):
                shutil.rmtree(old, ignore_errors=True)
    except OSError:
        return None
    return folder


def read(text: str) -> dict[str, str]:
    """Entries of a .po file: message (``context\\4message``, ``singular\\0plural``) -> translation (``one\\0many``).

    Entries without a translation are left out. Raises `ValueError` for a line that is none of the format's.
    """
    found: dict[str, str] = {}
    entry: dict[str, str] = {}
    key = ""
    for number, line in enumerate([*text.splitlines(), 'msgid ""'], 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} is no line of a .po file: {line}")
        word, form, quoted = match.groups()
        if word is not None:
            if word == "msgctxt" or (word == "msgid" and "msgstr0" in entry):
                _add(found, entry)
                entry = {}
            key = f"msgstr{form or 0}" if word == "msgstr" else word
            entry[key] = ""
        entry[key] += ast.literal_eval(quoted)
    return found


def _add(found: dict[str, str], entry: dict[str, str]) -> None:
    forms = [entry[key] for key in sorted(entry) if key.startswith("msgstr")]
    if all(forms):
        message = "\0".join(filter(None, (entry["msgid"], entry.get("msgid_plural"))))
        found[f"{entry['msgctxt']}\4{message}" if "msgctxt" in entry else message] = "\0".join(forms)


def binary(entries: dict[str, str]) -> bytes:
    """The .mo file of these entries: a header, two tables of (length, offset), the texts."""
    pairs = sorted((message.encode(), text.encode()) for message, text in entries.items())
    tables, texts = [], b""
    start = 28 + 16 * len(pairs)
    for column in zip(*pairs):
        table, texts = _table(column, texts, start)
        tables.append(table)
    header = struct.pack("<7I", _MAGIC, 0, len(pairs), 28, 28 + 8 * len(pairs), 0, start)
    return header + b"".join(tables) + texts


def _table(column: Iterable[bytes], texts: bytes, start: int) -> tuple[bytes, bytes]:
    table = b""
    for text in column:
        table += struct.pack("<2I", len(text), start + len(texts))
        texts += text + b"\0"
    return table, texts


# -- messages ----------------------------------------------------------------------------------------------------------


def translated(text: str | None) -> str:
    """A `Text` or an `AuthorText` in the language of the page, with those in it. Other texts stay as they are; empty
    for None."""
    language = reader_language()
    if isinstance(text, AuthorText):
        return _of_author(text, language)
    if not isinstance(text, Text):
        return text or ""
    entries = _entries(language)
    return str.__str__(text) if entries is None else _translated(text, entries, language)


def reader_language() -> str:
    """The language of the page, without its country: ``en``."""
    return (get_language() or "en").partition("-")[0]


def _of_author(text: AuthorText, language: str) -> str:
    return text.translations.get(language) or str.__str__(text)


def translator() -> Callable[[str], str]:
    """`translated` in the language that is in force now, for what is said later: in the middle of an answer."""
    language = get_language()

    def said(text: str) -> str:
        with override(language):
            return translated(text)

    return said


def translated_data(data: Any) -> Any:
    """Plain data with its messages in the language of the reader."""
    if isinstance(data, (Text, AuthorText)):
        return translated(data)
    if isinstance(data, Mapping):
        return {key: translated_data(value) for key, value in data.items()}
    return [translated_data(item) for item in data] if isinstance(data, (list, tuple)) else data


def _translated(text: Text, entries: Mapping[str, str], language: str) -> str:
    values = {}
    for name, value in text.values.items():
        if isinstance(value, Text):
            value = _translated(value, entries, language)
        elif isinstance(value, AuthorText):
            value = _of_author(value, language)
        values[name] = value
    said = entries.get(_key(text.template), text.template).format_map(values)
    # A value of ours that begins a sentence is written for any place in one.
    return said[:1].upper() + said[1:] if text[:1].isupper() or _begins(text) else said


def _begins(text: Text) -> bool:
    name = text.template[1:].partition("}")[0] if text.template.startswith("{") else ""
    return isinstance(text.values.get(name), Text) and any(map(str.isalpha, text.template.partition("}")[2]))


@cache
def _entries(language: str) -> Mapping[str, str] | None:
    path = messages_of(language)
    if not language.isalpha() or not path.is_file():
        return None
    return {_key(template): text for template, text in read(path.read_text("utf-8")).items() if template}


def messages_of(language: str) -> Path:
    """The file with the templates of messages in a language."""
    return SOURCE / language / "LC_MESSAGES" / "messages.po"


def _key(template: str) -> str:
    """A template as it is looked up: sentences, and what stands in sentences, have the same translation."""
    return template[:1].lower() + template[1:].removesuffix(".")
