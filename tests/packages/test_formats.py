from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import semantic_version

from vetro.muranopl.declarations.versions import Version, parse_spec
from vetro.muranopl.errors import ClassNotFound
from vetro.muranopl.package_resolver import Package as CatalogPackage
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.packages.errors import PackageError, PluginError, UnknownFormat
from vetro.packages.files import MemoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.manifest import parse_format
from vetro.packages.package import LoadedPackage
from vetro.packages.pictures import MAX_PICTURE
from vetro.packages.plugin import ENTRY_POINT_GROUP, Package, PackageBase

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


class Generated(PackageBase):
    """A format that makes its class up."""

    @property
    def classes(self) -> Sequence[str]:
        return [self.full_name]

    @property
    def ui(self) -> str | None:
        return None

    def get_class(self, name: str) -> str:
        return f"Name: {name}\n"


def registry(**formats: Any) -> FormatRegistry:
    result = FormatRegistry(discover=False)
    result.register("Gen/1.2.0", Generated, origin="gen-dist")
    return result


def tree(manifest: str, **files: bytes | str) -> MemoryTree:
    base = "FullName: a.B\nType: Application\n"
    return MemoryTree({"manifest.yaml": base + manifest, **files}, "/packages/b")


def load(manifest: str = "", files: Mapping[str, bytes | str] | None = None, using: Any = Generated) -> LoadedPackage:
    formats = FormatRegistry(discover=False)
    formats.register("Gen/1.2.0", using, origin="gen-dist")
    return formats.load(tree(manifest, **(files or {})))


# -- resolution -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("registered", "wanted", "found"),
    [
        (["1.0.0", "1.0.2"], "1.0.0", "1.0.0"),
        (["1.0.1", "1.0.3", "1.1.0"], "1.0.0", "1.0.3"),
        (["1.0.1"], "1.0.2", None),
        (["1.1.0"], "1.0", None),
        (["2.0.0"], "1", None),
    ],
)
def test_formats_are_found_by_semver(registered: list[str], wanted: str, found: str | None) -> None:
    formats = FormatRegistry(discover=False)
    for version in registered:
        formats.register(f"X/{version}", Generated)
    if found is None:
        with pytest.raises(UnknownFormat, match="this engine knows X"):
            formats.resolve(parse_format(f"X/{wanted}"))
    else:
        assert str(formats.resolve(parse_format(f"X/{wanted}")).format) == f"X/{found}"


def test_unknown_formats_say_what_is_known() -> None:
    formats = registry()
    with pytest.raises(UnknownFormat, match=r"MuranoPL/9\.9\.0 is unknown, this engine knows MuranoPL 1\.0 to 1\.4"):
        formats.resolve(parse_format("9.9"))
    with pytest.raises(UnknownFormat, match=r"Nope/1\.0\.0 is unknown, this engine knows Gen, Heat") as caught:
        formats.resolve(parse_format("Nope/1.0"))
    assert "install the plug-in that registers 'Nope'" in (caught.value.hint or "")


def test_a_format_cannot_be_taken_twice() -> None:
    with pytest.raises(PluginError, match=r"Gen/1\.2\.0 of me is already registered by gen-dist"):
        registry().register("Gen/1.2", Generated, origin="me")
    with pytest.raises(PluginError, match=r"MuranoPL/1\.4\.0 of me is already registered by vetro"):
        registry().register("1.4", Generated, origin="me")
    with pytest.raises(PluginError, match="me registers a malformed format"):
        registry().register("a b/1", Generated, origin="me")


# -- plug-ins ---------------------------------------------------------------------------------------------------------


