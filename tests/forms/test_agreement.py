"""Contract, schema, server, browser and terminal agree on generated forms.

Contracts are made from a grammar and run by the engine; values come from the schema's neighbourhood and from lines
typed at the prompt of ``vetro form``. The statement: the schema (as any library reads it), our validators in Python and
JavaScript and the terminal's form accept a value exactly when the contract takes it *unchanged*. Contracts also convert
(``"5"`` to 5, a single value to a list of one); forms leave nothing to convert.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.forms.browser import Browser, browser
from tests.forms.world import describer
from tests.support.fuzzing import examples
from vetro.cli.forms.input import KEPT, ask_text
from vetro.forms.check import Checker, compiled
from vetro.forms.generated import class_form
from vetro.forms.model import Field
from vetro.forms.objects import Objects
from vetro.forms.validation import evaluate_form
from vetro.forms.values import same
from vetro.model.paths import ABSENT
from vetro.muranopl import Engine
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.schemas import class_schemas
from vetro.packages.memory import memory_package
from vetro.yaql.errors import VetroError

PATTERNS = ["^[a-z]+$", "[0-9]{2}", r"^\w+$", r"^\d+\.\d*$", "a|b", "(?i)^x", r"\bend\b", "^$", r"^[^\W_]+$", "é"]
WORDS = ["a", "b", "ab", "abc", "x1", "é", "A"]


def integer_checks() -> st.SearchStrategy[str]:
    number = st.integers(-3, 6)
    compare = st.builds("$ {} {}".format, st.sampled_from(["<", ">", "<=", ">=", "="]), number)
    flipped = st.builds("{} {} $".format, number, st.sampled_from(["<", ">", "<=", ">="]))
    among = st.lists(number, min_size=1, max_size=3).map(lambda values: f"$ in [{', '.join(map(str, values))}]")
    return joined(st.one_of(compare, flipped, among))


def text_checks() -> st.SearchStrategy[str]:
    length = st.builds(
        "{} {} {}".format,
        st.sampled_from(["len($)", "$.len()"]),
        st.sampled_from(["<", ">", "<=", ">="]),
        st.integers(1, 4),
    )
    pattern = st.sampled_from(PATTERNS).map(lambda text: "$.matches('" + text.replace("\\", "\\\\") + "')")
    among = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(lambda v: f"$ in [{', '.join(v)}]")
    return joined(st.one_of(length, pattern, among))


def joined(one: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    both = st.lists(one, min_size=1, max_size=2).map(" and ".join)
    return st.one_of(both, both.map(lambda text: f"$ = null or ({text})" if " and " in text else f"$ = null or {text}"))


@st.composite
def scalars(draw: Any) -> str:
    kind = draw(st.sampled_from(["int", "string", "bool", ""]))
    steps = [f".{kind}()"] if kind else []
    if draw(st.booleans()):
        steps.insert(draw(st.integers(0, len(steps))), ".notNull()")
    checks = {"int": integer_checks(), "string": text_checks()}.get(kind)
    if checks is not None:
        for text in draw(st.lists(checks, max_size=2)):
            message = draw(st.sampled_from(["", ", 'no good'"]))
            steps.append(f".check({text}{message})")
    return "$" + "".join(steps)


CHECKER = Checker(describer(), Objects({}, describer()))
KEYS = st.sampled_from(
    ["$.string().notNull()", "$.string().check(len($) < 3)", "$.string().check($.matches('^[a-z]'))"]
)
LIMITS = st.sampled_from([[], [1], [0, 2], [1, 3]])


def contracts() -> st.SearchStrategy[Any]:
    return st.recursive(
        scalars(),
        lambda inner: st.one_of(
            st.builds(lambda items, limits: [*items, *limits], st.lists(inner, min_size=1, max_size=2), LIMITS),
            st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            st.builds(
                lambda fixed, key, rest: {**fixed, key: rest},
                st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=1),
                KEYS,
                inner,
            ),
        ),
        max_leaves=4,
    )


#: Characters that engines of every age know.
KNOWN = st.text(st.characters(max_codepoint=0x2AF), max_size=3)
TEXTS = st.one_of(st.sampled_from([*WORDS, "", "12", "3.", "the end", "x\n", "zz", "Xy", "_", "😀"]), KNOWN)
TYPED = st.one_of(
    st.sampled_from(
        [*WORDS, "0", "1", "-2", "+3", " 4 ", "5.0", "1e2", "007", "true", "[1]", '{"a": 1}', '"x"', "null"]
    ),
    KNOWN.filter(lambda text: text.strip() not in ("<", "?", "!") and text.isprintable()),
)
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-5, 8), st.sampled_from([0.5, 2.0, -1.5]), TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["a", "b", "c", "zz", "long key"]), inner, max_size=3),
    ),
    max_leaves=6,
)


def near(schema: Any) -> st.SearchStrategy[Any]:
    """Values that a schema may well accept, and some that it does not."""
    if not isinstance(schema, dict):
        return LEAVES
    kinds = schema.get("type", [])
    made = [VALUES, st.sampled_from(schema["enum"]) if schema.get("enum") else LEAVES]
    if "array" in kinds:
        parts = [*schema.get("prefixItems", ()), schema.get("items")]
        lists = [st.tuples(*(near(parts[min(i, len(parts) - 1)]) for i in range(n))).map(list) for n in range(4)]
        made = [*made[:1], *lists]
    elif "object" in kinds and "properties" in schema:
        fixed = {name: near(part) for name, part in schema["properties"].items()}
        entries = st.fixed_dictionaries({}, optional=fixed) if fixed else st.just({})
        rest = schema.get("additionalProperties")
        more = (
            st.dictionaries(st.sampled_from(["c", "zz", "long key"]), near(rest), max_size=2) if rest else st.just({})
        )
        whole = st.fixed_dictionaries(fixed)
        made = [*made[:1], *[st.builds(lambda a, b: {**b, **a}, e, more) for e in (entries, whole, whole)]]
    elif "integer" in kinds:
        made.append(st.integers(-4, 7))
    elif "string" in kinds:
        made += [TEXTS, TEXTS]
    elif "boolean" in kinds:
        made.append(st.booleans())
    return st.one_of(made)


def class_text(contract: Any) -> str:
    import json

    def written(part: Any) -> Any:
        if isinstance(part, str):
            return part
        return [written(p) for p in part] if isinstance(part, list) else part

    def yaml(part: Any, indent: str) -> str:
        """Block style, where expressions need no quotes."""
        if isinstance(part, dict):
            if not part:
                return " {}\n"
            return "\n" + "".join(f"{indent}{key}:{yaml(value, indent + '  ')}" for key, value in part.items())
        if isinstance(part, list):
            return "\n" + "".join(f"{indent}-{yaml(value, indent + '  ')}" for value in part)
        return f" {part}\n" if isinstance(part, str) else f" {json.dumps(part)}\n"

    return "Name: t.Thing\nProperties:\n  value:\n    Contract:" + yaml(written(contract), "      ")


class World:
    """A class with the one property ``value``: its schema, and the engine's own opinion."""

    def __init__(self, contract: Any) -> None:
        package = memory_package(
            {"name": "t", "version": "1.0.0", "format": "1.4", "classes": {"t.Thing": class_text(contract)}}
        )
        self.engine = Engine([package], seed=1)
        session = self.engine.session()
        type_ = session.types.find("t.Thing", ">=0")
        self.schema = session.run(lambda: class_schemas(session, type_, form=True))[""]
        self.form = class_form(self.schema)

    def taken(self, values: dict[str, Any]) -> tuple[bool, Any]:
        """Whether the contract takes the values, and what it makes of ``value``."""
        session = self.engine.session()
        try:
            session.load({"Objects": {"?": {"type": "t.Thing/1.0.0", "id": "root"}, **values}})
        except (MuranoError, VetroError):
            return False, None
        return True, session.serialize()["Objects"]["value"]


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("browser")) as started:
        yield started


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(contracts(), st.data())
def test_contract_schema_server_browser_and_prompt_accept_the_same(
    script: Browser, contract: Any, data: st.DataObject
) -> None:
    world = World(contract)
    schema = world.form.schema
    values = data.draw(st.lists(near(schema["properties"]["value"]), min_size=4, max_size=8))
    field = next(world.form.pages[0].fields())
    if field.kind in ("string", "integer", "number", "json"):
        texts = data.draw(st.lists(TYPED, max_size=4))
        values += [typed for text in texts if (typed := at_the_prompt(field, text)) is not ABSENT]
    validator = compiled(schema)
    all_answers = [{"value": value} for value in values]
    in_browser = [not problems for problems in script.problems(schema, all_answers)]
    for value, answers, by_browser in zip(values, all_answers, in_browser, strict=True):
        by_server = not evaluate_form(schema, answers)
        by_schema = validator.is_valid(answers)
        assert by_server == by_schema == by_browser, (contract, value, schema)
        # What the terminal's form says to an answer, with all that it knows besides.
        by_prompt = not CHECKER.arguments(world.form, answers)
        assert by_prompt == by_server, (contract, value, schema)
        taken, result = world.taken(answers)
        by_contract = taken and unchanged(value, result)
        assert by_server == by_contract, (contract, value, result, schema)


class Typist:
    """A person at a terminal who types one line."""

    def __init__(self, text: str) -> None:
        self.text = text

    def say(self, text: str) -> None:
        """Reads."""

    def line(self, prompt: str) -> str:
        """Types."""
        return self.text

    secret = line


def at_the_prompt(field: Field, text: str) -> Any:
    """The value that ``vetro form`` makes of a line."""
    found = ask_text(Typist(text), "Value", field, raw=False)
    return ABSENT if found is KEPT else found


def unchanged(value: Any, result: Any) -> bool:
    """Equal, where a key that is missing is the same as null: a mapping contract writes all its keys."""
    if isinstance(value, dict) and isinstance(result, dict):
        keys = value.keys() | result.keys()
        return value.keys() <= result.keys() and all(
            unchanged(value[key], result[key]) if key in value else empty(result[key]) for key in keys
        )
    if isinstance(value, list) and isinstance(result, (list, tuple)):
        return len(value) == len(result) and all(map(unchanged, value, result))
    return same(value, result)


def empty(value: Any) -> bool:
    return value is None or value == [] or (isinstance(value, dict) and all(map(empty, value.values())))
