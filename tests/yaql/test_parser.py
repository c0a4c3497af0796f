from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings

from tests.support.fuzzing import examples
from tests.yaql.parsing_oracle import DIALECTS, assert_same, ours, published
from tests.yaql.strategies import expressions, token_soup
from vetro.yaql import ast
from vetro.yaql.errors import GrammarError, LexicalError, ParsingError
from vetro.yaql.lexer import MAX_TEXT
from vetro.yaql.parser import LEGACY, MAX_TREE_DEPTH, MURANO, MURANO_LEGACY, STANDARD, ParserDialect, parse
from vetro.yaql.printer import to_call_form

DELEGATES = ParserDialect(delegates=True)


def const(start: int, end: int, value: ast.Scalar, *, bare: bool = False) -> ast.Constant:
    return ast.Constant(span=ast.Span(start, end), value=value, bare=bare)


def var(start: int, end: int, name: str) -> ast.Variable:
    return ast.Variable(span=ast.Span(start, end), name=name)


def spans(text: str, dialect: ParserDialect = STANDARD) -> list[str]:
    return [text[node.span.start : node.span.end] for node in ast.walk(parse(text, dialect))]


# Shapes of the tree


def test_variables_and_constants() -> None:
    assert parse("$") == var(0, 1, "1")
    assert parse("$1") == var(0, 2, "1")
    assert parse("$foo") == var(0, 4, "foo")
    assert parse("foo") == const(0, 3, "foo", bare=True)
    assert parse("'foo'") == const(0, 5, "foo")
    assert parse(" true") == const(1, 5, True)
    assert parse("null") == const(0, 4, None)
    assert parse("007") == const(0, 3, 7)


def test_a_word_after_the_dot_is_an_attribute() -> None:
    assert parse("$.a") == ast.Attribute(span=ast.Span(0, 3), receiver=var(0, 1, "1"), name="a")
    assert parse("$?.a") == ast.Attribute(span=ast.Span(0, 4), receiver=var(0, 1, "1"), name="a", safe=True)


def test_a_call_after_the_dot_is_a_method_call() -> None:
    args = (const(5, 6, 1), ast.Empty(span=ast.Span(7, 7)), const(8, 9, 2))
    assert parse("$. f(1,,2)") == ast.MethodCall(span=ast.Span(0, 10), receiver=var(0, 1, "1"), name="f", args=args)
    safe = parse("$?.f()")
    assert isinstance(safe, ast.MethodCall) and safe.safe and safe.args == ()


@pytest.mark.parametrize("right", ["'a'", "5", "(a)", "(f())", "true", "null", "$b", "[1]", "-b", "not b"])
def test_anything_else_after_the_dot_is_an_ordinary_operator(right: str) -> None:
    for dot in (".", "?."):
        node = parse(f"x{dot}{right}")
        assert isinstance(node, ast.Binary) and node.op == dot


def test_pairs_follow_positional_arguments() -> None:
    node = parse("f(1, a => 2)")
    assert isinstance(node, ast.Call)
    assert node.args == (
        const(2, 3, 1),
        ast.Pair(span=ast.Span(5, 11), key=const(5, 6, "a", bare=True), value=const(10, 11, 2)),
    )


def test_displays_and_indexes() -> None:
    assert parse("[1]") == ast.ListDisplay(span=ast.Span(0, 3), args=(const(1, 2, 1),))
    assert parse("{}") == ast.MapDisplay(span=ast.Span(0, 2), args=())
    assert parse("$ [1]") == ast.Index(span=ast.Span(0, 5), receiver=var(0, 1, "1"), args=(const(3, 4, 1),))
    assert parse("$[]") == ast.Index(span=ast.Span(0, 3), receiver=var(0, 1, "1"), args=())


def test_spans_leave_out_own_parentheses_and_cover_those_of_the_parts() -> None:
    assert spans("( (a) + b ) * -(c)") == ["( (a) + b ) * -(c)", "(a) + b", "a", "b", "-(c)", "c"]
    assert spans("(a).b[0]") == ["(a).b[0]", "(a).b", "a", "0"]
    assert spans("(a)?.f(x => (1) )") == ["(a)?.f(x => (1) )", "a", "x => (1)", "x", "1"]
    assert spans(" [ 1,, 2 ] ") == ["[ 1,, 2 ]", "1", "", "2"]
    assert spans("$a:f(1).b", MURANO) == ["$a:f(1).b", "$a:f(1)", "$a", "f(1)", "1"]