def test_a_plugin_makes_up_its_classes() -> None:
    package = load("Format: Gen/1.2\nVersion: 1.5\nRequire: {lib: 1}\nTags: [x]\nSupplier: {Name: s}\n")
    catalog: CatalogPackage = package
    assert isinstance(catalog, CatalogPackage)
    assert (package.name, str(package.version), package.type) == ("a.B", "1.5.0", "Application")
    assert (package.format, package.format_text) == ((1, 2), "Gen/1.2.0")
    assert package.read_class("a.B").text == "Name: a.B\n"
    assert package.read_class("a.B").file_id == "/packages/b/a.B.yaml"
    assert list(package.effective_requirements.items()) == [("a.B", "1"), ("io.murano", "0"), ("lib", "1")]
    assert (package.display_name, package.tags, package.supplier) == ("a.B", ("x",), {"Name": "s"})
    assert (package.description, package.author, package.meta, package.ui) == (None, None, None, None)
    assert repr(package) == "<package a.B/1.5.0 at /packages/b>"


def test_plugins_are_called_with_four_arguments_and_a_folder() -> None:
    seen: list[Any] = []

    class Spy(Generated):
        def __init__(self, *args: Any) -> None:
            seen.extend(args)
            super().__init__(*args)

    package = load("Format: Gen/1.2\nEntryPoint: x.yaml\n", {"Resources/r.txt": "r\r\n"}, Spy)
    name, version, folder, manifest = seen
    # Plug-ins that others wrote compare it with what they parse with this class.
    assert (name, version) == ("Gen", semantic_version.Version("1.2.0"))
    assert manifest["EntryPoint"] == "x.yaml" and manifest["FullName"] == "a.B"
    with open(f"{folder}/Resources/r.txt", "rb") as file:
        assert file.read() == b"r\r\n"
    assert package.resource("r.txt") == b"r\r\n" and package.resource_text("./r.txt") == "r\n"
    with pytest.raises(ResourceNotFound):
        package.resource("other")
    assert package.blob.startswith(b"PK") and package.blob is package.blob


@pytest.mark.parametrize(("version", "dialect"), [("7.0", (1, 4)), ("0.1", (1, 0)), ("1.3.7", (1, 3))])
def test_foreign_versions_are_clamped_to_a_dialect(version: str, dialect: tuple[int, int]) -> None:
    formats = FormatRegistry(discover=False)
    formats.register(f"Gen/{version}", Generated)
    assert formats.load(tree(f"Format: Gen/{version}\n")).format == dialect


def test_versions_may_be_those_of_semantic_version() -> None:
    class Foreign(Generated):
        @property
        def version(self) -> Any:
            return semantic_version.Version("1.2.3-rc.1+b")

    package = load("Format: Gen/1.2\n", using=Foreign)
    assert package.version == Version("1.2.3-rc.1+b") and package.format == (1, 2)


def test_requirements_may_be_spec_objects() -> None:
    class Specs(Generated):
        @property
        def requirements(self) -> Mapping[str, Any]:
            return {"a": semantic_version.SimpleSpec(">=1.2"), "b": parse_spec("1"), "c": None}

    assert load("Format: Gen/1.2\n", using=Specs).requirements == {"a": ">=1.2", "b": "1", "c": ""}


def broken(**members: Any) -> type[Generated]:
    return type("Broken", (Generated,), {k: property(v) if k != "get_class" else v for k, v in members.items()})


def fail(self: Any, *args: Any) -> Any:
    raise ZeroDivisionError("oops")


@pytest.mark.parametrize(
    ("member", "value", "message"),
    [
        ("full_name", fail, "'full_name' of Broken (gen-dist) failed with ZeroDivisionError: oops"),
        ("full_name", lambda self: None, "'full_name' of Broken (gen-dist) gave NoneType instead of str"),
        ("version", lambda self: "1.0", "'version' of Broken (gen-dist) gave str instead of Version"),
        ("package_type", lambda self: "App", "'package_type' of Broken (gen-dist) gave 'App'"),
        ("classes", lambda self: "a.B", "'classes' of Broken (gen-dist) gave str instead of a list"),
        ("classes", lambda self: [1], "'classes' of Broken (gen-dist) has to be a list of names"),
        ("requirements", lambda self: ["x"], "'requirements' of Broken (gen-dist) gave list instead of Mapping"),
        ("requirements", lambda self: {"x": "?"}, "'requirements' of Broken (gen-dist) is malformed for 'x'"),
    ],
)
def test_a_plugin_that_breaks_its_interface_refuses_only_its_package(member: str, value: Any, message: str) -> None:
    with pytest.raises(PluginError) as caught:
        load("Format: Gen/1.2\n", using=broken(**{member: value}))
    assert message in caught.value.message and caught.value.message.startswith("/packages/b")
    assert "gen-dist" in (caught.value.hint or "")


