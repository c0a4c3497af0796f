"""Python implementations of MuranoPL classes: exposure, inferred parameters, binding of arguments."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.muranopl.world import World
from vetro.muranopl.types.native import NativeRegistry, camel_case, class_of, infer_params, method, state
from vetro.yaql.errors import NoMatchingMethod, NoMethodRegistered
from vetro.yaql.resolve.signature import REQUIRED, FunctionTable, Kind, Param, Type
from vetro.yaql.values import FDict

CX = SimpleNamespace(dialect=SimpleNamespace(iterable_dicts=False, legacy=False))


class Base:
    @method()
    def who_am_i(this: Any) -> str:
        """Tells."""
        return f"base {this}"

    @method()
    def over(this: Any) -> str:
        return "base"


class Sample(Base):
    @method()
    def over(this: Any) -> str:
        return "derived"

    @method()
    def add(this: Any, first: int, second_one: int = 2) -> int:
        return first + second_one

    @method("rest", static=True)
    def rest(cx: Any, *args: Any, **kwargs: Any) -> Any:
        return [list(args), kwargs, cx is CX]

    @method("old_name", "newName", params=(Param("value", Type.ANY),))
    def renamed(this: Any, value: Any) -> Any:
        return {"got": value}

    def hidden(this: Any) -> None:
        raise AssertionError("never exposed")

    def created(cx: Any, this: Any) -> None:
        this.made = cx


NATIVE = class_of("t.Sample", Sample)


def test_only_decorated_functions_are_exposed_in_camel_case() -> None:
    assert set(NATIVE.methods) == {"whoAmI", "over", "add", "rest", "old_name", "newName"}
    assert NATIVE.methods["whoAmI"].doc == "Tells."
    assert NATIVE.methods["rest"].static and not NATIVE.methods["add"].static


def test_the_most_derived_implementation_wins() -> None:
    assert NATIVE.methods["over"].call(CX, None) == "derived"
    assert NATIVE.methods["whoAmI"].call(CX, "x") == "base x"


@pytest.mark.parametrize(("name", "wanted"), [("a", "a"), ("unit_count", "unitCount"), ("async_", "async")])
def test_camel_case(name: str, wanted: str) -> None:
    assert camel_case(name) == wanted


def test_parameters_come_from_annotations() -> None:
    def example(this: Any, a: str, b: int | None, c: float = 1.5, d: dict[str, int] = FDict(), *e: bool, **f: Any): ...  # type: ignore[no-untyped-def]  # noqa: B008

    a, b, c, d, e, f = infer_params(example)
    assert (a.name, a.type, a.nullable, a.default) == ("a", Type.STR, False, REQUIRED)
    assert (b.type, b.nullable) == (Type.INTEGER, True)
    assert (c.type, c.default) == (Type.NUM, 1.5)
    assert d.type is Type.DICT
    assert (e.kind, e.type) == (Kind.VARARGS, Type.BOOL)
    assert (f.kind, f.type) == (Kind.KWARGS, Type.ANY)


def test_arguments_bind_by_position_and_name() -> None:
    add = NATIVE.methods["add"]
    assert add.call(CX, None, 1) == 3
    assert add.call(CX, None, 1, 5) == 6
    assert add.call(CX, None, secondOne=7, first=1) == 8


@pytest.mark.parametrize(
    ("args", "kwargs", "text"),
    [
        ((), {}, "needs an argument 'first'"),
        ((1, 2, 3), {}, "takes 2 arguments, got 3"),
        ((1,), {"first": 2}, "got 'first' twice"),
        ((1,), {"third": 2}, "has no argument 'third'"),
        (("x",), {}, "does not accept a value of type str as 'first'"),
        ((None,), {}, "does not accept null as 'first'"),
    ],
)
def test_wrong_arguments_fit_no_method(args: tuple[Any, ...], kwargs: dict[str, Any], text: str) -> None:
    with pytest.raises(NoMatchingMethod, match=text):
        NATIVE.methods["add"].call(CX, None, *args, **kwargs)


def test_varargs_and_kwargs_and_results_are_frozen() -> None:
    assert NATIVE.methods["rest"].call(CX, "ignored", 1, 2, k=3) == ((1, 2), FDict(k=3), True)
    result = NATIVE.methods["newName"].call(CX, None, (1,))
    assert result == FDict(got=(1,)) and isinstance(result, FDict)


def test_created_hook() -> None:
    obj = SimpleNamespace()
    assert NATIVE.created is not None
    NATIVE.created(CX, obj)
    assert obj.made is CX
    assert class_of("t.Base", Base).created is None


def test_registry_asks_its_parent_and_may_replace() -> None:
    parent = NativeRegistry()
    parent.native_class("t.Sample", Sample)
    child = NativeRegistry(parent)

    @child.native_class("t.Other")
    class Other(Base):
        pass

    assert child.get("t.Sample") is parent.get("t.Sample")
    found = child.get("t.Other")
    assert found is not None and found.python_class is Other
    assert child.get("t.None") is None and parent.get("t.Other") is None
    child.native_class("t.Sample", Other)
    replaced = child.get("t.Sample")
    assert replaced is not None and "add" not in replaced.methods


def test_host_functions_form_a_layer() -> None:
    parent = NativeRegistry()
    parent.register_function("trace", lambda x: x)
    parent.register_function("kept", lambda cx, *items: items)
    child = NativeRegistry(parent)
    child.register_function("trace", lambda x, y=1: (x, y))
    table = child.layer(FunctionTable())
    (trace,) = table.functions["trace"]
    assert [p.name for p in trace.params] == ["x", "y"] and not trace.needs_cx
    (kept,) = table.functions["kept"]
    assert kept.needs_cx and [p.kind for p in kept.params] == [Kind.VARARGS]


@pytest.mark.parametrize("name", ["", "a b", "__x-"])
def test_function_names_must_be_identifiers(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be the name"):
        NativeRegistry().register_function(name, lambda: None)


def test_state_lives_on_the_object() -> None:
    obj = SimpleNamespace()
    state(obj)["n"] = 1
    assert state(obj) == {"n": 1}


class Words:
    @method(extension=True)
    def shout(this: Any, text: str, times: int = 1) -> str:
        return text.upper() + "!" * times


@pytest.mark.parametrize("tier", ["compiled", "closure"])
def test_native_classes_extend_values(tier: str) -> None:
    classes = {
        "Words": "",
        "Main": """
            Import: Words
            Methods:
              run: {Scope: Public, Body: [{Return: !yaql "[hey.shout(), 'a'.shout(times => 2)]"}]}
              number: {Scope: Public, Body: [{Return: !yaql "3.shout()"}]}
            """,
        "Other": "Methods: {run: {Scope: Public, Body: [{Return: !yaql 'hey.shout()'}]}}",
    }
    natives = NativeRegistry()
    natives.native_class("t.Words", Words)
    world = World(classes, natives=natives, tier=tier)
    world.root("Main", other=None)
    assert world.session.call("run", object_id="root") == ("HEY!", "A!!")
    with pytest.raises(NoMethodRegistered):
        world.session.call("number", object_id="root")
    other = World(classes, natives=natives, tier=tier)
    other.root("Other")
    with pytest.raises(NoMethodRegistered):
        other.session.call("run", object_id="root")


def test_an_extension_needs_a_value() -> None:
    with pytest.raises(TypeError, match="needs a parameter"):
        method(extension=True)(lambda: None)
