"""What an archive says: facts, findings, classes with their ancestors. Runs behind walls (`worker`), knows no database.

Nothing of a package is executed here: manifests and templates are read, classes are linked and compiled.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import Any
from zipfile import ZipInfo

from vetro.diagnostics import ERROR, WARNING, Diagnostic, Text, edited, encode_messages, unplaced
from vetro.muranopl.api import Engine
from vetro.muranopl.code_cache import CodeCache
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import DeclarationError, MuranoError
from vetro.muranopl.precompile import precompile
from vetro.packages.archive import ArchiveLimits, ArchiveTree, require_manifest
from vetro.packages.build import archive_files
from vetro.packages.changelog import read_changes
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.errors import ManifestError, PackageError
from vetro.packages.extensions.plugins import required_extensions
from vetro.packages.files import FileTree
from vetro.packages.formats import HOT, default_registry
from vetro.packages.hot.values import TemplateError
from vetro.packages.load import open_package
from vetro.packages.manifest import Manifest, parse_manifest
from vetro.packages.package import LoadedPackage
from vetro.packages.paths import MANIFEST, inner_path
from vetro.packages.texts import translations, with_translations
from vetro.yaql.errors import VetroError

#: Findings that v1 uploads may have (API.md 3, "Class files are not opened"): class files that are not there.
_LATER = frozenset({"PKG112"})
#: Bytes of a form definition, which goes through memory as it is; pictures are measured by the check.
LARGEST_FORM = 4 << 20
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", re.ASCII)
_PREFIXED = re.compile(r"(?<![\w:])([A-Za-z_]\w*|):([A-Za-z_]\w*(?:\.\w+)*)", re.ASCII)

#: What may be a namespace, in either style of YAML.
_SPACE = re.compile(r"""(?:^|[{,\s])["']?(=|[A-Za-z_]\w*)["']?\s*:\s+["']?([A-Za-z_][\w.]*)""", re.MULTILINE | re.ASCII)
_WORD = re.compile(r"\b[A-Z]\w+", re.ASCII)


class Unpacked(ArchiveTree):
    """An archive without the entries whose paths lead out of it: those are never written anywhere."""

    def _check(self, infos: list[ZipInfo]) -> dict[str, ZipInfo]:
        good = []
        self.left_out: list[str] = []
        for info in infos:
            try:
                inner_path(info.orig_filename)
            except ValueError:
                self.left_out.append(info.orig_filename[:80])
            else:
                good.append(info)
        return super()._check(good)


def finding(problem: Diagnostic, location: str) -> dict[str, Any]:
    """A finding as it is stored and shown. Places are named inside the package."""
    place = problem.place
    message = edited(problem.message, lambda text: text.replace(f"{location}/", "").replace(f"{location}: ", ""))
    found: dict[str, Any] = encode_messages({"message": message, "hint": problem.hint})
    return {
        "severity": problem.severity,
        "code": problem.code,
        **found,
        "position": {"file": place.file.removeprefix(f"{location}/"), "line": place.line, "column": place.column},
    }


def read(data: bytes, location: str, limits: ArchiveLimits, *, strict: bool) -> tuple[dict[str, Any], bytes]:
    """({facts…} or {refused: findings}, the archive as it is to be stored).

    ``strict``: anything that `vetro check` calls an error refuses the archive; otherwise only what Murano refused,
    too: class files that are not there, templates that are none, and paths that lead out of the archive do not.
    """
    top = Position(MANIFEST, 1, 1)
    try:
        tree: Any = ArchiveTree(data, location=location, limits=limits) if strict else None
        tree = tree or Unpacked(data, location=location, limits=limits)
        require_manifest(tree)
        left_out = getattr(tree, "left_out", [])
        if left_out:
            data = archive_files((path, tree.read(path)) for path in tree.paths())
        facts = _facts(tree, strict)
    except ManifestError as error:
        return {"refused": [finding(p, location) for p in error.problems]}, data
    except (PackageError, DeclarationError) as error:
        problem = Diagnostic(error.code, ERROR, unplaced(error.message), error.hint, error.position or top)
        return {"refused": [finding(problem, location)]}, data
    for name in left_out:
        text = Text("entry {name} leads out of the archive and was left out", name=repr(name))
        facts["findings"].append(finding(Diagnostic("PKG130", WARNING, text, place=top), location))
    return facts, data


def _facts(tree: FileTree, strict: bool) -> dict[str, Any]:
    manifest = parse_manifest(tree.read(MANIFEST), tree.file_id(MANIFEST))
    problems = check_tree(tree)
    broken = None
    try:
        package = default_registry().load(tree, manifest)
    except TemplateError as error:
        if strict or not tree.exists("template.yaml"):
            raise
        broken = error
    errors = [
        p for p in problems
        if p.severity == "error" and (strict or not (p.code in _LATER and (p.subject or "").startswith("Classes.")))
        and not (broken is not None and p.code == broken.code)
    ]  # fmt: skip
    if errors:
        raise ManifestError(problems)
    facts = _of_manifest(manifest) if broken is not None else _of_package(package, manifest)
    facts["required_lines"] = {
        name: manifest.positions[f"Require.{name}"].line
        for name in manifest.requirements
        if f"Require.{name}" in manifest.positions
    }
    facts["findings"] = [finding(p, tree.location) for p in problems]
    facts["content"] = content_of(tree)
    facts["texts"] = translations(tree)
    releases = with_translations(read_changes(tree, manifest.version)[0], facts["texts"])
    facts["changes"] = [release.as_json() for release in releases]
    return facts


def content_of(tree: FileTree) -> str:
    """SHA-256 of the files and their paths: equal for two archives that unpack to the same, however packed."""
    found = hashlib.sha256()
    for path in sorted(tree.paths()):
        data = tree.read(path)
        found.update(f"{len(path.encode())} {len(data)} {path}".encode() + data)
    return found.hexdigest()


def _of_manifest(manifest: Manifest) -> dict[str, Any]:
    """What can be said of a package whose template is none."""
    return {
        "fqn": manifest.full_name, "version": str(manifest.version), "type": manifest.type,
        "name": manifest.name if manifest.raw.get("Name") else None,
        "format": str(manifest.format), "author": manifest.author, "description": manifest.description,
        "supplier": dict(manifest.supplier or {}), "tags": list(manifest.tags),
        "classes": [manifest.full_name] if manifest.format.name == HOT.partition("/")[0] else [],
        "required": dict(manifest.requirements), "plugins": [], "ui": None, "logo": None, "supplier_logo": None,
        "references": [], "readable": False,
    }  # fmt: skip


def _of_package(package: LoadedPackage, manifest: Manifest) -> dict[str, Any]:
    size = len((package.ui or "").encode("utf-8", "surrogatepass"))
    if size > LARGEST_FORM:
        raise PackageError(
            Text(
                "its form definition has {size:,} bytes, {largest_form:,} at most", size=size, largest_form=LARGEST_FORM
            )
        )
    supplier = package.supplier
    return {
        "fqn": package.name, "version": str(package.version), "type": package.type,
        "name": package.display_name if manifest.raw.get("Name") else None,
        "format": package.format_text, "author": package.author, "description": package.description,
        "supplier": supplier if isinstance(supplier, dict) else {},
        "tags": list(package.tags), "classes": list(package.classes),
        "required": dict(package.requirements),
        "plugins": [p.name for p in required_extensions([package]).packages] if package.requirements else [],
        "ui": package.ui, "logo": _base64(package.logo), "supplier_logo": _base64(package.supplier_logo),
        "references": _references(package), "readable": True,
    }  # fmt: skip


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def check(
    archives: Sequence[tuple[bytes, str]], others: Iterable[str], cache: CodeCache | None, limits: ArchiveLimits
) -> list[dict[str, Any]]:
    """For each archive {findings, classes: {name: {ancestors, abstract}}, readable: whether any class can be used}.

    ``others``: paths of packages that they may require. Sound classes are compiled into ``cache``.
    """
    packages: list[LoadedPackage | VetroError] = []
    for data, location in archives:
        try:
            packages.append(default_registry().load(ArchiveTree(data, location=location, limits=limits)))
        except VetroError as error:
            packages.append(error)
    loaded = [p for p in packages if isinstance(p, LoadedPackage)]
    known: list[Any] = [*loaded, *(opened(others))]
    extensions = required_extensions(known)
    known += extensions.packages
    answers = []
    for package in packages:
        if isinstance(package, LoadedPackage):
            mates = [p for p in known if p is not package]
            answers.append(_check(package, mates, extensions.natives, cache))
        else:
            answers.append({"findings": [], "classes": {}, "readable": False})
    return answers


def opened(paths: Iterable[str]) -> list[LoadedPackage]:
    """The packages at these paths; those that cannot be read are left out."""
    found = []
    for path in paths:
        try:
            found.append(open_package(path))
        except VetroError:  # what is broken cannot be linked with; the findings say which package is missing
            continue
    return found


def _check(package: LoadedPackage, mates: list[Any], natives: Any, cache: CodeCache | None) -> dict[str, Any]:
    problems = check_classes(package, mates, natives=natives)
    session = Engine([package, *mates], natives=natives, code_cache=cache).session()
    classes = {}
    readable = not package.classes
    try:
        if cache is not None and not any(p.severity == "error" for p in problems):
            precompile(session, [package])
        for name in package.classes:
            ancestors, abstract, found = _class(session, package, name)
            readable = readable or found
            classes[name] = {"ancestors": ancestors, "abstract": abstract or not found}
    finally:
        session.close()
    findings = [finding(p, package.location) for p in problems]
    return {"findings": findings, "classes": classes, "readable": readable}


def _class(session: Any, package: LoadedPackage, name: str) -> tuple[list[str], bool, bool]:
    """Its ancestors, whether it cannot be picked, whether it could be read."""
    try:
        kind = session.types.in_package(package, name)
    except VetroError:
        pass
    else:
        return list(dict.fromkeys(a.name for a in kind.ancestors[1:])), kind.is_meta, True
    try:
        declared = session.types.declaration(package, name)
        return [declared.namespaces.resolve(parent) for parent in declared.extends], False, True
    except VetroError:
        return [], False, False


def _references(package: LoadedPackage) -> list[str]:
    """Names that may be classes of other packages, of a package that was written without `Require`.

    Formats before 1.3 saw every class of the catalog (USAGE 9); more names than are classes do no harm.
    """
    if package.format >= (1, 3) or package.requirements:
        return []
    found: set[str] = set()
    for own_name in package.classes:
        try:
            text = package.read_class(own_name).text
        except MuranoError:
            continue
        spaces: dict[str, set[str]] = {}
        for prefix, space in _SPACE.findall(text):
            spaces.setdefault(prefix, set()).add(space)
        short = [*_PREFIXED.findall(text), *(("=", word) for word in _WORD.findall(text))]
        found.update(_NAME.findall(text))
        found.update(f"{space}.{name}" for prefix, name in short for space in spaces.get(prefix or "=", ()))
    own = set(package.classes)
    return sorted(n for n in found - own if len(n) <= 512 and not n.startswith("io.murano."))[:1000]
