# ruff: noqa: E501 - tables of attacks read best with one attack a line
"""The closure tier and the compiled tier give the same result, or the same kind of error, for generated methods."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fuzzing import examples
from tests.support.host import HEAD
from vetro.muranopl.api import Engine
from vetro.packages import memory_package
from vetro.yaql.context import Limits
from vetro.yaql.errors import kind_of
from vetro.yaql.values import thaw

VARIABLES = ("a", "b", "c", "l")
LEAVES = (
    "0",
    "1",
    "2",
    "-3",
    "'x'",
    "''",
    "true",
    "null",
    "[]",
    "[3, 1, 2]",
    "{k => 1}",
    "$a",
    "$b",
    "$c",
    "$l",
    "$.p",
    "$.q",
    "$i",
)
FORMS = (
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} mod {}", "{} = {}", "{} != {}", "{} < {}", "{} >= {}", "{} and {}", "{} or {}",
    "not {}", "[{}, {}]", "{{k => {}, m => {}}}", "{} in {}", "len({})", "{}.len()", "str({})", "{}.select($ + {})", "{}.where($ > {})",
    "{}.select([$, {}]).toList()", "{}.any($ = {})", "{}.sum()", "{}.first({})", "{}.orderBy($)", "{}.toList()", "{}[{}]", "{}.k", "{}.get(k, {})",
    "switch({} => {}, true => {})", "coalesce({}, {})", "let(v => {}) -> [$v, {}]", "$.m({})", "$.m({}, {})", "$.m(x => {})", "max({}, {})",
    "{}.where($ != {}).select($).len()", "{}.toDict(str($), {})", "format('{{0}}-{{1}}', {}, {})", "isString({})", "{} = {} or {} < {}", "int({})", "{}.selectMany([$, {}])",
)  # fmt: skip


def _filled(form: str, parts: list[str]) -> str:
    count = form.replace("{{", "").replace("}}", "").count("{}")
    return form.format(*(f"({part})" if part[0] not in "$'[{0123456789" else part for part in parts[:count]))


EXPRESSIONS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.builds(_filled, st.sampled_from(FORMS), st.lists(inner, min_size=4, max_size=4)),
    max_leaves=6,
)


def _yaql(text: str) -> str:
    return '!yaql "' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _block(lines: list[list[str]]) -> list[str]:
    return ["  " + line for part in lines for line in part] or ["  []"]


def _simple() -> st.SearchStrategy[list[str]]:
    targets = st.sampled_from(["$a", "$b", "$c", "$l", "$.p", "$.q", "$l[0]", "$c.k", "$.q.k", "$.q[0]"])
    return st.one_of(
        st.builds(lambda t, e: [f"- {t}: {_yaql(e)}"], targets, EXPRESSIONS),
        st.builds(
            lambda t, e: [f"- {t}: {_yaql(f'{t} + {e}')}"], st.sampled_from(["$a", "$l", "$.p", "$.q"]), EXPRESSIONS
        ),
        st.builds(lambda e: [f"- {_yaql(f'$.m({e})')}"], EXPRESSIONS),
        st.builds(lambda e: [f"- Return: {_yaql(e)}"], EXPRESSIONS),
        st.just(["- Break:"]),
        st.just(["- Continue:"]),
        st.builds(lambda e: ["- Throw: Oops", f"  Message: {_yaql(e)}"], EXPRESSIONS),
    )


def _compound(inner: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    blocks = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        st.builds(lambda e, x, y: [f"- If: {_yaql(e)}", "  Then:", *_block(x), "  Else:", *_block(y)], EXPRESSIONS, blocks, blocks),
        st.builds(lambda e, x: ["- For: i", f"  In: {_yaql(e)}", "  Do:", *_block(x)], EXPRESSIONS, blocks),
        st.builds(lambda n, x: [f"- Repeat: {n}", "  Do:", *_block(x)], st.integers(0, 3), blocks),
        st.builds(
            lambda x: ["- $n: $n + 1", "- While: $n < 6", "  Do:", "  - $n: $n + 1", *_block(x)],
            blocks,
        ),
        st.builds(
            lambda x, y, z: ["- Try:", *_block(x), "  Catch:", "    With: Oops", "    As: e", "    Do:", "    - $a: $e.message", *("  " + s for s in _block(y)), "  Finally:", *_block(z)],
            blocks, blocks, st.lists(st.builds(lambda e: [f"- $b: {_yaql(e)}"], EXPRESSIONS), min_size=1, max_size=1),
        ),
        st.builds(lambda x: ["- Parallel:", "  - Do:", *("    " + s for part in x for s in part)], blocks),
    )  # fmt: skip


INSTRUCTIONS = st.recursive(_simple(), _compound, max_leaves=8)
BODIES = st.lists(INSTRUCTIONS, min_size=1, max_size=6)

LIMITS = Limits(max_steps=100_000, max_sequence=2_000, max_expression_memory=1 << 16)


def _text(body: list[list[str]]) -> str:
    lines = [f"        {line}" for part in body for line in part]
    return f"""{HEAD}
