"""Import: all or nothing, and checked."""

from __future__ import annotations

import io
import zipfile
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.server.catalog.archives import archive, zipped
from vetro.server.catalog import blobs, deleted_versions, service
from vetro.server.catalog.classes import implementations
from vetro.server.catalog.dependencies import packages_for
from vetro.server.catalog.imports import import_packages
from vetro.server.catalog.inspection.client import ArchiveRefused
from vetro.server.catalog.models import Ancestor, Package, RetiredVersion
from vetro.server.catalog.requirements import RequirementMissing
from vetro.server.environments.models import Environment, EnvironmentPackage
from vetro.server.errors import Conflict, Forbidden, Invalid

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20


@pytest.mark.database
def test_what_is_stored(ann: Any) -> None:
    data = archive(
        "com.example.App", "1.2", Name="The App", Author="Me", Tags=["b", "a"], Description="Does it.",
        Require={"io.murano": 0}, Supplier={"Name": "We"}, files={"logo.png": PNG, "UI/ui.yaml": "Version: 2\n"},
    )  # fmt: skip
    result = import_packages(ann.caller, [data], categories=["Web"], tags=["x", "a"])
    package = Package.objects.get(id=result.packages[0].id)
    assert (package.fqn, package.version, package.name, package.author) == ("com.example.App", "1.2.0", "The App", "Me")
    assert (package.tag_names, package.category_names) == (["x", "a", "b"], ["Web"])
    assert set(package.tags.values_list("tag", flat=True)) == {"x", "a", "b"}
    assert package.supplier == {"Name": "We"} and package.required == {"io.murano": "0"}
    assert package.has_ui and blobs.get(package.ui) == b"Version: 2\n"
    assert blobs.get(package.logo) == PNG and package.supplier_logo == ""
    assert blobs.get(package.digest) == data and package.size == len(data)
    assert package.usable and package.enabled and not package.is_public and not package.embedded
    ancestors = set(Ancestor.objects.filter(of__package=package).values_list("name", flat=True))
    assert {"io.murano.Application", "io.murano.Object"} <= ancestors


def test_import_is_audited_and_told(ann: Any) -> None:
    from vetro.server.audit.models import AuditRecord
    from vetro.server.tasks.models import Event

    package = import_packages(ann.caller, [archive()]).packages[0]
    assert AuditRecord.objects.get(action="package.import").target_id == package.id
    assert Event.objects.get(kind="package").data["fqn"] == "com.example.App"


def test_several_versions_side_by_side(ann: Any) -> None:
    import_packages(ann.caller, [archive(version="1.0.0"), archive(version="2.0.0")])
    with pytest.raises(Conflict, match="already there"):
        import_packages(ann.caller, [archive(version="2")])
    assert Package.objects.filter(fqn="com.example.App").count() == 2


@pytest.mark.database
def test_a_class_belongs_to_one_package(ann: Any, eve: Any) -> None:
    import_packages(ann.caller, [archive("com.example.A")])
    text = "Name: com.example.A\n"
    with pytest.raises(Conflict, match=r"com\.example\.A"):
        import_packages(ann.caller, [archive("com.example.B", classes={"com.example.A": text})])
    assert import_packages(eve.caller, [archive("com.example.B", classes={"com.example.A": text})]).packages


def test_a_requirement_that_nothing_meets_refuses_everything(ann: Any) -> None:
    import_packages(ann.caller, [archive("com.example.Lib", "1.5.0")])
    with pytest.raises(RequirementMissing) as caught:
        import_packages(
            ann.caller, [archive("com.example.Other"), archive("com.example.User", Require={"com.example.Lib": ">=2"})]
        )
    assert "com.example.User 0.0.0 requires com.example.Lib >=2" in caught.value.message
    assert "1.5.0" in caught.value.message
    assert caught.value.details["missing"][0]["versions"] == ["1.5.0"]
    assert list(Package.objects.filter(embedded=False).values_list("fqn", flat=True)) == ["com.example.Lib"]


