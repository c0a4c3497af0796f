"""Versions compared at import and at publishing: policies, what is kept, who may force, hostile packages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.server.catalog.archives import archive
from vetro.server.audit.models import AuditRecord
from vetro.server.catalog import blobs, compatibility, service
from vetro.server.catalog.compatibility import NotCompared, NumberTooLow, Version
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.inspection.dry_run import import_report
from vetro.server.catalog.models import Package
from vetro.server.catalog.verdicts import verdict_of
from vetro.server.errors import Conflict, Forbidden, TooMany

NAME = "com.example.App"
TEXT = (
    "Namespaces: {{=: com.example, std: io.murano}}\nName: App\nExtends: std:Application\nProperties:\n  size: {{{}}}\n"
)


def app(version: str, prop: str = "Contract: $.int().notNull().check($ > 0), Default: 1", **more: Any) -> bytes:
    return archive(NAME, version, classes={NAME: TEXT.format(prop)}, **more)


BROKEN = "Contract: $.int().notNull().check($ > 5), Default: 9"
Settings = Callable[..., None]


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Changes settings: ``settings(versioning="refuse")``."""
    from vetro.server.config.config import Config

    real = Config.__getitem__

    def change(**values: str) -> None:
        named = {f"packages.{name}": value for name, value in values.items()}
        monkeypatch.setattr(Config, "__getitem__", lambda self, name: named.get(name) or real(self, name))

    return change


def imported(who: Any, data: bytes, **options: Any) -> Package:
    return Package.objects.get(id=import_packages(who.caller, [data], **options).packages[0].id)


def test_a_first_version_has_nothing_to_be_compared_with(ann: Any) -> None:
    assert imported(ann, app("1.0.0")).compat == {}


def test_what_an_own_package_breaks_is_kept_with_it_and_refuses_nothing(ann: Any) -> None:
    first = imported(ann, app("1.0.0"))
    compat = imported(ann, app("1.0.1", BROKEN)).compat
    assert compat["against"] == {"id": first.id, "version": "1.0.0"}
    assert (compat["required"], compat["sufficient"], compat["level"]) == ("2.0.0", False, "major")
    (found,) = [one for one in compat["findings"] if one["level"] == "major"]
    assert (found["code"], found["element"], found["witness"]) == ("CMP112", "com.example.App.size", "1")
    assert found["old"] == found["new"] == {"file": "Classes/com.example.App.yaml", "line": 5, "column": 3}
    assert verdict_of(compat) == "breaking"


def test_a_public_package_is_refused_with_place_value_and_number(root: Any) -> None:
    imported(root, app("1.0.0"), is_public=True)
    with pytest.raises(NumberTooLow, match=r"needs 2\.0\.0 after 1\.0\.0; com\.example\.App\.size refuses") as caught:
        import_packages(root.caller, [app("1.1.0", BROKEN)], is_public=True)
    told = caught.value.details["compatibility"]
    assert told["required"] == "2.0.0" and "Version: 2.0.0" in str(caught.value.hint)
    assert told["findings"][0]["witness"] == "1" and told["findings"][0]["new"]["line"] == 5
    assert Package.objects.filter(fqn=NAME).count() == 1
    assert imported(root, app("2.0.0", BROKEN), is_public=True).compat["sufficient"] is True
    # A pre-release is what it announces.
    assert imported(root, app("3.0.0-rc.1"), is_public=True).compat["sufficient"] is True


def test_forcing_needs_a_rule_and_is_audited(ann: Any, root: Any, settings: Settings) -> None:
    settings(versioning="refuse")
    for who in (ann, root):
        imported(who, app("1.0.0"))
    with pytest.raises(NumberTooLow):
        import_packages(ann.caller, [app("1.0.1", BROKEN)])
    with pytest.raises(Forbidden):
        import_packages(ann.caller, [app("1.0.1", BROKEN)], anyway=True)
    package = imported(root, app("1.0.1", BROKEN), anyway=True)
    record = AuditRecord.objects.get(action="package.force_version")
    assert (record.target_id, record.details["required"], package.compat["forced"]) == (package.id, "2.0.0", True)
    # Whoever forces what needs no force does nothing special.
    assert imported(root, app("2.0.0"), anyway=True).compat["forced"] is False
    assert AuditRecord.objects.filter(action="package.force_version").count() == 1


