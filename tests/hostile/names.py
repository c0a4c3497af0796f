# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""Attacks with names: of Python, of generated code, of the engine's own objects, and ones that only look alike."""

from __future__ import annotations

from functools import partial
from typing import Any

from tests.hostile.arena import Attacks
from tests.hostile.run import evaluated, healthy, method

attacks = Attacks(healthy)

WORDS = (
    "__class__", "__dict__", "__init__", "__new__", "__del__", "__slots__", "__getattr__", "__getattribute__", "__eq__",
    "__hash__", "__call__", "__debug__", "__builtins__", "__murano__", "__code__", "__lock__", "__name__", "__loader__",
    "m_x", "p_x", "v_x", "v_self", "set_x", "add_x", "_type", "_owner", "_state", "_id", "_deps", "_header", "_loader",
    "_name", "_destroyed_twin", "self", "this_", "rt", "cx", "t1", "d1", "b_1", "c_1", "r_1", "g_", "a_", "x_", "x_current", "_",
    "None", "True", "False", "class", "def", "lambda", "return", "import", "print", "exec", "int", "str", "tuple", "len",
    "_FD", "_freeze", "_key", "_M", "_p0", "_c0", "_l0", "yaql_attribute", "yaql_method", "mro", "type", "object", "context",
    "\u017f", "\ufb01", "fi", "\u212a", "K", "\u00e9", "e\u0301", "\u1d5b", "\u3046", "x" * 5000,
)  # fmt: skip

#: One class with the word as property, method, argument, variable, loop variable, exception variable and key.
TEXT = """\
Properties:
  "WORD": {Contract: $, Usage: InOut, Default: 1}
  other: {Contract: $, Usage: InOut, Default: 2}
Methods:
  "WORD":
    Arguments:
      - "WORD": {Contract: $.int().notNull()}
      - rest: {Contract: $.int(), Default: 1}
    Body:
      - Return: $WORD + $rest
  run:
    Scope: Public
    Body:
      - $WORD: 5
      - $.WORD: $WORD + 1
      - $sum: $.WORD + $.other + $.WORD($WORD) + $.WORD(WORD => 4, rest => 3)
      - For: WORD
        In: [1, 2, 3]
        Do:
          - $sum: $sum + $WORD
      - $sum: $sum + [1, 2].select($ + $WORD).sum()
      - Try:
          - Throw: WORD
            Message: "WORD"
        Catch:
          With: WORD
          As: WORD
          Do:
            - $text: $WORD.message
      - Parallel:
          - $WORD: 7
          - $z: 1
      - $d: !yaql "{WORD => $WORD, 1 => $text}"
      - $d.WORD: $d.WORD + 1
      - Return: [$sum, $d.WORD, $d, $this.WORD, let(WORD => 3) -> $WORD]
"""


def _word(word: str) -> None:
    from tests.support.host import Host

    host = Host()
    host.load(TEXT.replace("WORD", word))
    # 6 + 2 + (5 + 1) + (4 + 3) + 6 + (1 + 3) + (2 + 3)
    assert host.call("run") == [36, 8, {word: 8, 1: word}, 6, 3], word
    model = host.session.serialize()["Objects"]
    assert model[word] == 6 and model["other"] == 2
    host.session.load({"Objects": {"?": {"type": "t.Main", "id": "other"}, word: 3}})
    assert host.session.call("run")[3] == 6


for _number, _name in enumerate(WORDS):
    _shown = _name if len(_name) < 30 and _name.isascii() else f"word{_number}"
    attacks("ok", "syntax", name=_shown)(partial(_word, _name))

