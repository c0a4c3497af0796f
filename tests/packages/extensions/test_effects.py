"""Effects of extension classes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.packages.extensions.conftest import Install, run
from tests.support.host import Host
from vetro.muranopl.runtime.effects import InProcessEffects, NotPlainData
from vetro.packages.errors import PluginError
from vetro.packages.extensions.plugins import (
    load_extensions,
    resolve_effect,
)
from vetro.packages.plugin_api import EffectFunction, effect, expose


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
