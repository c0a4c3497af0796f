"""Stored objects become those of another version: steps, values that are lost, questions, what is compared with."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.upgrading.world import World, obj, package
from vetro.engine.upgrading.migration import MigrationFailed
from vetro.model.tree import by_id
from vetro.yaql.redact import MASK

ONE = package(
    "1.0.0",
    {
        "Db": """
Properties:
  listenPort: {Contract: $.int().notNull(), Default: 80}
  accounts: {Contract: {}, Default: {}}
  note: {Contract: $.string(), Default: none}
  password: {Contract: $.string()}
  address: {Contract: $.string(), Usage: Out}
  disk: {Contract: $.class(Disk)}
""",
        "Disk": "Properties: {size: {Contract: $.int().notNull()}}\n",
    },
)
DATABASE = """
Meta: [{l:Replaces: {name: t.Db, to: 2.0.0}}, {l:NotRestorable: {what: mail}}, {l:Update: {guard: required}}]
Properties:
  port: {Contract: $.int().notNull(), Meta: {l:Renamed: {from: listenPort, to: 2.0.0}}}
  users: {Contract: [$.class(Account).notNull()]}
  disk: {Contract: $.class(Disk)}
  address: {Contract: $.string(), Usage: Out}
  mode: {Contract: $.string().notNull()}
Methods:
  accountsBecomeObjects:
    Usage: Static
    Meta: {l:Migration: {to: 2.0.0}}
    Arguments: [old: {Contract: {}}]
    Body:
      - $users: $old.get(accounts, {}).items().select({'?' => {type => 't.Account'}, name => $[0], client => $[1]})
      - Return: $old.delete(accounts).set(users, $users)
