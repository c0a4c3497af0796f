"""`Routes`: how endpoints of /v2 are declared: path, id, policy rule, what they take and give."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, TypeAlias, TypeVar

from django.http import HttpRequest
from ninja import Router
from ninja.responses import Status

from vetro.server.api.v2.access import Takes, access, check_body
from vetro.server.api.v2.shapes import Failure
from vetro.server.errors import TooLarge

F = TypeVar("F", bound=Callable[..., Any])
#: What endpoints return that say their status.
Answer: TypeAlias = Status[Any]
#: What OpenAPI says of the errors that every endpoint may answer. The API answers them itself (`failures`); as answers
#: of each endpoint they would cost a thousand models at every start.
_FAILURES = {
    status: {
        "description": HTTPStatus(status).phrase,
        "content": {"application/json": {"schema": {"$ref": f"#/components/schemas/{Failure.__name__}"}}},
    }
    for status in (400, 401, 403, 404, 408, 409, 413, 415, 429, 503)
}
_BODY = frozenset({"POST", "PUT", "PATCH"})
#: Bytes of a body of somebody who is not known.
_SMALL = 65_536


class _Anybody:
    """Lets everybody in, with a small body of the right type."""

    def __init__(self, takes: Takes) -> None:
        self._takes = takes

    def __call__(self, request: HttpRequest) -> bool:
        # One in chunks counts as the largest there may be (`http.request_bodies`).
        if int(request.META.get("CONTENT_LENGTH") or 0) > _SMALL:
            text = f"The body has at most {_SMALL:,} bytes here, and Content-Length says how many."
            raise TooLarge(text)
        check_body(request, self._takes)
        return True


class Routes:
    """The endpoints of one area. ``router`` goes into the API."""

    def __init__(self, tag: str) -> None:
        self.router = Router(tags=[tag])

    def add(
        self,
        method: str,
        path: str,
        id: str,
        rule: str | None,
        gives: Any = None,
        *,
        status: int = 200,
        takes: Takes | None = None,
        extra: dict[str, Any] | None = None,
    ) -> Callable[[F], F]:
        """Declares an endpoint. ``id``: its stable name in OpenAPI. ``rule``: of the policy, '' for everybody who is
        signed in, None for everybody.

        ``gives``: the schema of the answer, None for an empty one. ``takes``: the type of the body (JSON where
        the function has a parameter ``given``). ``extra`` goes into
        its description.
        """
        about = {**(extra or {}), **({"x-policy-rule": rule} if rule else {})}
        about["responses"] = {**_FAILURES, **about.get("responses", {})}

        def register(function: F) -> F:
            bodied = method in _BODY and "given" in inspect.signature(function).parameters
            kind: Takes = takes if takes is not None else "json" if bodied else ""
            auth = [_Anybody(kind)] if rule is None else access(rule, kind)
            operation = self.router.api_operation(
                [method],
                path,
                auth=auth,
                operation_id=id,
                response={status: gives},
                openapi_extra=about,
                by_alias=True,
                summary=_words(id),
            )
            return operation(function)

        return register


def created(value: Any) -> Answer:
    """Something new is there."""
    return Status(201, value)


def accepted(value: Any) -> Answer:
    """It was begun; a task does it."""
    return Status(202, value)


def nothing() -> Answer:
    """It is done, there is nothing to say."""
    return Status(204, None)


def _words(id: str) -> str:
    """`listEnvironments` as "List environments"."""
    text = "".join(f" {c.lower()}" if c.isupper() else c for c in id)
    return text[:1].upper() + text[1:]
