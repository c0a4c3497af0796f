"""Whether a new contract takes what the old one took: pairs made by hand, then pairs made up."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.packages.compat.pairs import ALONE, Written, sides
from tests.support.fuzzing import EVERYTHING
from vetro.packages.compat.contract_comparison import Pair, Relation, Verdict
from vetro.packages.compat.findings import shown


def related(old: str, new: str) -> Relation:
    ((before, one),) = sides("1.0.0", [old])
    ((after, other),) = sides("2.0.0", [new])
    return Pair(before, after).relate(one, other)


TAKEN = """
$.int().notNull()                                   => $.int()
$.int().check($ > 5)                                => $.int().check($ > 0)
$.int().check($ > 5 and $ < 9)                      => $.int().check($ in [6, 7, 8, null])
$.int().notNull().check($ > 0)                      => $.int().notNull().check(0 < $)
$.int().notNull().check($ >= 1)                     => $.int().notNull().check($ > 0 or $ = -7)
$.string().check($ = null or len($) < 5)            => $.string().check($ = null or len($) < 9)
$.string().notNull().check($ in [a, b])             => $.string().notNull().check($ in [c, b, a])
$.string().notNull().check($.matches('^[a-z]{3}$')) => $.string().notNull().check(len($) > 2 and len($) < 5)
$.string().notNull().check($.startsWith(ab))        => $.string().notNull().check($ =~ '^a')
$.string().notNull().check($ = a or $ = b)          => $.string().notNull().check($.matches('^[ab]$'))
$.string().check($.toUpper() = $)                   => $.string().check($ = $.toUpper())
[$.int(), 1, 3]                                     => [$.int(), 0, 5]
[$.int().notNull()]                                 => [$.int()]
{a: $.int()}                                        => {a: $.int(), b: $}
{a: $.int(), b: $.string()}                         => {a: $.int()}
{$.string().notNull(): $.int().notNull()}           => {$.string().notNull(): $.int()}
{}                                                  => $
$.class(Derived)                                    => $.class(Base)
$.class(Base).notNull().owned()                     => $.class(Base)
[$.class(Derived).notNull(), 1]                     => [$.class(Base)]
$.class(Base).check($ != null)                      => $.class(Base).notNull()
$.class(Derived).notOwned().notNull()               => $.class(Base).check(null != $)
$.class(Base).check($.n > 1 and $ != null)          => $.class(Base).notNull().check($.n > 1)
"""
REFUSED = """
$.int() => $.int().notNull() => null
$.int().check($ > 0) => $.int().check($ > 5) => 1
$.int().notNull().check($ > 5) => $.int().notNull().check($ < 70000) => 70000
$.string().notNull().check($ in [a, b, c]) => $.string().notNull().check($ in [a, b]) => "c"
$.string().notNull() => $.int().notNull() => ""
$.string().notNull().check(len($) < 9) => $.string().notNull().check(len($) < 5) => "a@b.c"
[$.int().notNull(), 1] => [$.int().notNull(), 2] => [0]
[$.int().notNull()] => [$.int().notNull(), 0, 2] => [0, 0, 0]
[$.class(Base), 1] => [$.class(Base), 2] => [{"?": {"type": "a.Base"}}]
[$.class(Base)] => [$.class(Derived)] => [{"?": {"type": "a.Base"}}]
$.class(Base) => $.class(Base).notNull() => null
$.class(Base) => $.class(Other) => {"?": {"type": "a.Base"}}
$.class(Base) => $.class(Base).check($ != null) => null
$.class(Base).owned() => $.class(Base).notOwned() => {"?": {"type": "a.Base"}}
$.class(Base) => $.class(Base).owned() => "Base"
$.class(Base).notOwned().notNull() => $.class(Derived).notOwned() => "Base"
[$.class(Base).notOwned().notNull(), 1] => [$.class(Base).notOwned(), 2] => ["Base"]
[$.class(Base).notOwned(), 1] => [$.class(Base).notOwned(), 2] => [null]
"""


@pytest.mark.parametrize("line", TAKEN.strip().splitlines())
def test_whatever_the_old_one_took_is_taken(line: str) -> None:
    old, new = (part.strip() for part in line.split("=>"))
    assert related(old, new).verdict is Verdict.TAKEN


@pytest.mark.parametrize("line", REFUSED.strip().splitlines())
def test_a_witness_is_small_and_of_the_kind_that_is_named(line: str) -> None:
    old, new, witness = (part.strip() for part in line.split("=>"))
    found = related(old, new)
    assert (found.verdict, found.declared, shown(found.witness)) == (Verdict.REFUSED, True, witness)


def test_a_witness_that_was_only_converted_is_told_as_such() -> None:
    assert related("$.int()", "$.string()").declared is False
    assert related("{a: $.int()}", "{a: $.int(), b: $.int()}").declared is False


def test_what_becomes_something_else_is_told() -> None:
    found = related("$.int()", "$")
    assert (found.verdict, found.has_changed) == (Verdict.TAKEN, True)
    assert not related("$.int().notNull()", "$.int()").has_changed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("$.string().notNull().check($.toUpper() = $)", "$.string().notNull().check($.toUpper() = $ or $ = x)"),
        ("$.int().check($ < $this.p1)", "$.int().check($ < $this.p2)"),
        ("$.int().check($ < now())", "$.int().check($ <= now())"),
        ("$.string().check($.matches('a(?=b)'))", "$.string().check($.matches('a'))"),
    ],
)
def test_what_nobody_knows_is_not_made_up(old: str, new: str) -> None:
    assert related(old, new).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        (f"$.int().notNull().check($ < 1{'0' * 400})", f"$.int().notNull().check($ < 1{'0' * 401})", Verdict.UNKNOWN),
        (f"$.int().notNull().check($ < 1{'0' * 401})", f"$.int().notNull().check($ < 1{'0' * 400})", Verdict.REFUSED),
        ("$.int().notNull().check($ > 3)", "$.int().notNull().check($ > 1e400)", Verdict.REFUSED),
        (f"$.int().notNull().check($ in [1{'0' * 400}, 1])", "$.int().notNull().check($ < 5)", Verdict.REFUSED),
        ("$.int().notNull().check($ in [1, 2] and $ in [1.0, 3])", "$.int().notNull().check($ != 1)", Verdict.REFUSED),
        ("[$.int(), 1000000000]", "[$.int(), 1000000001]", Verdict.UNKNOWN),
        ("$.string().check(len($) < 1000000000)", "$.string().check(len($) < 1000000001)", Verdict.UNKNOWN),
        (f"$.int().check({' or '.join(f'$ = {n}' for n in range(2000))})", "$.int()", Verdict.UNKNOWN),
        (f"$.int().check($ < {'+'.join('1' * 2000)})", "$.int().check($ < 9)", Verdict.UNKNOWN),
    ],
    ids=range(9),
)  # fmt: skip
def test_hostile_contracts_end_soon_and_prove_nothing_false(old: str, new: str, verdict: Verdict) -> None:
    assert related(old, new).verdict is verdict


def test_an_alternative_that_fails_proves_nothing() -> None:
    """The left side is asked first: the length of a number is an error."""
    assert (
        related("$.int().notNull().check($ > 0)", "$.int().notNull().check(len($) > 3 or $ > 0)").verdict
        is Verdict.REFUSED
    )


def test_a_class_that_lost_its_base_is_refused() -> None:
    ((before, one),) = sides("1.0.0", ["$.class(Derived)"])
    ((after, other),) = sides("2.0.0", ["$.class(Base)"], ALONE)
    assert Pair(before, after).relate(one, other).verdict is Verdict.REFUSED


# -- pairs made up -----------------------------------------------------------------------------------------------------

WORDS = ("a", "b", "abc", "web", "", "x1")
PATTERNS = ("^[a-z]+$", "^[a-z]{1,5}$", "^[a-z0-9-]*$", "a", "^ab?", "[0-9]$", r"^\\d+$", "^(a|b)*$")


def made_up(chance: random.Random, depth: int = 0) -> Written:
    """A contract."""
    roll = chance.random()
    if depth < 2 and roll < 0.1:
        return [made_up(chance, depth + 1), *chance.choice(((), (1,), (0, 3), (1, 2)))]
    if depth < 2 and roll < 0.2:
        made = {name: made_up(chance, depth + 1) for name in chance.sample(("a", "b", "c"), chance.randrange(1, 3))}
        if chance.random() < 0.3:
            made["$.string().notNull()"] = made_up(chance, depth + 1)
        return made
    kind = chance.choice(("int", "int", "string", "string", "bool", ""))
    null = ".notNull()" if chance.random() < 0.6 else ""
    check = f".check({condition(chance, kind)})" if chance.random() < 0.75 else ""
    return f"${f'.{kind}()' if kind else ''}{null}{check}"


def condition(chance: random.Random, kind: str) -> str:
    """A condition; most fit the kind."""
    roll = chance.random()
    if roll < 0.2:
        return f"{condition(chance, kind)} {chance.choice(('and', 'or'))} {condition(chance, kind)}"
    if roll < 0.3:
        return "$ = null" if chance.random() < 0.5 else "$ != null"
    number = chance.choice((0, 1, 2, 5, 10, 100))
    compare = chance.choice(("<", "<=", ">", ">=", "=", "!="))
    if kind == "string":
        return chance.choice(
            (
                f"len($) {compare} {number}",
                f"$.matches('{chance.choice(PATTERNS)}')".replace("\\\\", "\\"),
                f"$ in ['{chance.choice(WORDS)}', '{chance.choice(WORDS)}']",
                f"$.startsWith('{chance.choice(WORDS)}')",
                f"$ = '{chance.choice(WORDS)}'",
            )
        )
    if kind == "bool":
        return chance.choice(("$", "not $", "$ = true", "$ != false"))
    return chance.choice((f"$ {compare} {number}", f"{number} {compare} $", f"$ in [{number}, {number + 1}, 7]"))


SWAPS = (
    ("<", "<="), (">", ">="), (".notNull()", ""), (" and ", " or "), (" or ", " and "), ("10", "5"), ("1", "2"),
    ("abc", "ab"), (".int()", ".string()"), ("a-z", "a-x"), ("$.string()", "$.string().notNull()"),
)  # fmt: skip


def changed(chance: random.Random, contract: Written) -> Written:
    """A contract that is like another one."""
    if isinstance(contract, list) and chance.random() < 0.8:
        return [changed(chance, contract[0]), *chance.choice((contract[1:], (1,), (0, 3), (0, 4)))]
    if isinstance(contract, dict) and chance.random() < 0.8:
        name = chance.choice(list(contract))
        return {**contract, name: changed(chance, contract[name]), **({"d": "$"} if chance.random() < 0.1 else {})}
    if isinstance(contract, str):
        for one, other in chance.sample(SWAPS, len(SWAPS)):
            if one in contract and chance.random() < 0.7:
                return contract.replace(one, other, 1)
    return made_up(chance)


def some_value(chance: random.Random, depth: int = 0) -> Any:
    """A value, made by other means than the checker's."""
    roll = chance.random()
    if roll < 0.3:
        return chance.choice((chance.randrange(-3, 13), chance.randrange(-200, 200), chance.randrange(-(10**9), 10**9)))
    if roll < 0.65:
        letters = chance.choice(("ab", "abcdwex", "0123456789", "a1-_ .", "aA\né"))
        return "".join(chance.choice(letters) for _ in range(chance.choice((0, 1, 1, 2, 3, 4, 5, 6, 9, 10, 11, 101))))
    if roll < 0.75:
        return chance.choice((None, True, False, 0.5, 7.0, 2.5, "web", "abc", "x1", "7", "10"))
    if depth > 2:
        return None
    if roll < 0.87:
        return [some_value(chance, depth + 1) for _ in range(chance.randrange(0, 5))]
    return {
        chance.choice(("a", "b", "c", "d", "e1")): some_value(chance, depth + 1) for _ in range(chance.randrange(0, 4))
    }


