"""A small backtracking engine for the regular expressions that RE2 cannot do, with a bound on its work.

The tree becomes a program of a simple machine; the machine keeps what it could still try on its own stack, so neither
pattern nor text can exhaust Python's. Every step is counted: a `Meter` ends hopeless searches with `LimitExceeded`.
Semantics are those of Python's ``re``: empty rounds of a repetition end it, groups keep their last round.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.library._regex_case import fold
from vetro.yaql.library._regex_nodes import (
    Alt,
    AnyChar,
    At,
    Atomic,
    BackRef,
    Char,
    CharSet,
    Cond,
    Group,
    Look,
    Node,
    Repeat,
    Seq,
)

#: Steps that one operation on a text may take, besides `_PER_CHAR` for each of its characters.
MAX_STEPS = 3_000_000
_PER_CHAR = 40
_BATCH = 8192

Test = Callable[[str], bool]

# Instructions. Arguments in brackets.
CHAR, SET, SPLIT, JUMP, SAVE, PLACE, ONE, INIT, LOOP, REF, LOOK, ATOMIC, COND, MATCH = range(14)
# What lies on the stack: another way, an old value of a slot, a shorter greedy run, a longer lazy run, a lazy loop.
_WAY, _OLD, _SHORTER, _LONGER, _AGAIN = range(5)


class Meter:
    """Counts the steps of one operation, for the bound and for the run's budget."""

    def __init__(self, cx: CodeContext, text: str) -> None:
        self.cx = cx
        self.left = MAX_STEPS + _PER_CHAR * len(text)
        #: Steps that are paid for already.
        self.work = 0

    def batch(self) -> int:
        """Pays for the next steps and says how many they are. Raises `LimitExceeded` when the bound is reached."""
        if self.left <= 0:
            error = LimitExceeded("regular expression needs too many steps on this text")
            error.hint = "nested repetitions and look-around make it try too many ways; simplify the pattern"
            raise error
        self.left -= _BATCH
        self.cx.rt.charge(_BATCH >> 4)
        return _BATCH


