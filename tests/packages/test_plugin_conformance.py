"""Our own formats pass the tests that plug-ins have to pass; and the tests find what they are for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from vetro.packages.conformance import PackageFormatConformance
from vetro.packages.errors import PackageError
from vetro.packages.hot.package import HotPackage
from vetro.packages.muranopl import MuranoPLPackage
from vetro.packages.plugin import PackageBase

TEMPLATE = "parameters:\n  p: {type: string, default: x}\nresources: {r: {type: OS::Heat::None}}\n"
HEAD = "Type: Application\nFullName: a.B\nVersion: 1.0.0\n"


class TestMuranoPL(PackageFormatConformance):
    format = "MuranoPL/1.4"
    factory = MuranoPLPackage

    def files(self) -> Mapping[str, str | bytes]:
        return {
            "manifest.yaml": f"Format: 1.4\n{HEAD}Classes: {{a.B: B.yaml}}\n",
            "Classes/B.yaml": "Name: a.B\nProperties:\n  x: {Contract: $.string()}\n",
            "UI/ui.yaml": "Version: 2\nApplication: {'?': {type: a.B}}\n",
        }


class TestHot(PackageFormatConformance):
    format = "Heat.HOT/1.0"
    factory = HotPackage

    def files(self) -> Mapping[str, str | bytes]:
        manifest = f"Format: Heat.HOT/1.0\n{HEAD}"
        return {"manifest.yaml": manifest, "template.yaml": TEMPLATE, "Resources/HotFiles/a": "text"}


class Sample(PackageBase):
    """A sound format of somebody else."""

    @property
    def classes(self) -> Sequence[str]:
        return [self.full_name]

    @property
    def ui(self) -> str | None:
        return None

    def get_class(self, name: str) -> Any:
        return f"Name: {name}\n"


class TestSample(PackageFormatConformance):
    format = "Sample/1.0"
    factory = Sample

    def files(self) -> Mapping[str, str | bytes]:
        return {"manifest.yaml": f"Format: Sample/1.0\n{HEAD}"}


def changed(**members: Any) -> PackageFormatConformance:
    made = type("Changed", (Sample,), members)
    return type("Tests", (TestSample,), {"factory": made})()  # type: ignore[no-any-return]


def count(self: Any, name: str) -> str:
    type(self).calls = getattr(type(self), "calls", 0) + 1
    return f"Name: {name}\n# {type(self).calls}\n"


def crash(self: Any, *args: Any) -> Any:
    raise ValueError("broken")


BREACHES = [
    ("test_a_folder_loads", {"classes": property(lambda self: [])}, "the sample has no class"),
    ("test_a_folder_loads", {"ui": property(lambda self: 5)}, "'ui' of Changed .* gave int instead of str"),
    ("test_a_folder_loads", {"meta": property(crash)}, "broken"),
    ("test_a_folder_loads", {"runtime_version": property(lambda self: None)}, "'runtime_version' of Changed"),
    (
        "test_an_archive_is_the_same_package",
        {"description": property(lambda self: self.source_directory)},
        "'description' differs between folder and archive",
    ),
    ("test_its_blob_is_the_package", {"blob": property(lambda self: b"junk")}, r"blob\.zip"),
    ("test_loading_twice_gives_the_same_code", {"get_class": count}, "'classes' differs when the package is loaded"),
    ("test_the_code_is_clean", {"get_class": lambda self, name: f"Name: {name}\nExtends: a.Nothing\n"}, r"a\.Nothing"),
    ("test_the_code_is_clean", {"get_class": lambda self, name: f"Name: {name}\nPropertys: {{}}\n"}, "Propertys"),
    (
        "test_foreign_names_are_refused",
        {"get_resource": lambda self, name: "/etc/hostname"},
        "ResourceNotFound was expected",
    ),
    ("test_the_form_is_a_definition", {"ui": property(lambda self: "Forms: []\n")}, r"the form has only \['forms'\]"),
]


@pytest.mark.parametrize(("test", "members", "message"), BREACHES)
def test_breaches_are_found(test: str, members: dict[str, Any], message: str) -> None:
    with pytest.raises((AssertionError, PackageError, ValueError), match=message):
        getattr(changed(**members), test)()
    getattr(TestSample(), test)()


def test_a_distribution_that_does_not_register_is_found() -> None:
    made = type("Tests", (TestSample,), {"distribution": "pytest"})()
    with pytest.raises(AssertionError, match="pytest registers"):
        made.test_the_distribution_registers_the_format()


def test_the_sample_has_to_be_given() -> None:
    tests = type("Tests", (PackageFormatConformance,), {"format": "Sample/1.0", "factory": Sample})()
    with pytest.raises(NotImplementedError, match="files of a sound package"):
        tests.test_a_folder_loads()
