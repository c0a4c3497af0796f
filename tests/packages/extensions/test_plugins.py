"""Extension classes: Python classes of installed distributions as MuranoPL classes, and their effects."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.catalog import Package as CatalogPackage
from vetro.muranopl.catalog import ResourceNotFound
from vetro.muranopl.errors import ClassNotFound
from vetro.muranopl.runtime.effects import InProcessEffects, NotPlainData
from vetro.packages import memory_package
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.paths import check_paths
from vetro.packages.errors import PluginError
from vetro.packages.extensions.plugins import (
    ENTRY_POINT_GROUP,
    REQUIREMENTS_GROUP,
    Extensions,
    load_extensions,
    required_extensions,
    resolve_effect,
)
from vetro.packages.plugin_api import Context, EffectFunction, Interfaces, MuranoObject, effect, expose, yaql_engine

Install = Callable[..., None]


class Distribution:
    def __init__(self, name: str) -> None:
        self.name = name
        self.metadata = {"Summary": f"about {name}", "Author": "somebody"}


class EntryPoint:
    def __init__(self, name: str, dist: str, target: Any) -> None:
        self.name, self.dist, self.value, self._target = name, Distribution(dist), f"{dist}:X", target

    def load(self) -> Any:
        if isinstance(self._target, Exception):
            raise self._target
        return self._target


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """``install("dist", {"a.Name": Class}, requirements=…, other="function")``: as if it were installed.

    Classes and functions are moved to a module of their own, named after the distribution.
    """
    points: list[EntryPoint] = []
    required: list[EntryPoint] = []
    made: list[str] = []

    def entry_points(*, group: str) -> list[EntryPoint]:
        return {ENTRY_POINT_GROUP: points, REQUIREMENTS_GROUP: required}[group]

    def add(dist: str, exports: dict[str, Any], *, requirements: Any = None, **members: Any) -> None:
        module = ModuleType("plugin_" + dist.replace("-", "_").replace(".", "_"))
        sys.modules[module.__name__] = module
        made.append(module.__name__)
        for value in [*exports.values(), *members.values()]:
            if isinstance(value, type):
                value.__module__ = module.__name__
                setattr(module, value.__name__, value)
                for member in vars(value).values():
                    if isinstance(member, EffectFunction):
                        member.__module__ = module.__name__
        for name, value in members.items():
            setattr(module, name, value)
            if isinstance(value, EffectFunction):
                value.__module__ = module.__name__
        points.extend(EntryPoint(name, dist, value) for name, value in exports.items())
        if requirements is not None:
            required.append(EntryPoint("requirements", dist, requirements))

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    yield add
    for name in made:
        sys.modules.pop(name, None)


def run(loaded: Extensions, body: str, **options: Any) -> Any:
    """The plain result of MuranoPL code in a package that requires the loaded extensions."""
    host = Host(natives=loaded.natives)
    loaded.register_effects(host.inner)
    options.setdefault("require", {p.name: "0" for p in loaded.packages})
    result = host.run(body, packages=loaded.packages, **options)
    run.host = host  # type: ignore[attr-defined]
    return result


class Counter:
    """Counts."""

    initialised = 0

    def __init__(self, start: int, step: int = 2, tags: Any = ("x",)) -> None:
        self.value, self.step, self.tags = start, step, tags

    @classmethod
    def init_plugin(cls) -> None:
        Counter.initialised += 1

    def add_some(self, how_many: int = 1) -> int:
        """Adds."""
        self.value += how_many * self.step
        return self.value

    def describe(self) -> Any:
        return {"tags": self.tags, "pair": (1, {"a": {2}}), "rest": (n for n in range(2))}

    @staticmethod
    def twice(number: int) -> int:
        return 2 * number

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    @expose("allOfIt", "everything")
    def whole(self, *items: Any, last: Any = None, **named: Any) -> Any:
        return [list(items), last, named]

    def _hidden(self) -> None:
        raise AssertionError


# -- packages ---------------------------------------------------------------------------------------------------------


def test_a_distribution_becomes_a_package(install: Install) -> None:
    install("my-dist", {"a.b.Counter": Counter})
    (package,) = load_extensions().packages
    assert isinstance(package, CatalogPackage)
    assert (package.name, str(package.version), package.format, package.type) == ("my-dist", "0.0.0", (1, 0), "Library")
    assert list(package.classes) == ["a.b.Counter", "io.murano.extensions.a.b.Counter"]
    assert package.requirements == {"io.murano": "0"}
    assert (package.description, package.author) == ("about my-dist", "somebody")
    with pytest.raises(ResourceNotFound):
        package.resource("x")
    with pytest.raises(ClassNotFound):
        package.read_class("a.b.Other")
    assert check_classes(package) == []


def test_names_that_have_the_namespace_are_not_doubled(install: Install) -> None:
    install("d", {"io.murano.extensions.a.Counter": Counter})
    (package,) = load_extensions().packages
    assert list(package.classes) == ["io.murano.extensions.a.Counter"]


def test_the_old_name_of_a_class_leads_to_the_new_one(caplog: pytest.LogCaptureFixture) -> None:
    """Where an extension became a package with MuranoPL classes."""
    text = "Name: a.Thing\nMethods: {n: {Usage: Static, Body: [{Return: 5}]}}"
    there = memory_package({"name": "a", "classes": {"a.Thing": text}})
    code = "- Return: new('io.murano.extensions.a.%s').n()"
    assert Host().run(code % "Thing", packages=(there,), require={"a": "0"}) == 5
    assert "io.murano.extensions.a.Thing is the old name of class a.Thing" in caplog.text
    with pytest.raises(ClassNotFound, match=r"io\.murano\.extensions\.a\.Nope"):
        Host().run(code % "Nope", packages=(there,), require={"a": "0"})


def test_init_plugin_runs_once_a_process(install: Install) -> None:
    before = Counter.initialised
    install("d", {"a.Counter": Counter})
    load_extensions()
    load_extensions()
    assert before <= 1 and Counter.initialised == 1


def test_requirements_are_stated_in_python(install: Install) -> None:
    install("attribute", {"a.One": type("One", (), {})}, murano_requirements={"lib.x": ">=1.2", "lib.y": None})
    install("point", {"a.Two": type("Two", (), {})}, requirements={"lib.z": 1})
    found = {p.name: p.requirements for p in load_extensions().packages}
    assert found == {"attribute": {"lib.x": ">=1.2", "lib.y": ""}, "point": {"lib.z": "1"}}


@pytest.mark.parametrize("stated", [["x"], {"x": "?!"}])
def test_malformed_requirements_leave_the_distribution_out(install: Install, stated: Any) -> None:
    install("d", {"a.One": type("One", (), {})}, murano_requirements=stated)
    loaded = load_extensions()
    assert loaded.packages == () and loaded.notes[0].startswith("d is left out: 'murano_requirements' is")


def test_classes_of_two_distributions_are_disabled_in_all(install: Install, caplog: pytest.LogCaptureFixture) -> None:
    install("one", {"a.X": type("X", (), {}), "a.Y": type("Y", (), {})})
    install("two", {"io.murano.extensions.a.X": type("X", (), {})})
    loaded = load_extensions()
    assert [(p.name, "a.X" in p.classes) for p in loaded.packages] == [("one", False)]
    assert "it is exported by one and two; remove one of them" in loaded.notes[0]
    assert loaded.notes[0] in caplog.text
    assert "a.X" in load_extensions(["One"]).packages[0].classes


def test_only_enabled_distributions_are_imported(install: Install) -> None:
    install("good", {"a.X": type("X", (), {})})
    install("bad", {"a.Y": RuntimeError("must not be imported")})
    assert [p.name for p in load_extensions(["Good"]).packages] == ["good"]
    assert load_extensions(["good"]).notes == ()
    assert load_extensions(only=["good"]).notes == ()
    assert load_extensions([]).packages == ()


class Failing:
    @classmethod
    def init_plugin(cls) -> None:
        raise ValueError("no licence")


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (ImportError("no module x"), "ImportError: no module x"),
        (5, "TypeError: bad:X is no class"),
        (Failing, "ValueError: no licence"),
        (type("Odd", (), {"f": int.from_bytes, "g": print}), None),
    ],
)
def test_a_failing_extension_is_left_out_alone(install: Install, target: Any, reason: str | None) -> None:
    install("bad", {"a.Bad": target})
    install("good", {"a.Good": type("Good", (), {})})
    loaded = load_extensions()
    assert "good" in [p.name for p in loaded.packages]
    if reason is not None:
        assert loaded.notes == (f"extension 'a.Bad' of bad is left out: {reason}",)


def test_names_that_are_no_classes_are_left_out(install: Install) -> None:
    install("d", {"a b": Counter, "1.x": Counter})
    assert len(load_extensions().notes) == 2


def test_a_check_knows_the_extensions_that_a_package_requires(install: Install, tmp_path: Path) -> None:
    install("my-dist", {"a.Counter": Counter})
    (tmp_path / "Classes").mkdir()
    manifest = "Format: 1.4\nType: Library\nFullName: t\nClasses: {t.A: A.yaml}\nRequire: {my-dist: 0}\n"
    (tmp_path / "manifest.yaml").write_text(manifest)
    body = "Body:\n      - $x: new('a.Counter', start => 1)\n      - $y: new('io.murano.extensions.a.Nope')\n"
    (tmp_path / "Classes" / "A.yaml").write_text(f"Name: t.A\nExtends: a.Counter\nMethods:\n  run:\n    {body}")
    (found,) = [p.message for _, p in check_paths([str(tmp_path)])]
    assert "io.murano.extensions.a.Nope" in found


def test_required_extensions_are_those_that_packages_name(install: Install) -> None:
    install("good", {"a.X": type("X", (), {})})
    install("other", {"a.Y": RuntimeError("must not be imported")})
    app = memory_package({"name": "t", "classes": {}, "require": {"good": "0", "unknown": "0"}})
    assert [p.name for p in required_extensions([app]).packages] == ["good"]
    assert required_extensions([memory_package({"name": "t", "classes": {}})]).packages == ()
    assert required_extensions([app, memory_package({"name": "good", "classes": {}})]).packages == ()


def test_extensions_may_require_each_other(install: Install) -> None:
    install("good", {"a.X": type("X", (), {})}, murano_requirements={"base": "0"})
    install("base", {"a.Y": type("Y", (), {})}, murano_requirements={"good": "0"})
    app = memory_package({"name": "t", "classes": {}, "require": {"good": "0"}})
    assert [p.name for p in required_extensions([app]).packages] == ["good", "base"]
    assert required_extensions([app], enabled=["base"]).packages == ()


# -- calls ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def counter(install: Install) -> Extensions:
    install("my-dist", {"a.Counter": Counter})
    return load_extensions()


@pytest.mark.parametrize("name", ["a.Counter", "io.murano.extensions.a.Counter"])
def test_objects_are_made_with_new_and_keep_their_state(counter: Extensions, name: str) -> None:
    body = f"- $c: new('{name}', start => 5)\n- $.x: $c.addSome()\n- Return: [$.x, $c.addSome(howMany => 3)]"
    assert run(counter, body) == [7, 13]


def test_constructor_arguments_have_their_defaults(counter: Extensions) -> None:
    assert run(counter, "- Return: new('a.Counter', start => 0, step => 5).addSome()") == 5
    assert run(counter, "- Return: new('a.Counter', start => 0).describe().tags") == ["x"]
    with pytest.raises(Exception, match="start"):
        run(counter, "- Return: new('a.Counter')")


def test_results_become_values_of_the_language(counter: Extensions) -> None:
    made = run(counter, "- Return: new('a.Counter', start => 0).describe()")
    assert made == {"tags": ["x"], "pair": [1, {"a": [2]}], "rest": [0, 1]}


def test_static_methods_need_no_object(counter: Extensions) -> None:
    body = "- $c: new('a.Counter', start => 0)\n- Return: [$c.twice(4), $c.className()]"
    assert run(counter, body) == [8, "Counter"]
    assert run(counter, '- Return: !yaql ":Twice.twice(4)"', classes={"Twice": "Extends: a.Counter\n"}) == 8


def test_names_may_be_chosen_and_arguments_gathered(counter: Extensions) -> None:
    body = "- $c: new('a.Counter', start => 0)\n- Return: $c.{name}(1, 2, last => 3, other => 4)"
    wanted = [[1, 2], 3, {"other": 4}]
    assert run(counter, body.replace("{name}", "allOfIt")) == wanted
    assert run(counter, body.replace("{name}", "everything")) == wanted
    for missing in ("whole", "_hidden", "initPlugin", "hidden"):
        with pytest.raises(Exception, match=missing):
            run(counter, body.replace("{name}", missing))


def test_wrong_arguments_are_the_callers_error(counter: Extensions) -> None:
    with pytest.raises(Exception, match="'addSome' has no argument 'nope'"):
        run(counter, "- Return: new('a.Counter', start => 0).addSome(nope => 1)")
    with pytest.raises(Exception, match="does not accept"):
        run(counter, "- Return: new('a.Counter', start => 0).addSome('x')")


class Curious:
    def __init__(self, context: Context, this: MuranoObject) -> None:
        self.caller = (context.class_name, context.package_name)
        self.made_for = this.id

    def look(self, this: MuranoObject, of: MuranoObject, interfaces: Interfaces) -> Any:
        environment = of.find_owner("io.murano.Environment", optional=True)
        return {
            "same": this.id == self.made_for,
            "type": (of.type_name, of.name, of["word"], of.get("nothing", 5), of.is_a("io.murano.Object")),
            "environment": environment,
            "interfaces": interfaces.environment(of),
            "owner": of.owner,
            "answer": of.call("double", 4, word="w"),
        }

    def seen(self, context: Context) -> Any:
        return [list(self.caller), context.memo("k", lambda: [1]), context.memo("k", lambda: [2])]

    def compute(self, yaql_engine: Any, interfaces: Interfaces, text: str) -> Any:
        return [yaql_engine(text)({"a": 2}), interfaces.yaql("$ + 1", 1)]

    def give(self, this: MuranoObject) -> Any:
        return [this]

    def broken(self) -> Any:
        return [object()]

    def fails(self) -> Any:
        raise KeyError("gone")

    def get_missing(self, this: MuranoObject) -> Any:
        return this.find_owner("io.murano.Environment")

    def call_missing(self, this: MuranoObject) -> Any:
        return this.call("nope")

    def say(self, context: Context) -> None:
        context.log("warning", "careful")


@pytest.fixture
def curious(install: Install) -> Extensions:
    install("my-dist", {"a.Curious": Curious})
    return load_extensions()


REST = """\
Properties:
  word: {Contract: $.string(), Default: hello}