class Program:
    """A compiled pattern. `search` finds spans of the groups; slots of unmatched groups are -1."""

    def __init__(self, tree: Node, groups: int) -> None:
        self.code: list[tuple[Any, ...]] = []
        self.groups = groups
        self.slots = 2 * groups + 2
        self._emit(tree)
        self.code.append((MATCH,))
        self.prefix = _prefix(tree)

    # -- compiling ----------------------------------------------------------------------------------------------------

    def _emit(self, node: Node) -> None:
        code = self.code
        if isinstance(node, Char):
            code.append((CHAR, node.char))
        elif isinstance(node, (CharSet, AnyChar)):
            code.append((SET, char_test(node)))
        elif isinstance(node, At):
            code.append((PLACE, _PLACES[node.place], node.ascii))
        elif isinstance(node, Seq):
            for item in node.items:
                self._emit(item)
        elif isinstance(node, Alt):
            self._alternatives(node)
        elif isinstance(node, Group):
            code.append((SAVE, 2 * node.number))
            self._emit(node.body)
            code.append((SAVE, 2 * node.number + 1))
        elif isinstance(node, Repeat):
            self._repeat(node)
        elif isinstance(node, BackRef):
            code.append((REF, 2 * node.number, node.ignore_case))
        elif isinstance(node, Look):
            self._enclosed(node.body, (LOOK, node.behind, node.negated))
        elif isinstance(node, Atomic):
            self._enclosed(node.body, (ATOMIC,))
        else:
            self._condition(node)

    def _hole(self) -> int:
        self.code.append(())
        return len(self.code) - 1

    def _alternatives(self, node: Alt) -> None:
        ends = []
        for branch in node.branches[:-1]:
            split = self._hole()
            self._emit(branch)
            ends.append(self._hole())
            self.code[split] = (SPLIT, split + 1, len(self.code))
        self._emit(node.branches[-1])
        for end in ends:
            self.code[end] = (JUMP, len(self.code))

    def _enclosed(self, body: Node, head: tuple[Any, ...]) -> None:
        start = self._hole()
        self._emit(body)
        self.code.append((MATCH,))
        self.code[start] = (*head, len(self.code))

    def _condition(self, node: Cond) -> None:
        start = self._hole()
        self._emit(node.yes)
        end = self._hole()
        self.code[start] = (COND, 2 * node.number, len(self.code))
        self._emit(node.no)
        self.code[end] = (JUMP, len(self.code))

    def _repeat(self, node: Repeat) -> None:
        if node.mode == "possessive":
            self._enclosed(Repeat(node.body, node.least, node.most, "greedy"), (ATOMIC,))
            return
        lazy = node.mode == "lazy"
        body = node.body
        while isinstance(body, Seq) and len(body.items) == 1:
            body = body.items[0]
        if isinstance(body, (Char, CharSet, AnyChar)):
            self.code.append((ONE, char_test(body), node.least, node.most, lazy))
            return
        if (node.least, node.most) == (0, 1):
            split = self._hole()
            self._emit(body)
            ways = (split + 1, len(self.code))
            self.code[split] = (SPLIT, *(ways[::-1] if lazy else ways))
            return
        register = self.slots
        self.slots += 2
        self.code.append((INIT, register))
        loop = self._hole()
        self._emit(body)
        self.code.append((JUMP, loop))
        self.code[loop] = (LOOP, register, node.least, node.most, lazy, len(self.code))

    # -- running ------------------------------------------------------------------------------------------------------

    def search(self, meter: Meter, text: str, pos: int = 0) -> tuple[int, ...] | None:
        """Slots of the first match at or after ``pos``, or None."""
        while pos <= len(text):
            if self.prefix:
                pos = text.find(self.prefix, pos)
                if pos < 0:
                    return None
            found = self.match_at(meter, text, pos)
            if found is not None:
                return found
            pos += 1
        return None

    def match_at(self, meter: Meter, text: str, pos: int, not_empty: bool = False) -> tuple[int, ...] | None:
        """Slots of the match that begins at ``pos``, or None. ``not_empty``: only one that has characters."""
        return _Machine(self, meter, text).run_all(pos, not_empty)


