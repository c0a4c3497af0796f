"""Metadata of io.vetro.lifecycle that can never work."""

from __future__ import annotations

import pytest

from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes

HEAD = "Namespaces: {=: t, std: io.murano, l: io.vetro.lifecycle}\nName: Main\nExtends: std:Object\n"
PROPERTIES = "Properties: {port: {Contract: $.int()}, server: {Contract: $.class(std:Object)}}\n"


def findings(meta: str = "[]", method: str = "", require: bool = True) -> list[tuple[int, str, str]]:
    text = f"{HEAD}Meta: {meta}\n{PROPERTIES}"
    text += f"Methods: {{m: {{{method}, Body: [Return: true]}}}}\n" if method else ""
    manifest = {"name": "t", "format": "1.4", "classes": {"t.Main": text}}
    if require:
        manifest["require"] = {"io.vetro": "1"}
    found = check_classes(memory_package(manifest))
    return [(p.place.line, p.code, p.message) for p in found if p.severity == "error"]


@pytest.mark.parametrize(
    "meta",
    [
        "{l:Health: {kind: http, port: port, path: /health, expect: [200, 204], every: 30, grace: 120}}",
        "[l:Health: {kind: tcp, port: 5432, on: server}, l:Health: {name: b, kind: tcp, port: 22}]",
        "{l:Health: {name: replication, kind: command, run: 'pg_isready -q', on: server, every: 60}}",
        "{l:Health: {kind: command, run: 'true'}}",
        "{l:Health: {kind: https}}",
    ],
)
def test_checks_that_can_be_made(meta: str) -> None:
    assert findings(meta) == []


@pytest.mark.parametrize(
    ("meta", "code", "message"),
    [
        ("{kind: tcp}", "CHK105", "a check of kind tcp needs 'port'"),
        ("{kind: tcp, port: prt}", "CHK105", "'port' of a check names no property of the class: 'prt'"),
        ("{kind: tcp, port: 1, on: sever}", "CHK105", "'on' of a check names no property of the class: 'sever'"),
        ("{kind: http, path: health}", "CHK105", "'path' of a check names no property of the class: 'health'"),
        ("{kind: command, every: 60}", "CHK105", "a check of kind command needs 'run'"),
        ("{kind: http, run: 'true'}", "CHK105", "only a check of kind command has 'run'"),
        ("{kind: command, run: 'true', every: 59}", "CHK105", "a check of kind command is made every 60 seconds"),
        ("{kind: udp}", "MPL200", ""),
        ("{kind: tcp, port: 70000}", "MPL200", ""),
        ("{kind: tcp, port: 1, every: 9}", "MPL200", ""),
    ],
)
def test_checks_that_can_never_be_made(meta: str, code: str, message: str) -> None:
    ((line, found, said),) = findings(f"{{l:Health: {meta}}}")
    assert (line, found) == (4, code) and said.startswith(message)


@pytest.mark.parametrize(
    "meta", ["l:HealthCheck", "{l:HealthCheck: {every: 600, grace: 0}}", "{l:Power: {on: restart}}"]
)
def test_methods_that_the_service_calls_need_no_arguments(meta: str) -> None:
    meta, said = f"Meta: {meta}", "method 'm' is called without arguments, on an object"
    optional, needed = "{Contract: $.int(), Default: 1}", "{Contract: $.int()}"
    assert findings(method=meta) == findings(method=f"{meta}, Arguments: [x: {optional}]") == []
    for more in (f"Arguments: [x: {needed}]", "Usage: Static"):
        ((line, code, message),) = findings(method=f"{meta}, {more}")
        assert (line, code, message) == (6, "CHK105", said)
    for refused in ("{l:HealthCheck: {every: 299}}", "{l:Power: {on: never}}"):
        ((_, code, _),) = findings(method=f"Meta: {refused}")
        assert code == "MPL200"


def test_whoever_does_not_require_the_package_does_not_see_it() -> None:
    ((_, code, message),) = findings("{l:Health: {kind: https}}", require=False)
    assert code == "MPL300" and "io.vetro.lifecycle.Health" in message
