"""What there is to watch of a model."""

from __future__ import annotations

from typing import Any

import pytest

from tests.server.watch.world import (
    TYPE,
    app,
    instance,
    model,
)
from vetro.server.watch import targets

pytestmark = pytest.mark.django_db


def found(*apps: Any, **declared: Any) -> list[targets.Component]:
    return list(targets.components(model(*apps), lambda classes: declared.get("classes", {})))


def test_components_are_applications_with_servers_their_own_or_those_they_lie_on() -> None:
    host = app("host", instance("i1"), instance("i2", "db"))
    guest = app("guest", server="i2", password="i3")
    one, two = found(host, guest, app("nothing", url="http://10.0.0.1/"))
    assert (one.id, one.name, one.servers) == ("host", "the host", {"c-i1": "web", "c-i2": "db"})
    assert (two.id, two.servers) == ("guest", {"c-i2": "db"})


def test_what_is_no_server_and_what_was_never_made_is_not_watched() -> None:
    volume = {"?": {"id": "v", "type": "io.murano.resources.CinderVolume"}, "openstackId": "x", "size": 1}
    assert found(app("a", volume, instance("i", openstackId=None))) == []
    assert list(targets.components({}, lambda classes: {})) == []


def guesses(obj: dict[str, Any], **more: Any) -> list[tuple[str, str, str]]:
    (one,) = targets.components(model(obj), lambda classes: {}, **more)
    return [(guess["name"], guess["path"], guess["on"]) for guess in one.guesses]


def test_addresses_in_properties_are_asked_of_the_server_that_has_them_and_few() -> None:
    one, two = instance("i", ipAddresses=["10.0.0.5"]), instance("j", ipAddresses=[], floatingIpAddress="fd00::1")
    found = guesses(app("a", one, two, url="http://10.0.0.5:80/x", at=["[fd00::1]:22", "see http://a", "x" * 9000]))
    assert set(found) == {("http://10.0.0.5:80", "/x", "c-i"), ("tcp://[fd00::1]:22", "/", "c-j")}
    assert len(guesses(app("a", one, many=[f"http://10.0.0.5:{n}/" for n in range(1, 500)]))) == 8


@pytest.mark.attack("secrets", "H7")
def test_guesses_are_named_by_own_addresses_only_and_no_secret_is_among_them() -> None:
    """A reader learned a webhook, a password in an address and a token in a path as the names of checks."""
    own = instance("i", ipAddresses=["10.0.0.5"])
    kept = {"apiToken": "10.0.0.5:1", "hook": {"password": "10.0.0.5:2"}, "declared": "10.0.0.5:3"}
    urls = {"a": "https://hooks.example.com/T0/TOKEN", "b": "http://u:pw@10.0.0.5:4/TOKEN?k=TOKEN", "c": "10.9.9.9:5"}
    found = guesses(app("a", own, **kept, **urls), secrets=lambda type_text: frozenset({"declared"}))
    assert [name for name, _, _ in found] == ["http://10.0.0.5:4"]


@pytest.mark.attack("quotas", "H4")
def test_servers_that_do_not_exist_make_no_more_probes_than_an_environment_has() -> None:
    """60 components with 200 invented servers each made 96,000 probes."""
    urls = [f"http://10.0.0.5:{n}/" for n in range(1, 9)]
    many = [
        app(f"a{c}", *(instance(f"i{c}.{n}", "n" * 999, ipAddresses=["10.0.0.5"]) for n in range(200)), url=urls)
        for c in range(60)
    ]
    health = {TYPE: {"health": [{"kind": "tcp", "port": n} for n in range(1, 60)]}}
    for declared in ({}, health):
        found = list(targets.components(model(*many), lambda classes, declared=declared: declared))
        probes = sum(len(one.guesses) + sum(len(check["on"]) for check in one.checks) for one in found)
        assert 0 < probes <= 100
        assert sum(len(one.servers) for one in found) <= 2000
        assert max(len(name) for one in found for name in one.servers.values()) == 255


@pytest.mark.attack("database", "H2")
@pytest.mark.parametrize("id", ["x" * 256, "nul\0", "half \ud800"])
def test_ids_that_a_database_refuses_are_kept_as_digests(id: str) -> None:
    (one,) = found(app(id, instance("i", id), instance("j", cloud=id)))
    assert one.id.startswith("sha256:") and len(one.id) < 80 and list(one.servers) == ["c-i"]
    assert all(name.isprintable() and name.encode() and len(name) <= 255 for name in one.servers.values())
    (told,) = checks(app(id, instance("i")), {"kind": "tcp", "port": 1, "name": id})
    assert told["object"] == one.id and told["name"].isprintable() and told["name"].encode()
    ordinary = found(app("é 1", instance("i")))[0]
    assert ordinary.id == "é 1"


def checks(obj: dict[str, Any], *health: dict[str, Any]) -> list[dict[str, Any]]:
    (one,) = found(obj, classes={TYPE: {"health": list(health)}})
    return [dict(check) for check in one.checks]


def test_declared_checks_take_values_of_the_object() -> None:
    told = {"kind": "http", "port": "port", "path": "page", "expect": [200], "every": 60, "grace": 5, "on": "server"}
    obj = app("a", instance("i"), instance("j"), port=8080, page="/up", server="j")
    assert checks(obj, told) == [
        {"object": "a", "name": "http 8080", "kind": "http", "on": ["c-j"], "port": 8080, "path": "/up",
         "expect": [200], "every": 60, "grace": 5}
    ]  # fmt: skip
    (plain,) = checks(obj, {"kind": "https", "name": "page"})
    assert (plain["port"], plain["path"], plain["on"], plain["name"]) == (443, "/", ["c-i", "c-j"], "page")


@pytest.mark.parametrize("port", [None, "x", 0, 70000, True, -1, 1.5, [80]])
def test_a_check_whose_values_make_no_sense_is_not_made(port: Any) -> None:
    assert checks(app("a", instance("i"), port=port), {"kind": "tcp", "port": "port"}) == []
    assert checks(app("a", instance("i")), {"kind": "command", "run": port if isinstance(port, list) else ""}) == []


def test_commands_and_methods_name_the_objects_that_are_asked() -> None:
    told = {"kind": "command", "run": "pg_isready", "on": "server", "every": 30, "grace": 5}
    methods = [{"name": "lag", "every": 10, "grace": 0}]
    obj = app("a", instance("i"), instance("j"), server="j")
    (one,) = found(obj, classes={TYPE: {"health": [told], "methods": methods}})
    assert [dict(check) for check in one.checks] == [
        {"object": "a", "name": "pg_isready", "kind": "command", "on": ["c-j"], "machines": {"c-j": "j"},
         "run": "pg_isready", "every": 60, "grace": 5},
        {"object": "a", "name": "lag", "kind": "method", "on": [], "id": "a", "method": "lag",
         "every": 300, "grace": 0},
    ]  # fmt: skip


def test_checks_have_a_bound_for_a_component_and_for_an_environment() -> None:
    health = {TYPE: {"health": [{"kind": "tcp", "port": n} for n in range(1, 60)]}}
    many = found(*[app(f"a{n}", instance(f"i{n}")) for n in range(9)], classes=health)
    assert [len(one.checks) for one in many] == [20] * 5 + [0] * 4
    methods = {TYPE: {"methods": [{"name": f"m{n}"} for n in range(10_000)]}}
    many = found(*[app(f"a{n}", instance(f"i{n}")) for n in range(9)], classes=methods)
    assert [len(one.checks) for one in many] == [20] * 5 + [0] * 4