def test_late_members_are_checked_when_they_are_used() -> None:
    package = load("Format: Gen/1.2\n", using=broken(ui=fail, tags=lambda self: 5, get_class=lambda self, n: 5))
    with pytest.raises(PluginError, match="'ui'"):
        _ = package.ui
    with pytest.raises(PluginError, match="'tags'"):
        _ = package.tags
    with pytest.raises(PluginError, match="'get_class'"):
        package.read_class("a.B")


def test_classes_may_come_as_bytes_and_with_a_file() -> None:
    package = load("Format: Gen/1.2\n", using=broken(get_class=lambda self, n: (b"Name: x", "made-up")))
    assert package.read_class("a.B")[:2] == ("Name: x", "made-up")


def test_what_is_no_package_format_is_refused() -> None:
    with pytest.raises(PluginError, match="does not derive from"):
        load("Format: Gen/1.2\n", using=lambda *args: object())
    with pytest.raises(PluginError, match="refuses the package: oops"):
        load("Format: Gen/1.2\n", using=fail)
    with pytest.raises(PluginError, match="names no class"):
        load("Format: Gen/1.2\n", using=5)


def test_abstract_members_have_to_be_implemented() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Package("x", Version("1.0.0"), ".")  # type: ignore[abstract]
    abstract: Any = PackageBase
    with pytest.raises(PluginError, match=r"classes.*get_class.*ui"):
        load("Format: Gen/1.2\n", using=abstract)


# -- discovery --------------------------------------------------------------------------------------------------------


class FakeDistribution:
    def __init__(self, name: str) -> None:
        self.name = name


class FakeEntryPoint:
    def __init__(self, name: str, dist: str, target: Any = Generated) -> None:
        self.name, self.dist, self.value, self._target = name, FakeDistribution(dist), f"{dist}:X", target

    def load(self) -> Any:
        if isinstance(self._target, Exception):
            raise self._target
        return self._target


def discovering(monkeypatch: pytest.MonkeyPatch, *points: FakeEntryPoint, **options: Any) -> FormatRegistry:
    def entry_points(*, group: str) -> list[FakeEntryPoint]:
        assert group == ENTRY_POINT_GROUP
        return list(points)

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)
    return FormatRegistry(**options)


def test_installed_formats_are_discovered_when_one_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovering(monkeypatch, FakeEntryPoint("Gen/1.0", "one"), FakeEntryPoint("Gen/2.0", "one"))
    assert found.load(tree("Format: Gen/2.0\n")).name == "a.B"
    assert "Gen/1.0.0" in [str(f) for f in found.known()]


def test_builtin_formats_need_no_discovery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "entry_points", fail)
    assert FormatRegistry().load(tree("Format: 1.4\n")).format == (1, 4)


def test_a_format_of_two_distributions_is_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovering(monkeypatch, FakeEntryPoint("Gen/1.0", "two"), FakeEntryPoint("Gen/1.0", "one"))
    with pytest.raises(UnknownFormat, match="disabled: it is claimed by one and two; remove one of them"):
        found.load(tree("Format: Gen/1.0\n"))


