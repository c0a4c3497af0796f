"""Two versions of a package: which difference breaks whom, and the number that follows."""

from __future__ import annotations

import time
from typing import Any

import pytest

from vetro.muranopl.declarations.versions import parse_version
from vetro.packages.compat.comparison import compare
from vetro.packages.compat.findings import Comparison, Level, required_version
from vetro.packages.errors import PackageError
from vetro.packages.memory import memory_package

STORE = """\
Namespaces: {=: a, m: io.murano.metadata.forms}
Name: Store
Extends: Base
Properties:
  port: {Contract: $.int().notNull().check($ > 0), Default: 80}
  title: {Contract: $.string(), Meta: [{m:Secret: {}}]}
  kind: {Contract: $.string().notNull(), Usage: Const, Default: plain}
  address: {Contract: $.string(), Usage: Out}
  level: {Contract: $.int().notNull().check($ > 0 and $ < 10), Usage: InOut, Default: 1}
  _inner: {Contract: $.int()}
Methods:
  open:
    Scope: Public
    Arguments:
      - who: {Contract: $.string().notNull()}
      - often: {Contract: $.int(), Default: 1}
  count: {Usage: Static, Arguments: [{of: {Contract: $}}]}
  tidy: {Arguments: [{deep: {Contract: $.bool()}}]}
  _help: {}
"""
BASE = "Namespaces: {=: a}\nName: Base\nProperties:\n  owner: {Contract: $.class(Base)}\n"
MARK = "Namespaces: {=: a}\nName: Mark\nUsage: Meta\nCardinality: Many\nApplies: [Type, Property]\n"


def package(version: str = "1.2.3", more: dict[str, str] | None = None, **given: Any) -> Any:
    classes = {"a.Store": STORE, "a.Base": BASE, "a.Mark": MARK, **(more or {})}
    data = {
        "name": "a",
        "version": version,
        "format": "1.4",
        "classes": {n: t for n, t in classes.items() if t},
        **given,
    }
    return memory_package(data)


def store(before: str, after: str) -> Comparison:
    assert before in STORE
    return compare(package(), package(more={"a.Store": STORE.replace(before, after, 1)}))


