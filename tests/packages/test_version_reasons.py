"""Why there is a version of a package, and what keeps another one out."""

from __future__ import annotations

from typing import Any

from vetro.packages.lock import ChosenVersion, LockedPackage
from vetro.packages.version_reasons import NAMED, Asker, excluding, explain, holding

APP, LIB1, LIB2, BASE = (
    LockedPackage(name, version, "0" * 64)
    for name, version in (("app", "1.0.0"), ("lib", "1.0.0"), ("lib", "2.0.0"), ("base", "1.0.0"))
)
HEAD = ChosenVersion("", "app.Main", "1.0.0", "app/1.0.0")
OTHER = ChosenVersion("", "lib.Thing", "2.0.0", "lib/2.0.0")
OLD = ChosenVersion("", "app.Old", "", "app/1.0.0")
USES = ChosenVersion("app/1.0.0", "lib", "1", "lib/1.0.0")
DEEP = ChosenVersion("lib/1.0.0", "base", ">=1", "base/1.0.0")
ALSO = ChosenVersion("lib/2.0.0", "base", "<2", "base/1.0.0")
WHY = [DEEP, USES, OTHER, HEAD, ALSO, OLD]
ALL = [APP, LIB1, LIB2, BASE]


def thing(id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"?": {"id": id, "type": text, "name": id.upper()}, **more}


MODEL = {
    "a": [thing("m", "app.Main/1.0.0@app", inner=thing("t", "lib.Thing/2.0.0@lib")), thing("o", "app.Old")],
}


def test_every_version_has_the_way_from_an_object_to_it() -> None:
    base, app, lib1, lib2 = sorted(explain(ALL, WHY, MODEL), key=lambda item: (item.package.name != "base",))
    assert [reason.choices for reason in base.reasons] == [(HEAD, USES, DEEP), (OTHER, ALSO)]
    assert [reason.choices for reason in app.reasons] == [(HEAD,), (OLD,)] or len(app.reasons) == 2
    assert [reason.choices for reason in lib1.reasons] == [(HEAD, USES)]
    assert lib1.reasons[0].objects == (Asker("m", "M", "app.Main"),)
    assert [reason.choices for reason in lib2.reasons] == [(OTHER,)]
    # An object whose header names no version asks for its class all the same.
    assert [r.objects[0].id for r in app.reasons if r.choices == (OLD,)] == ["o"]


def test_one_package_or_version() -> None:
    assert [item.package for item in explain(ALL, WHY, MODEL, "lib")] == [LIB1, LIB2]
    assert [item.package for item in explain(ALL, WHY, MODEL, "lib", "2.0.0")] == [LIB2]
    assert explain(ALL, WHY, MODEL, "nope") == []
    (alone,) = explain([BASE], [], None)
    assert alone.reasons == ()


def test_circles_end_and_many_objects_are_counted() -> None:
    around = [
        HEAD,
        ChosenVersion("app/1.0.0", "lib", "1", "lib/1.0.0"),
        ChosenVersion("lib/1.0.0", "app", "1", "app/1.0.0"),
    ]
    model = [thing(str(number), "app.Main/1.0.0@app") for number in range(40)]
    (app,) = explain([APP], around, model)
    first = next(reason for reason in app.reasons if reason.choices == (HEAD,))
    assert (len(first.objects), first.count) == (NAMED, 40)
    assert any(reason.choices == (HEAD, *around[1:]) for reason in app.reasons)


def test_what_keeps_a_version_out() -> None:
    assert excluding(WHY, "lib", "2.0.0") == USES
    assert excluding(WHY, "lib", "1.7.0") is None
    assert excluding(WHY, "base", "2.0.0") == ALSO
    assert holding(WHY, MODEL, "lib", "2.1.0") == (Asker("t", "T", "lib.Thing"), "2.0.0")
    assert holding(WHY, MODEL, "base", "2.0.0") is None
    assert holding(WHY, MODEL, "app", "1.0.0") is None
