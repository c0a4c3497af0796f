"""Reads regular expressions in the syntax of Python 3.11, which is what package authors write.

`parse` gives one tree for both engines: case-insensitive letters are sets already, anchors say which kind they are.
Raises ValueError with the place of the mistake for bad patterns, `LimitExceeded` for monstrous ones.
"""

from __future__ import annotations

from dataclasses import field, replace

from vetro.data_classes import dataclass
from vetro.yaql.errors import LimitExceeded
from vetro.yaql.regex.case import equals, expand, merge
from vetro.yaql.regex.nodes import (
    MANY,
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
    width,
)
from vetro.yaql.regex.reader import DIGITS, OCTAL, Reader

MAX_PATTERN = 20_000
MAX_DEPTH = 60
_PLACES = {"A": "start", "Z": "end", "b": "word", "B": "no_word"}


@dataclass(frozen=True, slots=True)
class Flags:
    """How a part of a pattern is to be read."""

    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    verbose: bool = False
    ascii: bool = False


_FLAG_NAMES = {"i": "ignore_case", "m": "multi_line", "s": "dot_all", "x": "verbose", "a": "ascii"}


@dataclass(slots=True)
class Pattern:
    """A pattern that was read: the tree, the number of capturing groups, the names of some of them."""

    tree: Node
    groups: int
    names: dict[str, int] = field(default_factory=dict)


def parse(text: str, flags: Flags) -> Pattern:
    """The tree of ``text``. Raises as the module says."""
    if len(text) > MAX_PATTERN:
        raise LimitExceeded(f"regular expression is longer than {MAX_PATTERN} characters")
    return _Parser(text).pattern(flags)


