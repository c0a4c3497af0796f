"""`Call`: one request to /v1 as its endpoint sees it; `Raw` and `InParts`: answers that are no plain data."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from typing import Any

from django.http import HttpRequest, QueryDict

from vetro.data_classes import dataclass
from vetro.server.api.v2.parsing import check_storable
from vetro.server.caller import Caller
from vetro.server.environments.limits import check_parts
from vetro.server.errors import Invalid, UnsupportedType


@dataclass(frozen=True, slots=True)
class Raw:
    """Bytes or text with a type of its own."""

    data: bytes | str
    content_type: str = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class InParts:
    """JSON in parts, of an answer that may be too large for memory."""

    parts: Iterable[bytes]


class Call:
    """``caller``: who asks; ``query``: parameters; ``session_id``: header X-Configuration-Session or ''."""

    def __init__(self, request: HttpRequest, caller: Caller) -> None:
        self.request = request
        self.caller = caller

    @property
    def query(self) -> QueryDict:
        """The parameters after ``?``."""
        return self.request.GET

    @property
    def session_id(self) -> str:
        """The session named by the header; '' when there is none."""
        return str(self.request.META.get("HTTP_X_CONFIGURATION_SESSION", ""))

    @cached_property
    def content_type(self) -> str:
        """Type of the body without parameters, in lower case."""
        return (self.request.META.get("CONTENT_TYPE") or "").partition(";")[0].strip().lower()

    def json(self, *types: str) -> Any:
        """The body as JSON. ``types``: media types it may have; without, application/json.

        Raises `UnsupportedType` for another type, `Invalid` for what is no JSON and for no body at all.
        """
        allowed = types or ("application/json",)
        if not self.content_type and not self.body:
            raise Invalid("The server could not comply with the request: it has no body.")
        if self.content_type not in allowed:
            raise UnsupportedType(
                f"the body must be of type {' or '.join(allowed)}, not '{self.content_type or 'none'}'"
            )
        return self.parsed()

    def parsed(self) -> Any:
        """The body as JSON, whatever its type says. Raises `Invalid`."""
        check_parts(self.request.body, "the body")
        try:
            value = json.loads(self.request.body, parse_constant=_no_number)
        except (ValueError, RecursionError):
            raise Invalid("Malformed request body") from None
        check_storable(self.request.body, value)
        return value

    @property
    def body(self) -> bytes:
        """The body as it came."""
        return self.request.body


def _no_number(text: str) -> Any:
    raise ValueError(text)