def test_publishing_compares_with_what_all_see(root: Any, settings: Settings) -> None:
    imported(root, app("1.0.0"), is_public=True)
    imported(root, app("1.5.0", BROKEN))
    private = imported(root, app("1.6.0", BROKEN))
    assert (private.compat["against"]["version"], private.compat["sufficient"]) == ("1.5.0", True)
    with pytest.raises(NumberTooLow, match=r"after 1\.0\.0"):
        service.change(root.caller, private, is_public=True)
    assert not Package.objects.get(id=private.id).is_public
    shown = service.change(root.caller, private, is_public=True, anyway=True)
    assert (shown.compat["against"]["version"], shown.compat["forced"]) == ("1.0.0", True)
    assert AuditRecord.objects.filter(action="package.force_version", target_id=private.id).exists()


def test_nothing_of_a_private_version_shows_in_a_public_one(root: Any) -> None:
    imported(root, app("1.0.0"))
    assert imported(root, app("1.1.0", BROKEN), is_public=True).compat == {}
    published = imported(root, app("1.2.0"))
    assert published.compat["against"]["version"] == "1.1.0"
    first = Package.objects.get(version="1.0.0")
    assert service.change(root.caller, first, is_public=True).compat == {}


def test_versions_of_another_project_are_not_looked_at(ann: Any, eve: Any) -> None:
    imported(eve, app("1.0.0"))
    assert imported(ann, app("1.0.1", BROKEN)).compat == {}


def test_releases_are_compared_with_releases_and_with_what_comes_along(ann: Any) -> None:
    imported(ann, app("1.0.0"))
    imported(ann, app("1.1.0-rc.1", BROKEN))
    # The break is none since the pre-release, but since the release.
    assert imported(ann, app("1.1.0", BROKEN)).compat["against"]["version"] == "1.0.0"
    both = import_packages(ann.caller, [app("1.3.0"), app("1.2.0", BROKEN)]).packages
    assert [one.compat["against"]["version"] for one in both] == ["1.2.0", "1.1.0"]
    # An older one comes later: it is compared with what is below it.
    assert imported(ann, app("1.0.5")).compat["against"]["version"] == "1.0.0"


def test_it_can_be_switched_off(ann: Any, settings: Settings) -> None:
    settings(versioning="off")
    imported(ann, app("1.0.0"))
    assert imported(ann, app("1.0.1", BROKEN)).compat == {}


UNKNOWN = "Contract: '$.string().notNull().check($.trim() != {})'"


def test_unknown_counts_as_broken_where_the_settings_say_so(ann: Any, settings: Settings) -> None:
    settings(versioning="refuse")
    imported(ann, app("1.0.0", "Contract: $.int().notNull().check($ < now().hour)"))
    changed = "Contract: $.int().notNull().check($ <= now().hour)"
    compat = imported(ann, app("1.0.1", changed)).compat
    assert (verdict_of(compat), compat["sufficient"]) == ("unknown", True)
    settings(versioning="refuse", unknown="refuse")
    with pytest.raises(NumberTooLow, match=r"needs 2\.0\.0"):
        import_packages(ann.caller, [app("1.0.2", "Contract: $.int().notNull().check($ != now().hour)")])


ENDLESS = "Contract: '$.int().notNull().check(range(0, 900000000).any($ < 0) or $ > {})'"


def test_conditions_without_end_are_unknown_and_the_rest_is_compared(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compatibility, "_COMPARING", 3.0)
    more = "}\n  port: {Contract: $.int()"
    imported(ann, app("1.0.0", ENDLESS.format(1) + more))
    compat = imported(ann, app("1.0.1", ENDLESS.format(2) + more + ".notNull()")).compat
    assert compat["reason"] is None
    assert {(one["element"].rpartition(".")[2], one["level"]) for one in compat["findings"]} == {
        ("size", "unknown"),
        ("port", "major"),
    }