class _Parser(Reader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.groups = 0
        self.names: dict[str, int] = {}
        #: Widths of the groups that are complete.
        self.widths: dict[int, tuple[int, int]] = {}
        #: Groups there were before the look-behind that is being read; None outside.
        self.before_look: int | None = None
        #: Conditionals may name groups that follow them: (number, place) to be checked at the end.
        self.conditions: list[tuple[int, int]] = []
        self.depth = 0

    # -- structure ----------------------------------------------------------------------------------------------------

    def pattern(self, flags: Flags) -> Pattern:
        flags = self.global_flags(flags)
        tree = self.alternatives(flags)
        if self.at < len(self.text):
            self.fail("unbalanced parenthesis")
        for number, place in self.conditions:
            if number > self.groups:
                self.fail(f"invalid group reference {number}", place)
        return Pattern(tree, self.groups, self.names)

    def global_flags(self, flags: Flags) -> Flags:
        """Flags for the whole pattern stand at its start: ``(?im)``."""
        while True:
            start = self.at
            if flags.verbose:
                self.skip_blanks()
            if not self.take("(?"):
                self.at = start
                return flags
            on = self.take_while("aimsuxL", 20)
            if not on or not self.take(")"):
                self.at = start
                return flags
            flags = self.switched(flags, on, True)

    def switched(self, flags: Flags, letters: str, value: bool) -> Flags:
        for letter in letters:
            if letter == "L":
                self.fail("cannot use the L flag with text")
            if letter == "u":
                flags = replace(flags, ascii=False)
            else:
                flags = replace(flags, **{_FLAG_NAMES[letter]: value})
        return flags

    def alternatives(self, flags: Flags) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise LimitExceeded(f"regular expression is nested deeper than {MAX_DEPTH} levels")
        branches = [self.sequence(flags)]
        while self.take("|"):
            branches.append(self.sequence(flags))
        self.depth -= 1
        return branches[0] if len(branches) == 1 else Alt(tuple(branches))

    def sequence(self, flags: Flags) -> Node:
        items: list[Node] = []
        while True:
            if flags.verbose:
                self.skip_blanks()
            if self.at >= len(self.text) or self.text[self.at] in "|)":
                return Seq(tuple(items))
            start = self.at
            bounds = self.repetition()
            if bounds is None:
                node = self.atom(flags)
                if node is not None:
                    items.append(node)
                continue
            if not items or isinstance(items[-1], At):
                self.fail("nothing to repeat", start)
            if isinstance(items[-1], Repeat):
                self.fail("multiple repeat", start)
            mode = "lazy" if self.take("?") else "possessive" if self.take("+") else "greedy"
            items[-1] = Repeat(items[-1], *bounds, mode)

    def repetition(self) -> tuple[int, int] | None:
        start = self.at
        char = self.text[start]
        if char in "*+?":
            self.at += 1
            return {"*": (0, MANY), "+": (1, MANY), "?": (0, 1)}[char]
        if char != "{":
            return None
        self.at += 1
        low = high = self.take_while(DIGITS, 20)
        if self.take(","):
            high = self.take_while(DIGITS, 20)
            unbounded = not high
        else:
            unbounded = False
        if self.text[start + 1 : self.at] == "" or not self.take("}"):
            self.at = start
            return None
        least, most = int(low or 0), MANY if unbounded else int(high)
        if least >= 1 << 32 or MANY > most >= 1 << 32:
            self.fail("the repetition number is too large", start)
        if most < least:
            self.fail("min repeat greater than max repeat", start)
        return least, most

    def atom(self, flags: Flags) -> Node | None:
        """One thing that may be repeated; None for comments."""
        start = self.at
        char = self.text[start]
        self.at += 1
        if char == ".":
            return AnyChar(flags.dot_all)
        if char == "^":
            return At("line_start" if flags.multi_line else "start")
        if char == "$":
            return At("line_end" if flags.multi_line else "last")
        if char == "(":
            return self.group(flags, start)
        if char == "[":
            return self.char_set(flags, start)
        if char == "\\":
            return self.escape(flags, start)
        return self.literal(char, flags)

    def literal(self, char: str, flags: Flags) -> Node:
        if flags.ignore_case:
            family = equals(char, flags.ascii)
            if len(family) > 1:
                return CharSet(tuple(merge([(ord(c), ord(c)) for c in family])))
        return Char(char)

    # -- groups -------------------------------------------------------------------------------------------------------

    def group(self, flags: Flags, start: int) -> Node | None:
        if not self.take("?"):
            return self.capture(flags, start, None)
        if self.take("#"):
            stop = self.text.find(")", self.at)
            if stop < 0:
                self.fail("missing ), unterminated comment", start)
            self.at = stop + 1
            return None
        if self.take("P"):
            return self.named(flags, start)
        if self.take(":"):
            return self.wrapped(self.body(flags, start))
        if self.take(">"):
            return Atomic(self.body(flags, start))
        if self.take("="):
            return Look(self.body(flags, start), -1, False)
        if self.take("!"):
            return Look(self.body(flags, start), -1, True)
        if self.take("<="):
            return self.behind(flags, start, False)
        if self.take("<!"):
            return self.behind(flags, start, True)
        if self.take("("):
            return self.conditional(flags, start)
        return self.flagged(flags, start)

    def wrapped(self, node: Node) -> Node:
        """A group that captures nothing; it may be repeated even when it holds a repetition or an anchor."""
        return Seq((node,))

    def body(self, flags: Flags, start: int) -> Node:
        node = self.alternatives(flags)
        if not self.take(")"):
            self.fail("missing ), unterminated subpattern", start)
        return node

    def capture(self, flags: Flags, start: int, name: str | None) -> Node:
        self.groups += 1
        number = self.groups
        if number > 1000:
            raise LimitExceeded("regular expression has more than 1000 groups")
        if name is not None:
            if name in self.names:
                self.fail(f"redefinition of group name {name!r}", start)
            self.names[name] = number
        node = self.body(flags, start)
        self.widths[number] = width(node)
        return Group(number, node)

    def named(self, flags: Flags, start: int) -> Node:
        if self.take("<"):
            return self.capture(flags, start, self.group_name(self.until(">", "group name")))
        if self.take("="):
            name = self.group_name(self.until(")", "group name"))
            if name not in self.names:
                self.fail(f"unknown group name {name!r}", start)
            return self.reference(self.names[name], flags, start)
        self.fail(f"unknown extension ?P{self.peek()}", start)

    def group_name(self, name: str) -> str:
        if not name.isidentifier():
            self.fail(f"bad character in group name {name!r}")
        return name

    def reference(self, number: int, flags: Flags, start: int) -> Node:
        if number > self.groups:
            self.fail(f"invalid group reference {number}", start)
        if number not in self.widths:
            self.fail("cannot refer to an open group", start)
        self.check_look(number, start)
        return BackRef(number, flags.ignore_case, self.widths[number])

    def check_look(self, number: int, start: int) -> None:
        """Inside of a look-behind only groups before it may be referred to."""
        if self.before_look is not None:
            if number not in self.widths:
                self.fail("cannot refer to an open group", start)
            if number > self.before_look:
                self.fail("cannot refer to group defined in the same lookbehind subpattern", start)

    def behind(self, flags: Flags, start: int, negated: bool) -> Node:
        outer = self.before_look
        if outer is None:
            self.before_look = self.groups
        node = self.body(flags, start)
        self.before_look = outer
        least, most = width(node)
        if least != most:
            self.fail("look-behind requires fixed-width pattern", start)
        return Look(node, least, negated)

    def conditional(self, flags: Flags, start: int) -> Node:
        name = self.until(")", "group name")
        if name.isidentifier():
            if name not in self.names:
                self.fail(f"unknown group name {name!r}", start)
            number = self.names[name]
        elif name.isascii() and name.isdigit() and len(name) < 6:
            number = int(name)
            if not number:
                self.fail("bad group number", start)
            self.conditions.append((number, start))
        else:
            self.fail(f"bad character in group name {name!r}", start)
        self.check_look(number, start)
        node = self.body(flags, start)
        branches = node.branches if isinstance(node, Alt) else (node, Seq(()))
        if len(branches) > 2:
            self.fail("conditional backref with more than two branches", start)
        return Cond(number, branches[0], branches[1])

    def flagged(self, flags: Flags, start: int) -> Node:
        on = self.take_while("aimsuxL", 20)
        off = self.take_while("imsx", 20) if self.take("-") else None
        if off == "" or not (on or off):
            self.fail(f"unknown extension ?{self.peek()}", start)
        if self.take(")"):
            self.fail("global flags not at the start of the expression", start)
        if not self.take(":"):
            self.fail("missing : or unknown flag", start)
        if set(on) & set(off or ""):
            self.fail("bad inline flags: flag turned on and off", start)
        inner = self.switched(self.switched(flags, on, True), off or "", False)
        return self.wrapped(self.body(inner, start))

    # -- escapes and sets ---------------------------------------------------------------------------------------------

    def escape(self, flags: Flags, start: int) -> Node:
        char = self.peek()
        if not char:
            self.fail("bad escape (end of pattern)", start)
        if char in "dDwWsS":
            self.at += 1
            return CharSet((), (char,), False, flags.ascii)
        if char in _PLACES:
            self.at += 1
            return At(_PLACES[char], flags.ascii)
        if char in "123456789":
            return self.numbered(flags, start)
        return self.literal(self.code(start), flags)

    def numbered(self, flags: Flags, start: int) -> Node:
        """``\\12`` is a group, ``\\123`` with octal digits a character."""
        digits = self.take_while(DIGITS, 2)
        if len(digits) == 2 and digits[0] in OCTAL and digits[1] in OCTAL and self.peek() in tuple(OCTAL):
            digits += self.take_while(OCTAL, 1)
            value = int(digits, 8)
            if value > 0o377:
                self.fail(f"octal escape value \\{digits} outside of range 0-0o377", start)
            return self.literal(chr(value), flags)
        return self.reference(int(digits), flags, start)

    def char_set(self, flags: Flags, start: int) -> Node:
        negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        categories: list[str] = []
        first = True
        while first or not self.take("]"):
            first = False
            place = self.at
            low = self.set_item(start)
            if self.peek() == "-" and self.peek(2) != "-]" and len(self.peek(2)) == 2:
                self.at += 1
                high = self.set_item(start)
                if len(low) > 1 or len(high) > 1 or high < low:
                    self.fail(f"bad character range {self.text[place : self.at]}", place)
                ranges.append((ord(low), ord(high)))
            elif len(low) > 1:
                categories.append(low[1])
            else:
                ranges.append((ord(low), ord(low)))
        if flags.ignore_case:
            ranges = expand(ranges, flags.ascii)
        return CharSet(tuple(merge(ranges)), tuple(dict.fromkeys(categories)), negated, flags.ascii)
