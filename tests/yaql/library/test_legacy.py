"""The legacy dialect's own functions: the published package as oracle."""

from __future__ import annotations

import pytest

from tests.yaql.library.agreement import agree, table, value
from vetro.yaql.errors import CollectionTooLarge, StepsExceeded
from vetro.yaql.library import legacy_table, standard_table


@table("""
tuple(1, 2)
tuple()
[1].toList()
{a => 1}.toList()
range(1, 3).toList()
dict(a => 1)
dict(tuple(a, 1), tuple(b, 2, 3))
dict(tuple(a))
dict(1)
dict([1, 2])
dict()
{}
{a => 1}
{a => 1 => 2}
{[1, 2]}
{tuple(a)}
1 => 2
1 => 2 => 3
(1 => 2) => 3
1 = 1 => 2 or 3
let(a => 1) -> $1
{a => 1}.set(b => 2)
range(start => 1)
[1, 2, 3][1]
[1, 2, 3][-1]
[1, 2, 3][5]
[1, 2, 3][$ > 1]
[1, 2, 3][true]
[1, 2, 3][null]
[1, 2, 3][a]
[1, 2, 3][1.0]
[1, 2][len($) - 2]
[[1, 2], [3, 4]][$[0] = 3]
[{n => a}, {n => b}][$.n = b]
range(1, 4)[1]
range(1, 4)[$ = 1]
range(1, 5)[$ > 2][0]
[3, 1].orderBy($)[0]
set(1, 2)[$ = 1]
{a => 1, b => 2}[a]
{a => 1, b => 2}[$ = a]
{x => 1, y => 2}[true]
{a => 1}[a, 5]
{l => [5, 6]}.l[0]
$.l[0]
$.l[$ = 2]
$.l[len($)]
'abc'[1]
'abc'[$]
null[1]
1[1]
[1, 2][1, 2]
[1, 2][]
range(3).take(2)
range(1, 3)
range(1, 3)[0]
range(1, 3).len()
3.range().take(2)
1.range(3)
range(1, 10, 3)
range(null)
range(1, null).take(2)
range(true).take(1)
5.switch($ > 3 => big, true => small)
switch(5, $ > 3 => big, true => small)
switch(c => r)
switch(1)
switch(5, 1)
switch(5, tuple(1, 2, 3))
switch(5, tuple(true, a))
switch(5, range(1, 3))
switch(5, 5 => 6, 1 / 0 => 3)
switch(5, 0 => 1 / 0, 1 => 3)
switch(5, 0 => 6)
5.switch([true, 1])
5.switch()
switch()
null.switch(true => 1)
[1, 2].as(len($) => n) -> $n
[1, 2].as(len($) => n).len()
[1, 2].as(len($) => n, sum($) => s) -> [$n, $s, $0, $]
[1, 2].as(len($) => n).select($n)
[1, 2].as($[0] => a, $[1] => b) -> $a + $b
[1].as(len($) => n).where($n = 1)
1.as($ => x) -> $x
[1, 2].as(5)
[1, 2].as(tuple(1))
[1, 2].as(tuple(1, a, b)) -> $a
get({a => 1}, a)
get({a => 1}, b, 3)
{a => 1}.get(a, 2)
list(1)
1.list()
[1].list()
'a'.list(1)
{a => 1}.list()
list({a => 1})
list([1].select($))
'1'.int()
null.int()
1.bool()
'1'.float()
5.str()
sum([1, 2])
sum([], 1)
select([1], $ + 1)
where([1, 2], $ > 1)
filter([1], $)
map([1], $)
join([1], [1], $1 = $2, $1)
join([a], ',')
join(',', [a])
takeWhile([1, 2], $ < 2)
skipWhile([1], $)
toList([1])
orderBy([1], $)
keys({a => 1})
len([1])
1 in {1 => 2}
{a => 1}.select($)
isIterable({})
{a => 1}.len()
{a => 1}.keys()
{a => 1}.zz
{a => 1}.a
{a => {b => 1}}.a.b
[{a => 1}, {b => 2}].a
{a => 1}.contains(a)
{a => 1}.concat([1])
{a => 1}.flatten()
[{a => 1}].flatten()
[{a => 1}].selectMany($)
{a => 1}.set(b, 2)
{a => 1}.delete(a)
{a => 1}.toSet()
{a => 1}.toDict($, $)
dict(items => 1)
{a => 1}.replace(0, x)
{a => 1}.replace(0, x, 1)
{a => 1}.insert(0, x)
'abc'.replace({a => 1})
{a => 1}.join(',')
{a => 1}.count()
[1].replaceMany(0, {a => 1})
{a => 1}.orderBy($)
{a => 1}.first()
{a => 1}.append(1)
{a => 1}.mergeWith({b => 1})
{a => 1}.sum()
{a => 1}.any()
[1, 2].zip({a => 1})
str({a => 1})
str(tuple(1))
'ab'.toList()
[1, 2].where($ = 1)[0]
""")
def test_agreement(text: str) -> None:
    agree(text, "legacy")


def test_what_others_see_as_a_range_object_is_a_list_here() -> None:
    assert value("dict(range(1, 3))", "legacy") == {1: 2}


def test_the_layers() -> None:
    assert legacy_table() is legacy_table()
    assert legacy_table().parent is standard_table()
    assert len(legacy_table().layers("switch", "F")) == len(legacy_table().layers("#indexer", "F")) == 1
    assert len(legacy_table().layers("range", "F")) == 2


def test_an_endless_range_runs_out_of_steps() -> None:
    with pytest.raises(StepsExceeded):
        value("range(1).where(false).len()", "legacy", max_steps=10_000)
    with pytest.raises(CollectionTooLarge):
        value("range(0, 1000000000)", "legacy")