"""
ACCOUNT = "Properties: {name: {Contract: $.string().notNull()}, client: {Contract: $.string().notNull()}}\n"
DISK = "Properties: {size: {Contract: $.int().notNull()}}\n"
TWO = package("2.0.0", {"Database": DATABASE, "Account": ACCOUNT, "Disk": DISK})
STORED = obj(
    "Db", "d", listenPort=8080, accounts={"ann": "10.0.0.1", "bob": "10.0.0.2"}, note="mine", password=None,
    address="a", disk=obj("Disk", "k", size=3),
)  # fmt: skip


def test_names_change_and_migrations_make_objects() -> None:
    made = World(ONE, TWO).upgrade(STORED, "1.0.0", "2.0.0", answers={"d": {"mode": "fast"}}, drops=[["d", "note"]])
    draft = made["objects"]
    assert draft["?"] == {"type": "t.Database/2.0.0@t", "id": "d"} and draft["disk"]["?"]["type"] == "t.Disk/2.0.0@t"
    assert (draft["port"], draft["mode"], draft["address"]) == (8080, "fast", "a")
    assert [(user["name"], user["client"]) for user in draft["users"]] == [("ann", "10.0.0.1"), ("bob", "10.0.0.2")]
    assert {user["?"]["type"] for user in draft["users"]} == {"t.Account/2.0.0@t"}
    assert len(by_id(draft)) == 4 and not {"listenPort", "accounts", "note"} & draft.keys()
    (told, *others) = made["report"]["objects"]
    assert (told["old"], told["new"], told["old_type"]) == ("1.0.0", "2.0.0", "t.Db/1.0.0@t")
    assert {one["id"] for one in made["report"]["objects"] if one["added"]} == set(by_id(made["objects"])) - set(
        by_id(STORED)
    )
    assert told["steps"] == [
        {"to": "2.0.0", "name": "port", "from": "listenPort"},
        {"to": "2.0.0", "name": "accountsBecomeObjects", "class": "t.Database"},
    ]
    assert told["changed"] == ["users"] and [item["id"] for item in others][:1] != ["d"]
    assert made["report"]["ready"] and made["packages"] == {"t": ["2.0.0"]}
    assert (made["report"]["not_restorable"], made["report"]["guard"]) == (["mail"], True)


def test_what_was_given_is_not_changed() -> None:
    before = repr(STORED)
    World(ONE, TWO).upgrade(STORED, "1.0.0", "2.0.0")
    assert repr(STORED) == before


def test_only_what_is_new_is_asked() -> None:
    report = World(ONE, TWO).upgrade(STORED, "1.0.0", "2.0.0")["report"]
    (asked,) = report["asked"]
    assert (asked["object"], asked["property"], asked["usage"], asked["missing"]) == ("d", "mode", "In", True)
    assert asked["contract"] == "$.string().notNull()" and not report["ready"] and not report["problems"]


def test_a_value_that_is_refused_is_asked_for() -> None:
    narrow = DISK.replace("notNull()", "notNull().check($ > 5)")
    three = package("2.0.0", {"Database": DATABASE, "Account": ACCOUNT, "Disk": narrow})
    answers = {"d": {"mode": "fast"}}
    report = World(ONE, three).upgrade(STORED, "1.0.0", "2.0.0", answers=answers)["report"]
    ((asked),) = report["asked"]
    assert (asked["object"], asked["property"], asked["missing"]) == ("k", "size", False)
    more = {**answers, "k": {"size": 6}}
    made = World(ONE, three).upgrade(STORED, "1.0.0", "2.0.0", answers=more, drops=[["d", "note"]])
    assert made["report"]["ready"] and made["objects"]["disk"]["size"] == 6


def test_answers_that_nobody_asked_for_are_problems() -> None:
    answers = {"d": {"mode": "fast", "moed": 1, "address": "b"}, "x": {"a": 1}}
    report = World(ONE, TWO).upgrade(STORED, "1.0.0", "2.0.0", answers=answers)["report"]
    assert [str(one["message"]) for one in report["problems"]] == [
        f"object '{id}' has no property '{name}' that can be given"
        for id, name in (("d", "moed"), ("d", "address"), ("x", "a"))
    ]


def test_values_that_are_lost_have_to_be_confirmed() -> None:
    def dropped(**values: Any) -> dict[str, Any]:
        stored = {**STORED, **values}
        made = World(ONE, TWO).upgrade(stored, "1.0.0", "2.0.0", answers={"d": {"mode": "x"}})
        ready = made["report"]["ready"]
        return {one["name"]: (one["value"], one["lost"], ready) for one in made["report"]["objects"][0]["dropped"]}

    assert dropped() == {"note": ("mine", True, False), "password": (None, False, False)}
    assert dropped(note="none") == {"note": ("none", False, True), "password": (None, False, True)}
    assert dropped(note=None, password="tell nobody")["password"] == (MASK, True, False)
    assert "never" not in dropped(never=1)  # no version ever read it


def test_what_is_deployed_is_the_base_in_its_new_shape() -> None:
    model = {"Objects": {**STORED, "listenPort": 90}, "ObjectsCopy": STORED}
    made = World(ONE, TWO).upgrade(model, "1.0.0", "2.0.0")
    assert (made["objects"]["port"], made["base"]["port"]) == (90, 8080)
    assert made["base"]["users"] == made["objects"]["users"]  # new objects have the same ids in both
    assert model["ObjectsCopy"] is STORED


def test_attributes_follow_the_name_of_their_class() -> None:
    rows = [["d", "t.Db", "seen", 5], ["k", "t.Disk", "n", 1], ["d", "t.Other", "n", 2], ["gone", "t.Db", "n", 3]]
    made = World(ONE, TWO).upgrade({"Objects": STORED, "Attributes": rows}, "1.0.0", "2.0.0")
    # What goes back, or is destroyed after all, finds it under the old name.
    assert made["attributes"] == [*rows, ["d", "t.Database", "seen", 5]]
    stale = [*rows, ["d", "t.Database", "seen", 4], "odd", [["d"], "t.Db", "n", 1]]
    made = World(ONE, TWO).upgrade({"Objects": STORED, "Attributes": stale}, "1.0.0", "2.0.0")
    assert made["attributes"] == [*rows, "odd", [["d"], "t.Db", "n", 1], ["d", "t.Database", "seen", 5]]


def test_nobody_takes_over_what_another_class_remembers() -> None:
    base, version = "Properties: {x: {Contract: $.int()}}\n", "Extends: Base\n"
    greedy = "Meta: [{l:Replaces: {name: t.Base, to: 2.0.0}}]\nExtends: Base\n"
    one = package("1.0.0", {"Own": version}, name="u", t="1"), package("1.0.0", {"Base": base})
    two = package("2.0.0", {"Own": greedy}, name="u", t="1")
    rows = [["o", "t.Base", "stack", "s1"]]
    model = {"Objects": obj("Own", "o", package="u", x=1), "Attributes": rows}
    made = World(*one, two).upgrade(
        model, {"u": ["1.0.0"], "t": ["1.0.0"]}, {"u": ["2.0.0"], "t": ["1.0.0"]}, {"u": "2.0.0"}
    )
    assert made["report"]["ready"] and made["attributes"] == rows


def test_an_answer_changes_nothing_that_is_fixed() -> None:
    """The base is what `Const` is compared with: only what has to be given anew may differ from what is deployed."""
    old = "Properties: {size: {Contract: $.int(), Usage: Const}, tag: {Contract: $.string(), Usage: Const}}\n"
    new = old.replace("$.int()", "$.int().check($ > 5)")
    new = new.replace("}}\n", "}, mode: {Contract: $.int(), Usage: Const}}\n")
    answers = {"a": {"size": 6, "tag": "other", "mode": 1}}
    world = World(package("1.0.0", {"A": old}), package("2.0.0", {"A": new}))
    made = world.upgrade(obj("A", "a", size=3, tag="this"), "1.0.0", "2.0.0", answers=answers)
    assert {"size": 6, "tag": "other", "mode": 1}.items() <= made["objects"].items()
    assert {"size": 6, "tag": "this", "mode": 1}.items() <= made["base"].items()


def test_a_secret_under_a_name_that_nobody_declared_is_masked() -> None:
    old = "Meta: []\nProperties: {pin: {Contract: $.string(), Meta: {'std:metadata.forms.Secret': {}}}}\n"
    new = """Methods:
  go:
    Usage: Static
    Meta: {l:Migration: {to: 2.0.0}}
    Arguments: [old: {Contract: {}}]
    Body:
      - Return: $old.delete(pin).set(former, $old.pin)