CHANGES = [
    # what was, what is, the element, the code, the level
    ("port:", "number:", "a.Store.port", "CMP110", Level.MAJOR),
    (
        "$.int().notNull().check($ > 0), Default",
        "$.int().notNull().check($ > 1), Default",
        "a.Store.port",
        "CMP112",
        Level.MAJOR,
    ),
    ("$.int().notNull().check($ > 0), Default", "$.int().check($ > 0), Default", "a.Store.port", "CMP117", Level.MINOR),
    ("$.int().notNull().check($ > 0), Default", "$.int().notNull(), Default", "a.Store.port", "CMP117", Level.MINOR),
    (", Default: 80", "", "a.Store.port", "CMP115", Level.MAJOR),
    ("Default: 80", "Default: 81", "a.Store.port", "CMP116", Level.MINOR),
    (", Meta: [{m:Secret: {}}]", "", "a.Store.title", "CMP104", Level.MAJOR),
    ("m:Secret: {}", "m:Position: {section: x}", "a.Store.title", "CMP104", Level.MAJOR),
    ("Usage: Const", "Usage: In", "a.Store.kind", "CMP111", Level.MINOR),
    (
        "title: {Contract: $.string(),",
        "title: {Contract: $.string(), Usage: Const,",
        "a.Store.title",
        "CMP111",
        Level.MAJOR,
    ),
    ("address: {Contract: $.string()", "address: {Contract: $", "a.Store.address", "CMP113", Level.MAJOR),
    (
        "address: {Contract: $.string()",
        "address: {Contract: $.string().notNull()",
        "a.Store.address",
        "CMP112",
        Level.MAJOR,
    ),
    ("$ > 0 and $ < 10", "$ > 0 and $ < 9", "a.Store.level", "CMP112", Level.MAJOR),
    ("$ > 0 and $ < 10", "$ > 0 and $ < 11", "a.Store.level", "CMP113", Level.MAJOR),
    ("  _inner: {Contract: $.int()}\n", "", None, None, Level.PATCH),
    ("  _help: {}\n", "", None, None, Level.PATCH),
    ("  _inner:", "  extra: {Contract: $.int().notNull()}\n  _inner:", "a.Store.extra", "CMP115", Level.MAJOR),
    ("  _inner:", "  extra: {Contract: $.int()}\n  _inner:", "a.Store.extra", "CMP119", Level.MINOR),
    ("Extends: Base\n", "", "a.Store", "CMP102", Level.MAJOR),
    ("  open:\n", "  start:\n", "a.Store::open", "CMP130", Level.MAJOR),
    ("    Scope: Public\n", "", "a.Store::open", "CMP131", Level.MAJOR),
    ("Usage: Static, ", "", "a.Store::count", "CMP132", Level.MAJOR),
    ("- who:", "- whom:", "a.Store::open(who)", "CMP133", Level.MAJOR),
    ("$.int(), Default: 1}", "$.int(), Usage: VarArgs}", "a.Store::open(often)", "CMP133", Level.MAJOR),
    (
        "      - who:",
        "      - why: {Contract: $, Default: 1}\n      - who:",
        "a.Store::open(who)",
        "CMP134",
        Level.MAJOR,
    ),
    (
        "$.int(), Default: 1}",
        "$.int(), Default: 1}\n      - why: {Contract: $.int().notNull()}",
        "a.Store::open(why)",
        "CMP115",
        Level.MAJOR,
    ),
    (
        "$.int(), Default: 1}",
        "$.int(), Default: 1}\n      - why: {Contract: $.int()}",
        "a.Store::open(why)",
        "CMP119",
        Level.MINOR,
    ),
    (
        "$.int(), Default: 1}",
        "$.int(), Default: 1}\n      - why: {Contract: $, Default: 1}",
        "a.Store::open(why)",
        "CMP119",
        Level.MINOR,
    ),
    (
        "who: {Contract: $.string().notNull()}",
        "who: {Contract: $.string().notNull().check($ != a)}",
        "a.Store::open(who)",
        "CMP112",
        Level.MAJOR,
    ),
    ("$.int(), Default: 1}", "$.int()}", "a.Store::open(often)", "CMP116", Level.MINOR),
    (
        "deep: {Contract: $.bool()}",
        "deep: {Contract: $.bool().notNull()}",
        "a.Store::tidy(deep)",
        "CMP112",
        Level.MINOR,
    ),
    ("  tidy: {Arguments: [{deep: {Contract: $.bool()}}]}\n", "", "a.Store::tidy", "CMP130", Level.MAJOR),
    ("  _help: {}", "  more: {}", "a.Store::more", "CMP150", Level.MINOR),
    ("  tidy:", "  tidy: &x", None, None, Level.PATCH),
]


@pytest.mark.parametrize(("before", "after", "element", "code", "level"), CHANGES)
def test_a_change_of_a_class(before: str, after: str, element: str | None, code: str | None, level: Level) -> None:
    done = store(before, after)
    if element is None:
        assert (list(done.findings), done.level) == ([], Level.PATCH)
        return
    found = [(one.element, one.code, one.level) for one in done.findings]
    assert (element, code, level) in found
    assert done.findings[0].level is max(one.level for one in done.findings)
    # Nothing else of what was there is complained about.
    assert all(one.element.startswith(element.split("(")[0]) for one in done.findings if one.level is Level.MAJOR)


