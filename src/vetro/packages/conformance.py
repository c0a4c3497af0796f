"""Tests that every package format has to pass, for authors of format plug-ins (PACKAGES 7).

Derive a test class, say how a sound package of the format looks, and run it with pytest or unittest::

    class TestMyFormat(PackageFormatConformance):
        format = "My.Format/1.0"
        factory = MyPackage
        distribution = "my-plugin"

        def files(self):
            return {"manifest.yaml": MANIFEST, "recipe.yaml": "..."}

The classes of the sample are read, linked and compiled; nothing of them is run.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import entry_points
from typing import Any, ClassVar

from vetro.muranopl.errors import ClassNotFound
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.muranopl.source.documents import load_documents
from vetro.packages.archive import ArchiveTree, archive_tree
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.errors import PackageError
from vetro.packages.files import DirectoryTree, FileTree, MemoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.manifest import parse_format
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST
from vetro.packages.plugin import ENTRY_POINT_GROUP, Package

#: Members that every format offers, as `Package` declares them.
MEMBERS = (
    *("full_name", "version", "classes", "requirements", "package_type", "display_name", "description", "author"),
    *("supplier", "tags", "logo", "supplier_logo", "ui", "meta", "format_name", "runtime_version"),
)


class PackageFormatConformance:
    """The tests. Set `format` and `factory`, and give the `files` of a sound package."""

    #: Format as manifests name it, with the version.
    format: ClassVar[str]
    #: The class that the entry point names.
    factory: ClassVar[Callable[..., Package]]
    #: The distribution that registers it; None: it is not looked for among the installed ones.
    distribution: ClassVar[str | None] = None

    def files(self) -> Mapping[str, str | bytes]:
        """Path -> contents of a sound package of the format, ``manifest.yaml`` included."""
        raise NotImplementedError(f"{type(self).__name__} has to give the files of a sound package")

    def others(self) -> Sequence[Any]:
        """Packages that the sample requires."""
        return ()

    # -- helpers ------------------------------------------------------------------------------------------------

    def _load(self, tree: FileTree) -> LoadedPackage:
        return self._registry().load(tree)

    def _registry(self) -> FormatRegistry:
        registry = FormatRegistry(discover=False)
        wanted = parse_format(self.format)
        if not any(known == wanted for known in registry.known()):
            registry.register(self.format, type(self).factory, origin="the tested plug-in")
        return registry

    @contextmanager
    def _folder(self) -> Iterator[str]:
        with tempfile.TemporaryDirectory(prefix="vetro-conformance-") as folder:
            for path, data in self.files().items():
                target = os.path.join(folder, *path.split("/"))
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as file:
                    file.write(data if isinstance(data, bytes) else data.encode())
            yield folder

    def _facts(self, package: LoadedPackage) -> dict[str, Any]:
        return {
            **{member: getattr(package.plugin, member) for member in MEMBERS if member not in ("version", "classes")},
            "requirements": package.requirements,
            "version": str(package.version),
            "classes": {name: package.read_class(name).digest for name in package.classes},
        }

    # -- tests --------------------------------------------------------------------------------------------------

    def test_the_distribution_registers_the_format(self) -> None:
        """The entry point is there once, loads, and names the tested class."""
        if self.distribution is None:
            return
        points = [p for p in entry_points(group=ENTRY_POINT_GROUP) if p.dist and p.dist.name == self.distribution]
        named = [p for p in points if parse_format(p.name) == parse_format(self.format)]
        assert len(named) == 1, f"{self.distribution} registers {[p.name for p in points]}, not {self.format} once"
        _same({"class": type(self).factory}, {"class": named[0].load()}, "is not the tested one")

    def test_a_folder_loads(self) -> None:
        """It is called with format name, version, folder and manifest, and every member has its type."""
        with self._folder() as folder:
            package = self._load(DirectoryTree(folder))
            wanted = parse_format(self.format)
            plugin = package.plugin
            given = {"format_name": plugin.format_name, "runtime_version": str(plugin.runtime_version)}
            made = {"format_name": wanted.name, "runtime_version": str(wanted.version)}
            _same(made, given, "is not what it was made with")
            assert package.classes, "the sample has no class"
            for member in MEMBERS:
                getattr(package.plugin, member)
            for member in ("display_name", "description", "author", "supplier", "tags", "logo", "ui", "meta"):
                getattr(package, member)

    def test_an_archive_is_the_same_package(self) -> None:
        """Nothing depends on where the files are."""
        with self._folder() as folder:
            unpacked = self._load(DirectoryTree(folder))
            packed = self._load(ArchiveTree(archive_tree(DirectoryTree(folder)), location="sample.zip"))
            _same(self._facts(unpacked), self._facts(packed), "differs between folder and archive")

    def test_its_blob_is_the_package(self) -> None:
        """The archive that it offers loads as the same package."""
        with self._folder() as folder:
            package = self._load(DirectoryTree(folder))
            again = self._load(ArchiveTree(package.blob, location="blob.zip"))
            _same(self._facts(package), self._facts(again), "differs between the package and its blob")

    def test_loading_twice_gives_the_same_code(self) -> None:
        """Tasks are repeated after a crash, maybe on another machine: their code may not change."""
        first, second = (self._load(MemoryTree(self.files(), "/sample")) for _ in range(2))
        _same(self._facts(first), self._facts(second), "differs when the package is loaded again")

    def test_the_code_is_clean(self) -> None:
        """Manifest, files and classes have no errors and no warnings."""
        tree = MemoryTree(self.files(), "/sample")
        found = check_tree(tree, registry=self._registry())
        found += check_classes(self._load(tree), self.others())
        assert not found, "\n".join(map(str, found))

    def test_foreign_names_are_refused(self) -> None:
        """Classes that it does not have, and resources outside of the package."""
        package = self._load(MemoryTree(self.files(), "/sample"))
        _raises(ClassNotFound, lambda: package.read_class("no.such.Class"))
        for path in ("../manifest.yaml", "/etc/passwd", "no/such/file", ""):
            _raises(ResourceNotFound, partial(package.resource, path))

    def test_the_form_is_a_definition(self) -> None:
        """A form, where there is one, is YAML with an application."""
        text = self._load(MemoryTree(self.files(), "/sample")).ui
        if text is not None:
            (document,) = load_documents(text, "ui.yaml")
            keys = {key.value.lower() for key, _ in document.value}
            assert {"application"} <= keys, f"the form has only {sorted(keys)}"

    def test_broken_packages_are_refused_as_such(self) -> None:
        """A package that lacks its files, or has junk in them, is a `PackageError`, nothing else."""
        sound = dict(self.files())
        manifest = {MANIFEST: sound[MANIFEST]}
        junk = {path: data if path == MANIFEST else b"\0\xff{[" for path, data in sound.items()}
        for broken in (manifest, junk):
            try:
                package = self._load(MemoryTree(broken, "/broken"))
                for name in package.classes:
                    package.read_class(name)
            except PackageError as error:
                assert error.message, "the refusal says nothing"


def _same(first: Mapping[str, Any], second: Mapping[str, Any], what: str) -> None:
    for name, value in first.items():
        assert value == second[name], f"'{name}' {what}: {value!r:.200} and {second[name]!r:.200}"


def _raises(kind: type[Exception], function: Callable[[], Any]) -> None:
    try:
        function()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected")