"""
DOUBLE = """\
  double:
    Arguments:
      - n: {Contract: $.int()}
      - word: {Contract: $.string()}
    Body:
      - Return: [$n * 2, $word]
"""


def test_plugins_see_objects_and_context(curious: Extensions) -> None:
    body = "- $c: new('a.Curious')\n- $r: $c.look($this)\n- Return: $r"
    seen = run(curious, body, rest=DOUBLE + REST)
    assert seen == {
        "same": True,
        "type": ["t.Main", None, "hello", 5, True],
        "environment": None,
        "interfaces": None,
        "owner": None,
        "answer": [8, "w"],
    }
    assert run(curious, "- $c: new('a.Curious')\n- Return: $c.seen()") == [["a.Curious", "my-dist"], [1], [1]]


def test_plugins_evaluate_expressions(curious: Extensions) -> None:
    assert run(curious, "- Return: new('a.Curious').compute('$.a * 21')") == [42, 2]


def test_objects_come_back_as_themselves(curious: Extensions) -> None:
    assert run(curious, "- $c: new('a.Curious')\n- Return: $c.give()[0] = $c") is True


def test_foreign_values_are_refused_naming_the_distribution(curious: Extensions) -> None:
    with pytest.raises(PluginError, match="my-dist gave a value of type object"):
        run(curious, "- Return: new('a.Curious').broken()")


def test_failures_of_plugins_can_be_caught(curious: Extensions) -> None:
    body = "- Try: [!yaql \"new('a.Curious').fails()\"]\n  Catch:\n    - As: e\n"
    assert run(curious, body + "      Do: [{Return: $e.message}]") == "'gone'"
    with pytest.raises(Exception, match=r"has no owner of class io\.murano\.Environment"):
        run(curious, "- Return: new('a.Curious').getMissing()")
    with pytest.raises(Exception, match="has no method 'nope'"):
        run(curious, "- Return: new('a.Curious').callMissing()")


def test_plugins_log_under_their_name(curious: Extensions) -> None:
    run(curious, "- Return: new('a.Curious').say()")
    logged = run.host.performed("log")  # type: ignore[attr-defined]
    assert logged == [{"logger": "my-dist", "level": "warning", "text": "careful"}]


def test_muranopl_classes_may_extend_an_extension(counter: Extensions) -> None:
    derived = "Extends: a.Counter\nMethods:\n  twiceMore:\n    Body:\n      - Return: $.addSome() + $.addSome()\n"
    body = "- $c: new(Derived, start => 1)\n- Return: $c.twiceMore()"
    assert run(counter, body, classes={"Derived": derived}) == 3 + 5


# -- effects ----------------------------------------------------------------------------------------------------------


def cloud() -> type:
    class Cloud:
        calls: list[Any] = []

        def __init__(self, region: str = "r") -> None:
            self.region = region

        @effect(policy="convergent", name="list_images")
        def fetch(region: str, limit: int = 2) -> Any:
            Cloud.calls.append(region)
            return [{"id": n, "region": region} for n in range(limit)]

        @effect
        def boom(self: Any = None) -> Any:
            raise LookupError("no cloud")

        @effect(name="opaque")
        def opaque() -> Any:
            return object()

        def images(self, limit: int = 2) -> Any:
            return [image["id"] for image in self.fetch(self.region, limit=limit)]

        def images_twice(self) -> Any:
            return [image["region"] for _ in range(2) for image in self.fetch(self.region, limit=1)]

        def call_boom(self) -> Any:
            return self.boom()

        def call_opaque(self) -> Any:
            return self.opaque()

        def send_opaque(self) -> Any:
            return self.fetch(object())

        def wrong(self) -> Any:
            return self.fetch(1, 2, 3)

    return Cloud


@pytest.fixture
def clouds(install: Install) -> Any:
    made = cloud()
    install("my-dist", {"a.Cloud": made})
    return made


def test_effect_functions_are_effects_of_the_run(clouds: Any) -> None:
    loaded = load_extensions()
    assert {"plugin:my-dist:list_images", "plugin:my-dist:opaque"} < set(loaded.effects)
    assert loaded.effects["plugin:my-dist:list_images"].policy == "convergent"
    assert run(loaded, "- Return: new('a.Cloud', region => x).images(3)") == [0, 1, 2]
    performed = run.host.performed("plugin:my-dist:list_images")  # type: ignore[attr-defined]
    assert performed == [{"args": ["x"], "kwargs": {"limit": 3}}]
    assert clouds.calls == ["x"]


def test_branches_that_wait_keep_their_contexts(clouds: Any) -> None:
    branch = """\
      - $made{n}: new('a.Cloud', region => r{n})
      - $first{n}: $made{n}.imagesTwice()
