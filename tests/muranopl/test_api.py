"""The public Python API: packages from anywhere, calls, models, limits, host code, types, independent sessions."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from vetro.muranopl import Engine, Limits, VirtualClock
from vetro.muranopl.errors import MethodNotExposed, MethodNotFound, ObjectNotFound, PackageForClassNotFound
from vetro.muranopl.objects.plain import describe
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.muranopl.tools.inspect import ArgumentDescription, inspect_class
from vetro.muranopl.types.native import NativeRegistry, method
from vetro.packages import load_path, memory_package
from vetro.yaql.errors import Cancelled, StepsExceeded
from vetro.yaql.values import thaw

BASE = """
Namespaces: {=: a}
Name: Base
Properties:
  title: {Contract: $.string(), Default: none}
Methods:
  hello:
    Scope: Public
    Body: {Return: hello}
"""
CLASS = """
Namespaces: {=: a, sys: io.murano.system}
Name: Main
Extends: Base
Properties:
  n: {Contract: $.int().notNull(), Usage: InOut, Default: 1}
  child: {Contract: $.class(Base)}
  port: {Contract: $.int(), Usage: Config, Default: 80}
  seen: {Contract: $, Usage: Runtime}
Methods:
  add:
    Scope: Public
    Arguments:
    - by: {Contract: $.int().notNull(), Default: 1}
    - rest: {Contract: $, Usage: VarArgs}
    Body: [{$.n: $.n + $by}, {Return: $.n}]
  secret: {Body: {Return: $.n}}
  port: {Body: {Return: $.port}}
  spin: {Body: {While: $.n > 0, Do: []}}
  double: {Usage: Static, Scope: Public, Arguments: [{x: {Contract: $.int()}}], Body: {Return: $x * 2}}
  host: {Body: {Return: twice($.n)}}
  drop: {Body: {$.seen: new(Base)}}
  both: {Body: {Return: [$this, new(Base)]}}
