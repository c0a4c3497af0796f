"""Values to try on two contracts: those near their borders first, then a few of every kind."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from vetro.muranopl.contracts.checks import conjuncts, fold, is_value
from vetro.muranopl.contracts.model import Contract, ContractExpression, ContractList, ContractMap, expressions
from vetro.packages.compat.languages import Automaton, Unsupported, samples
from vetro.packages.compat.predicates import automaton, comparison, listed
from vetro.yaql import ast
from vetro.yaql.values import thaw

#: Values for one pair of contracts; texts by which an expression is sampled; depth of lists and mappings.
MOST, SAMPLES, DEPTH = 600, 8, 4
#: Values of every kind.
USUAL: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 100, 65536, -(2**31), 2**63, 0.5, 3.7, -1.5, "", "a", "A", "ab", "some text",
    "7", "-3", "3.7", "true", " ", "é", "a" * 64, "a" * 300, "a\nb", "a\n", "10.0.0.1", "a@b.c",
    [], ["a"], [1], [None], {}, {"a": 1}, {"a": "b"},
)  # fmt: skip


def values_for(*contracts: Contract) -> list[Any]:
    """Values to try, no two the same; always the same ones for the same contracts."""
    found: dict[str, Any] = {}
    for value in _values(contracts, random.Random(0), 0):
        found.setdefault(repr(value), value)
        if len(found) >= MOST:
            break
    return list(found.values())


def _values(contracts: tuple[Contract, ...], chance: random.Random, depth: int) -> Iterator[Any]:
    for contract in contracts:
        if isinstance(contract, ContractExpression):
            yield from _near(contract, chance)
    yield from USUAL
    if depth < DEPTH:
        lists = [one for one in contracts if isinstance(one, ContractList)]
        maps = [one for one in contracts if isinstance(one, ContractMap)]
        if lists:
            yield from _lists(lists, chance, depth)
        if maps:
            yield from _maps(maps, chance, depth)


def _near(contract: ContractExpression, chance: random.Random) -> Iterator[Any]:
    """Values around the constants of an expression, and texts that its patterns accept or nearly accept."""
    for expression in expressions(contract):
        for node in ast.walk(expression.node):
            for part in conjuncts(node):
                compared = comparison(part)
                if compared is not None and compared.value.__class__ in (int, float) and abs(compared.value) < 10**6:
                    around = [int(compared.value) + step for step in (-1, 0, 1)]
                    yield from ["a" * size for size in around if 0 <= size <= 400] if compared.length else around
                for value in listed(part) or ():
                    yield thaw(value)
                    if isinstance(value, str):
                        yield from (value + "x", value[:-1], value.upper())
                machine = automaton(part)
                if machine is not None:
                    yield from texts_near(machine, chance)
            value = fold(node)
            if is_value(value) and not isinstance(value, tuple):
                yield value


def texts_near(machine: Automaton, chance: random.Random | None = None) -> Iterator[str]:
    """Texts that an automaton accepts, and some that it nearly accepts; none where it is too large for that."""
    chance = chance or random.Random(0)
    try:
        texts = samples(machine, SAMPLES, chance)
    except Unsupported:
        return
    for text in texts:
        yield text
        if text:
            at = chance.randrange(len(text))
            yield from (text + "!", text[:at] + "!" + text[at + 1 :], text[1:], text[:-1])


def _lists(contracts: list[ContractList], chance: random.Random, depth: int) -> Iterator[Any]:
    sizes = {0, 1, 2, 3}
    for one in contracts:
        sizes |= {len(one.items), len(one.items) + 1}
        sizes |= {size + step for size in (one.minimum, one.maximum) if size is not None for step in (-1, 0, 1)}
    pools = _pools([one.items for one in contracts], chance, depth)
    if not pools:
        pools = [list(USUAL)]
    for size in sorted(size for size in sizes if 0 <= size <= 64):
        for _ in range(6):
            yield [chance.choice(pools[min(i, len(pools) - 1)]) for i in range(size)]
    for position, pool in enumerate(pools):
        for value in pool:
            yield [chance.choice(pools[min(i, position)]) for i in range(position)] + [value]


def _pools(items: list[tuple[Contract, ...]], chance: random.Random, depth: int) -> list[list[Any]]:
    longest = max((len(one) for one in items), default=0)
    pools = []
    for position in range(longest):
        here = tuple(one[min(position, len(one) - 1)] for one in items if one)
        pools.append(_some(here, chance, depth))
    return pools


def _some(contracts: tuple[Contract, ...], chance: random.Random, depth: int) -> list[Any]:
    found: dict[str, Any] = {}
    for value in _values(contracts, chance, depth + 1):
        found.setdefault(repr(value), value)
        if len(found) >= 40 >> depth:
            break
    return list(found.values())


def _maps(contracts: list[ContractMap], chance: random.Random, depth: int) -> Iterator[Any]:
    names = list(dict.fromkeys(key for one in contracts for key, _ in one.entries))
    pools = {
        name: _some(tuple(item for one in contracts for key, item in one.entries if key == name), chance, depth)
        for name in names
    }
    rest_keys = _some(tuple(key for one in contracts for key, _ in one.rest), chance, depth)
    rest_values = _some(tuple(item for one in contracts for _, item in one.rest), chance, depth)
    more = [key for key in rest_keys if isinstance(key, (str, int))] or ["other"]
    for _ in range(30):
        yield {name: chance.choice(pools[name]) for name in names}
    for name in names:
        for value in pools[name]:
            yield {**{other: chance.choice(pools[other]) for other in names}, name: value}
        yield {other: chance.choice(pools[other]) for other in names if other != name}
    for _ in range(30):
        made = {name: chance.choice(pools[name]) for name in names}
        made[chance.choice(more)] = chance.choice(rest_values)
        yield made
