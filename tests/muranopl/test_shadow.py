"""What ObjectsCopy holds is destroyed, whatever became of the classes since: nothing that was made is forgotten."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl.api import Engine
from vetro.muranopl.errors import MuranoError
from vetro.packages.memory import memory_package

HEAD = "Namespaces: {=: t}\n"
#: Says so when it goes; the version is that of its package.
SERVER = "Name: Server\nProperties: {inner: {Contract: $.class(Server)}}\nMethods: {.destroy: {Body: [trace('%s')]}}\n"
OWNER = "Name: App\nProperties: {%s}\n"

pytestmark = pytest.mark.attack("data", "D2")


def package(version: str, properties: str, name: str = "App", **classes: str) -> Any:
    texts = {f"t.{name}": HEAD + (OWNER % properties).replace("App", name), "t.Server": HEAD + SERVER % version}
    texts.update({f"t.{key}": HEAD + text for key, text in classes.items()})
    return memory_package({"name": "t", "version": version, "format": "1.4", "classes": texts})


def head(kind: str, id: str, version: str | None = None) -> dict[str, Any]:
    return {"type": f"t.{kind}" + (f"/{version}@t" if version else ""), "id": id}


def deploy(packages: list[Any], objects: Any, copy: Any) -> list[Any]:
    """What ran ``.destroy`` before a deployment."""
    traces: list[Any] = []
    session = Engine(packages=packages, functions={"trace": traces.append}).session()
    session.load({"Objects": objects, "ObjectsCopy": copy, "Attributes": []})
    session.cleanup()
    return traces


ONE = package("1.0.0", "server: {Contract: $.class(Server)}")
HELD = {"?": head("Server", "s", "1.0.0"), "inner": {"?": head("Server", "i", "1.0.0"), "inner": None}}
BEFORE = {"?": head("App", "a", "1.0.0"), "server": HELD}
NOW = {"?": head("App", "a", "2.0.0")}


@pytest.mark.parametrize(
    "properties",
    [
        "title: {Contract: $.string()}",
        "host: {Contract: $.class(Server)}",
        "server: {Contract: $.string()}",
        "server: {Contract: $}",
        "server: {Contract: $.class(Server), Usage: Runtime}",
        "server: {Contract: $.class(Server), Usage: Static}",
        "server: {Contract: [$.class(Server)]}",
        "server: {Contract: $.class(Server)}",
    ],
)
def test_what_a_newer_version_has_no_place_for_is_destroyed_by_its_own_code(properties: str) -> None:
    two = package("2.0.0", properties)
    assert deploy([ONE, two], NOW, BEFORE) == ["1.0.0", "1.0.0"]


def upgraded(held: dict[str, Any]) -> dict[str, Any]:
    inner = held["inner"] and upgraded(held["inner"])
    return {"?": head("Server", held["?"]["id"], "2.0.0"), "inner": inner}


def test_objects_that_moved_to_another_property_stay() -> None:
    two = package("2.0.0", "host: {Contract: $.class(Server)}")
    assert deploy([ONE, two], {**NOW, "host": upgraded(HELD)}, BEFORE) == []
    assert deploy([ONE, two], {**NOW, "host": upgraded(HELD["inner"])}, BEFORE) == ["1.0.0"]


def test_lists_and_mappings_of_what_is_gone() -> None:
    one = package("1.0.0", "many: {Contract: [$.class(Server)]}, named: {Contract: {$.string(): $.class(Server)}}")
    two = package("2.0.0", "")
    copy = {**BEFORE, "many": [HELD], "named": {"x": {"?": head("Server", "n", "1.0.0"), "inner": None}}}
    del copy["server"]
    assert deploy([one, two], NOW, copy) == ["1.0.0"] * 3


def test_the_same_version_that_was_edited() -> None:
    edited = package("1.0.0", "title: {Contract: $.string()}")
    assert deploy([edited], {"?": head("App", "a")}, BEFORE) == ["1.0.0", "1.0.0"]


def test_a_version_that_is_gone_is_replaced_by_the_next_one() -> None:
    """The class that lacks the property is all there is of the app; of its servers, too."""
    newer = package("1.1.0", "title: {Contract: $.string()}")
    assert deploy([newer], {"?": head("App", "a", "1.1.0")}, BEFORE) == ["1.1.0", "1.1.0"]
    gone = {"?": head("App", "b", "1.1.0")}
    assert deploy([newer], gone, BEFORE) == ["1.1.0", "1.1.0"]


def test_a_property_that_holds_something_else_now_in_an_object_that_goes() -> None:
    newer = package("1.1.0", "server: {Contract: $.int()}")
    assert deploy([newer], {"?": head("App", "b", "1.1.0")}, BEFORE) == ["1.1.0", "1.1.0"]


def test_a_class_that_was_renamed_leads_to_what_it_owned() -> None:
    two = package("2.0.0", "", name="Application")
    now = {"?": head("Application", "a", "2.0.0")}
    assert deploy([ONE, two], now, BEFORE) == ["1.0.0", "1.0.0"]
    renamed = package("1.1.0", "", name="Application")  # nobody has t.App any more
    assert deploy([renamed], {"?": head("Application", "a", "1.1.0")}, BEFORE) == ["1.1.0", "1.1.0"]


def test_what_no_class_is_left_for_stops_the_deployment_by_name() -> None:
    other = package("1.1.0", "", name="Application")
    with pytest.raises(MuranoError, match=r"t\.App"):
        deploy([other], {"?": head("Application", "new", "1.1.0")}, BEFORE)
