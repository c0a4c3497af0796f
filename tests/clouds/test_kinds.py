"""Kinds of clouds: found by entry points, chosen by rank, named where they cannot be used; no code asks for names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import vetro
from vetro.clouds import kinds
from vetro.clouds.kind_protocols import Capabilities, Lack, Place
from vetro.clouds.stacks.kind import DriverKind
from vetro.clouds.stacks.settings import SettingInvalid, StackSettings

SOURCE = Path(str(vetro.__file__)).parent


@dataclass(frozen=True, slots=True)
class MoonSettings(StackSettings):
    rocket: str = ""


class MoonKind(DriverKind[MoonSettings]):
    name = "moon"
    title = "servers are on the moon"
    settings = MoonSettings
    rank = 1

    def driver(self, settings: MoonSettings, place: Place) -> Any:
        raise AssertionError("no test opens one")

    def capabilities(self, settings: MoonSettings) -> Capabilities:
        return Capabilities(executes=True, walls="full", agents="none")

    def lacks(self, settings: MoonSettings, place: Place) -> Lack | None:
        return None if settings.rocket else Lack("there is no rocket", "build one")


MOON = MoonKind()
NO_KIND = object()


class Distribution:
    def __init__(self, name: str) -> None:
        self.name = name


def point(name: str, value: str, distribution: str) -> EntryPoint:
    found = EntryPoint(name, value, kinds.GROUP)
    vars(found)["dist"] = Distribution(distribution)
    return found


Register = Callable[..., None]


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Iterator[Register]:
    """Adds entry points to those that are installed."""
    real = kinds.entry_points(group=kinds.GROUP)

    def add(*points: EntryPoint) -> None:
        monkeypatch.setattr(kinds, "entry_points", lambda group: [*real, *points])
        kinds._registered.cache_clear()

    yield add
    kinds._registered.cache_clear()


def test_three_kinds_come_with_vetro() -> None:
    assert {"nspawn", "proot", "record"} <= set(kinds.names())
    assert [kind.name for kind in kinds.ranked()] == ["nspawn", "proot", "record"]
    for name in ("nspawn", "proot", "record"):
        kind = kinds.find(name)
        assert kind.name == name and kind.capabilities(None).executes is (name != "record")


def test_another_distribution_brings_one(register: Register, tmp_path: Path) -> None:
    register(point("moon", f"{__name__}:MOON", "vetro-moon"))
    assert kinds.find("moon").title == "servers are on the moon"
    assert kinds.choose(Place(directory=tmp_path), settings={}).name != "moon"
    with pytest.raises(kinds.KindMissing, match="'moon' do not work here: there is no rocket") as caught:
        kinds.choose(Place(directory=tmp_path), wanted="moon")
    assert caught.value.hint == "build one"
    assert kinds.choose(Place(directory=tmp_path), wanted="moon", settings={"rocket": "yes"}).name == "moon"
    with pytest.raises(SettingInvalid, match="no setting 'roket'"):
        kinds.choose(Place(directory=tmp_path), wanted="moon", settings={"roket": "yes"})


def test_the_choice_says_why_none_with_a_lower_rank(register: Register, tmp_path: Path) -> None:
    register(point("moon", f"{__name__}:MOON", "vetro-moon"))
    choice = kinds.choose(Place(directory=tmp_path))
    assert "no moon: there is no rocket" in choice.why and choice.hint == "build one"


def test_two_distributions_with_one_name_are_both_out_of_use(register: Register) -> None:
    register(point("moon", f"{__name__}:MOON", "vetro-moon"), point("moon", "other:KIND", "moonshine"))
    with pytest.raises(kinds.KindMissing, match="moonshine and vetro-moon both bring clouds of kind 'moon'"):
        kinds.find("moon")
    assert "moon" not in [kind.name for kind in kinds.usable()]
    assert kinds.find("record").name == "record"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("no.such.module:KIND", "cannot be loaded from vetro-moon: No module named 'no'"),
        (f"{__name__}:NO_KIND", "of vetro-moon is no kind of clouds named 'sun'"),
        (f"{__name__}:MOON", "of vetro-moon is no kind of clouds named 'sun'"),
    ],
)
def test_a_kind_that_does_not_work_is_an_error_for_who_asks(register: Register, value: str, words: str) -> None:
    register(point("sun", value, "vetro-moon"))
    with pytest.raises(kinds.KindMissing, match=words) as caught:
        kinds.find("sun")
    assert caught.value.code == "CLD104"
    assert "sun" in kinds.names() and "sun" not in [kind.name for kind in kinds.usable()]


def test_a_missing_kind_is_named_with_what_there_is_and_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(kinds.KindMissing, match=r"no cloud of kind 'mars'; there are .*nspawn.*record"):
        kinds.find("mars")
    record = kinds._registered()["record"]
    monkeypatch.setattr(kinds, "_registered", lambda: {"record": record})
    with pytest.raises(kinds.KindMissing) as caught:
        kinds.find("openstack")
    assert caught.value.hint == "install vetro-openstack: pip install 'vetro[openstack]'; script/setup in a checkout"


@pytest.mark.parametrize(
    ("kind", "driver", "name"),
    [
        ("", "", ""), ("auto", "", ""), ("local", "", ""), ("local", "auto", ""),
        ("local", "nspawn", "nspawn"), ("auto", "proot", "proot"), ("record", "", "record"),
        ("openstack", "nspawn", "openstack"), ("module:function", "", "module:function"),
    ],
)  # fmt: skip
def test_settings_of_earlier_versions_mean_what_they_meant(kind: str, driver: str, name: str) -> None:
    assert kinds.named(kind, driver) == name


#: Files in which a word that is the name of a kind, too, stands for something else.
OTHER_MEANINGS = {
    "clouds/kind_protocols.py": {"record"},  # how much of volumes a cloud has
    "clouds/drivers/needs.py": {"record"},
    "clouds/stacks/types/volumes.py": {"record"},
    "clouds/drivers/tools.py": {"proot"},  # a program
    "server/procedures/migrations/0001_initial.py": {"record"},  # what the reducer knows of a procedure
    "library/natives/services.py": {"openstack"},  # a name of Murano's
}


def test_kinds_of_plugins_import_what_kinds_may_import() -> None:
    """Also kinds of our own plug-ins: what they can do without the core's inside, those of others can do."""
    places = ("interface", "kind_protocols", "messages", "drivers", "guest", "images", "open_ports", "stacks", "waits")
    clouds = (f"clouds.{name}" for name in places)
    allowed = tuple(f"vetro.{name}." for name in (*clouds, "diagnostics", "library.stackdata", "yaql.didyoumean"))
    found = []
    for plugin in ("vetro-openstack", "vetro-toy"):
        files = sorted((SOURCE.parents[1] / "plugins" / plugin / "src").rglob("*.py"))
        assert files
        for file in files:
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    modules = [node.module or ""]
                else:
                    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                mine = [f"{name}." for name in modules if name.split(".")[0] == "vetro"]
                found += [f"{plugin}/{file.name}: {name}" for name in mine if not name.startswith(allowed)]
    assert not found


def test_nothing_asks_for_a_kind_by_its_name() -> None:
    names = {"nspawn", "proot", "record", "openstack"}
    found = []
    for file in sorted(SOURCE.rglob("*.py")):
        place = file.relative_to(SOURCE).as_posix()
        if place == "clouds/kinds.py" or place.startswith(tuple(f"clouds/{name}/" for name in names)):
            continue
        allowed = OTHER_MEANINGS.get(place, set())
        text = file.read_text("utf-8")
        if not any(f'"{name}"' in text for name in names):  # parsing all of the source takes seconds
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and node.value in names and node.value not in allowed:
                found.append(f"{place}:{node.lineno}: {node.value}")
    assert not found, "ask for what the cloud can do (Capabilities), not for the name of its kind"
