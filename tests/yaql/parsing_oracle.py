"""What the published ``yaql`` package, as a black box, makes of an expression text; and the same for our parser."""

from __future__ import annotations

import collections.abc  # noqa: F401 - yaql 3.2 uses the submodule without importing it
import functools
import warnings
from typing import Any

from vetro.yaql.errors import LexicalError, ParsingError
from vetro.yaql.lexer import tokenize
from vetro.yaql.parser import LEGACY, MURANO, MURANO_LEGACY, STANDARD, ParserDialect, parse
from vetro.yaql.printer import to_call_form

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import yaql
    import yaql.legacy
    from yaql.language.exceptions import YaqlParsingException
    from yaql.language.factory import OperatorType

#: ("ok", call form, None, None) or (class name of the old engine, message, position, offending value).
Verdict = tuple[str, str, int | None, Any]

DIALECTS = {"standard": STANDARD, "legacy": LEGACY, "murano": MURANO, "murano-legacy": MURANO_LEGACY}


@functools.cache
def _engine(dialect: ParserDialect) -> Any:
    factory = yaql.legacy.YaqlFactory() if dialect.legacy else yaql.YaqlFactory(allow_delegates=dialect.delegates)
    if dialect.murano:
        factory.insert_operator(None, True, ":", OperatorType.BINARY_LEFT_ASSOCIATIVE, True)
        factory.insert_operator(":", True, ":", OperatorType.PREFIX_UNARY, False)
        factory.insert_operator(">", True, "is", OperatorType.BINARY_LEFT_ASSOCIATIVE, False)
    return factory.create()


def published(text: str, dialect: ParserDialect = STANDARD) -> Verdict:
    """The verdict of the published package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "ok", str(_engine(dialect)(text)), None, None
        except YaqlParsingException as error:
            return type(error).__name__, str(error), error.position, error.value
        except UnicodeDecodeError:
            # A malformed escape escapes the package as the codec's error (docs/yaql-deviations.md).
            return "YaqlLexicalException", "malformed escape", None, None


def ours(text: str, dialect: ParserDialect = STANDARD) -> Verdict:
    """The verdict of our parser, in the same form."""
    try:
        return "ok", to_call_form(parse(text, dialect)), None, None
    except ParsingError as error:
        name = error.aliases[0].rpartition(".")[2]
        if isinstance(error, LexicalError) and "malformed escape" in error.message:
            return name, "malformed escape", None, None
        return name, error.message, error.position, error.value


def assert_same(text: str, dialect: ParserDialect = STANDARD) -> Verdict:
    """Asserts that both say the same of ``text``; returns what."""
    verdict = ours(text, dialect)
    theirs = published(text, dialect)
    if verdict[0] == theirs[0] == "ok" and "$1" in text:
        # We print the variable $1 by its other name.
        theirs = published(_with_plain_dollar(text, dialect), dialect)
    assert verdict == theirs, text
    return verdict


def _with_plain_dollar(text: str, dialect: ParserDialect) -> str:
    for token in reversed(tokenize(text, colon=dialect.murano)):
        if token.text == "$1":
            text = text[: token.start] + "$ " + text[token.end :]
    return text