"""
MANIFEST = """
Format: 1.4
Type: Application
FullName: a
Name: A
Version: 1.2.3
Classes: {a.Main: Main.yaml, a.Base: Base.yaml}
"""
MODEL = {"Objects": {"?": {"type": "a.Main", "id": "m"}, "n": 5, "child": {"?": {"type": "a.Base", "id": "c"}}}}


def in_memory() -> Any:
    return memory_package(
        {"name": "a", "version": "1.2.3", "format": "1.4", "classes": {"a.Main": CLASS, "a.Base": BASE}}
    )


def loaded(**options: Any) -> Any:
    session = Engine([in_memory()], clock=VirtualClock(), **options).session()
    session.load(MODEL)
    return session


@pytest.mark.parametrize("where", ["folder", "archive", "memory"])
def test_packages_come_from_folders_archives_and_memory(where: str, tmp_path: Path) -> None:
    files = {"manifest.yaml": MANIFEST, "Classes/Main.yaml": CLASS, "Classes/Base.yaml": BASE}
    if where == "memory":
        packages = [in_memory()]
    elif where == "archive":
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        packages = load_path(str(tmp_path / "a.zip"))
    else:
        (tmp_path / "Classes").mkdir()
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        packages = load_path(str(tmp_path))
    session = Engine(packages).session()
    session.load(MODEL)
    assert session.call("add", [2]) == 7
    assert session.serialize()["Objects"]["?"]["type"] == "a.Main/1.2.3@a"


def test_the_outside_world_calls_public_methods_only() -> None:
    session = loaded()
    assert session.call("hello") == "hello"
    assert session.call("hello", object_id="c") == "hello"
    with pytest.raises(MethodNotExposed, match=r"a\.Main::secret is not public"):
        session.call("secret")
    assert session.call("secret", public_only=False) == 5
    for name in ("nothing", ".init", "__class__", "m_add"):
        with pytest.raises(MethodNotFound):
            session.call(name, public_only=False)
    with pytest.raises(ObjectNotFound, match="'x'"):
        session.call("add", object_id="x")
    with pytest.raises(ObjectNotFound, match="no model"):
        Engine([in_memory()]).session().call("add")


def test_static_methods_are_called_on_classes() -> None:
    session = loaded()
    assert session.call("double", [4], on_class={"name": "a.Main", "version": "1.2"}) == 8
    assert session.call("double", kwargs={"x": 4}, on_class={"name": "a.Main", "version": "1", "package": "a"}) == 8
    with pytest.raises(MethodNotFound, match="needs an object"):
        session.call("add", on_class={"name": "a.Main", "version": "1"})
    with pytest.raises(PackageForClassNotFound):
        session.call("double", on_class={"name": "a.Nope", "version": "1"})


def test_a_deployment_cleans_up_and_finalises() -> None:
    session = loaded()
    session.call("drop", public_only=False)
    dropped = session.root.p_seen._id
    assert session.alive(["m", "c", dropped]) == ["m", "c", dropped]
    model = session.finalize()
    assert session.alive(["m", "c", dropped]) == ["m", "c"]
    again = Engine([in_memory()]).session()
    again.load({**model, "ObjectsCopy": {**MODEL["Objects"], "child": {"?": {"type": "a.Base", "id": "old"}}}})
    again.cleanup()
    assert thaw(again.serialize()["Objects"])["n"] == 5


def test_schemas_of_classes_and_methods() -> None:
    session = loaded()
    schemas = session.schema("a.Main", "1")
    assert set(schemas[""]["properties"]) >= {"n", "child", "title"}
    assert "double" not in schemas


def test_host_functions_and_native_classes() -> None:
    class Native:
        """Python part of a.Base."""

        @method()
        def shout(this: Any, text: str) -> str:
            return text.upper()

    registry = NativeRegistry()
    registry.native_class("a.Base", Native)
    session = Engine([in_memory()], functions={"twice": lambda x: 2 * x}, natives=registry).session()
    session.load(MODEL)
    assert session.call("host", public_only=False) == 10
    assert session.call("shout", ["ab"], object_id="c", public_only=False) == "AB"


def test_a_native_method_needs_the_parentheses_of_its_mark() -> None:
    with pytest.raises(TypeError, match="parentheses"):
        method(len)  # type: ignore[arg-type]


def test_limits_and_class_configuration() -> None:
    with pytest.raises(StepsExceeded):
        loaded(limits=Limits(max_steps=1000)).call("spin", public_only=False)
    rows = [{"class": "a.Main", "version": "1", "values": {"port": 8080}}]
    assert loaded(configs=rows).call("port", public_only=False) == 8080
    assert loaded().call("port", public_only=False) == 80


def test_a_cancelled_session_does_nothing_more() -> None:
    session = loaded()
    session.cancel("stop it")
    with pytest.raises(Cancelled, match="stop it"):
        session.call("add")


def test_types_can_be_inspected() -> None:
    package = in_memory()
    assert sorted(package.classes) == ["a.Base", "a.Main"]
    found = inspect_class(Engine([package]).session(), "a.Main")
    assert (found.name, found.version, found.package) == ("a.Main", "1.2.3", "a")
    assert found.parents == ("a.Base",)
    assert found.ancestors == ("a.Base", "io.murano.Object")
    shown = {p.name: (p.usage, p.has_default, p.declared_in) for p in found.properties}
    assert shown["n"] == ("InOut", True, "a.Main")
    assert shown["child"] == ("In", False, "a.Main")
    assert shown["title"] == ("In", True, "a.Base")
    methods = {m.name: m for m in found.methods}
    assert methods["add"].public and not methods["secret"].public
    assert methods["add"].arguments == (
        ArgumentDescription("by", "Standard", True),
        ArgumentDescription("rest", "VarArgs", False),
    )
    assert methods["double"].usage == "Static"
    assert methods["hello"].declared_in == "a.Base"
    with pytest.raises(PackageForClassNotFound):
        inspect_class(Engine([package]).session(), "a.Nope")


def test_values_can_be_described() -> None:
    session = loaded()
    this, made = session.call("both", public_only=False)
    assert describe(this) == ("object", "m", "a.Main")
    assert describe(made) is not None and describe(made)[2] == "a.Base"
    assert describe(5) is None


def test_sessions_of_one_engine_share_nothing() -> None:
    engine = Engine([in_memory()], seed=3)
    first, second = engine.session(), engine.session()
    for session in (first, second):
        session.load(MODEL)
    assert first.call("add") == 6
    assert first.call("add") == 7
    assert second.call("add") == 6
    assert first.types is not second.types
    assert engine.session(seed=1).new_id() != engine.session(seed=2).new_id()
    assert engine.session().new_id() == engine.session().new_id()
    with engine.session().entered():
        assert second.call("add") == 7  # one session may be used while another one runs


def test_one_engine_serves_many_threads() -> None:
    engine = Engine([in_memory()], effects=InProcessEffects())
    results: list[Any] = []
    barrier = threading.Barrier(6)

    def work(times: int) -> None:
        session = engine.session()
        barrier.wait(20)
        session.load(MODEL)
        for _ in range(times):
            session.call("add")
        results.append((times, session.call("secret", public_only=False)))
        session.close()

    threads = [threading.Thread(target=work, args=(20 * i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(20 * i, 20 * i + 5) for i in range(6)]
