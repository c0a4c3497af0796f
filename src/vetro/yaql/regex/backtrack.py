"""A small backtracking engine for the regular expressions that RE2 cannot do, with a bound on its work.

The tree becomes a program of a simple machine; the machine keeps what it could still try on its own stack, so neither
pattern nor text can exhaust Python's. Every step is counted: a `Meter` ends hopeless searches with `LimitExceeded`.
Semantics are those of Python's ``re``: empty rounds of a repetition end it, groups keep their last round.
"""

from __future__ import annotations

from vetro.yaql.context import CodeContext
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.regex.case import fold
from vetro.yaql.regex.program import (
    ATOMIC,
    CHAR,
    COND,
    INIT,
    JUMP,
    LOOK,
    LOOP,
    ONE,
    PLACE,
    REF,
    SAVE,
    SET,
    SPLIT,
    Program,
)

#: Steps that one operation on a text may take, besides `_PER_CHAR` for each of its characters.
MAX_STEPS = 3_000_000
_PER_CHAR = 40
_BATCH = 8192
#: Other ways and old values that may be kept at once, some 100 bytes each.
_MAX_STACK = 1_000_000

# What lies on the stack: another way, an old value of a slot, a shorter greedy run, a longer lazy run, a lazy loop.
_WAY, _OLD, _SHORTER, _LONGER, _AGAIN = range(5)


class Meter:
    """Counts the steps of one operation, for the bound and for the run's budget."""

    def __init__(self, cx: CodeContext, text: str) -> None:
        self.cx = cx
        self.left = MAX_STEPS + _PER_CHAR * len(text)
        #: Steps that are paid for already.
        self.work = 0

    def batch(self, kept: int) -> int:
        """Pays for the next steps and says how many they are; ``kept`` is the height of the machine's stack.

        Raises `LimitExceeded` when a bound is reached.
        """
        if self.left <= 0 or kept > _MAX_STACK:
            error = LimitExceeded("regular expression needs too many steps on this text")
            error.hint = "nested repetitions and look-around make it try too many ways; simplify the pattern"
            raise error
        self.left -= _BATCH
        self.cx.rt.charge(_BATCH >> 4)
        return _BATCH


def search(program: Program, meter: Meter, text: str, pos: int = 0) -> tuple[int, ...] | None:
    """Slots of the first match at or after ``pos``, or None; those of groups that took no part are -1."""
    while pos <= len(text):
        if program.prefix:
            pos = text.find(program.prefix, pos)
            if pos < 0:
                return None
        found = match_at(program, meter, text, pos)
        if found is not None:
            return found
        pos += 1
    return None


def match_at(program: Program, meter: Meter, text: str, pos: int, not_empty: bool = False) -> tuple[int, ...] | None:
    """Slots of the match that begins at ``pos``, or None. ``not_empty``: only one that has characters."""
    return _Machine(program, meter, text).run_all(pos, not_empty)


class _Machine:
    """One attempt to match at one place."""

    __slots__ = ("code", "forbidden", "meter", "slots", "stack", "text")

    def __init__(self, program: Program, meter: Meter, text: str) -> None:
        self.code = program.code
        self.meter = meter
        meter.work -= program.slots >> 4
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
                work = meter.batch(len(stack))
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