# -- what objects show -------------------------------------------------------------------------------------------------
_HIDDEN = (
    "__class__",
    "__dict__",
    "_type",
    "_owner",
    "_state",
    "_id",
    "session",
    "p_x",
    "m_run",
    "q:0:x",
    "yaql_attribute",
    "__init__",
    "error",
    "type",
    "decl",
)
for _hidden in _HIDDEN:
    for _object in (
        "$",
        "$this",
        ":Main",
        "type($)",
        "$.x",
        "name($)",
        "typeinfo($)",
        "typeinfo($).methods",
        "typeinfo($).package",
        "$e",
    ):
        if (":" in _hidden and _object == ":Main") or (_hidden == "type" and _object == "typeinfo($)"):
            continue
        _text = f"{_object}.'{_hidden}'" if ":" in _hidden else f"{_object}.{_hidden}"
        for _call in ("", "()"):
            attacks(
                "property-error",
                "unresolved-call",
                "uninitialized-property",
                "property-not-found",
                "syntax",
                "method-not-found",
                "no-property",
                "property-read-error",
                "bad-argument",
                "ok",
                "key-error",
                name=f"hidden-{_object}-{_hidden}{_call}",
            )(
                partial(
                    lambda text: _harmless(
                        evaluated(text, "- $e: null", rest="Properties: {x: {Contract: $, Default: {}}}\n")
                    ),
                    _text + _call,
                )
            )


def _harmless(value: Any) -> None:
    assert value is None or isinstance(value, (str, int, bool, list, dict)), f"shows {type(value)}"


_KEYS = "self => 1, cx => 2, rt => 3, v_self => 4, this => 5, args => 6, kwargs => 7"
attacks("ok", name="keywords")(
    partial(
        method,
        f"- Return: $.m({_KEYS})",
        "  m: {Arguments: [{a: {Contract: $, Usage: KwArgs}}], Body: [{Return: $a}]}\n",
    )
)
attacks("ok", "unresolved-call", name="keywords-call")(
    partial(
        method,
        f"- Return: call(m, [], {{{_KEYS}}}, $this)",
        "  m: {Arguments: [{a: {Contract: $, Usage: KwArgs}}], Body: [{Return: $a}]}\n",
    )
)
attacks("unresolved-call", name="keyword-self")(partial(method, "- Return: $.m(self => 1)", "  m: {Body: []}\n"))
attacks("unresolved-call", name="keyword-twice")(
    partial(method, "- Return: $.m(1, a => 1)", "  m: {Arguments: [{a: {Contract: $}}], Body: []}\n")
)
attacks("ok", name="extra-names")(
    partial(
        method,
        "- Try:\n  - Throw: X\n    Message: {a: 1}\n    Extra: {__class__: 1, self: 2}\n  Catch:\n    As: e\n    Do: [{Return: [$e.extra.__class__, $e.message.a]}]",
    )
)
attacks("ok", "syntax", name="null-in-text")(partial(method, '- Return: "a\\0b"'))
attacks("ok", "syntax", "value-error", name="null-in-name")(partial(method, "- Return: 1", '  "m\\0": {Body: []}\n'))
attacks("ok", "syntax", name="odd-names")(
    partial(
        method,
        "- Return: 1",
        '  "a b": {Body: []}\n  "": {Body: []}\n  "1": {Body: []}\n  "a.b": {Body: []}\n  "\\ud83d": {Body: []}\n',
    )
)
attacks("ok", "syntax", "value-error", name="odd-properties")(
    partial(
        method,
        "- Return: 1",
        'Properties:\n  "a b": {Contract: $}\n  "": {Contract: $}\n  "1": {Contract: $}\n  "?": {Contract: $}\n',
    )
)
attacks("ok", "syntax", "value-error", name="odd-arguments")(
    partial(
        method,
        "- Return: 1",
        '  m: {Arguments: [{"a b": {Contract: $}}, {"": {Contract: $}}, {"1": {Contract: $}}], Body: []}\n',
    )
)
attacks("ok", "syntax", "value-error", "error", "limit-exceeded", name="same-arguments")(
    partial(method, "- $.m(1, 2)", "  m: {Arguments: [{a: {Contract: $}}, {a: {Contract: $}}], Body: []}\n")
)
attacks("ok", name="model-with-odd-keys")(lambda: _odd_model())


def _odd_model() -> None:
    from tests.support.host import Host

    host = Host()
    odd = {
        "__class__": 1,
        "_state": "destroyed",
        "p_x": 2,
        "m_run": 3,
        "": 4,
        "\0": 5,
        "\ud800": 6,
        "x": {"__class__": 1},
    }
    host.load(
        "Properties: {x: {Contract: $, Default: 1}}\nMethods: {run: {Scope: Public, Body: [{Return: $.x}]}}\n",
        model=odd,
    )
    assert host.call("run") == {"__class__": 1}
