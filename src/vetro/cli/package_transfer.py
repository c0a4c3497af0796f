"""Packages of this machine for a server, and packages of a server for this machine."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from vetro.cli import output as out
from vetro.cli.client import find
from vetro.cli.client.progress import importing
from vetro.cli.client.requests import Client, ClientError, Refused, compact
from vetro.cli.compile_cache import cache_folder
from vetro.cli.problems import render_problem
from vetro.data_classes import dataclass
from vetro.packages import load_path
from vetro.packages.archive import ArchiveTree
from vetro.packages.checks.paths import check_paths
from vetro.packages.package import STANDARD

_MISSING = (
    "the server does not have it either: name the folder that holds it, too, or publish with --allow-missing; then"
    " nobody can deploy the package until it is there"
)


class PublishError(ClientError):
    """Packages cannot be published as they are."""

    kind = "bad-argument"
    code = "CLI137"


@dataclass(frozen=True)
class Built:
    """A package as it goes to a server."""

    package: Any

    @property
    def label(self) -> str:
        """``name version``."""
        return f"{self.package.name} {self.package.version}"

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the archive."""
        return hashlib.sha256(self.package.blob).hexdigest()

    @property
    def item(self) -> dict[str, str]:
        """How the server is asked about it."""
        return {"fqn": self.package.name, "version": str(self.package.version), "digest": self.digest}


def built(packages: Iterable[Any]) -> list[Built]:
    """Each version of each package once. Raises `PublishError` when two of them differ."""
    found: dict[tuple[str, str], Built] = {}
    for package in packages:
        one = Built(package)
        same = found.setdefault((package.name, str(package.version)), one)
        if same is not one and same.digest != one.digest:
            where = f"{same.package.location} and {package.location}"
            raise PublishError(f"{one.label} is given twice with different content: {where}", "leave one of them out")
    return list(found.values())


#: Of so many packages a publication says that the catalog has newer ones.
_TOLD = 50


def publish(client: Client, items: Sequence[Built], **options: Any) -> dict[str, Any]:
    """Uploads what the server lacks, all of it or nothing: {imported, present, findings, missing}.

    ``options``: public, categories, tags, allow_missing, check_only. Raises `PublishError` when the server has a
    version with other content, `Refused` with the report of the server.
    """
    check_only = options.pop("check_only", False)
    answer = client.post("/packages/known", {"items": [one.item for one in items]})
    doubtful = {(item["fqn"], item["version"]) for item in answer["different"]}
    other = [one for one in items if (one.package.name, str(one.package.version)) in doubtful]
    packed = [one for one in other if has_same(client, one)]
    different = [one.label for one in other if one not in packed]
    if different:
        raise PublishError(
            f"the server has {', '.join(different)} with other content",
            "published versions do not change: raise 'Version' in the manifest. 'vetro package delete' takes an old one"
            " away, so that other content may have its version, but not once it was deployed",
        )
    lacking = {(item["fqn"], item["version"]) for item in answer["missing"]}
    upload = {f"{one.package.name}-{one.package.version}.zip": one.package.blob for one in items
              if (one.package.name, str(one.package.version)) in lacking}  # fmt: skip
    present = [{"fqn": i["fqn"], "version": i["version"]} for i in (*answer["present"], *(one.item for one in packed))]
    nothing = {"imported": [], "present": present, "findings": {}, "missing": [], "to_upload": sorted(upload)}
    if not upload:
        return nothing
    if check_only:
        return {**nothing, "check": client.upload("/packages/check", upload)}
    with importing(client, len(upload), sum(map(len, upload.values()))) as more:
        done = client.upload("/packages", upload, {**options, **more, "skip_existing": True})
    return {**nothing, **done, "notes": [*(done.get("notes") or ()), *_not_the_newest(client, done["imported"])]}