# Precedence; every call form below is also what the published package prints

PRECEDENCE = {
    "-1.foo()": "#unary_operator_-(#operator_.(1, foo()))",
    "-$.l[0]": "#unary_operator_-(#indexer(#operator_.($, 'l'), 0))",
    "$.l[0].x": "#operator_.(#indexer(#operator_.($, 'l'), 0), 'x')",
    "2 * 3 =~ x": "#operator_*(2, #operator_=~(3, 'x'))",
    "not a = b": "#unary_operator_not(*equal('a', 'b'))",
    "1 = 1 = true": "*equal(*equal(1, 1), True)",
    "1 + 1 in [2]": "#operator_in(#operator_+(1, 1), #list(2))",
    "$a or $b and not $c != 1": "#operator_or($a, #operator_and($b, #unary_operator_not(*not_equal($c, 1))))",
    "a -> b or c -> d": "#operator_->('a', #operator_->(#operator_or('b', 'c'), 'd'))",
    "1 - 2 - 3 mod 4": "#operator_-(#operator_-(1, 2), #operator_mod(3, 4))",
    "1 + not 2 = 3": "#operator_+(1, #unary_operator_not(*equal(2, 3)))",
    "1 * not 2 + 3 and 4": "#operator_and(#operator_*(1, #unary_operator_not(#operator_+(2, 3))), 4)",
    "a.-b.c[0] + 1": "#operator_+(#operator_.('a', #unary_operator_-(#indexer(#operator_.('b', 'c'), 0))), 1)",
    "f(1,,2, a => 3)": "f(1, <NoValue>, 2, 'a' => 3)",
    "not(x)": "not('x')",
    "1.5.5": "#operator_.(1.5, 5)",
}


@pytest.mark.parametrize("text", PRECEDENCE)
def test_precedence(text: str) -> None:
    assert assert_same(text)[:2] == ("ok", PRECEDENCE[text])


LEGACY_FORMS = {
    "1 => 2 => 3": "#operator_=>(#operator_=>(1, 2), 3)",
    "1 = 1 => 2 or 3": "#operator_=>(*equal(1, 1), #operator_or(2, 3))",
    "a => b -> c => d": "#operator_->(#operator_=>('a', 'b'), #operator_=>('c', 'd'))",
    "f(,a => 1, 2)": "f(<NoValue>, #operator_=>('a', 1), 2)",
    "{a => b => c}": "#map(#operator_=>(#operator_=>('a', 'b'), 'c'))",
}


@pytest.mark.parametrize("text", LEGACY_FORMS)
def test_legacy_pairs_are_an_operator(text: str) -> None:
    assert assert_same(text, LEGACY)[:2] == ("ok", LEGACY_FORMS[text])


MURANO_FORMS = {
    "std:Name.m()": "#operator_.(#operator_:('std', 'Name'), m())",
    ":C.m()": "#operator_.(#unary_operator_:('C'), m())",
    "$a.b is p:C and x": "#operator_and(#operator_is(#operator_.($a, 'b'), #operator_:('p', 'C')), 'x')",
    "f(x => p:Name)": "f('x' => #operator_:('p', 'Name'))",
    "$a:x.y": "#operator_.(#operator_:($a, 'x'), 'y')",
    ":C(a => 1)": "#unary_operator_:(C('a' => 1))",
    "p:C(1).x": "#operator_.(#operator_:('p', C(1)), 'x')",
    "a.b:c": "#operator_.('a', #operator_:('b', 'c'))",
    "a.f(1) : c": "#operator_.('a', #operator_:(f(1), 'c'))",
    "(a.b):c": "#operator_:(#operator_.('a', 'b'), 'c')",
    "a::b:c": "#operator_:(#operator_:('a', #unary_operator_:('b')), 'c')",
    "a is b = c": "*equal(#operator_is('a', 'b'), 'c')",
}