class _Machine:
    """One attempt to match at one place."""

    __slots__ = ("code", "forbidden", "meter", "slots", "stack", "text")

    def __init__(self, program: Program, meter: Meter, text: str) -> None:
        self.code = program.code
        self.meter = meter
        self.text = text
        self.slots = [-1] * program.slots
        self.stack: list[tuple[int, ...]] = []
        self.forbidden = -1

    def run_all(self, pos: int, not_empty: bool) -> tuple[int, ...] | None:
        self.forbidden = pos if not_empty else -1
        end = self.run(0, pos)
        if end < 0:
            return None
        self.slots[0], self.slots[1] = pos, end
        return tuple(self.slots)

    def run(self, pc: int, pos: int) -> int:
        """Where the program from ``pc`` ends when started at ``pos``; -1 when it fails. Leaves undo entries only."""
        code, text, slots, stack = self.code, self.text, self.slots, self.stack
        size = len(text)
        base = len(stack)
        outermost = not base
        meter = self.meter
        work = meter.work
        while True:
            work -= 1
            if work < 0:
                work = meter.batch()
            op = code[pc]
            kind = op[0]
            if kind == CHAR:
                if pos < size and text[pos] == op[1]:
                    pc += 1
                    pos += 1
                    continue
            elif kind == SET:
                if pos < size and op[1](text[pos]):
                    pc += 1
                    pos += 1
                    continue
            elif kind == SPLIT:
                stack.append((_WAY, op[2], pos))
                pc = op[1]
                continue
            elif kind == JUMP:
                pc = op[1]
                continue
            elif kind == SAVE:
                stack.append((_OLD, op[1], slots[op[1]]))
                slots[op[1]] = pos
                pc += 1
                continue
            elif kind == ONE:
                _, test, least, most, lazy = op
                limit = min(size, pos + (least if lazy else most))
                run = pos
                while run < limit and test(text[run]):
                    run += 1
                work -= (run - pos) >> 2
                if run - pos >= least:
                    if lazy:
                        stack.append((_LONGER, pc, run, pos + most))
                    elif run > pos + least:
                        stack.append((_SHORTER, pc + 1, run - 1, pos + least))
                    pc += 1
                    pos = run
                    continue
            elif kind == PLACE:
                if op[1](text, pos, size, op[2]):
                    pc += 1
                    continue
            elif kind == INIT:
                register = op[1]
                stack.append((_OLD, register, slots[register]))
                stack.append((_OLD, register + 1, slots[register + 1]))
                slots[register] = slots[register + 1] = -1
                pc += 1
                continue
            elif kind == LOOP:
                _, register, least, most, lazy, end = op
                count = slots[register] + 1
                if count < least:
                    stack.append((_OLD, register, slots[register]))
                    slots[register] = count
                    pc += 1
                elif lazy:
                    stack.append((_AGAIN, pc, pos, count))
                    pc = end
                elif count < most and pos != slots[register + 1]:
                    stack.append((_WAY, end, pos))
                    stack.append((_OLD, register, slots[register]))
                    stack.append((_OLD, register + 1, slots[register + 1]))
                    slots[register] = count
                    slots[register + 1] = pos
                    pc += 1
                else:
                    pc = end
                continue
            elif kind == REF:
                start, stop = slots[op[1]], slots[op[1] + 1]
                if stop >= 0:
                    length = stop - start
                    work -= length >> 3
                    if _same(text, start, pos, length, op[2]):
                        pos += length
                        pc += 1
                        continue
            elif kind == LOOK:
                _, behind, negated, end = op
                place = pos if behind < 0 else pos - behind
                mark = len(stack)
                meter.work = work
                found = place >= 0 and self.run_inside(pc + 1, place) >= 0
                work = meter.work
                if negated and found:
                    self.undo(mark)
                if found is not negated:
                    pc = end
                    continue
            elif kind == ATOMIC:
                meter.work = work
                after = self.run_inside(pc + 1, pos)
                work = meter.work
                if after >= 0:
                    pos = after
                    pc = op[1]
                    continue
            elif kind == COND:
                pc = pc + 1 if slots[op[1] + 1] >= 0 else op[2]
                continue
            elif not (outermost and pos == self.forbidden):  # MATCH
                meter.work = work
                return pos
            # Failed here: take up the latest other way, restoring slots on the path to it.
            while True:
                if len(stack) == base:
                    meter.work = work
                    return -1
                entry = stack.pop()
                what = entry[0]
                if what == _OLD:
                    slots[entry[1]] = entry[2]
                    continue
                if what == _WAY:
                    pc, pos = entry[1], entry[2]
                    break
                if what == _SHORTER:
                    _, pc, pos, least = entry
                    if pos > least:
                        stack.append((_SHORTER, pc, pos - 1, least))
                    break
                if what == _LONGER:
                    _, at, pos, limit = entry
                    work -= 1
                    if pos < size and pos < limit and code[at][1](text[pos]):
                        pos += 1
                        stack.append((_LONGER, at, pos, limit))
                        pc = at + 1
                        break
                    continue
                _, at, pos, count = entry
                register = code[at][1]
                if count < code[at][3] and pos != slots[register + 1]:
                    stack.append((_OLD, register, slots[register]))
                    stack.append((_OLD, register + 1, slots[register + 1]))
                    slots[register] = count
                    slots[register + 1] = pos
                    pc = at + 1
                    break

    def run_inside(self, pc: int, pos: int) -> int:
        """Runs an enclosed part; of what it leaves on the stack only the old values of slots are kept."""
        mark = len(self.stack)
        # The barrier keeps the inner run from looking like the outermost one; it restores nothing.
        self.stack.append((_OLD, 0, -1))
        end = self.run(pc, pos)
        kept = [entry for entry in self.stack[mark:] if entry[0] == _OLD]
        self.stack[mark:] = kept if end >= 0 else []
        return end

    def undo(self, mark: int) -> None:
        """Restores the slots that were set since the stack was ``mark`` high."""
        while len(self.stack) > mark:
            entry = self.stack.pop()
            self.slots[entry[1]] = entry[2]