PAIRS = 100


@pytest.mark.parametrize(
    "seeds", [range(n, n + 10) for n in range(0, 100 if EVERYTHING else 10, 10)], ids=lambda s: s.start
)
def test_no_proof_is_refuted_no_witness_is_false_and_little_is_unknown(seeds: range) -> None:
    """10,000 pairs with `script/test --all`; a search that knows nothing of the checker tries to refute each proof."""
    verdicts: Counter[Verdict] = Counter()
    for seed in seeds if EVERYTHING else seeds[:2]:
        verdicts += judged(random.Random(seed))
    print({verdict.value: count for verdict, count in verdicts.items()})
    assert verdicts[Verdict.UNKNOWN] <= verdicts.total() * 0.1, verdicts
    assert min(verdicts[Verdict.TAKEN], verdicts[Verdict.REFUSED]) > verdicts.total() / 5, verdicts


def judged(chance: random.Random) -> Counter[Verdict]:
    """The verdicts over some pairs, each of which was tried to be refuted."""
    verdicts: Counter[Verdict] = Counter()
    olds = [made_up(chance) for _ in range(PAIRS)]
    news = [changed(chance, old) for old in olds]
    before, after, again = sides("1.0.0", olds), sides("2.0.0", news), sides("2.0.0", news)
    for old, new, (one, first), (other, second), (fresh, third) in zip(olds, news, before, after, again, strict=True):
        found = Pair(one, other).relate(first, second)
        verdicts[found.verdict] += 1
        if found.verdict is Verdict.REFUSED:
            assert one.take(first, found.witness).taken, (old, new, found)
            assert fresh.take(third, found.witness).taken is False, (old, new, found)
        elif found.verdict is Verdict.TAKEN:
            for _ in range(1000 if EVERYTHING else 100):
                value = some_value(chance)
                if one.take(first, value).taken:
                    assert fresh.take(third, value).taken, (old, new, value)
    return verdicts