Name: Main
Properties:
  p: {{Contract: $, Usage: InOut, Default: 1}}
  q: {{Contract: [$], Usage: InOut, Default: [1, 2]}}
Methods:
  m:
    Arguments:
      - x: {{Contract: $, Default: 5}}
      - y: {{Contract: $.int(), Default: 6}}
    Body:
      - Return: [$x, $y]
  run:
    Scope: Public
    Body:
        - $a: 1
        - $b: two
        - $c: {_yaql("{k => 3}")}
        - $l: [1, 2, 3]
        - $n: 0
        - $i: 7
{chr(10).join(lines)}
        - Return: [$a, $b, $c, $l, $i, $.p, $.q]
"""


def _outcome(text: str, tier: Any) -> Any:
    package = memory_package({"name": "t", "format": "1.4", "classes": {"t.Main": text}})
    session = Engine([package], tier=tier, limits=LIMITS).session(seed=1)
    try:
        session.load({"Objects": {"?": {"type": "t.Main", "id": "root"}}})
        return ("value", repr(thaw(session.call("run"))))
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return ("error", kind_of(error))


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(BODIES)
def test_generated_methods_mean_the_same(body: list[list[str]]) -> None:
    text = _text(body)
    assert _outcome(text, "compiled") == _outcome(text, "closure"), text


@pytest.mark.parametrize("levels", [3, 10, 25, 60])
@pytest.mark.parametrize("leave", ["- Break:", "- Continue:", "- Return: $a + 1", "- $a: $a + 1", "- Throw: Oops"])
def test_blocks_that_are_nested_deeper_than_python_allows(levels: int, leave: str) -> None:
    lines: list[str] = []
    indent = ""
    for level in range(levels):
        kind = level % 4
        if kind == 0:
            lines += (
                [f"{indent}- For: i", f"{indent}  In: [1, 2]", f"{indent}  Do:"]
                if level < 12
                else [f"{indent}- Repeat: 1", f"{indent}  Do:"]
            )
        elif kind == 1:
            lines += [
                f"{indent}- Try: [{{$b: $a}}]",
                f"{indent}  Finally: [{{$.p: $.p + 1}}]",
                f"{indent}- If: 1 = 1",
                f"{indent}  Then:",
            ]
        elif kind == 2:
            lines += [f"{indent}- $n: 0", f"{indent}- While: $n < 1", f"{indent}  Do:", f"{indent}    - $n: 1"]
        else:
            lines += [
                f"{indent}- Try: [{{Throw: Oops}}]",
                f"{indent}  Catch:",
                f"{indent}    With: Oops",
                f"{indent}    As: e",
                f"{indent}    Do:",
            ]
            indent += "    "
        indent += "    "
    lines.append(indent + leave)
    text = _text([lines])
    found = _outcome(text, "compiled")
    assert found == _outcome(text, "closure"), text
    assert found[0] == "value" or leave == "- Throw: Oops", found