def test_what_takes_too_long_or_too_much_is_not_compared_and_refuses_nothing(
    ann: Any, root: Any, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    imported(root, app("1.0.0"), is_public=True)
    monkeypatch.setattr(compatibility, "SECONDS", 0.001)
    compat = imported(root, app("1.0.1", BROKEN), is_public=True).compat
    assert "more than" in compat["reason"] and compat["findings"] == []
    assert verdict_of(compat) == "unknown"
    monkeypatch.setattr(compatibility, "SECONDS", 20.0)

    def busy(*args: Any, **more: Any) -> Any:
        raise TooMany("others wait")

    monkeypatch.setattr(compatibility, "compare", busy)
    assert imported(root, app("1.0.2", BROKEN), is_public=True).compat["reason"] == "others wait"
    settings(unknown="refuse")
    with pytest.raises(NumberTooLow, match=r"was not compared with 1\.0\.2: others wait"):
        import_packages(root.caller, [app("1.0.3", BROKEN)], is_public=True)
    assert imported(root, app("2.0.0", BROKEN), is_public=True).compat["sufficient"] is True


def test_an_old_archive_that_is_gone_and_one_that_cannot_be_read(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    first = imported(ann, app("1.0.0"))
    get = blobs.get

    def gone(digest: str) -> bytes:
        if digest == first.digest:
            raise blobs.BlobMissing(digest)
        return get(digest)

    monkeypatch.setattr(blobs, "get", gone)
    assert imported(ann, app("1.0.1", BROKEN)).compat["reason"] == "the archive of version 1.0.0 is gone"


def test_an_answer_that_means_nothing_is_none(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was taken over tells what it likes."""
    imported(ann, app("1.0.0"))
    fine = {"name": NAME, "old": "1.0.0", "new": "1.0.1", "level": "minor", "required": "1.0.1", "sufficient": True}
    finding = {"level": "major", "code": "CMP112", "element": "x" * 10**6, "message": "m" * 10**6, "old": None,
               "new": {"file": "f", "line": 1, "column": 1}, "witness": "w" * 10**6, "declared": True}  # fmt: skip
    told: list[Any] = [
        {},
        {**fine, "findings": "none"},
        {**fine, "findings": [], "new": "7.0.0"},
        {**fine, "findings": [{**finding, "level": "good"}]},
        {**fine, "findings": [{**finding, "new": "f:1"}]},
        {**fine, "findings": [], "required": ["1"]},
        {**fine, "findings": [finding] * 5000},
    ]

    class Liar:
        def ask(self, *args: Any, **more: Any) -> Any:
            return {"compared": told.pop(0)}, []

    monkeypatch.setattr(compatibility, "pool", Liar)
    old = Package.objects.get(fqn=NAME)
    new = Version(b"", Package(fqn=NAME, version="1.0.1", required={}, references=[], project_id=old.project_id))
    for _ in range(6):
        with pytest.raises(NotCompared, match="means nothing"):
            compatibility.compare(ann.caller, Version.stored(old), new)
    found = compatibility.compare(ann.caller, Version.stored(old), new)
    assert (len(found["findings"]), found["more"], len(found["findings"][0]["witness"])) == (200, 4800, 2000)


def test_a_dry_run_says_what_an_import_would(ann: Any, settings: Settings) -> None:
    imported(ann, app("1.0.0"))
    (item,) = import_report(ann.caller, [app("1.0.1", BROKEN)])["items"]
    assert item["ok"] and item["compatibility"]["required"] == "2.0.0"
    settings(versioning="refuse")
    (item,) = import_report(ann.caller, [app("1.0.1", BROKEN)])["items"]
    assert not item["ok"] and item["problems"][0]["code"] == "SRV523"


def test_versions_whose_requirements_differ(ann: Any) -> None:
    """Each version is read with what it requires; objects of a version that is no longer taken are refused."""
    lib = "com.example.Lib"
    thing = "Namespaces: {=: com.example}\nName: Lib\n"
    for version in ("1.4.0", "2.0.0"):
        import_packages(ann.caller, [archive(lib, version, classes={lib: thing}, Type="Library")])
    prop = "Contract: $.class(Lib)"
    imported(ann, app("1.0.0", prop, Require={lib: "1"}))
    compat = imported(ann, app("1.1.0", prop, Require={lib: "2"})).compat
    found = {one["code"]: one for one in compat["findings"]}
    assert found["CMP112"]["witness"] == '{"?": {"type": "com.example.Lib/1.4.0"}}'
    assert found["CMP162"]["witness"] == "1.0.0"
    # A package that comes with the new version may be what it requires.
    both = [archive(lib, "3.0.0", classes={lib: thing}, Type="Library"), app("4.0.0", prop, Require={lib: "3"})]
    packages = import_packages(ann.caller, both).packages
    assert packages[1].compat["reason"] is None


def test_what_could_not_be_compared_is_when_its_requirement_arrives(ann: Any) -> None:
    lib = "com.example.Lib"
    imported(ann, app("1.0.0"))
    data = archive(NAME, "1.0.1", extends=lib, Require={lib: "1"})
    late = imported(ann, data, allow_missing=True, strict=False)
    assert late.compat["reason"] is not None and late.compat["findings"] == []
    thing = {lib: "Namespaces: {=: com.example}\nName: Lib\n"}
    import_packages(ann.caller, [archive(lib, "1.0.0", classes=thing, Type="Library")])
    found = Package.objects.get(id=late.id).compat
    assert found["reason"] is None and found["required"] == "2.0.0"


def test_the_same_archive_sent_twice_is_a_conflict_as_ever(ann: Any) -> None:
    imported(ann, app("1.0.0"))
    data = app("1.0.1", BROKEN)
    first = imported(ann, data)
    with pytest.raises(Conflict):
        import_packages(ann.caller, [data])
    again = import_packages(ann.caller, [data], skip_existing=True)
    assert [one.id for one in again.skipped] == [first.id]
