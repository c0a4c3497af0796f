"""Every route that there is, found in the URL configuration itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver


@dataclass(frozen=True, order=True)
class Route:
    """One method of one address; ``path`` has ``{name}`` where something varies."""

    path: str
    method: str

    @property
    def names(self) -> tuple[str, ...]:
        """What varies in the address."""
        return tuple(part.partition("}")[0].rstrip("*") for part in self.path.split("{")[1:])

    def at(self, values: dict[str, str]) -> str:
        """The address with these values."""
        path = self.path.replace("*}", "}")
        for name in self.names:
            path = path.replace("{" + name + "}", quote(values[name], safe="/"))
        return path

    @property
    def door(self) -> str:
        """``v1``, ``v2``, ``pages`` or ``others``."""
        return {"v1": "v1", "v2": "v2", "app": "pages"}.get(self.path.split("/")[1], "others")


@cache
def routes() -> list[Route]:
    """All of them, sorted."""
    return sorted({*_v1(), *_v2(), *_others()})


def _v1() -> Iterator[Route]:
    from vetro.server.api.v1 import endpoints, routing

    assert endpoints is not None
    for (method, length), rows in routing._routes.items():
        for fixed, named, *_ in rows:
            parts = {**dict(fixed), **{place: "{" + name + "}" for place, name in named}}
            yield Route("/v1/" + "/".join(parts[place] for place in range(length)), method)
    for method, segments, *_ in routing._open_routes:
        yield Route("/v1/" + "/".join(segments), method)


@cache
def described() -> dict[str, Any]:
    """The description of /v2, which takes seconds to make: nothing asks for it while tests are collected."""
    from vetro.server.api.v2.api import api

    return api.get_openapi_schema()


def operations() -> Iterator[tuple[Route, dict[str, Any]]]:
    """Routes of /v2 with their description."""
    for path, methods in described()["paths"].items():
        for method, about in methods.items():
            yield Route(path, method.upper()), about


def _v2() -> Iterator[Route]:
    for route, _ in operations():
        yield route


def _others() -> Iterator[Route]:
    """Routes of Django. Those of /v2 are in its description, or only GET."""
    described = {route.path for route in _v2()}
    for path, view in _walk(get_resolver(), "/"):
        if path in described or path.startswith("/v1"):
            continue
        for method in getattr(view, "vetro_methods", ("GET",)):
            yield Route(path, method)


def _walk(resolver: URLResolver, before: str) -> Iterator[tuple[str, Any]]:
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from _walk(one, before + str(one.pattern))
        elif isinstance(one, URLPattern):
            path = before + str(one.pattern)
            if "(?P<rest>" in path or ".*" in path:  # what is nowhere
                continue
            path = path.replace("<", "{").replace(">", "}")
            for kind in ("str", "int", "path", "slug", "uuid"):
                path = path.replace("{" + kind + ":", "{")
            yield path, one.callback