"""
    one, two = package("1.0.0", {"A": old}), package("2.0.0", {"A": new})
    report = World(one, two).upgrade(obj("A", "a", pin="0815"), "1.0.0", "2.0.0")["report"]
    assert [(d["name"], d["value"]) for d in report["objects"][0]["dropped"]] == [("former", MASK)]


def test_one_object_moves_with_what_it_owns() -> None:
    disks = package("1.0.0", {"Disk": DISK, "Rack": "Properties: {disks: {Contract: [$.class(Disk)]}}\n"})
    newer = package("1.1.0", {"Disk": DISK, "Rack": "Properties: {disks: {Contract: [$.class(Disk)]}}\n"})
    inner = obj("Rack", "b", disks=[obj("Disk", "y", size=2)])
    outer = package("1.0.0", {"Hall": "Properties: {racks: {Contract: [$]}}\n"}, name="u")
    root = obj("Hall", "h", package="u", racks=[obj("Rack", "a", disks=[obj("Disk", "x", size=1)]), inner])
    before, after = {"t": ["1.0.0"], "u": ["1.0.0"]}, {"t": ["1.0.0", "1.1.0"], "u": ["1.0.0"]}
    world = World(disks, newer, outer)
    made = world.upgrade(root, before, after, {"t": "1.1.0"}, objects=["b"])
    types = {own: item["?"]["type"] for own, item in by_id(made["objects"]).items()}
    assert types == {
        "h": "t.Hall/1.0.0@u", "a": "t.Rack/1.0.0@t", "x": "t.Disk/1.0.0@t",
        "b": "t.Rack/1.1.0@t", "y": "t.Disk/1.1.0@t",
    }  # fmt: skip
    assert [one["id"] for one in made["report"]["objects"]] == ["b", "y"]
    # Objects that another package's object owns move, too, when nobody says which.
    made = world.upgrade(root, before, {"t": ["1.1.0"], "u": ["1.0.0"]}, {"t": "1.1.0"})
    assert {one["id"] for one in made["report"]["objects"]} == {"a", "x", "b", "y"}


def test_bases_of_other_packages_migrate_by_their_own_versions() -> None:
    step = """