@pytest.mark.parametrize("text", MURANO_FORMS)
def test_murano_operators(text: str) -> None:
    assert assert_same(text, MURANO)[:2] == ("ok", MURANO_FORMS[text])


def test_murano_legacy_has_both() -> None:
    assert assert_same("p:a => b is c", MURANO_LEGACY)[1] == (
        "#operator_=>(#operator_:('p', 'a'), #operator_is('b', 'c'))"
    )


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("$f(1)", "#call($f, 1)"),
        ("$f()(2)", "#call(#call($f), 2)"),
        ("foo (a => 1)", "#call('foo', 'a' => 1)"),
        ("x[0](1).g(2)", "#operator_.(#call(#indexer('x', 0), 1), g(2))"),
        ("$a.b (1)", "#call(#operator_.($a, 'b'), 1)"),
        # Knowing deviations: the published grammar lets the call of a value bind looser than any operator.
        ("-$f(1)", "#unary_operator_-(#call($f, 1))"),
        ("1 + $f(2)", "#operator_+(1, #call($f, 2))"),
        ("let(f => 1) -> $f(2)", "#operator_->(let('f' => 1), #call($f, 2))"),
    ],
)
def test_delegates(text: str, form: str) -> None:
    assert to_call_form(parse(text, DELEGATES)) == form
    assert published(text, DELEGATES)[0] == "ok"
    assert ours(text)[0] == "YaqlGrammarException"


# Refusals

REFUSED = [
    *("", "  \n", "1.", ".5", "a.", "f(", "f(1", "f(1,", "(1", "[1", "{a =>", "not", "1 +", "a and"),
    *("1 2", "1 2.50", "1 true", "1 null", "1 $1", "1 'a\\nb'", "1 f(2)", "a b", "f(1 2)"),
    *("()", "(1,2)", "1,2", "(a => 1)", "a => b", "(1]", "f(1]", "{1]", "[1)", "[-]", "f(-)"),
    *("f(1,)", "f(,)", "[1,]", "{a => 1,}", "a[,]", "f(a => 1, 2)", "f(a => 1,, b => 2)", "f(, a => 1)"),
    *("f(1,,, a => 1)", "{a => b => c}", "f(a =>)", "f(=> 1)", "f(a =>, b => 1)"),
    *("foo (1)", "$f(2)", "f(1)(2)", "'a'(2)", "a and(b)", "5 mod(3)", "a{}", "$.a{b => 1}", "{}{}"),
    *("in", "x.in", "x.mod", "{in => 1}", "a == b", "a <> b", "2 ** 3", "a =< b", "a..b"),
    *("1 2 #", "1 # 2", "'\\x41' 1", "p:C", ":C", "f(1;2)", "a 'abc", "é é"),
]


@pytest.mark.parametrize("text", REFUSED)
def test_refused_as_published(text: str) -> None:
    assert assert_same(text)[0] != "ok"
    assert_same(text, LEGACY)
    assert_same(text, MURANO)


def test_errors_carry_place_value_and_text() -> None:
    with pytest.raises(GrammarError) as caught:
        parse("f(1 2)")
    error = caught.value
    assert error.message == "Parse error: unexpected '2' at position 4 of expression 'f(1 2)'"
    assert (error.value, error.position, error.text) == (2, 4, "f(1 2)")
    with pytest.raises(GrammarError) as caught:
        parse("f(1")
    assert caught.value.message == "Parse error: unexpected end of statement"
    assert (caught.value.position, caught.value.text) == (None, "f(1")


def test_an_error_of_the_grammar_comes_before_later_ones_of_the_lexer() -> None:
    with pytest.raises(GrammarError):
        parse("1 2 #")
    with pytest.raises(LexicalError):
        parse("1 + #")


@pytest.mark.parametrize("text", ["is", "x.is", "{is => 1}"])
def test_is_can_be_a_word_only_outside_murano(text: str) -> None:
    assert assert_same(text)[0] == "ok"
    assert assert_same(text, MURANO)[0] == "YaqlGrammarException"