@pytest.mark.parametrize(
    ("more", "given", "element", "code", "level"),
    [
        ({"a.Mark": ""}, {}, "a.Mark", "CMP100", Level.MAJOR),
        ({"a.Mark": "Namespaces: {=: a}\nName: Mark\n"}, {}, "a.Mark", "CMP101", Level.MAJOR),
        ({"a.Mark": MARK.replace("Many", "One")}, {}, "a.Mark", "CMP103", Level.MAJOR),
        ({"a.Mark": MARK.replace("[Type, Property]", "[Type]")}, {}, "a.Mark", "CMP103", Level.MAJOR),
        ({"a.Mark": MARK.replace("[Type, Property]", "[All]")}, {}, None, None, Level.PATCH),
        ({"a.New": "Namespaces: {=: a}\nName: New\n"}, {}, "a.New", "CMP106", Level.MINOR),
        ({}, {"type": "Application"}, "a", "CMP160", Level.MAJOR),
        ({}, {"require": {"io.murano.applications": ">=0"}}, "a", "CMP162", Level.MINOR),
    ],
)
def test_a_change_of_the_package(more: Any, given: Any, element: str | None, code: str | None, level: Level) -> None:
    done = compare(package(), package(more=more, **given))
    assert [(one.element, one.code, one.level) for one in done.findings] == (
        [(element, code, level)] if element else []
    )


def test_a_member_that_moved_to_a_base_is_still_there() -> None:
    line = "  port: {Contract: $.int().notNull().check($ > 0), Default: 80}\n"
    done = compare(package(), package(more={"a.Store": STORE.replace(line, ""), "a.Base": BASE + line}))
    assert [(one.element, one.code) for one in done.findings] == [("a.Base.port", "CMP119")]


def test_a_break_has_places_and_a_value() -> None:
    (found,) = store("$ > 0), Default", "$ > 5), Default").findings
    assert (str(found.message), found.witness) == ("refuses what it took", "1")
    assert str(found.old) == "a-1.2.3/Classes/a.Store.yaml:5:3" == str(found.new)


def test_another_name_is_no_version() -> None:
    with pytest.raises(PackageError, match="a and b are two packages"):
        compare(package(), memory_package({"name": "b"}))


@pytest.mark.parametrize(
    ("old", "level", "required"),
    [
        ("1.2.3", Level.PATCH, "1.2.4"),
        ("1.2.3", Level.MINOR, "1.3.0"),
        ("1.2.3", Level.MAJOR, "2.0.0"),
        ("0.2.3", Level.PATCH, "0.2.4"),
        ("0.2.3", Level.MINOR, "0.2.4"),
        ("0.2.3", Level.MAJOR, "0.3.0"),
        ("2.0.0-rc.1", Level.MAJOR, "2.0.0-rc.1.0"),
        ("2.0.1-rc.1", Level.MAJOR, "3.0.0"),
    ],
)
def test_the_number_that_is_needed(old: str, level: Level, required: str) -> None:
    assert str(required_version(parse_version(old), level)) == required


def test_the_same_package_needs_no_other_number() -> None:
    done = compare(package(), package())
    assert (list(done.findings), done.sufficient, str(done.required)) == ([], True, "1.2.3")
    # Another file of it: a number, if only the last one.
    again = compare(package(), package(resources={"x.txt": "x"}))
    assert (again.sufficient, str(again.required)) == (False, "1.2.4")
    assert compare(package(), package("1.3.0", resources={"x.txt": "x"})).sufficient


def test_conditions_without_end_end() -> None:
    endless = "$.int().notNull().check(range(0, 9000000).any($ < 0) or $ > {})"

    def made(number: int) -> Any:
        more = "  q: {Contract: $}\n" if number == 1 else ""
        text = f"Namespaces: {{=: a}}\nName: Store\nProperties:\n  p:\n    Contract: {endless.format(number)}\n{more}"
        return memory_package({"name": "a", "classes": {"a.Store": text}})

    began = time.process_time()
    done = compare(made(1), made(2), seconds=3.0)
    assert time.process_time() - began < 30
    # Nobody knows about the one, and the others are compared all the same.
    assert [(one.element, one.code, one.level) for one in done.findings] == [
        ("a.Store.q", "CMP110", Level.MAJOR),
        ("a.Store.p", "CMP190", Level.UNKNOWN),
    ]