def test_only_enabled_distributions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    points = FakeEntryPoint("Gen/1.0", "My_Dist"), FakeEntryPoint("Other/1.0", "other")
    found = discovering(monkeypatch, *points, enabled=["my-dist"])
    assert found.load(tree("Format: Gen/1.0\n")).name == "a.B"
    with pytest.raises(UnknownFormat) as caught:
        found.load(tree("Format: Other/1.0\n"))
    assert caught.value.hint == "format Other/1.0 of other is not enabled"


def test_bad_entry_points_are_left_out_with_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    points = FakeEntryPoint("a b/1", "bad"), FakeEntryPoint("MuranoPL/1.4", "thief"), FakeEntryPoint("Gen/1.0", "ok")
    found = discovering(monkeypatch, *points)
    assert len(found.known()) == 7
    assert [n.split(":")[0] for n in found.notes] == [
        "bad registers a malformed format",
        "format MuranoPL/1.4.0 of thief is already registered by vetro",
    ]


def test_a_plugin_that_cannot_be_imported_names_its_distribution(monkeypatch: pytest.MonkeyPatch) -> None:
    found = discovering(monkeypatch, FakeEntryPoint("Gen/1.0", "sick", ImportError("no such module")))
    with pytest.raises(PluginError, match=r"Gen/1\.0\.0 of sick cannot be loaded: ImportError: no such module"):
        found.load(tree("Format: Gen/1.0\n"))


# -- MuranoPL ---------------------------------------------------------------------------------------------------------

CLASSES = "Format: 1.4\nClasses: {a.B: sub/B.yaml, a.C: sub/B.yaml, a.D: D.yaml, a.E: E.yaml}\n"


def muranopl(**files: bytes | str) -> LoadedPackage:
    contents: dict[str, bytes | str] = {"Classes/sub/B.yaml": "Name: B\n---\nName: C\n", "Classes/E.yaml": b"\n\xff"}
    return FormatRegistry(discover=False).load(tree(CLASSES, **contents, **files))


def test_classes_of_one_file_share_text_and_digest() -> None:
    package = muranopl()
    assert package.classes["a.B"] == package.classes["a.C"] == "/packages/b/Classes/sub/B.yaml"
    assert package.read_class("a.B") == package.read_class("a.C")
    assert len(package.read_class("a.B").digest) == 64


def test_unreadable_classes() -> None:
    package = muranopl()
    with pytest.raises(ClassNotFound, match=r"'x' is not found in packages a\.B"):
        package.read_class("x")
    with pytest.raises(PackageError, match=r"'a\.D' .* cannot be read from .*/Classes/D.yaml: the file is not there"):
        package.read_class("a.D")
    with pytest.raises(PackageError, match=r"/Classes/E\.yaml:2: not valid UTF-8"):
        package.read_class("a.E")


@pytest.mark.parametrize("path", ["../manifest.yaml", "/etc/passwd", "", "a/../../x", "no"])
def test_resources_stay_in_their_folder(path: str) -> None:
    with pytest.raises(ResourceNotFound):
        muranopl(**{"Resources/a/b": "x"}).resource(path)


def test_forms_and_pictures() -> None:
    package = muranopl(**{"UI/ui.yaml": "Version: 2\n", "logo.png": PNG, "supplier_logo.png": b"GIF89a"})
    assert (package.ui, package.logo, package.supplier_logo) == ("Version: 2\n", PNG, b"GIF89a")
    assert (muranopl().ui, muranopl().logo) == (None, None)


@pytest.mark.parametrize(
    ("data", "message"), [(b"<svg/>", "not a PNG, JPEG or GIF"), (PNG + bytes(MAX_PICTURE), "the picture has 500 KiB")]
)
def test_bad_pictures_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(PackageError, match=message):
        _ = muranopl(**{"logo.png": data}).logo


def test_a_stated_picture_has_to_be_there() -> None:
    with pytest.raises(PackageError, match=r"picture 'l\.png' cannot be read: it is not there"):
        _ = FormatRegistry(discover=False).load(tree("Logo: l.png\n")).logo