Meta: {{l:Migration: {{to: {to}}}}}
    Usage: Static
    Arguments: [old: {{Contract: {{}}}}]
    Body:
      - Return: $old.set(trace, $old.get(trace, []) + ['{word}'])
"""
    trace = "Properties: {trace: {Contract: [$], Default: []}}\n"

    def base(*releases: str) -> str:
        found = [f"  base{i}:\n    {step.format(to=to, word=f'base {to}').strip()}\n" for i, to in enumerate(releases)]
        return trace + "Methods:\n" + "".join(found) if found else trace

    own = f"Extends: Base\nMethods:\n  own:\n    {step.format(to='2.0.0', word='own 2.0.0').strip()}\n"
    world = World(
        package("1.0.0", {"Base": base()}, name="b"),
        package("3.0.0", {"Base": base("3.0.0", "2.0.0")}, name="b"),
        package("1.0.0", {"Own": "Extends: Base\n"}, b="1"),
        package("2.0.0", {"Own": own}, b="3"),
        package("1.5.0", {"Own": "Extends: Base\n"}, b=">=1"),
    )
    before = {"t": ["1.0.0"], "b": ["1.0.0"]}
    made = world.upgrade(obj("Own", "o"), before, {"t": ["2.0.0"], "b": ["3.0.0"]}, {"t": "2.0.0"})
    assert made["objects"]["trace"] == ["base 2.0.0", "base 3.0.0", "own 2.0.0"]
    # Only the base moves: its steps are taken, the header stays.
    stored = obj("Own", "o", "1.5.0")
    before = {"t": ["1.5.0"], "b": ["1.0.0"]}
    made = world.upgrade(stored, before, {"t": ["1.5.0"], "b": ["3.0.0"]}, {"b": "3.0.0"})
    assert made["objects"] == {"?": stored["?"], "trace": ["base 2.0.0", "base 3.0.0"]}


def migration(body: str) -> World:
    text = f"""
Properties: {{a: {{Contract: $}}, b: {{Contract: $.class(Thing)}}}}
Methods:
  m:
    Usage: Static
    Meta: {{l:Migration: {{to: 2.0.0}}}}
    Arguments: [old: {{Contract: {{}}}}]
    Body:
      {body}