def test_what_is_left_when_the_time_is_over_is_unknown() -> None:
    done = compare(package(), package(more={"a.Base": ""} | {"a.Store": STORE.replace("Extends: Base", "")}), seconds=0)
    assert ("a", "CMP191", Level.UNKNOWN) in [(one.element, one.code, one.level) for one in done.findings]


def test_fifty_classes_take_seconds() -> None:
    classes = {f"a.C{n}": STORE.replace("Name: Store", f"Name: C{n}") for n in range(50)}
    changed = {name: text.replace("$ > 0)", "$ > 1)") for name, text in classes.items()}
    began = time.process_time()
    done = compare(package(more=classes), package(more=changed))
    assert sum(one.level is Level.MAJOR for one in done.findings) == 50
    assert time.process_time() - began < 10


def renamed(text: str, version: str = "2.0.0", name: str = "a.Store") -> Comparison:
    """Store in version 1.2.3, and in a version whose authors use the vocabulary of upgrades."""
    text = text.replace("m: io.murano.metadata.forms", "m: io.murano.metadata.forms, l: io.vetro.lifecycle")
    more = {"a.Store": "", name: text}
    return compare(package(), package(version, more, require={"io.vetro": "1"}))


def test_a_renamed_property_is_no_break() -> None:
    new = STORE.replace("port: {", "number: {Meta: [{l:Renamed: {from: port, to: 2.0.0}}], ")
    found = {(f.element, f.code): f for f in renamed(new).findings}
    finding = found.pop(("a.Store.port", "CMP120"))
    assert finding.level is Level.MINOR and finding.message == "is called number now; environments are upgraded"
    assert {(element, code) for element, code in found} == {("a", "CMP162"), ("a.Store.port", "CMP105")}
    assert all(f.level is Level.MINOR for f in found.values())
    # The contract is compared under the new name, and a step of an earlier version says nothing of this one.
    narrowed = renamed(new.replace("check($ > 0), Default", "check($ > 1), Default"))
    assert ("a.Store.port", "CMP112") in {(f.element, f.code) for f in narrowed.findings}
    early = renamed(new.replace("to: 2.0.0", "to: 1.2.0"))
    assert ("a.Store.port", "CMP110") in {(f.element, f.code) for f in early.findings}


def test_a_class_that_replaces_one_is_compared_with_it() -> None:
    new = STORE.replace("Name: Store", "Name: Shop\nMeta: {l:Replaces: {name: a.Store, to: 2.0.0}}")
    done = renamed(new, name="a.Shop")
    assert [(f.element, f.code) for f in done.findings] == [("a", "CMP162"), ("a.Store", "CMP107")]
    assert done.level is Level.MINOR
    narrowed = renamed(new.replace("  _inner", "  needed: {Contract: $.int().notNull()}\n  _inner"), name="a.Shop")
    assert [(f.element, f.code) for f in narrowed.findings if f.level is Level.MAJOR] == [("a.Store.needed", "CMP115")]
    gone = renamed(new.replace("name: a.Store", "name: a.Other"), name="a.Shop")
    assert ("a.Store", "CMP100") in {(f.element, f.code) for f in gone.findings}


def told(*changes: str) -> list[tuple[str, str]]:
    """What is found of a version without 'port', whose authors declare these changes."""
    text = "- Version: 2.0.0\n  Changes:\n" + "".join(f"    - {{{one}}}\n" for one in changes)
    new = package("2.0.0", {"a.Store": STORE.replace("port:", "number:")})
    new.files._files["changes.yaml"] = text.encode()
    return [(f.code, f.element) for f in compare(package(), new).findings if f.code in ("CMP195", "CMP196")]


def test_breaks_are_to_be_declared() -> None:
    assert told("Kind: added, Text: b") == [("CMP195", "a.Store.port")]
    assert told("Kind: breaking, Text: b, Element: a.Store.port") == told("Kind: breaking, Text: b") == []
    assert told("Kind: breaking, Text: b, Element: a.Store") == []
    other = told("Kind: breaking, Text: b, Element: 'a.Store::open'", "Kind: breaking, Text: c, Element: a.Store.port")
    assert other == [("CMP196", "a.Store::open")]


