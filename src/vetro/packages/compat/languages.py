"""Sets of texts: whether every text that some conditions accept also meets another one, or a text that does not.

Regular expressions become automata, which are walked together. What has no such form (look-around, references to
groups, places inside) raises `Unsupported`, and so does what gets too large.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from vetro.data_classes import dataclass
from vetro.yaql.regex.nodes import MANY, Alt, AnyChar, At, Char, CharSet, Group, Node, Repeat, Seq
from vetro.yaql.regex.parser import Flags, parse
from vetro.yaql.regex.program import char_test

Test = Callable[[str], bool]
#: States of one automaton, and of several that are walked together; the longest length that is counted.
STATES, WALKED, LONGEST = 2_000, 4_000, 300
#: Characters that people can read come first where one stands for many.
_READABLE = "ab0A-_. /:@é" + "".join(chr(code) for code in range(33, 127))
_LAST = 0x110000


class Unsupported(Exception):
    """A set of texts that no automaton of this size describes."""


@dataclass(frozen=True, slots=True)
class Lengths:
    """Texts of so many characters; ``most`` is None without a bound."""

    least: int = 0
    most: int | None = None

    def holds(self, length: int) -> bool:
        return length >= self.least and (self.most is None or length <= self.most)


class Automaton:
    """Reads texts; states are numbers, 0 is where it begins."""

    def __init__(self) -> None:
        self.free: list[list[int]] = []
        self.moves: list[list[tuple[Node, int]]] = []
        self.final = -1

    def state(self) -> int:
        """A new state. Raises `Unsupported` when there are too many."""
        if len(self.free) >= STATES:
            raise Unsupported
        self.free.append([])
        self.moves.append([])
        return len(self.free) - 1

    def add(self, node: Node, start: int) -> int:
        """Reads what ``node`` matches from a state on; the state after it."""
        if isinstance(node, (Char, AnyChar, CharSet)):
            end = self.state()
            self.moves[start].append((node, end))
            return end
        if isinstance(node, Group):
            return self.add(node.body, start)
        if isinstance(node, Seq):
            for item in node.items:
                start = self.add(item, start)
            return start
        if isinstance(node, Alt):
            end = self.state()
            for branch in node.branches:
                begin = self.state()
                self.free[start].append(begin)
                self.free[self.add(branch, begin)].append(end)
            return end
        if isinstance(node, Repeat) and node.mode != "possessive":
            return self._repeat(node, start)
        raise Unsupported

    def _repeat(self, node: Repeat, start: int) -> int:
        for _ in range(node.least):
            start = self.add(node.body, start)
        if node.most >= MANY:
            begin, end = self.state(), self.state()
            self.free[start] += (begin, end)
            self.free[self.add(node.body, begin)] += (begin, end)
            return end
        end = self.state()
        self.free[start].append(end)
        for _ in range(node.most - node.least):
            start = self.add(node.body, start)
            self.free[start].append(end)
        return end

    def anything(self, start: int) -> int:
        """Any text from a state on; the state after it."""
        return self._repeat(Repeat(AnyChar(True), 0, MANY, "greedy"), start)

    def reached(self, states: Iterator[int] | Sequence[int]) -> frozenset[int]:
        """States where it may be without reading more."""
        found = set(states)
        todo = list(found)
        while todo:
            for other in self.free[todo.pop()]:
                if other not in found:
                    found.add(other)
                    todo.append(other)
        return frozenset(found)

    def after(self, states: frozenset[int], char: str, test: Callable[[Node], Test]) -> frozenset[int]:
        """States after one more character."""
        return self.reached([to for state in states for node, to in self.moves[state] if test(node)(char)])


def found_by(pattern: str) -> Automaton:
    """The texts in which a regular expression is found, as ``matches`` does. Raises `Unsupported`.

    Bad patterns raise what their parser raises.
    """
    made = Automaton()
    start, end = made.state(), made.state()
    for first, items, place in _branches(parse(pattern, Flags()).tree):
        state = made.state()
        made.free[start].append(state)
        if not first:
            state = made.anything(state)
        state = made.add(Seq(items), state)
        if not place:
            state = made.anything(state)
        elif place == "last":  # the end, or before a line end that is the end
            made.free[made.add(Char("\n"), state)].append(end)
        made.free[state].append(end)
    made.final = end
    return made


def beginning_with(text: str, *, at_end: bool = False) -> Automaton:
    """The texts that begin, or end, with this one."""
    made = Automaton()
    state = made.state()
    if at_end:
        state = made.anything(state)
    state = made.add(Seq(tuple(map(Char, text))), state)
    made.final = state if at_end else made.anything(state)
    return made


def exactly(texts: Sequence[str]) -> Automaton:
    """These texts and no other. Raises `Unsupported` for too many."""
    made = Automaton()
    begin, made.final = made.state(), made.state()
    for text in texts:
        made.free[made.add(Seq(tuple(map(Char, text))), begin)].append(made.final)
    return made


def _branches(tree: Node) -> Iterator[tuple[bool, tuple[Node, ...], str]]:
    """The alternatives of a pattern: whether it begins at the start of the text, what it reads, and where it ends."""
    if isinstance(tree, Group):
        yield from _branches(tree.body)
    elif isinstance(tree, Alt):
        for branch in tree.branches:
            yield from _branches(branch)
    elif isinstance(tree, Seq) and len(tree.items) == 1 and isinstance(tree.items[0], (Group, Alt)):
        yield from _branches(tree.items[0])
    else:
        items = tree.items if isinstance(tree, Seq) else (tree,)
        first = bool(items) and isinstance(items[0], At) and items[0].place == "start"
        items = items[1:] if first else items
        ends = items[-1].place if items and isinstance(items[-1], At) else ""
        if ends not in ("", "end", "last"):
            raise Unsupported
        yield first, items[:-1] if ends else items, ends


def text_outside(known: Sequence[Automaton], lengths: Lengths, wanted: Automaton | Lengths) -> str | None:
    """A text that all ``known`` and ``lengths`` accept and ``wanted`` does not; None where there is none, which is
    a proof. Raises `Unsupported` when it would take too long to tell."""
    machines = [*known, wanted] if isinstance(wanted, Automaton) else list(known)
    letters = _alphabet(machines)
    test = cache(char_test)
    counted = [lengths, *([wanted] if isinstance(wanted, Lengths) else [])]
    cap = max([one.least for one in counted] + [0 if one.most is None else one.most + 1 for one in counted])
    if cap > LONGEST:
        raise Unsupported
    begin = (tuple(machine.reached([0]) for machine in machines), 0)
    before: dict[object, tuple[object, str]] = {}
    seen = {begin}
    todo = deque([begin])
    while todo:
        state = todo.popleft()
        sets, length = state
        inside = [machine.final in found for machine, found in zip(machines, sets)]
        if isinstance(wanted, Lengths):
            refused = not wanted.holds(length)
        else:
            refused = not inside.pop()
        if refused and all(inside) and lengths.holds(length):
            return _way(state, before)
        for letter in letters:
            after = tuple(machine.after(found, letter, test) for machine, found in zip(machines, sets))
            following = (after, min(length + 1, cap))
            too_long = lengths.most is not None and length >= lengths.most
            if too_long or following in seen or not all(after[: len(known)]):
                continue
            if len(seen) >= WALKED:
                raise Unsupported
            seen.add(following)
            before[following] = state, letter
            todo.append(following)
    return None


def _way(state: object, before: dict[object, tuple[object, str]]) -> str:
    letters: list[str] = []
    while state in before:
        state, letter = before[state]
        letters.append(letter)
    return "".join(reversed(letters))


def samples(machine: Automaton, number: int, chance: random.Random) -> list[str]:
    """Texts that an automaton accepts, short ones; fewer where it is hard to get to its end."""
    letters = _alphabet([machine])
    test = cache(char_test)
    found: list[str] = []
    for _ in range(number * 4):
        states, text = machine.reached([0]), ""
        stop = chance.randrange(1, 24)
        while len(text) < 60:
            if machine.final in states and (len(text) >= stop or not any(machine.moves[s] for s in states)):
                found.append(text)
                break
            ways = [(letter, machine.after(states, letter, test)) for letter in letters]
            ways = [(letter, after) for letter, after in ways if after]
            if not ways:
                break
            letter, states = chance.choice(ways)
            text += letter
        if len(found) >= number:
            break
    return found


def _alphabet(machines: Sequence[Automaton]) -> list[str]:
    """One character of every kind that some automaton tells from others."""
    nodes = list({node for machine in machines for moves in machine.moves for node, _ in moves})
    places = {0}
    for node in nodes:
        if isinstance(node, Char):
            places |= {ord(node.char), ord(node.char) + 1}
        elif isinstance(node, AnyChar):
            places |= {10, 11}
        else:
            assert isinstance(node, CharSet)
            places.update(place for low, high in node.ranges for place in (low, high + 1))
            if node.categories:
                places.update(range(129) if node.ascii else _category_places())
    tests = [char_test(node) for node in nodes]
    kinds: dict[tuple[bool, ...], str] = {}
    for char in (*_READABLE, *map(chr, sorted(place for place in places if place < _LAST))):
        if not "\ud800" <= char <= "\udfff":
            kinds.setdefault(tuple(test(char) for test in tests), char)
    if len(kinds) * len(machines) > 400:
        raise Unsupported
    return list(kinds.values())


@cache
def _category_places() -> tuple[int, ...]:
    """Code points where one of the categories begins or ends."""
    tests = [char_test(CharSet((), (letter,))) for letter in "dsw"]
    found, before = [0], None
    for code in range(_LAST):
        now = [test(chr(code)) for test in tests]
        if now != before:
            found.append(code)
            before = now
    return tuple(found)