def test_packages_of_one_import_may_require_each_other_in_a_circle(ann: Any) -> None:
    one = archive("com.example.One", Require={"com.example.Two": None})
    two = archive("com.example.Two", Require={"com.example.One": None})
    with pytest.raises(RequirementMissing):
        import_packages(ann.caller, [one])
    result = import_packages(ann.caller, [one, two])
    assert [p.usable for p in result.packages] == [True, True]


def test_requirements_of_others_private_packages_are_not_met(ann: Any, eve: Any) -> None:
    import_packages(eve.caller, [archive("com.example.Lib")])
    with pytest.raises(RequirementMissing, match="there is none"):
        import_packages(ann.caller, [archive("com.example.User", Require={"com.example.Lib": None})])


def test_missing_requirements_allowed_then_mended(ann: Any) -> None:
    user = archive("com.example.User", Require={"com.example.Lib": 1})
    result = import_packages(ann.caller, [user], allow_missing=True)
    assert not result.packages[0].usable and result.missing[0]["requires"] == "com.example.Lib"
    import_packages(ann.caller, [archive("com.example.Lib", "1.1.0")])
    assert Package.objects.get(fqn="com.example.User").usable


def test_core_library_is_required_implicitly(ann: Any) -> None:
    with pytest.raises(RequirementMissing, match=r"requires io\.murano >=7"):
        import_packages(ann.caller, [archive(Require={"io.murano": ">=7"})])


def test_findings_refuse_with_a_report(ann: Any) -> None:
    broken = archive(classes={"com.example.App": "Name: com.example.App\nMethods:\n  m:\n    Body: [$.f(]\n"})
    with pytest.raises(ArchiveRefused) as caught:
        import_packages(ann.caller, [broken])
    findings = caught.value.details["findings"]
    assert findings and findings[0]["position"]["file"] == "Classes/com.example.App.yaml"
    assert not Package.objects.filter(embedded=False).exists()


def test_unknown_parent_refuses_unless_lenient(ann: Any) -> None:
    data = archive(extends="com.example.Nowhere")
    with pytest.raises(ArchiveRefused, match="Nowhere"):
        import_packages(ann.caller, [data])
    package = import_packages(ann.caller, [data], strict=False).packages[0]
    assert any(f["severity"] == "error" for f in package.findings)


def test_what_cannot_be_read_is_stored_unusable_when_lenient(ann: Any) -> None:
    manifest = "Format: 1.0\nType: Application\nFullName: com.example.Q\nClasses: {com.example.Q: gone.yaml}\n"
    data = zipped({"manifest.yaml": manifest})
    with pytest.raises(ArchiveRefused, match=r"gone\.yaml"):
        import_packages(ann.caller, [data])
    package = import_packages(ann.caller, [data], strict=False).packages[0]
    assert not package.usable and not package.readable and package.class_names == ["com.example.Q"]


def test_a_class_that_is_missing_or_broken_is_out_of_use_alone(ann: Any) -> None:
    texts = {"com.example.Q": "Name: com.example.Q\nExtends: io.murano.Application\n", "com.example.B": "Name: [\n"}
    manifest = "Format: 1.3\nType: Application\nFullName: com.example.Q\nClasses:\n"
    manifest += "".join(f"  {name}: {name}.yaml\n" for name in (*texts, "com.example.Gone"))
    files = {f"Classes/{name}.yaml": text for name, text in texts.items()}
    package = import_packages(ann.caller, [zipped({"manifest.yaml": manifest, **files})], strict=False).packages[0]
    assert package.usable and package.readable
    assert {f["position"]["file"] for f in package.findings} >= {"manifest.yaml", "Classes/com.example.B.yaml"}
    assert [one.class_name for one in implementations(ann.caller, "io.murano.Application")] == ["com.example.Q"]
    assert implementations(ann.caller, "com.example.Gone") == []
    assert [row.fqn for row in packages_for(ann.caller, [("com.example.Q", None)])] == ["com.example.Q"]


