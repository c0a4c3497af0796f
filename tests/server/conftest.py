"""What tests of the service share: projects, people with tokens, clients that send them."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest
from django.test import Client

from tests.server.layers import Layers, People, layer, layers_of
from vetro.server.caller import Caller


class Person:
    """Somebody with a token: requests go out with it, `caller` is for calling rules directly."""

    def __init__(self, caller: Caller, token: str) -> None:
        self.caller = caller
        self.token = token
        self._client = Client(headers={"x-auth-token": token})

    def request(self, method: str, path: str, json: Any = None, **more: Any) -> Any:
        """A response of the service; its ``json()`` is the body."""
        if json is not None:
            more.setdefault("content_type", "application/json")
            more["data"] = json
        elif method.upper() == "POST" and "data" not in more:  # without body, where Django sends an empty form
            more = {"content_type": "application/json", **more, "data": ""}
        return getattr(self._client, method.lower())(path, **more)

    def get(self, path: str, **more: Any) -> Any:
        return self.request("GET", path, **more)

    def post(self, path: str, json: Any = None, **more: Any) -> Any:
        return self.request("POST", path, json, **more)

    def put(self, path: str, json: Any = None, **more: Any) -> Any:
        return self.request("PUT", path, json, **more)

    def patch(self, path: str, json: Any = None, **more: Any) -> Any:
        return self.request("PATCH", path, json, **more)

    def delete(self, path: str, **more: Any) -> Any:
        return self.request("DELETE", path, **more)


def person(name: str, project: str = "demo", role: str = "member") -> Person:
    """Somebody new, with this role in the project of this name."""
    from vetro.server.accounts.authentication import digest_of
    from vetro.server.accounts.models import Membership, Project, Token, User

    found, _ = Project.objects.get_or_create(name=project)
    user = User.objects.create(username=name)
    Membership.objects.create(user=user, project=found, role=role)
    token = secrets.token_urlsafe(24)
    kept = Token.objects.create(user=user, project=found, digest=digest_of(token), prefix=token[:6])
    caller = Caller(user.id, name, found.id, project, (role,), role == "admin", kept.id)
    return Person(caller, token)


#: The layers of this run and what lets them reach the database, while there are any.
_LAYERS = pytest.StashKey[tuple[Layers, Any]]()


@pytest.fixture(scope="session")
def layers(request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: Any) -> Iterator[Layers]:
    """What tests share of the database (`tests.server.layers`)."""
    layers = Layers(person, lambda one: Person(one.caller, one.token))
    request.config.stash[_LAYERS] = layers, django_db_blocker
    yield layers
    del request.config.stash[_LAYERS]
    with django_db_blocker.unblock():
        layers.align([])


@pytest.fixture
def _layers_of_test(request: pytest.FixtureRequest, layers: Layers, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        layers.align(layers_of(request.node))


@pytest.fixture
def _django_db_helper(_layers_of_test: None, _django_db_helper: None) -> None:
    """That of pytest-django, whose transaction of a test begins above its layers."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """Rolls back layers that the next test does not have."""
    yield
    if nextitem is not None and (found := item.config.stash.get(_LAYERS, None)):
        layers, blocker = found
        with blocker.unblock():
            layers.align(layers_of(nextitem), making=False)


@pytest.fixture
def people(db: None, layers: Layers) -> Callable[..., Person]:
    """Makes people: ``people("ann")``, ``people("root", "ops", "admin")``. Those of one project name share it."""
    return layers.people


@pytest.fixture
def ann(people: Callable[..., Person]) -> Person:
    """A member of project demo."""
    return people("ann")


@pytest.fixture
def bob(people: Callable[..., Person]) -> Person:
    """Another member of project demo."""
    return people("bob")


@pytest.fixture
def eve(people: Callable[..., Person]) -> Person:
    """A member of another project."""
    return people("eve", "others")


@pytest.fixture
def root(people: Callable[..., Person]) -> Person:
    """An administrator, in a project of her own."""
    return people("root", "operators", "admin")


@layer()
def installed(people: People) -> None:
    """The packages of the installation."""
    from vetro.server.catalog import standard_packages

    standard_packages.ensure()


@pytest.fixture
def drain(db: None) -> Callable[..., int]:
    """Runs the queued tasks here and now, each to its end; how many ran."""
    from vetro.server.tasks.worker import run_queued

    return run_queued
