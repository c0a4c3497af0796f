"""Bodies as JSON, strictly: what no database holds and no client can read back is refused at the door."""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest
from ninja.parser import Parser

from vetro.server.environments.limits import check_parts
from vetro.server.errors import Invalid


class StrictParser(Parser):
    """Reads JSON bodies. Whoever asks for one with `body_of` gets `Invalid` with the reason."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The body, read before by `body_of`."""
        return body_of(request)


def body_of(request: HttpRequest) -> Any:
    """The body of a request as JSON. Raises `Invalid`: no JSON, numbers that are none, U+0000, half surrogates."""
    known = request.META.get("vetro.body", _UNREAD)
    if known is not _UNREAD:
        return known
    text = request.body
    check_parts(text, "The body")
    try:
        # As text: of bytes it would guess the encoding, and take halves of surrogate pairs.
        value = json.loads(text.decode("utf-8-sig"), parse_constant=_no_number)
    except RecursionError:
        raise Invalid("The body is nested too deeply.") from None
    except ValueError as error:
        raise Invalid(f"The body is no JSON: {str(error)[:200]}") from None
    check_storable(text, value)
    request.META["vetro.body"] = value
    return value


_UNREAD = object()


def check_storable(body: bytes, value: Any) -> None:
    """Raises `Invalid` where texts in a value, which was made of this JSON, are such that no database holds them."""
    lowered = body.lower()
    if b"\\u0000" not in lowered and b"\\ud" not in lowered:
        return
    text = json.dumps(value, ensure_ascii=False)
    if "\\u0000" in text and _has_nul(value):
        raise Invalid("The body holds the character U+0000, which cannot be stored.")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise Invalid("The body holds half of a surrogate pair, which cannot be stored.") from None


def _has_nul(value: Any) -> bool:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            if "\0" in item:
                return True
        elif isinstance(item, dict):
            stack.extend(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return False


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number")