"""
    body = "- Parallel:\n" + "".join(f"    - Do:\n{branch.replace('{n}', n)}" for n in "123").replace(
        "      -", "        -"
    )
    seen = run(load_extensions(), body + "- Return: [$first1, $first2, $first3]")
    assert seen == [["r1", "r1"], ["r2", "r2"], ["r3", "r3"]]
    performed = run.host.performed("plugin:my-dist:list_images")  # type: ignore[attr-defined]
    assert sorted(args["args"][0] for args in performed) == ["r1", "r1", "r2", "r2", "r3", "r3"]


def test_helpers_of_the_engine_are_not_seen(counter: Extensions) -> None:
    names = run(counter, "- Return: typeinfo(new('a.Counter', start => 1)).methods.name")
    assert {"addSome", "twice", "allOfIt"} <= set(names)
    assert not [name for name in names if name.startswith((".", "_"))]


def test_a_replayed_effect_is_not_performed_again(clouds: Any) -> None:
    from vetro.muranopl.runtime.effects import ScriptedEffects

    loaded = load_extensions()
    run(loaded, "- Return: new('a.Cloud').images()")
    host: Host = run.host  # type: ignore[attr-defined]
    again = Host(natives=loaded.natives)
    again.effects = ScriptedEffects(host.effects.records)  # type: ignore[assignment]
    body = "- Return: new('a.Cloud').images()"
    assert again.run(body, packages=loaded.packages, require={"my-dist": "0"}) == [0, 1]
    assert clouds.calls == ["r"]


def test_hosts_resolve_kinds(clouds: Any) -> None:
    found = resolve_effect("plugin:my-dist:list_images")
    assert found.policy == "convergent"
    assert found.perform({"args": ["q"], "kwargs": {"limit": 1}}) == [{"id": 0, "region": "q"}]
    for kind in ("plugin:my-dist:nope", "plugin:other:list_images"):
        with pytest.raises(PluginError, match="no enabled extension performs"):
            resolve_effect(kind)
    with pytest.raises(PluginError, match="no enabled extension performs"):
        resolve_effect("plugin:my-dist:list_images", enabled=[])
    with pytest.raises(PluginError, match="is no effect of a plug-in"):
        resolve_effect("stack.push")


def test_outside_of_a_run_it_is_the_plain_function(clouds: Any) -> None:
    assert clouds().images(1) == [0]
    assert clouds.fetch("z", 1) == [{"id": 0, "region": "z"}]


def test_failures_and_foreign_data_of_effects(clouds: Any) -> None:
    loaded = load_extensions()
    with pytest.raises(LookupError, match="no cloud"):
        run(loaded, "- Return: new('a.Cloud').callBoom()")
    with pytest.raises(PluginError, match=r"effect function 'opaque' of my-dist answered: .*object values"):
        run(loaded, "- Return: new('a.Cloud').callOpaque()")
    with pytest.raises(NotPlainData):
        run(loaded, "- Return: new('a.Cloud').sendOpaque()")
    with pytest.raises(TypeError, match="too many positional arguments"):
        run(loaded, "- Return: new('a.Cloud').wrong()")
    assert clouds.calls == []


def test_effects_inside_of_effects_are_part_of_them(install: Install) -> None:
    @effect(policy="findable", name="inner")
    def inner() -> Any:
        return 1

    @effect(name="outer")
    def outer() -> Any:
        return inner() + 1

    class Two:
        def both(self) -> Any:
            return outer()

    install("d", {"a.Two": Two}, inner=inner, outer=outer)
    loaded = load_extensions()
    assert run(loaded, "- Return: new('a.Two').both()") == 2
    kinds = [record.kind for record in run.host.effects.records]  # type: ignore[attr-defined]
    assert kinds == ["plugin:d:outer"]


def test_two_effects_of_one_name_leave_the_distribution_out(install: Install) -> None:
    def made() -> EffectFunction:
        @effect(name="same")
        def function() -> None: ...

        return function

    install("d", {"a.X": type("X", (), {})}, one=made(), two=made())
    loaded = load_extensions()
    assert loaded.packages == () and "two effect functions 'same'" in loaded.notes[0]


def test_effects_of_no_extension_say_so(install: Install) -> None:
    @effect
    def lonely() -> None: ...

    with pytest.raises(PluginError, match="belongs to no loaded extension"):
        _ = lonely.kind
    with pytest.raises(ValueError, match="policy 'maybe' is none of convergent, findable, unsafe"):
        effect(policy="maybe")  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="cannot be the name of an effect"):
        effect(name="a:b")
    with pytest.raises(TypeError, match="expose"):
        expose()


def test_the_in_process_host_performs_directly(clouds: Any) -> None:
    effects = InProcessEffects()
    load_extensions().register_effects(effects)
    assert effects.perform("0/1", "plugin:my-dist:list_images", {"args": ["a"], "kwargs": {}}) == [
        {"id": 0, "region": "a"},
        {"id": 1, "region": "a"},
    ]


def test_the_expression_engine_is_that_of_the_language() -> None:
    assert yaql_engine("$.a + 1").evaluate({"a": 1}) == 2