def _same(text: str, start: int, pos: int, length: int, ignore_case: bool) -> bool:
    if pos + length > len(text):
        return False
    if not ignore_case:
        return text.startswith(text[start : start + length], pos)
    return all(fold(text[start + i]) == fold(text[pos + i]) for i in range(length))


def _prefix(node: Node) -> str:
    """Characters with which every match begins."""
    text = ""
    while isinstance(node, Seq) and len(node.items) == 1:
        node = node.items[0]
    if isinstance(node, Char):
        return node.char
    if isinstance(node, Seq):
        for item in node.items:
            if not isinstance(item, Char):
                break
            text += item.char
    return text


# -- single characters and places -------------------------------------------------------------------------------------


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_CATEGORIES: dict[str, Test] = {"d": str.isdecimal, "s": str.isspace, "w": _is_word}


def _category(letter: str, ascii_only: bool) -> Test:
    known = _CATEGORIES[letter.lower()]
    if ascii_only:
        if letter.lower() == "s":
            return (lambda c: c in " \t\n\r\f\v") if letter.islower() else (lambda c: c not in " \t\n\r\f\v")
        return (lambda c: c.isascii() and known(c)) if letter.islower() else (lambda c: not (c.isascii() and known(c)))
    return known if letter.islower() else (lambda c: not known(c))


def char_test(node: Node) -> Test:
    """A test for one character."""
    if isinstance(node, Char):
        return node.char.__eq__
    if isinstance(node, AnyChar):
        return (lambda c: True) if node.newline else (lambda c: c != "\n")
    assert isinstance(node, CharSet)
    tests = [_category(letter, node.ascii) for letter in node.categories]
    negated = node.negated
    if len(tests) == 1 and not node.ranges and not negated:
        return tests[0]
    few = frozenset(chr(code) for low, high in node.ranges if high - low < 256 for code in range(low, high + 1))
    wide = tuple((chr(low), chr(high)) for low, high in node.ranges if high - low >= 256)
    if not tests and not wide:
        return (lambda c: c not in few) if negated else few.__contains__

    def test(char: str) -> bool:
        found = (
            char in few or any(low <= char <= high for low, high in wide) or any(category(char) for category in tests)
        )
        return found is not negated

    return test


def _boundary(text: str, pos: int, size: int, ascii_only: bool) -> bool:
    before = pos > 0 and _is_word(text[pos - 1]) and not (ascii_only and not text[pos - 1].isascii())
    after = pos < size and _is_word(text[pos]) and not (ascii_only and not text[pos].isascii())
    return before is not after


_PLACES: dict[str, Callable[[str, int, int, bool], bool]] = {
    "start": lambda text, pos, size, _: pos == 0,
    "end": lambda text, pos, size, _: pos == size,
    "line_start": lambda text, pos, size, _: pos == 0 or text[pos - 1] == "\n",
    "line_end": lambda text, pos, size, _: pos == size or text[pos] == "\n",
    "last": lambda text, pos, size, _: pos == size or (pos == size - 1 and text[pos] == "\n"),
    "word": _boundary,
    # Python up to 3.13 finds no place at all in the empty text.
    "no_word": lambda text, pos, size, ascii_only: size > 0 and not _boundary(text, pos, size, ascii_only),
}
