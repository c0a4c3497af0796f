"""``format`` for texts: values in, text out, nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from tests.yaql.library.agreement import value
from vetro.yaql import CodeContext, named_dialect
from vetro.yaql.context import Execution
from vetro.yaql.library.formatting import format_text
from vetro.yaql.values import HostObject

CX = CodeContext(rt=Execution(), dialect=named_dialect("standard"))


class Plain(HostObject):
    secret = "secret"


class Told(HostObject):
    def __str__(self) -> str:
        return "told"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("format('{0}-{1}', a, 5)", "a-5"),
        ("'{}-{}'.format(a, 5)", "a-5"),
        ("'{x}/{y}'.format(x => 1, y => 2)", "1/2"),
        ("'{0:>5}|{1:03d}'.format(a, 7)", "    a|007"),
        ("'{0:05.1f}'.format(2.25)", "002.2"),
        ("'{0:,}|{0:x}|{0:#b}|{0:+}'.format(1000)", "1,000|3e8|0b1111101000|+1000"),
        ("'{0:*^7}'.format(ab)", "**ab***"),
        ("'{0:.2}'.format(abc)", "ab"),
        ("'{0:%}'.format(0.5)", "50.000000%"),
        ("'{0:{1}}|{0:>{w}}'.format(a, 3, w => 4)", "a  |   a"),
        ("'{{}}'.format()", "{}"),
        ("'{{{0}}}'.format(1)", "{1}"),
        ("'{0}'.format(null)", "None"),
        ("'{0} {1}'.format(true, false)", "True False"),
        ("'{0}'.format([1, a, null, [true]])", "[1, 'a', None, [True]]"),
        ("'{0}'.format({a => [1.5]})", "{'a': [1.5]}"),
        ("'{0}'.format(timespan(hours => 1))", "1:00:00"),
        ("'{0!r} {0!s}'.format(a)", "'a' a"),
        ("'{0!r:>5}'.format(a)", "  'a'"),
        ("'{0!s:>5}'.format(null)", " None"),
        ("''.format(1)", ""),
        ("'{:}'.format(1)", "1"),
    ],
)
def test_values(text: str, expected: str) -> None:
    assert value(text) == expected


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("'{2}'.format(a)", IndexError),
        ("'{}{}'.format(a)", IndexError),
        ("'{99999999999999999999}'.format(a)", IndexError),
        ("'{x}'.format(a)", KeyError),
        ("'{0.__class__}'.format(a)", ValueError),
        ("'{x.y}'.format(x => a)", ValueError),
        ("'{0[0]}'.format([1])", ValueError),
        ("'{.a}'.format(a)", ValueError),
        ("'{0:{1.a}}'.format(a, 1)", ValueError),
        ("'{0:{1:{2}}}'.format(a, 1, 2)", ValueError),
        ("'{0!a}'.format(a)", ValueError),
        ("'{0!}'.format(a)", ValueError),
        ("'{'.format(a)", ValueError),
        ("'}'.format(a)", ValueError),
        ("'{0'.format(a)", ValueError),
        ("'{0:'.format(a)", ValueError),
        ("'{0:{1}'.format(a, 5)", ValueError),
        ("'{0}{}'.format(a)", ValueError),
        ("'{}{0}'.format(a)", ValueError),
        ("'{0:>>>}'.format(a)", ValueError),
        ("'{0:d}'.format(a)", ValueError),
        ("'{0:>5}'.format([1])", TypeError),
        ("'{0:>5}'.format(null)", TypeError),
        ("'{0:%Y}'.format(now())", TypeError),
    ],
)
def test_refused(text: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        value(text)


def test_live_objects_show_only_what_they_say_of_themselves() -> None:
    told: Any = Told()
    assert format_text(CX, "{0} {x}", [told], {"x": Plain()}) == "told <Plain>"
    assert format_text(CX, "{0}", [(told, Plain())], {}) == "[told, <Plain>]"
    for template in ("{0.secret}", "{0[secret]}", "{0.__class__.__init__.__globals__}", "{0:{0.secret}}"):
        with pytest.raises(ValueError, match="reaches into"):
            format_text(CX, template, [Plain()], {})
    with pytest.raises(TypeError):
        format_text(CX, "{0:>10}", [told], {})


def test_lazy_sequences_are_neither_shown_nor_consumed() -> None:
    assert value("let(range(3)) -> ['{0}'.format($), $.len()]") == ["<lazy sequence>", 3]
    assert value("str(range(3))") == "<lazy sequence>"
    assert value("str({a => 1}.keys())") == "dict_keys(['a'])"
