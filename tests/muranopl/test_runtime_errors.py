"""Errors of running code: the right class, a text with class and method, the failing part's place (SEMANTICS 10)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.muranopl.branches import Run, method
from vetro.muranopl.errors import (
    ClassNotFound,
    ContractViolation,
    InvalidOperation,
    NestingLimit,
    ObjectDestroyed,
    PropertyReadError,
    PropertyWriteError,
    UninitializedProperty,
)
from vetro.muranopl.runtime.exceptions import frames_of, names_of
from vetro.muranopl.runtime.stacktrace import describe_frame
from vetro.yaql.errors import NoFunctionRegistered, NoMatchingMethod, NoMethodRegistered

HELPER = """  m:
    Arguments: [{a: {Contract: $.int()}}, {b: {Contract: $.int(), Default: 1}}]
    Body: {Return: $a}
"""
OTHER = """Properties:
  unset: {Contract: $.string(), Usage: Runtime}
  y: {Contract: $.int()}
Methods:
  private: {Body: {Return: 1}}
"""

#: Body, class of the error, parts of its text, text of the failing part.
CASES = [
    ("- Return: 1 + $.m(1, 2, 3)", NoMatchingMethod, ["t.Main::m", "3 given", "it takes: a, b"], "$.m(1, 2, 3)"),
    ("- Return: $.m(1, c => 2)", NoMatchingMethod, ["t.Main::m", "'c'"], "$.m(1, c => 2)"),
    ("- Return: $.m(1, a => 2)", NoMatchingMethod, ["t.Main::m", "multiple values", "'a'"], "$.m(1, a => 2)"),
    ("- Return: 2 * $.nothing(1)", NoMethodRegistered, ['"nothing"', "t.Main"], "$.nothing(1)"),
    ("- $x: 5\n- Return: $x.nothing()", NoMethodRegistered, ['"nothing"', "5"], "$x.nothing()"),
    ("- Return: null.m(1)", NoMethodRegistered, ['"m"', "null"], "null.m(1)"),
    ("- Return: $.prop", UninitializedProperty, ["'prop'", "t.Main"], "$.prop"),
    ("- $o: new(O)\n- Return: 2 * $o.unset", UninitializedProperty, ["'unset'", "t.O"], "$o.unset"),
    ("- $o: new(O)\n- Return: [1, $o.nope]", PropertyReadError, ["'nope'", "t.O"], None),
    ("- $o: new(O)\n- $o.nope: 1", PropertyWriteError, ["nope", "t.O"], "block construct"),
    ("- Return: :Nope.x()", ClassNotFound, ["t.Nope"], ":Nope"),
    ("- Return: new(Nope)", ClassNotFound, ["t.Nope"], "new(Nope)"),
    ("- Return: 1 + nofunction(1)", NoFunctionRegistered, ["nofunction"], "nofunction(1)"),
    ("- Return: 3 + 1 / 0", ZeroDivisionError, ["zero"], "1 / 0"),
    ("- Return: list(1)[5]", IndexError, ["range"], "list(1)[5]"),
    ("- Return: 1 + int(abc)", ValueError, ["'abc'"], "int(abc)"),
    ("- Return: list(1, 2).select(1 + $.nothing())", NoMethodRegistered, ['"nothing"'], "$.nothing()"),
    ("- $t: $this\n- Return: list(1, 2).where($t.m(1, 2, 3))", NoMatchingMethod, ["t.Main::m"], "$t.m(1, 2, 3)"),
    ("- $t: $this\n- Return: list(2, 1).orderBy($t.m(5, 6, 7)).len()", NoMatchingMethod, [], None),
    ("- Parallel:\n  - note(1)\n  - $x: 1 + $.nothing(3)", NoMethodRegistered, ['"nothing"'], "$.nothing(3)"),
    ("- Parallel:\n  - Parallel:\n    - $x: 1 + $.m(1, 2, 3)", NoMatchingMethod, ["t.Main::m"], "$.m(1, 2, 3)"),
    ("- $t: $this\n- Return: list(1).pselect(1 + $t.m(1, 2, 3))", NoMatchingMethod, ["t.Main::m"], "$t.m(1, 2, 3)"),
    ("- For: i\n  In: 5\n  Do: note(1)", TypeError, ["collection", "5"], "block construct"),
    ("- Rethrow:", InvalidOperation, ["Rethrow"], "block construct"),
    ("- Return: $.run()", NestingLimit, ["nested"], "$.run()"),
]


def fail(body: str, native: Any = None) -> BaseException:
    """What the method with that body raises."""
    run = Run(method(body) + HELPER, {"O": OTHER})
    run.handlers["native"] = native
    with pytest.raises(Exception) as caught:
        run.call()
    return caught.value


@pytest.mark.parametrize(("body", "kind", "parts", "place"), CASES, ids=[c[0].replace("\n", " ") for c in CASES])
def test_errors_of_package_code(body: str, kind: type[Exception], parts: list[str], place: str | None) -> None:
    error = fail(body)
    assert isinstance(error, kind), repr(error)
    for part in parts:
        assert part in str(error)
    frames = frames_of(error)
    assert frames, "the error does not say where it happened"
    innermost = describe_frame(frames[-1])
    assert (innermost["typeName"], innermost["methodName"]) == ("t.Main", "run")
    assert innermost["location"]["filePath"].endswith("t.Main.yaml")
    if place is not None:
        assert innermost["instruction"] == place
        if place != "block construct":
            text = body.split("\n")[innermost["location"]["line"] - 6]
            assert innermost["location"]["column"] == len("      ") + text.index(place) + 1


def test_a_violation_names_class_method_and_argument_and_both_places() -> None:
    error = fail("- Return: 1 + $.m(a => x)")
    assert isinstance(error, ContractViolation)
    assert str(error).startswith("[t.Main::m(a)]")
    shown = [(f["methodName"], f["instruction"]) for f in map(describe_frame, frames_of(error))]
    assert shown == [("run", "$.m(a => x)"), ("m", "$.int()")]


def test_a_destroyed_object_is_named() -> None:
    run = Run(
        method("- $.o: new(O)\n- $.o.private()").replace(
            "Methods", "Properties: {o: {Contract: $, Usage: Runtime}}\nMethods"
        ),
        {"O": OTHER},
    )
    run.call()
    obj = run.session.root.p_o
    run.session.finalize()  # nobody owns the object
    assert run.session.alive([obj._id]) == []
    with pytest.raises(ObjectDestroyed, match=r"t\.O .*'private'"):
        obj.m_private()


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(
    ("make", "kind", "text"),
    [
        (lambda v: getattr(None, "missing"), AttributeError, "missing"),  # noqa: B009
        (lambda v: getattr(object(), "m_run"), AttributeError, "m_run"),  # noqa: B009
        (lambda v: getattr(object(), "p_name"), AttributeError, "p_name"),  # noqa: B009
        (lambda v: len(v), TypeError, "len"),
        (lambda v: (lambda: 0)(v), TypeError, "positional"),  # type: ignore[call-arg]
        (lambda v: {}[v], KeyError, "3"),
        (lambda v: Path("/nowhere/at/all").read_text(), FileNotFoundError, "nowhere"),
    ],
)
def test_mistakes_of_native_code_stay_what_they_are(
    make: Any, kind: type[Exception], text: str, parallel: bool
) -> None:
    body = "- Parallel:\n  - $x: 1 + native(3)\n  - note(1)" if parallel else "- Return: 1 + native(3)"
    error = fail(body, make)
    assert type(error) is kind
    assert text in str(error)
    innermost = describe_frame(frames_of(error)[-1])
    assert (innermost["methodName"], innermost["instruction"]) == ("run", "native(3)")


def test_package_code_catches_native_errors_by_their_python_name() -> None:
    run = Run(method("- Try: native(1)\n  Catch: {As: e, Do: {Return: $e.name}}"))
    run.handlers["native"] = lambda value: {}[value]
    assert run.call() == "KeyError"
    assert "KeyError" in names_of(KeyError(1))


def test_the_trace_of_a_caught_error_in_a_branch_names_the_method() -> None:
    run = Run(
        method(
            """
            - Try:
                Parallel:
                - note(1)
                - $x: 1 + $.inner()
              Catch: {As: e, Do: {Return: $e.stackTrace.toString()}}
            """
        )
        + "  inner: {Body: {Throw: Bad}}\n"
    )
    text = run.call()
    assert "b_" not in text and "in method run" in text and "in method inner" in text, text


def test_the_traceback_holds_no_results_of_other_branches() -> None:
    """The error of a branch must not keep its group alive: frames are long-lived in caught errors."""
    run = Run(
        method("- Try: {Parallel: [native(1), $.bad()]}\n  Catch: {As: e, Do: {$.kept: $e}}").replace(
            "Methods", "Properties: {kept: {Contract: $, Usage: Runtime}}\nMethods"
        )
        + "  bad: {Body: {Throw: Bad}}\n"
    )
    import gc
    import weakref

    class Big:
        pass

    marks: list[Any] = []

    def native(value: Any) -> None:
        big = Big()
        marks.append(weakref.ref(big))

    run.handlers["native"] = native
    run.call()
    gc.collect()
    assert marks[0]() is None