def test_entries_that_lead_out_are_left_out_when_lenient(ann: Any) -> None:
    manifest = "Format: 1.0\nType: Library\nFullName: com.example.T\n"
    data = zipped({"../out.txt": "x", "/abs.txt": "y", "manifest.yaml": manifest, "Resources/r": "kept"})
    with pytest.raises(ArchiveRefused, match="leads out"):
        import_packages(ann.caller, [data])
    package = import_packages(ann.caller, [data], strict=False).packages[0]
    import io
    import zipfile

    assert zipfile.ZipFile(io.BytesIO(blobs.get(package.digest))).namelist() == ["Resources/r", "manifest.yaml"]
    assert sum("left out" in f["message"] for f in package.findings) == 2


def test_a_bomb_is_refused(ann: Any) -> None:
    with pytest.raises(ArchiveRefused, match="unpacks to more"):
        import_packages(ann.caller, [archive(files={"Resources/zeros": b"\0" * (20 << 20)})])


def test_an_alias_bomb_is_refused(ann: Any) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    for here, before in zip("bcdefghij", "abcdefghi", strict=True):
        lines.append(f"{here}: &{here} [{', '.join(['*' + before] * 10)}]")
    data = zipped({"manifest.yaml": "\n".join([*lines, "FullName: com.example.X", "Type: Library", "Meta: *j"])})
    with pytest.raises(ArchiveRefused):
        import_packages(ann.caller, [data], strict=False)


@pytest.mark.parametrize(("data", "text"), [(b"", "empty"), (b"no zip", "ZIP"), (b"x" * ((5 << 20) + 1), "too large")])
def test_what_is_no_archive(ann: Any, data: bytes, text: str) -> None:
    with pytest.raises(Invalid, match=text):
        import_packages(ann.caller, [data])


@pytest.mark.database
def test_publishing_needs_the_right_and_is_unique(ann: Any, root: Any, people: Any) -> None:
    with pytest.raises(Forbidden):
        import_packages(ann.caller, [archive()], is_public=True)
    import_packages(root.caller, [archive()], is_public=True)
    import_packages(ann.caller, [archive()])  # a private copy
    other = people("root2", "elsewhere", "admin")
    with pytest.raises(Conflict, match="already public"):
        import_packages(other.caller, [archive()], is_public=True)


def test_standard_packages_are_for_administrators(ann: Any) -> None:
    with pytest.raises(Forbidden, match="part of the installation"):
        import_packages(ann.caller, [archive("io.murano", "0.9.0", classes={})])


def deployed(package: Package) -> Environment:
    """An environment that uses it."""
    made = Environment.objects.create(project_id=package.project_id, name="e")
    EnvironmentPackage.objects.create(environment=made, fqn=package.fqn, version=package.version, digest=package.digest)
    return made


@pytest.mark.database
def test_a_version_in_use_comes_back_only_as_it_was(ann: Any) -> None:
    data = archive(version="1.0.0")
    package = import_packages(ann.caller, [data]).packages[0]
    used = deployed(package)
    service.delete(ann.caller, package)
    with pytest.raises(Conflict, match="what is deployed cannot change"):
        import_packages(ann.caller, [archive(version="1.0.0", Description="changed")])
    assert import_packages(ann.caller, [data]).packages
    assert import_packages(ann.caller, [archive(version="1.0.1", Description="changed")]).packages
    service.delete(ann.caller, Package.objects.get(version="1.0.0"))
    used.delete()
    assert import_packages(ann.caller, [archive(version="1.0.0", Description="changed")]).packages


def test_what_was_deleted_and_is_not_used_is_forgotten(ann: Any) -> None:
    package = import_packages(ann.caller, [archive(version="1.0.0")]).packages[0]
    service.delete(ann.caller, package)
    deleted_versions.forget(timezone.now() - timedelta(hours=1))
    assert RetiredVersion.objects.exists()
    used = deployed(package)
    deleted_versions.forget(timezone.now() + timedelta(seconds=1))
    assert RetiredVersion.objects.exists()
    used.delete()
    deleted_versions.forget(timezone.now() + timedelta(seconds=1))
    assert not RetiredVersion.objects.exists()