def test_a_contract_that_is_declared_anew_counts_with_what_was_inherited() -> None:
    narrow = STORE.replace("  _inner:", "  owner: {Contract: $.class(Base).notNull()}\n  _inner:")
    done = compare(package(), package(more={"a.Store": narrow}))
    assert ("a.Store.owner", "CMP112") in [(one.element, one.code) for one in done.findings]
    opened = {"a.Base": BASE + "Methods:\n  start: {Scope: Public, Arguments: [{at: {Contract: $}}]}\n"}
    own = STORE.replace("  _help: {}", "  _help: {}\n  start: {Scope: Public}")
    done = compare(package(more=opened), package(more={**opened, "a.Store": own}))
    assert [(one.element, one.code) for one in done.findings] == [("a.Store::start(at)", "CMP133")]


def test_what_a_base_had_goes_with_it() -> None:
    done = compare(package(), package(more={"a.Store": STORE.replace("Extends: Base\n", "")}))
    assert ("a.Store.owner", "CMP110", Level.MAJOR) in [(one.element, one.code, one.level) for one in done.findings]


CALLING = """\
Namespaces: {=: a}
Name: Store
Import: Texts
Properties:
  one: {Contract: $.string().notNull().check(:Texts.good($))}
  two: {Contract: $.string().notNull().check($.fine())}
  three: {Contract: $.string().notNull().check($this.well($))}
  four: {Contract: $.class(Base).check($.ready())}
  five: {Contract: $.string().notNull().check($.startsWith(a))}
Methods:
  well: {Arguments: [{x: {Contract: $}}], Body: [{Return: true}]}
"""
TEXTS = """\
Namespaces: {=: a}
Name: Texts
Methods:
  good: {Usage: Static, Arguments: [{x: {Contract: $}}], Body: [{Return: true}]}
  fine: {Usage: Extension, Arguments: [{x: {Contract: $}}], Body: [{Return: true}]}
"""


def test_conditions_that_call_code_are_the_same_only_where_all_code_is() -> None:
    """Else an author could hide a narrower contract in a method, unseen."""
    old = package(more={"a.Store": CALLING, "a.Texts": TEXTS})
    assert not compare(old, package(more={"a.Store": CALLING, "a.Texts": TEXTS})).findings
    hidden = TEXTS.replace("[{Return: true}]}\n  fine", "[{Return: $x != a}]}\n  fine")
    done = compare(old, package(more={"a.Store": CALLING, "a.Texts": hidden}))
    unsure = [one.element for one in done.findings if one.level is Level.UNKNOWN]
    assert unsure == ["a.Store.four", "a.Store.one", "a.Store.three", "a.Store.two"]
    assert len(done.findings) == 4


def test_the_same_text_in_another_dialect_is_not_proven() -> None:
    old = memory_package({"name": "a", "format": "1.0", "classes": {"a.Store": CONDITION}})
    new = memory_package({"name": "a", "format": "1.4", "version": "0.0.1", "classes": {"a.Store": CONDITION}})
    assert [(one.element, one.code) for one in compare(old, new).findings if one.code != "CMP161"] == [
        ("a.Store.p", "CMP114")
    ]


CONDITION = """\
Namespaces: {=: a}
Name: Store
Properties:
  p: {Contract: $.int().notNull().check($ > 0)}
  q: {Contract: $.int().notNull()}
"""


def test_constructors_count_by_what_they_need() -> None:
    def made(arguments: str | None) -> Any:
        text = "" if arguments is None else f"  .init: {{Arguments: [{arguments}]}}\n"
        return package(more={"a.Base": BASE + "Methods:\n  x: {}\n" + text})

    needed, free = "{a: {Contract: $.int().notNull()}}", "{a: {Contract: $.int()}}"
    assert [one.code for one in compare(made(None), made(needed)).findings] == ["CMP115"]
    assert not compare(made(None), made(free)).findings and not compare(made(""), made(None)).findings
    assert [one.code for one in compare(made(needed), made(None)).findings] == ["CMP130"]