# Limits


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("[", "]"), ("f(", ")"), ("$.f(", ")"), ("{a => ", "}"), ("$[", "]"), ("-", "")],
)
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    parse(opening * 400 + "1" + closing * 400)
    with pytest.raises(GrammarError) as caught:
        parse(opening * 401 + "1" + closing * 401)
    assert caught.value.message == "expression is nested deeper than 400 levels"
    assert caught.value.position is not None and caught.value.position >= 400 * len(opening)
    with pytest.raises(GrammarError, match="deeper than 3 levels"):
        parse(opening * 4 + "1" + closing * 4, max_depth=3)


def test_right_sides_of_the_arrow_count_as_nesting() -> None:
    parse("$a -> " * 400 + "1")
    with pytest.raises(GrammarError, match="deeper than 400 levels"):
        parse("$a -> " * 401 + "1")


def test_nesting_ends_where_a_bracket_does() -> None:
    parse("[" + ", ".join(["(-1)"] * 1000) + "]", max_depth=3)
    parse("(1 -> 2) + -3 = " * 300 + "4", max_depth=3)


@pytest.mark.parametrize(("piece", "first"), [(" + 1", "1"), (".a", "$"), ("[0]", "$"), (".f()", "$"), ("?.a", "$")])
def test_chains_have_a_limit(piece: str, first: str) -> None:
    parse(first + piece * (MAX_TREE_DEPTH - 2))
    for times in (MAX_TREE_DEPTH, 20_000):
        with pytest.raises(GrammarError) as caught:
            parse(first + piece * times)
        assert caught.value.message == f"expression is nested deeper than {MAX_TREE_DEPTH} levels"
        assert caught.value.position == 0


def test_wide_expressions_are_no_deep_ones() -> None:
    node = parse("[" + ",".join("1" * 5000) + "]")
    assert isinstance(node, ast.ListDisplay) and len(node.args) == 5000


def test_length_has_a_limit() -> None:
    parse("a" * MAX_TEXT)
    with pytest.raises(GrammarError) as caught:
        parse("a" * (MAX_TEXT + 1))
    assert caught.value.message == "expression is longer than 1048576 characters"
    assert caught.value.position == MAX_TEXT


# Against the published package


@pytest.mark.parametrize("name", DIALECTS)
def test_all_short_argument_lists(name: str) -> None:
    for count in range(6):
        for pieces in itertools.product(("a", ",", "=>", "-"), repeat=count):
            assert_same(f"f({' '.join(pieces)})", DIALECTS[name])


@pytest.mark.parametrize("name", DIALECTS)
def test_all_short_token_sequences(name: str) -> None:
    for pieces in itertools.product(("a", "-", "not", ".", "=", "[1]", "->", ":", "is", "f()"), repeat=3):
        assert_same(" ".join(pieces), DIALECTS[name])


def test_all_short_operator_sequences() -> None:
    infix = ("->", "or", "and", "=", "+", "*", "=~", ".")
    prefix = ("", "not ", "-")
    for first, second, third in itertools.product(infix, infix, prefix):
        assert assert_same(f"a {first} {third}b {second} c")[0] == "ok"


@settings(max_examples=examples(150), deadline=None)
@given(expressions())
def test_expressions_as_published(text: str) -> None:
    assert assert_same(text)[0] == "ok"


@settings(max_examples=examples(100), deadline=None)
@given(expressions(legacy=True, murano=True))
def test_expressions_of_both_additions_as_published(text: str) -> None:
    assert assert_same(text, MURANO_LEGACY)[0] == "ok"


@settings(max_examples=examples(50), deadline=None)
@given(expressions(delegates=True))
def test_delegates_are_accepted_as_published(text: str) -> None:
    assert ours(text, DELEGATES)[0] == published(text, DELEGATES)[0] == "ok"


@settings(max_examples=examples(200), deadline=None)
@given(token_soup())
def test_token_soup_as_published(text: str) -> None:
    for dialect in (STANDARD, MURANO_LEGACY):
        assert_same(text, dialect)


@settings(max_examples=examples(100), deadline=None)
@given(token_soup(max_size=40))
def test_spans_are_inside_those_around_them(text: str) -> None:
    try:
        root = parse(text, MURANO)
    except ParsingError:
        return
    for node in ast.walk(root):
        assert 0 <= node.span.start <= node.span.end <= len(text)
        for child in ast.children(node):
            assert node.span.start <= child.span.start <= child.span.end <= node.span.end