@pytest.mark.database
def test_an_exchange_that_is_refused_puts_back_what_was_deleted(ann: Any) -> None:
    categories = ["Databases"]
    package = import_packages(ann.caller, [archive(version="1.0.0")], categories=categories, tags=["own"]).packages[0]
    service.change(ann.caller, package, description="Mine", enabled=False)
    deployed(package)
    service.delete(ann.caller, package)
    other = archive(version="1.0.0", Description="changed")
    with pytest.raises(Conflict):
        import_packages(ann.caller, [other])
    assert not Package.objects.filter(fqn=package.fqn).exists()
    with pytest.raises(Forbidden, match="is back"):  # clients go on after conflicts, and would delete it again
        import_packages(ann.caller, [other], exchange=True)
    back = Package.objects.get(fqn=package.fqn)
    assert (back.digest, back.description, back.enabled) == (package.digest, "Mine", False)
    assert (back.category_names, back.tag_names) == (categories, ["own"])
    assert [c.name for c in back.categories.all()] == categories and back.classes.count() == 1
    service.delete(ann.caller, back)
    RetiredVersion.objects.update(at=timezone.now() - timedelta(minutes=2))  # nobody exchanges anything any more
    with pytest.raises(Conflict):
        import_packages(ann.caller, [other], exchange=True)
    assert not Package.objects.filter(fqn=package.fqn).exists()


def test_a_deployed_version_comes_back_however_it_is_packed(ann: Any) -> None:
    data = archive(version="1.0.0")
    package = import_packages(ann.caller, [data]).packages[0]
    deployed(package)
    service.delete(ann.caller, package)
    again = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(again, "w", zipfile.ZIP_STORED) as new:
        for name in reversed(old.namelist()):
            new.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), old.read(name))
    back = import_packages(ann.caller, [again.getvalue()]).packages[0]
    assert back.digest != package.digest


def test_existing_ones_can_be_skipped(ann: Any) -> None:
    first = import_packages(ann.caller, [archive()]).packages[0]
    result = import_packages(ann.caller, [archive(), archive("com.example.New")], skip_existing=True)
    assert [p.id for p in result.skipped] == [first.id]
    assert [p.fqn for p in result.packages] == ["com.example.New"]


def test_twice_in_one_import_and_unknown_category(ann: Any) -> None:
    with pytest.raises(Invalid, match="twice"):
        import_packages(ann.caller, [archive(), archive(Description="x")])
    with pytest.raises(Invalid, match="Category 'Nope'"):
        import_packages(ann.caller, [archive()], categories=["Nope"])


def test_hot_packages_have_a_form_and_a_folder_for_tasks(ann: Any) -> None:
    template = "heat_template_version: 2013-05-23\nparameters:\n  size: {type: number}\nresources: {}\n"
    manifest = "Format: Heat.HOT/1.0\nType: Application\nFullName: com.example.Hot\nVersion: 1.0.0\n"
    data = zipped({"manifest.yaml": manifest, "template.yaml": template})
    package = import_packages(ann.caller, [data]).packages[0]
    assert b"templateParameters" in blobs.get(package.ui)
    folder = blobs.local_path(package.digest)
    assert folder.is_dir() and (folder / "template.yaml").read_text() == template
    assert blobs.local_path(package.digest) == folder
    assert blobs.local_path(import_packages(ann.caller, [archive()]).packages[0].digest).is_file()


def test_progress_is_told(ann: Any) -> None:
    told: list[tuple[str, int, int]] = []
    import_packages(ann.caller, [archive()], on_progress=lambda *step: told.append(step))
    assert [stage for stage, _, _ in told] == ["reading", "checking", "storing"]
