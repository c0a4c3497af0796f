"""Hypothesis strategies for expression *texts*, valid and not; they know the grammar (YAQL.md 1, 2.1) but no types."""

from __future__ import annotations

from hypothesis import strategies as st

WORDS = ("a", "foo", "_x9", "é", "Name", "notes", "truely", "android", "True")
NAMES = ("f", "len", "where", "not", "__init", "é1", "in")
VARIABLES = ("$", "$1", "$2", "$x", "$_a", "$é")
BINARY = ("->", "or", "and", ">", "<", ">=", "<=", "!=", "=", "in", "+", "-", "*", "/", "mod", "=~", "!~", ".", "?.")
PREFIX = ("not ", "-", "+")
BLANKS = ("", "", "", " ", "  ", "\n", "\t", "\r\n")

_QUOTED_PIECES = (*"ab 1é😀$#`", "\n", r"\\", r"\'", r"\"", r"\n", r"\t", r"\d", r"\0", r"\101", r"\x41", r"\u00e9")
_MORE_PIECES = (r"\U0001F600", r"\N{BULLET}", r"\8", r"\N{}")


def numbers() -> st.SearchStrategy[str]:
    """Whole and fractional numbers as they may be written, leading zeros included."""
    whole = st.from_regex(r"[0-9]{1,6}", fullmatch=True)
    return st.one_of(whole, st.builds("{}.{}".format, whole, whole))


def quoted_texts() -> st.SearchStrategy[str]:
    """Texts in any of the three kinds of quotes, with escapes; the verbatim ones have a trailing backslash never."""
    body = st.lists(st.sampled_from(_QUOTED_PIECES + _MORE_PIECES), max_size=6).map("".join)
    verbatim = st.lists(st.sampled_from([*"ab1$'\" ", "\n", r"\`", r"\n", r"\\"]), max_size=6).map("".join)
    return st.one_of(body.map("'{}'".format), body.map('"{}"'.format), verbatim.map("`{}`".format))


def atoms() -> st.SearchStrategy[str]:
    """Expressions of one token."""
    return st.one_of(
        st.sampled_from(VARIABLES), st.sampled_from(WORDS), st.sampled_from(("true", "false", "null")), numbers(),
        quoted_texts(),
    )  # fmt: skip


def expressions(
    *, legacy: bool = False, murano: bool = False, delegates: bool = False, max_leaves: int = 12
) -> st.SearchStrategy[str]:
    """Texts that the dialect's parser takes, with blanks and needless parentheses here and there."""
    binary = BINARY + (("=>",) if legacy else ()) + (("is", ":") if murano else ())
    prefix = PREFIX + ((":",) if murano else ())
    blanks = st.sampled_from(BLANKS)

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        args = _argument_lists(inner, pairs=not legacy)
        name = st.sampled_from(NAMES)
        options = [
            st.builds(_infix, inner, st.sampled_from(binary), inner, blanks, blanks),
            st.builds(_infix, inner, st.sampled_from((".", "?.")), st.sampled_from(WORDS), blanks, blanks),
            st.builds("{}.{}({})".format, inner.map(_fenced), name, args),
            st.builds("{}?.{}({})".format, inner.map(_fenced), name, args),
            st.builds("{}{}".format, st.sampled_from(prefix), inner),
            st.builds("({}{}{})".format, blanks, inner, blanks),
            st.builds("{}({})".format, name, args),
            st.builds("{}[{}]".format, inner, args),
            st.builds("[{}]".format, args),
            st.builds("{{{}}}".format, args),
        ]
        if delegates:
            options.append(st.builds("({})({})".format, inner, args))
            options.append(st.builds("{}({})".format, st.sampled_from(("$", "$x")), args))
        return st.one_of(options)

    return st.recursive(atoms(), grow, max_leaves=max_leaves)


def token_soup(*, max_size: int = 12) -> st.SearchStrategy[str]:
    """Tokens in any order, some of them illegal; most of these are no expressions."""
    symbols = (*"()[]{},", "=>", ":", "?", "!", "#", "'", "`", "__x", "1x", "1.", "\\", "\xa0", "is")
    token = st.one_of(
        st.sampled_from(BINARY), st.sampled_from(PREFIX), st.sampled_from(symbols), st.sampled_from(("f(", "not(")),
        atoms(),
    )  # fmt: skip
    return st.lists(st.tuples(token, st.sampled_from(BLANKS)), max_size=max_size).map(
        lambda pieces: "".join(piece + blank for piece, blank in pieces)
    )


def garbage() -> st.SearchStrategy[str]:
    """Any short text, rich in characters that mean something to the lexer."""
    return st.text(st.one_of(st.sampled_from("$'\"`\\()[]{},.=<>!~?-+*/:_ \n019anotx"), st.characters()), max_size=30)


def _argument_lists(inner: st.SearchStrategy[str], *, pairs: bool) -> st.SearchStrategy[str]:
    """Positional arguments, some left out but never the last, and then pairs."""
    some = st.lists(st.one_of(inner, inner, st.just("")), max_size=3)
    closed = st.builds(lambda before, last: ", ".join([*before, last]), some, inner)
    positional = st.one_of(st.just(""), closed)
    if not pairs:
        return positional
    pair = st.builds("{} => {}".format, inner, inner)
    return st.builds(
        lambda first, more: ", ".join(([first] if first else []) + more), positional, st.lists(pair, max_size=2)
    )


def _infix(left: str, operator: str, right: str, before: str, after: str) -> str:
    # Words must not run into each other, nor a number into a dot and a digit.
    if operator[0].isalpha():
        before, after = before or " ", after or " "
    if operator == "." and left[-1:].isdigit() and right[:1].isdigit():
        before = before or " "
    return f"{left}{before}{operator}{after}{right}"


def _fenced(text: str) -> str:
    return f"({text})"