"""
    old = package("1.0.0", {"Thing": "Properties: {a: {Contract: $}, b: {Contract: $.class(Thing)}}\n"})
    return World(old, package("2.0.0", {"Thing": text}))


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("- Return: 1", "it has to return a mapping of properties"),
        ("- Return: {'?': {type: t.Thing}}", "it has to return a mapping of properties"),
        ("- Return: {b: {'?': {name: x}}}", "a definition at /b names no class"),
        ("- Return: {b: {':Thing': {a: 1}}}", "it has to write definitions with a header"),
        ("- Return: {a: $old.nothing.more}", "fails for object 'o'"),
        ("- sleep(1)", "a migration does nothing outside: effect 'sleep' is refused"),
        ("- Throw: Bad\n        Message: not like this", "not like this"),
        ("- Return: {a: $old.b, b: $old.b}", "migrations made of one object several: p"),
        ("- Return: {b: new(Thing)}", "fails for object 'o'"),
    ],
)
def test_a_migration_that_is_no_function_of_the_properties_is_refused(body: str, why: str) -> None:
    stored = obj("Thing", "o", a=1, b=obj("Thing", "p", a=None, b=None))
    with pytest.raises(MigrationFailed, match=why.replace("(", r"\(")):
        migration(body).upgrade(stored, "1.0.0", "2.0.0")


def test_an_error_says_where_in_the_package_it_happened() -> None:
    with pytest.raises(MigrationFailed) as caught:
        migration("- Return: {a: 1 / 0}").upgrade(obj("Thing", "o"), "1.0.0", "2.0.0")
    assert caught.value.position.file.endswith("t.Thing.yaml") and caught.value.code == "ENG350"


def test_time_and_chance_are_always_the_same() -> None:
    world = migration("- Return: {a: [now().year, randomName(), random()]}")
    made = [world.upgrade(obj("Thing", "o"), "1.0.0", "2.0.0")["objects"] for _ in range(3)]
    assert made[0] == made[1] == made[2] and made[0]["a"][0] == 1970
    two = World(*world.packages).upgrade(obj("Thing", "o", b=obj("Thing", "p")), "1.0.0", "2.0.0")["objects"]
    assert two["a"] == made[0]["a"] and "b" not in two


def test_a_class_that_is_gone_is_a_problem_of_its_object() -> None:
    world = World(ONE, package("2.0.0", {"Disk": DISK}))
    made = world.upgrade(STORED, "1.0.0", "2.0.0")
    messages = [str(one["message"]) for one in made["report"]["problems"]]
    assert "t 2.0.0 has no class 't.Db'" in messages and not made["report"]["ready"]


def test_newer_objects_stay() -> None:
    world = World(ONE, TWO, package("3.0.0", {"Disk": DISK}))
    made = world.upgrade(obj("Disk", "k", "3.0.0", size=1), "3.0.0", {"t": ["2.0.0", "3.0.0"]}, {"t": "2.0.0"})
    assert made["objects"]["?"]["type"] == "t.Disk/3.0.0@t" and made["report"]["objects"] == []
    assert not made["report"]["ready"]  # there is nothing to do


@pytest.mark.campaign
def test_a_hundred_upgrades_are_one() -> None:
    world = World(ONE, TWO)
    made = {repr(world.upgrade(STORED, "1.0.0", "2.0.0")) for _ in range(100)}
    assert len(made) == 1


@pytest.mark.attack("secrets", "U1")
def test_no_secret_is_quoted() -> None:
    def key(contract: str) -> dict[str, str]:
        return {
            "Safe": f"Properties: {{code: {{Contract: {contract}, Meta: {{io.murano.metadata.forms.Secret: {{}}}}}}}}\n"
        }

    world = World(package("1.0.0", key("$.string()")), package("2.0.0", key("$.int().check($ > 10)")))
    report = world.upgrade(obj("Safe", "s", code="tell-nobody"), "1.0.0", "2.0.0")["report"]
    assert [one["property"] for one in report["asked"]] == ["code"] and "tell-nobody" not in repr(report)
    gone = World(world.packages[0], package("2.0.0", {"Safe": ""}))
    report = gone.upgrade(obj("Safe", "s", code="tell-nobody"), "1.0.0", "2.0.0")["report"]
    assert report["objects"][0]["dropped"][0]["lost"] and "tell-nobody" not in repr(report)


def test_a_migration_that_fails_tells_no_secret() -> None:
    """Neither by chance nor on purpose, nor that of an object which its own owns."""
    old = "Properties: {part: {Contract: $.class(B)}, pin: {Contract: $, Meta: {'std:metadata.forms.Secret': {}}}}\n"
    inner = "Properties: {code: {Contract: $, Meta: {'std:metadata.forms.Secret': {}}}}\n"
    new = """Methods:
  go:
    Usage: Static
    Meta: {l:Migration: {to: 2.0.0}}
    Arguments: [old: {Contract: {}}]
    Body:
      - Return: $old.set(pin, int(%s))
"""
    for body, text in (("$old.pin", "hunter2-open"), ("$old.part.code", "sesame-open")):
        two = package("2.0.0", {"A": old + new % body, "B": inner})
        world = World(package("1.0.0", {"A": old, "B": inner}), two)
        stored = obj("A", "a", pin="hunter2-open", part=obj("B", "b", code="sesame-open"))
        with pytest.raises(MigrationFailed) as caught:
            world.upgrade(stored, "1.0.0", "2.0.0")
        assert text not in str(caught.value) and MASK in str(caught.value)
        assert text not in str(vars(caught.value)) and text not in repr(caught.value.__cause__)
