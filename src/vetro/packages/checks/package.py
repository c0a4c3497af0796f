"""What can be said of a package without reading its code; `vetro check` adds the findings of the language."""

from __future__ import annotations

from dataclasses import replace

from vetro.diagnostics import ERROR, Diagnostic, Text, unplaced
from vetro.muranopl.declarations.tree import Position
from vetro.packages.changelog import read_changes
from vetro.packages.errors import ManifestError, PackageError, UnknownFormat
from vetro.packages.files import FileTree
from vetro.packages.formats import FormatRegistry, default_registry
from vetro.packages.manifest import MURANOPL, Manifest, parse_manifest
from vetro.packages.paths import MANIFEST
from vetro.packages.pictures import check_picture
from vetro.packages.texts import check_translations


def check_tree(tree: FileTree, *, registry: FormatRegistry | None = None) -> list[Diagnostic]:
    """Every problem of the package with these files, errors and warnings, in the order of the manifest.

    Covers the manifest, the format, files that the manifest names, pictures, what is said of changes, texts in other
    languages, and plug-ins that refuse the package. Never raises for what is wrong with the package.
    """
    file = tree.file_id(MANIFEST)
    top = Position(file, 1, 1)
    try:
        manifest = parse_manifest(tree.read(MANIFEST), file)
    except FileNotFoundError:
        return [Diagnostic("PKG100", ERROR, Text("there is no {manifest}", manifest=MANIFEST), place=top)]
    except ManifestError as error:
        return list(error.problems)
    except PackageError as error:
        return [Diagnostic(error.code, ERROR, error.message, error.hint, top)]
    problems = list(manifest.warnings)
    try:
        package = (registry or default_registry()).load(tree, manifest)
        problems += check_translations(package)
    except UnknownFormat as error:
        problems.append(_at(manifest, "Format", error.message, error.hint, error.code))
    except PackageError as error:
        problems.append(Diagnostic(error.code, ERROR, _unplaced(error), error.hint, error.position or top))
    problems += _check_files(tree, manifest)
    problems += read_changes(tree, manifest.version)[1]
    return sorted(problems, key=lambda p: (p.place.line, p.place.column))


def _unplaced(error: PackageError) -> str:
    """The message without the place that findings have of their own."""
    return unplaced(error.message)


def _check_files(tree: FileTree, manifest: Manifest) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if manifest.format.name == MURANOPL:
        for name, path in manifest.classes.items():
            if not tree.exists(f"Classes/{path}"):
                message = Text(
                    "class '{name}' is said to be in Classes/{path}, which is not there", name=name, path=path
                )
                found.append(_at(manifest, f"Classes.{name}", message, Text("mend the path or add the file"), "PKG112"))
    if manifest.ui is not None and not tree.exists(f"UI/{manifest.ui}"):
        problem = _at(
            manifest,
            "UI",
            Text("UI/{ui} is not there", ui=manifest.ui),
            Text("mend the name or add the file"),
            "PKG112",
        )
        # A missing form is no form (PACKAGES 2): worth a word, no reason to refuse.
        found.append(replace(problem, severity="warning"))
    for key, stated, default in (
        ("Logo", manifest.logo, "logo.png"),
        ("Supplier.Logo", manifest.supplier_logo, "supplier_logo.png"),
    ):
        found += _check_logo(tree, manifest, key, stated, default)
    return found


def _check_logo(tree: FileTree, manifest: Manifest, key: str, stated: str | None, default: str) -> list[Diagnostic]:
    path = stated or default
    if not tree.exists(path):
        if stated is None:
            return []
        return [
            _at(
                manifest,
                key,
                Text("picture {path} is not there", path=path),
                Text("mend the name or add the file"),
                "PKG112",
            )
        ]
    try:
        check_picture(tree.read(path), path)
    except PackageError as error:
        return [_at(manifest, key, error.message, error.hint, "PKG113")]
    return []


def _at(manifest: Manifest, key: str, message: str, hint: str | None, code: str) -> Diagnostic:
    position = manifest.positions.get(key) or Position(manifest.file, 1, 1)
    return Diagnostic(code, ERROR, message, hint, position, subject=key)
