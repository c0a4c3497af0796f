"""``io.murano.test.TestFixture``: what test classes inherit (CORE_LIBRARY.md, 6; SEMANTICS 18)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import perform
from vetro.muranopl.objects.header import inline_key
from vetro.muranopl.types.native import method
from vetro.yaql.errors import NestingTooDeep
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import FDict, check_depth, thaw

_MESSAGE = Param("message", Type.ANY, None)


def _fail(text: str, message: Any) -> None:
    raise AssertionError(text if message is None else f"{message}: {text}")


_WORDS = {None: "null", True: "true", False: "false"}


def _show(value: Any) -> str:
    """A value as the language writes it, shortened."""
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    try:
        check_depth(value)
    except NestingTooDeep:
        return "a very large value"
    text = repr(value) if isinstance(value, str) else str(thaw(value))
    return text if len(text) <= 2000 else text[:2000] + "..."


def _named(cx: Any, value: Any) -> Any:
    """``value`` with class names that are keys (``p:Item``) resolved in the namespaces of the test class."""
    if isinstance(value, dict):
        key = None if "?" in value else inline_key(value)
        changed = {k: _named(cx, v) for k, v in value.items()}
        if isinstance(key, str):
            changed[cx.resolve(key).type_object] = changed.pop(key)
        return FDict(changed)
    return tuple(_named(cx, item) for item in value) if value.__class__ is tuple else value


class TestFixture:
    """Assertions and the life of the model under test."""

    __test__ = False  # the name is the language's; pytest must not collect it

    @method("load", params=(Param("model", Type.DICT),))
    def load(cx: Any, this: Any, model: Any) -> Any:
        """Creates the objects of a model and returns its root; ids are kept.

        Keys may use the test class's namespaces; a model may also have the form ``{Objects: ..., Attributes: ...}``.
        """
        check_depth(model)
        whole_model = "?" not in model and ("Objects" in model or "Attributes" in model)
        named = _named(cx, model["Objects"] if whole_model and "Objects" in model else model)
        return cx.session.store.load_model({**model, "Objects": named} if whole_model else {"Objects": named})

    @method("finishEnv")
    def finish_env(cx: Any, this: Any) -> None:
        """Ends the execution session: what was put off is done, listeners end."""
        cx.session.finish()
        perform(cx, "execution", event="finish")

    @method("startEnv")
    def start_env(cx: Any, this: Any) -> None:
        """Begins another execution session."""
        perform(cx, "execution", event="start")

    @method("assertEqual", params=(Param("expected", Type.ANY), Param("observed", Type.ANY), _MESSAGE))
    def assert_equal(this: Any, expected: Any, observed: Any, message: Any = None) -> None:
        """Fails unless both values are equal."""
        check_depth(expected)
        check_depth(observed)
        if expected != observed:
            _fail(f"expected {_show(expected)}, observed {_show(observed)}", message)

    @method("assertTrue", params=(Param("expr", Type.ANY), _MESSAGE))
    def assert_true(this: Any, expr: Any, message: Any = None) -> None:
        """Fails unless the value counts as true."""
        if not expr:
            _fail(f"{_show(expr)} is not true", message)

    @method("assertFalse", params=(Param("expr", Type.ANY), _MESSAGE))
    def assert_false(this: Any, expr: Any, message: Any = None) -> None:
        """Fails unless the value counts as false."""
        if expr:
            _fail(f"{_show(expr)} is not false", message)

    @method("assertIn", params=(Param("needle", Type.ANY), Param("haystack", Type.ANY), _MESSAGE))
    def assert_in(this: Any, needle: Any, haystack: Any, message: Any = None) -> None:
        """Fails unless the needle is in the haystack (an item, a key, a part of a text)."""
        if not _contains(haystack, needle):
            _fail(f"{_show(needle)} is not in {_show(haystack)}", message)

    @method("assertNotIn", params=(Param("needle", Type.ANY), Param("haystack", Type.ANY), _MESSAGE))
    def assert_not_in(this: Any, needle: Any, haystack: Any, message: Any = None) -> None:
        """Fails when the needle is in the haystack."""
        if _contains(haystack, needle):
            _fail(f"{_show(needle)} is in {_show(haystack)}", message)


def _contains(haystack: Any, needle: Any) -> bool:
    check_depth(haystack)
    check_depth(needle)
    try:
        return needle in haystack
    except TypeError:
        raise AssertionError(f"{_show(haystack)} cannot hold anything") from None