def _not_the_newest(client: Client, imported: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is to be said of packages whose page in the catalog is that of another version, which was there before."""
    own = {(row["fqn"], row["version"]) for row in imported}
    found = []
    for fqn, version in sorted(own)[:_TOLD]:
        newest = next(iter(client.items("/packages", fqn=fqn)), None)
        if newest is not None and (fqn, newest["version"]) not in own:
            shown = f"{newest['version']} ('{newest['name']}')"
            found.append(f"{fqn} {version} is not what the catalog shows: it has {shown}, which is newer")
    return found


def has_same(client: Client, one: Built) -> bool:
    """Whether the server's package of this name and version has the same files: other programs pack them otherwise."""
    spec = f"=={one.package.version}"
    rows = client.items("/packages", fqn=one.package.name, version=spec, all_versions=True, disabled=True)
    there = [row for row in rows if row["version"] == str(one.package.version) and (row["own"] or row["public"])]
    own = _files(one.package.blob)
    try:
        return any(_files(fetch(client, client.get(f"/packages/{row['id']}"))) == own for row in there)
    except Refused:  # who may not look at it cannot know
        return False


def _files(data: bytes) -> dict[str, bytes]:
    tree = ArchiveTree(data)
    return {path: tree.read(path) for path in tree.paths()}


def refused(error: Refused) -> None:
    """Prints a refusal of packages with the findings and problems in it, and ends the command."""
    out.print_error(error, None)
    details = error.details if isinstance(error.details, Mapping) else {}
    for finding in details.get("findings") or details.get("report") or ():
        if isinstance(finding, Mapping):
            out.note(_finding(finding))
    if isinstance(found := details.get("compatibility"), Mapping):
        show_compatibility(found)
    sys.exit(out.FAILED)


def _finding(finding: Mapping[str, Any]) -> str:
    position = finding.get("position") if isinstance(finding.get("position"), Mapping) else {}
    place = f"{position['file']}:{position.get('line')}: " if position and position.get("file") else ""
    color = "red" if finding.get("severity") == "error" else "yellow"
    label = out.style(f"{finding.get('severity', 'error')}[{finding.get('code', '')}]", fg=color)
    hint = f" (hint: {finding['hint']})" if finding.get("hint") else ""
    return f"  {label} {place}{finding.get('message', '')}{hint}"


def check(packages: Sequence[str], others: Sequence[str]) -> None:
    """Ends the command when `vetro check` finds errors."""
    errors = [problem for _, problem in check_paths(tuple(packages), tuple(others)) if problem.severity == "error"]
    for problem in errors:
        if problem.hint is not None and "--require" in problem.hint:  # an option of 'vetro check', not of this command
            problem = replace(problem, hint=_MISSING)
        out.note(out.rendered(out.shown(render_problem(problem, None, color=out.colored(sys.stderr)))) + "\n")
    if errors:
        out.fail(f"{out.plural(len(errors), 'error')} in the packages; nothing was uploaded", "'vetro check' shows all")


def check_all(client: Client, paths: Sequence[str], packages: Sequence[Any]) -> None:
    """The same, together with what the packages require of the server's."""
    with tempfile.TemporaryDirectory(prefix="vetro-packages-") as temporary:
        others = [str(path) for path in required(client, packages, download_folder(Path(temporary)))]
        check(paths, others)


def fetch(client: Client, row: Mapping[str, Any]) -> bytes:
    """The archive of a package. Raises `PublishError` for a damaged one."""
    data = client.content(f"/packages/{row['id']}/archive")
    if hashlib.sha256(data).hexdigest() != row["digest"]:
        raise PublishError(f"{row['fqn']} {row['version']} arrived damaged", "try again")
    return data


def show_published(done: Mapping[str, Any]) -> None:
    """What an import did, for people."""
    rows = [(row["fqn"], row["version"], "published") for row in done["imported"]]
    rows += [(row["fqn"], row["version"], "was there") for row in done["present"]]
    out.print_table(("package", "version", ""), rows)
    for findings in done["findings"].values():
        for finding in findings:
            out.note(_finding(finding))
    for found in (done.get("compatibility") or {}).values():
        show_compatibility(found)
    for missing in done["missing"]:
        out.note(out.style("missing: ", fg="yellow") + compact(missing))
    for text in done.get("notes") or ():
        out.note(str(text))


def show_compatibility(found: Mapping[str, Any]) -> None:
    """What a version breaks, for people; nothing of one whose number says so."""
    if not found["sufficient"] or found["reason"] is not None:
        for line in compatibility_lines(found):
            out.note(out.style("version: ", fg="yellow") + line)


def compatibility_lines(found: Mapping[str, Any] | None) -> list[str]:
    """What was found when a version was compared with the one before it, the weightiest first."""
    if found is None:
        return []
    if found["reason"] is not None:
        return [f"not compared with {found['against']['version']}: {found['reason']}"]
    first = f"compared with {found['against']['version']}: needs {found['required']} or a later version"
    if found["sufficient"]:
        first = f"compared with {found['against']['version']}: the number is right"
    lines = [first + (", forced" if found["forced"] else "")]
    for finding in found["findings"]:
        if finding["level"] in ("major", "unknown"):
            place = finding["new"] or finding["old"]
            where = f"{place['file']}:{place['line']}: " if place else ""
            value = "" if finding["witness"] is None else f", for example {finding['witness']}"
            lines.append(f"{where}{finding['element']} {finding['message']}{value} ({finding['code']})")
    return lines


def show_import_report(done: Mapping[str, Any]) -> None:
    """What an upload would do, for people."""
    report = done.get("check", {"items": [], "problems": []})
    rows = [(i["fqn"] or i["filename"], i["version"] or "", "to be published") for i in report["items"]]
    rows += [(row["fqn"], row["version"], "is there") for row in done["present"]]
    out.print_table(("package", "version", ""), rows)
    for item in report["items"]:
        for finding in item["findings"]:
            out.note(_finding(finding))
        if item.get("compatibility"):
            show_compatibility(item["compatibility"])
    for problem in [p for item in [*report["items"], report] for p in item["problems"]]:
        out.note(_finding({"severity": "error", **problem}))


def download(client: Client, row: Mapping[str, Any], folder: Path) -> Path:
    """The archive of a package in ``folder``, fetched if it is not there. Raises `PublishError` for a damaged one."""
    path = folder / f"{row['digest']}.zip"
    try:
        if hashlib.sha256(path.read_bytes()).hexdigest() == row["digest"]:
            return path
    except OSError:
        pass
    data = fetch(client, row)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(prefix=f".{path.name}-", dir=path.parent, delete=False) as file:
        file.write(data)
    os.replace(file.name, path)  # at once: another command may want it, too
    return path


def download_folder(fallback: Path) -> Path:
    """Where archives of servers are kept: in the cache of the command line, else in ``fallback``."""
    cache = cache_folder()
    return fallback if cache is None else cache / "packages"


def required(client: Client, packages: Sequence[Any], folder: Path) -> Iterator[Path]:
    """Archives of what ``packages`` require and the server has, and of what those require."""
    known = list(packages)
    asked: set[str] = set()
    while todo := [item for item in lacking(known) if item[0] not in asked]:
        name, spec = todo[0]
        asked.add(name)
        try:
            row = find.package(client, name, spec or None, disabled=False)
        except find.NotFound:
            continue  # an installed plug-in, or missing: who needs it says so better
        if row["embedded"]:
            continue
        path = download(client, row, folder)
        yield path
        known += load_path(str(path))


def lacking(packages: Iterable[Any]) -> list[tuple[str, str]]:
    """Names and versions of what packages require that is neither one of them nor part of Vetro."""
    known = list(packages)
    there = {package.name for package in known} | set(STANDARD)
    return [item for package in known for item in package.requirements.items() if item[0] not in there]
