"""Import of packages: one archive, several, a bundle; all of them or none (API.md 3, Upload)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import field
from typing import Any

from django.db import IntegrityError, transaction

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.accounts.policy import enforce
from vetro.server.caller import Caller
from vetro.server.catalog import blobs, compatibility, deleted_versions, hooks, requirements, standard_packages
from vetro.server.catalog.blobs import BlobMissing
from vetro.server.catalog.conflicts import check_among, check_conflicts, check_names
from vetro.server.catalog.dependencies import required_archives
from vetro.server.catalog.drafts import MAX_NAME, Draft, Options, read
from vetro.server.catalog.inspection.client import check_archives, refusal
from vetro.server.catalog.limits import shortened
from vetro.server.catalog.models import Category, Package
from vetro.server.catalog.resolver import Rows
from vetro.server.catalog.storage import NewPackage, hold, note, storable, store_classes, store_new
from vetro.server.errors import Conflict, Forbidden, Invalid, ServiceError, TooMany, Unavailable
from vetro.server.quotas import enforcement

__all__ = [
    "MAX_NAME",
    "ImportResult",
    "Options",
    "categories_named",
    "check_among",
    "check_code",
    "check_conflicts",
    "check_names",
    "check_requirements",
    "import_packages",
    "read",
]


@dataclass
class ImportResult:
    """What an import did."""

    #: The packages that were stored, in the order in which they were given.
    packages: list[Package] = field(default_factory=list)
    #: Packages that were there already (only with ``skip_existing``).
    skipped: list[Package] = field(default_factory=list)
    #: Package id -> its findings, warnings and (where not strict) errors.
    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    #: Requirements that nothing meets (only with ``allow_missing``).
    missing: list[dict[str, Any]] = field(default_factory=list)


def import_packages(
    caller: Caller,
    archives: Iterable[bytes | memoryview],
    *,
    on_progress: Callable[[str, int, int], None] = lambda stage, done, of: None,
    **options: Any,
) -> ImportResult:
    """Imports archives into the caller's project; they may require each other, also in a circle.

    ``is_public`` (needs rule ``publicize_package``), ``enabled``, ``categories`` (names), ``tags`` (added to the
    manifest's), ``name`` and ``description`` (where the manifest has none), ``allow_missing`` (unmet requirements make
    a package unusable instead of refusing it), ``skip_existing`` (what is there already is left alone), ``strict``
    (whatever `vetro check` calls an error refuses; without it findings in class files are stored with the package).
    ``anyway`` (needs rule ``force_version``: numbers that are too low refuse nothing).
    ``exchange`` (a refusal puts back what the project deleted under these names and versions a moment ago).
    ``on_progress(stage, done, of)`` follows long imports.

    Everything is stored or nothing. Raises `ArchiveRefused` (a report of all findings), `RequirementMissing`,
    `NumberTooLow` (a version breaks more than its number says, and the settings refuse that),
    `Conflict` (same name, version and scope; class names of another package), `Forbidden`, `Invalid`.
    """
    chosen = Options(**options)
    if chosen.is_public:
        enforce(caller, "publicize_package")
    categories = categories_named(chosen.categories)
    drafts = []
    given = list(archives)
    for number, data in enumerate(given):
        on_progress("reading", number, len(given))
        drafts.append(read(caller, data, chosen))
    result = ImportResult()
    drafts = _leave_out(caller, drafts, chosen, result)
    try:
        mended = _store_all(caller, drafts, chosen, categories, result, on_progress)
    except ServiceError as error:
        if chosen.exchange and _put_back(caller, drafts) and isinstance(error, Conflict):
            # For a conflict the client would delete what is back, and upload again, for ever.
            raise Forbidden(
                Text("{message} What was deleted is back.", message=error.message), hint=error.hint
            ) from None
        raise
    look_again(caller, mended)
    known = {package.id: package for package in mended}
    result.packages = [known.get(draft.row.id, draft.row) for draft in drafts]
    usable = {package.fqn for package in mended}
    result.missing = [item for item in result.missing if item["package"] not in usable]
    result.findings = {package.id: package.findings for package in result.packages}
    return result


def _store_all(
    caller: Caller,
    drafts: Sequence[Draft],
    chosen: Options,
    categories: Sequence[Category],
    result: ImportResult,
    on_progress: Callable[[str, int, int], None],
) -> list[Package]:
    """Stores all that nothing speaks against; packages that became usable by that."""
    check_names(caller, drafts)
    check_conflicts(caller, drafts, chosen)
    check_requirements(caller, drafts, chosen, result)
    on_progress("checking", 0, len(drafts))
    check_code(caller, drafts, chosen)
    compatibility.judge(caller, drafts, anyway=chosen.anyway)
    on_progress("storing", 0, len(drafts))
    _check_room(caller, drafts)  # before anything is stored
    for draft in drafts:
        _put(draft)
    try:
        with transaction.atomic():
            hold()
            check_conflicts(caller, drafts, chosen)  # somebody may have been faster
            _check_room(caller, drafts)
            check_requirements(caller, drafts, chosen, result)
            for draft in drafts:
                _store(caller, draft, categories)
            mended = requirements.mend(d.row.fqn for d in drafts)
            arrived = {draft.row.id for draft in drafts}
            for package in mended:
                if package.id not in arrived:
                    note(caller, package, "mend")
    except IntegrityError:
        raise Conflict(Text("Somebody imported the same package at the same moment.")) from None
    return mended


def _put_back(caller: Caller, drafts: Sequence[Draft]) -> bool:
    """Undoes deletions: whoever deletes a package to upload another in its place keeps one of them. Whether it did."""
    done = False
    for old in deleted_versions.exchanged(caller, drafts):
        try:
            draft = read(caller, blobs.get(old.digest), Options(strict=False))
        except ServiceError:  # its archive has gone already, or is beyond limits that were set meanwhile
            continue
        check_code(caller, [draft], Options(strict=False, allow_missing=True))
        for name, value in old.kept.items():
            setattr(draft.row, name, value)
        _put(draft)
        with transaction.atomic():
            hold()
            _store(caller, draft, list(Category.objects.filter(name__in=old.kept["category_names"])))
            requirements.mend([draft.row.fqn])
        done = True
    return done


def look_again(caller: Caller, packages: Iterable[Package]) -> None:
    """Links the classes of packages whose requirements have arrived: only now it is known what they inherit.

    Those of other projects wait for nobody's request, however slow they are: `link` does it.
    """
    for package in packages:
        if package.project_id == caller.project_id:
            _look_again(caller, package)


def link(most: int = 50) -> int:
    """Links the classes of packages whose requirements arrived by somebody else's request; how many packages.

    For a thread of a worker. One that cannot be examined now stays for the next time.
    """
    done = 0
    for package in Package.objects.filter(unlinked=True).order_by("updated")[:most]:
        owner = Caller("system", "system", package.project_id, "", ())
        with suppress(Unavailable, TooMany):
            _look_again(owner, package)
            done += 1
    return done


def _look_again(caller: Caller, package: Package) -> None:
    seen = Package.objects.filter(id=package.id)
    try:
        draft = read(caller, blobs.get(package.digest), Options(strict=False))
        package.findings, draft.row = draft.row.findings, package
        check_code(caller, [draft], Options(strict=False, allow_missing=True))
        compatibility.compare_again(caller, package)
    except (Unavailable, TooMany):
        raise
    except (ServiceError, BlobMissing):  # its archive is not what it was
        seen.update(unlinked=False)
        return
    with transaction.atomic():
        if not seen.exists():  # removed meanwhile
            return
        store_classes(package, draft.classes)
        package.unlinked, package.findings = False, storable(shortened(package.findings))
        package.save(update_fields=["usable", "readable", "findings", "compat", "unlinked"])


def _check_room(caller: Caller, drafts: Sequence[Draft]) -> None:
    """Raises `QuotaExceeded` unless the project may have these packages, too."""
    enforcement.check(caller.project_id, "packages", len(drafts))
    enforcement.check_space(caller.project_id, "archives", sum(draft.row.size for draft in drafts))


def teller(caller: Caller, name: str) -> Callable[[str, int, int], None]:
    """An ``on_progress`` that tells those who watch the project, as events ``import`` with this name."""

    def tell(stage: str, done: int, of: int) -> None:
        hooks.changed(caller.project_id, "import", {"name": name, "stage": stage, "done": done, "of": of})

    return tell


def categories_named(names: Iterable[str]) -> list[Category]:
    """The categories with these names, in this order. Raises `Invalid` for one that does not exist."""
    wanted = list(dict.fromkeys(names))
    # There are few categories; databases refuse some texts, and too many at once.
    found = {c.name: c for c in Category.objects.all()} if wanted else {}
    for name in wanted:
        if name not in found:
            raise Invalid(Text("Category '{storable}' doesn't exist", storable=storable(name)[:80]))
    return [found[name] for name in wanted]


def _leave_out(caller: Caller, drafts: list[Draft], chosen: Options, result: ImportResult) -> list[Draft]:
    if not chosen.skip_existing:
        return drafts
    there = {
        (p.fqn, p.version): p
        for p in Package.objects.filter(fqn__in=[d.row.fqn for d in drafts], project_id=caller.project_id)
    }
    result.skipped = [there[d.row.fqn, d.row.version] for d in drafts if (d.row.fqn, d.row.version) in there]
    return [d for d in drafts if (d.row.fqn, d.row.version) not in there]


def check_requirements(caller: Caller, drafts: Sequence[Draft], chosen: Options, result: ImportResult) -> None:
    """Raises `RequirementMissing`, or notes in ``result`` what is missing and makes these packages unusable."""
    plugins = frozenset(name for d in drafts for name in d.facts["plugins"])
    news = [d.row for d in drafts if d.row.readable]
    found = requirements.missing(Rows(caller.project_id, news), [d.row for d in drafts], plugins)
    if found and not chosen.allow_missing:
        raise requirements.refuse_missing(found)
    result.missing = found
    lacking = {(item["package"], item["version"]) for item in found}
    for draft in drafts:
        draft.row.usable = draft.row.readable and (draft.row.fqn, draft.row.version) not in lacking


def check_code(caller: Caller, drafts: Sequence[Draft], chosen: Options) -> None:
    """Findings in the classes; ancestors; compiled code."""
    sound = [d for d in drafts if d.row.readable]
    if not sound:
        return
    paths = required_archives(caller, [d.row for d in sound], {d.row.fqn for d in drafts})
    archives = [(d.data, str(blobs.location_of(d.digest))) for d in sound]
    shared = () if chosen.is_public else _of_others(caller, [d.digest for d in sound])
    answers = check_archives(caller.project_id, archives, paths, shared=shared, fresh=chosen.is_public)
    for draft, answer in zip(sound, answers, strict=True):
        row = draft.row
        # A requirement that is not at hand was judged by the catalog's own rule already.
        news = [f for f in answer["findings"] if not (f["code"] == "MPL301" and chosen.allow_missing)]
        if chosen.strict and any(f["severity"] == "error" for f in news):
            raise refusal([*row.findings, *news])
        row.findings = [*row.findings, *news]
        row.readable = answer["readable"]
        row.usable = row.usable and row.readable
        draft.classes = answer["classes"]


def _of_others(caller: Caller, digests: Sequence[str]) -> list[str]:
    """Locations of those of these archives that other projects have, too.

    Tasks of theirs run the code that is kept of them, and what another archive of this project did to the process that
    compiles is no concern of theirs. Who makes a package public decides for all.
    """
    rows = Package.objects.filter(digest__in=digests).exclude(project_id=caller.project_id)
    return [str(blobs.location_of(digest)) for digest in set(rows.values_list("digest", flat=True))]


def _put(draft: Draft) -> None:
    """Writes what the row names into the blob store: before the transaction, which must not wait for disks."""
    row, facts = draft.row, draft.facts
    blobs.put(draft.data)
    if facts["ui"] is not None:
        row.ui = blobs.put(facts["ui"].encode("utf-8", "surrogatepass"))
    for name in ("logo", "supplier_logo"):
        if facts[name] is not None:
            setattr(row, name, blobs.put(base64.b64decode(facts[name])))


def _store(caller: Caller, draft: Draft, categories: Sequence[Category]) -> None:
    row = draft.row
    if row.fqn in standard_packages.NAMES and row.is_public:
        for package in Package.objects.filter(fqn=row.fqn, version=row.version, embedded=True):
            note(caller, package, "replace")
            package.delete()
    store_new(NewPackage(row, draft.classes, categories))
    note(caller, row, "import", digest=row.digest, public=row.is_public)
    if row.compat.get("forced"):
        note(caller, row, "force_version", required=row.compat["required"])
