"""Packages: search, import, check, change, delete."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import HttpRequest
from ninja import Field, File, Form, Query, Schema
from ninja.files import UploadedFile
from pydantic import model_validator

from vetro.diagnostics import Text, decode_messages
from vetro.server.accounts.policy import enforce
from vetro.server.api.paging import page
from vetro.server.api.v2.access import who
from vetro.server.api.v2.package_versions import Compatibility
from vetro.server.api.v2.package_versions import shown as compatibility_shown
from vetro.server.api.v2.routes import Answer, Routes, created, nothing
from vetro.server.api.v2.shapes import Given, LongText, Name, Page, Short
from vetro.server.catalog import answers, comparison, cursors, imports, search, service, sources
from vetro.server.catalog.imports import ImportResult
from vetro.server.catalog.inspection import dry_run
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.catalog.package_texts import worded
from vetro.server.errors import Invalid, TooLarge
from vetro.server.language import translated, translated_data
from vetro.server.setup import config

routes = Routes("packages")
#: Archives of one request.
MOST = 50
Sort = Literal["name", "-name", "created", "-created", "fqn", "-fqn"]


class PackageShown(Schema):
    """A package: one version in one project."""

    id: str
    fqn: str = Field(description="Fully qualified name.")
    version: str
    name: str
    type: str = Field(description="Application or Library.")
    author: str
    description: str
    supplier: Any
    tags: list[str]
    categories: list[str]
    classes: list[str]
    enabled: bool
    public: bool
    project_id: str
    own: bool = Field(description="It is the caller's project's.")
    created: datetime
    updated: datetime


class Finding(Schema):
    """What `vetro check` says of a package."""

    severity: str
    code: str
    message: str
    hint: str | None = None
    position: Any = None


class ChangeShown(Schema):
    """One change."""

    kind: str = Field(description="breaking, security, added, changed, deprecated, removed, fixed")
    text: dict[str, str] = Field(description="By language; '' for all.")
    element: str = ""
    do: dict[str, str] = Field({}, description="What users do about it, by language.")
    id: str = ""


class ReleaseShown(Schema):
    """What a version brought."""

    version: str
    date: str = Field(description="'' where it is not told.")
    changes: list[ChangeShown]


class PackageDetails(PackageShown):
    """A package with what lists leave out."""

    format: str
    usable: bool = Field(description="False: requirements were missing at import, or classes cannot be read.")
    embedded: bool = Field(description="Part of the installation.")
    deployed: bool = Field(description="A deployment used it: this version cannot change any more.")
    digest: str
    size: int
    has_ui: bool
    has_logo: bool
    has_supplier_logo: bool
    requires: dict[str, str] = Field(description="Package name -> version spec.")
    findings: list[Finding]
    compatibility: Compatibility | None = Field(description="What it breaks; null where there is no earlier version.")
    changes: list[ReleaseShown] = Field(description="What is new in it and the versions before, newest first.")
    versions: list[dict[str, str]] = Field(description="[{id, version}] of all versions that the caller sees.")


class Imported(Schema):
    """What an import did."""

    imported: list[PackageShown]
    skipped: list[PackageShown] = Field(description="Was there already.")
    findings: dict[str, list[Finding]] = Field(description="Package id -> what `vetro check` says.")
    missing: list[dict[str, Any]] = Field(description="Requirements that nothing meets (with `allow_missing`).")
    compatibility: dict[str, Compatibility] = Field(description="Package id -> what it breaks.")
    notes: list[str] = Field([], description="What was left out, and why.")


class ImportOptions(Given):
    """How packages are imported."""

    public: bool = Field(False, description="For all projects (rule publicize_package).")
    enabled: bool = True
    categories: list[str] = Field([], max_length=50, description="Names; there are no others than /v2/categories.")
    tags: list[str] = Field([], max_length=50, description="Added to those of the manifest.")
    allow_missing: bool = Field(False, description="Store packages whose requirements nothing meets, unusable.")
    skip_existing: bool = Field(False, description="Leave alone what is there already.")
    anyway: bool = Field(False, description="Also where a version number is too low (rule force_version).")
    progress: str | None = Field(
        None, pattern=r"^[A-Za-z0-9._-]{1,64}$", description="Events `import` of this name say how far it is."
    )


class ImportFrom(ImportOptions):
    """Where from: `url`, or `repository` and `names`, or `bundle`."""

    url: str | None = Field(None, max_length=2000, description="Address of an archive.")
    repository: str | None = Field(None, max_length=2000, description="Base address of a repository.")
    names: list[str] = Field([], max_length=100, description="`name` or `name/version`, with what they require.")
    bundle: str | None = Field(None, max_length=2000, description="Address of a bundle file.")

    @model_validator(mode="after")
    def _one_of(self) -> ImportFrom:
        if sum(x is not None for x in (self.url, self.repository, self.bundle)) != 1:
            raise ValueError(Text("give exactly one of url, repository, bundle"))
        if (self.repository is not None) != bool(self.names):
            raise ValueError(Text("names and repository belong together"))
        return self


class Checked(Schema):
    """What an import of an archive would say."""

    filename: str
    ok: bool
    fqn: str | None = None
    version: str | None = None
    findings: list[Finding]
    compatibility: Compatibility | None = Field(description="What it breaks; null where there is no earlier version.")
    problems: list[dict[str, Any]] = Field(description="[{code, message, hint, details}]: why it would be refused.")


class CheckedAll(Schema):
    """Archives in the order in which they were sent."""

    ok: bool
    items: list[Checked]
    problems: list[dict[str, Any]] = Field(description="What is wrong with them together.")


class KnownItem(Given):
    """A package that a client has."""

    fqn: Short
    version: str = Field(max_length=128)
    digest: str = Field(max_length=64, description="SHA-256 of the archive, in hexadecimal digits.")


class KnownAsked(Given):
    """Packages that a client has."""

    items: list[KnownItem] = Field(max_length=1000)


class KnownAnswer(Schema):
    """What the caller's catalog has of them."""

    missing: list[KnownItem]
    different: list[KnownItem] = Field(description="Version is there with other content.")
    present: list[KnownItem]


class PackageChange(Given):
    """What is to change; what is left out stays."""

    name: Name | None = None
    description: LongText | None = None
    enabled: bool | None = None
    public: bool | None = None
    tags: list[str] | None = Field(None, max_length=100)
    categories: list[str] | None = Field(None, max_length=100)


def package_json(row: dict[str, Any], project_id: str) -> dict[str, Any]:
    """A package as /v2 shows it, from what `catalog.answers` gives."""
    return {
        "id": row["id"],
        "fqn": row["fully_qualified_name"],
        "version": row["version"],
        "name": row["name"],
        "type": row["type"],
        "author": row["author"],
        "description": row["description"],
        "supplier": row["supplier"],
        "tags": row["tags"],
        "categories": row["categories"],
        "classes": row["class_definitions"],
        "enabled": row["enabled"],
        "public": row["is_public"],
        "project_id": row["owner_id"],
        "own": row["owner_id"] == project_id,
        "created": f"{row['created']}Z",
        "updated": f"{row['updated']}Z",
    }


def details_json(request: HttpRequest, package: Any) -> dict[str, Any]:
    """A package with what lists leave out."""
    caller = who(request)
    versions = service.visible(caller).filter(fqn=package.fqn).order_by("-version_key", "id")
    return {
        **package_json(answers.shown(package), caller.project_id),
        "name": translated(worded(package, package.name)),
        "description": translated(worded(package, package.description)),
        "format": package.format,
        "usable": package.usable,
        "embedded": package.embedded,
        "deployed": package.deployed,
        "digest": package.digest,
        "size": package.size,
        "has_ui": package.has_ui,
        "has_logo": bool(package.logo),
        "has_supplier_logo": bool(package.supplier_logo),
        "requires": {name: str(spec or "") for name, spec in package.required.items()},
        "findings": translated_data(decode_messages(package.findings)),
        "compatibility": compatibility_shown(package.compat),
        "changes": package.changes,
        "versions": [{"id": id, "version": version} for id, version in versions.values_list("id", "version")],
    }


@routes.add("GET", "/packages", "listPackages", "get_package", Page[PackageShown])
def list_packages(
    request: HttpRequest,
    search_: Annotated[str, Query(alias="search", max_length=500, description="Words, separated by commas.")] = "",
    category: Annotated[list[str] | None, Query(max_length=50)] = None,
    tag: Annotated[list[str] | None, Query(max_length=50)] = None,
    type_: Annotated[Literal["Application", "Library"] | None, Query(alias="type")] = None,
    fqn: Annotated[str | None, Query(max_length=512)] = None,
    name: Annotated[str | None, Query(max_length=255)] = None,
    class_name: Annotated[
        str | None, Query(alias="class", max_length=512, description="Packages with this class.")
    ] = None,
    version: Annotated[str | None, Query(max_length=255, description="A version spec.")] = None,
    owned: Annotated[bool, Query(description="Only the project's own.")] = False,
    disabled: Annotated[bool, Query(description="Disabled ones, too.")] = False,
    all_versions: Annotated[bool, Query(description="All versions; otherwise the newest of each name.")] = False,
    sort: Annotated[Sort, Query()] = "name",
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
    cursor: Annotated[str | None, Query(max_length=cursors.LONGEST)] = None,
) -> Any:
    """The packages that the caller sees: own and public ones. Words that are searched rank what is found."""
    caller = who(request)
    limit = min(limit, int(config()["packages.max_page_size"]))
    query = search.Query(
        categories=category or (),
        tags=tag or (),
        fqn=fqn,
        name=name,
        class_name=class_name,
        type=type_,
        version=version or None,
        search=search_,
        owned=owned,
        include_disabled=disabled,
        catalog=not all_versions,
        order_by=[sort.lstrip("-")],
        descending=sort.startswith("-"),
        limit=limit + 1,
    )
    query.after = cursors.begin(query, cursor)
    rows = [answers.package_json(row) for row in search.page(caller, query)]
    end = cursors.end(caller, query, [row["id"] for row in rows[:limit]]) if len(rows) > limit else None
    total = len(rows) if len(rows) <= limit and query.after is None else None
    return page([package_json(row, caller.project_id) for row in rows[:limit]], total, end)


def _archives(files: list[UploadedFile]) -> list[bytes | memoryview]:
    """The content of the parts. Raises `TooLarge`, `Invalid`."""
    most = int(config()["packages.max_upload_mib"])
    if not files:
        raise Invalid(Text("There is no part 'archive'."), hint=Text("send each package as a part called 'archive'"))
    if len(files) > MOST:
        raise Invalid(Text("At most {most} packages are imported at once.", most=MOST))
    for file in files:
        if (file.size or 0) > most << 20:
            raise TooLarge(
                Text("{name} has {size:,} bytes; {most} MiB are allowed.", name=file.name, size=file.size, most=most)
            )
    return [content_of(file) for file in files]


def _options(request: HttpRequest, given: ImportOptions) -> dict[str, Any]:
    told = {} if given.progress is None else {"on_progress": imports.teller(who(request), given.progress)}
    return {
        **told,
        "is_public": given.public,
        "enabled": given.enabled,
        "categories": given.categories,
        "tags": given.tags,
        "allow_missing": given.allow_missing,
        "skip_existing": given.skip_existing,
        "anyway": given.anyway,
    }


def _imported(request: HttpRequest, result: ImportResult, notes: list[str] | None = None) -> dict[str, Any]:
    project = who(request).project_id
    return {
        "imported": [package_json(answers.shown(p), project) for p in result.packages],
        "skipped": [package_json(answers.shown(p), project) for p in result.skipped],
        "findings": translated_data(decode_messages(result.findings)),
        "missing": result.missing,
        "compatibility": {p.id: compatibility_shown(p.compat) for p in result.packages if p.compat},
        "notes": notes or [],
    }


@routes.add("POST", "/packages", "importPackages", "upload_package", Imported, status=201, takes="multipart")
def import_packages(
    request: HttpRequest,
    archive: Annotated[list[UploadedFile], File()],
    given: Annotated[ImportOptions, Form()],
) -> Answer:
    """Imports one archive or several, which may require each other: all of them or none.

    Findings of `vetro check` that are errors refuse it; the answer then has the whole report in `details`.
    """
    result = service.import_packages(who(request), _archives(archive), **_options(request, given))
    return created(_imported(request, result))


@routes.add("POST", "/packages/import", "importPackagesFrom", "import_from_address", Imported, status=201)
def import_from(request: HttpRequest, given: ImportFrom) -> Answer:
    """Imports from an address, a repository or a bundle, as far as ``packages.import_hosts`` allows."""
    caller = who(request)
    enforce(caller, "upload_package")
    options = _options(request, given)
    if given.url is not None:
        return created(_imported(request, sources.import_url(caller, given.url, **options)))
    options["skip_existing"] = True
    if given.bundle is not None:
        result, notes = sources.import_bundle(caller, given.bundle, **options)
        return created(_imported(request, result, notes))
    names: list[str | tuple[str, str]] = []
    for text in given.names:
        name, _, version = text.partition("/")
        names.append((name, version) if version else name)
    return created(_imported(request, sources.import_repository(caller, str(given.repository), names, **options)))


@routes.add("POST", "/packages/check", "checkPackages", "upload_package", CheckedAll, takes="multipart")
def check_packages(request: HttpRequest, archive: Annotated[list[UploadedFile], File()]) -> Any:
    """What importing these archives would say. Nothing is stored."""
    data = _archives(archive)
    report = dry_run.import_report(who(request), data)
    items = [
        {"filename": file.name or "", **item, "compatibility": compatibility_shown(item["compatibility"])}
        for file, item in zip(archive, report["items"], strict=True)
    ]
    return {**report, "items": items}


@routes.add("POST", "/packages/known", "findUnknownPackages", "get_package", KnownAnswer)
def find_unknown(request: HttpRequest, given: KnownAsked) -> Any:
    """Which of these packages the catalog lacks: what `vetro package publish` has to upload."""
    return comparison.sort_out(who(request), [item.dict() for item in given.items])


@routes.add("GET", "/packages/{package_id}", "showPackage", "get_package", PackageDetails)
def show_package(request: HttpRequest, package_id: str) -> Any:
    """One package."""
    return details_json(request, service.get_package(who(request), package_id))


@routes.add("PATCH", "/packages/{package_id}", "changePackage", "modify_package", PackageDetails)
def change_package(
    request: HttpRequest,
    package_id: str,
    given: PackageChange,
    force: Annotated[bool, Query(description="Also leaving requirements unmet (rule force_delete_package).")] = False,
    anyway: Annotated[bool, Query(description="Publish it with too low a number (rule force_version).")] = False,
) -> Any:
    """Changes how a package is presented and who sees it. What it contains never changes."""
    caller = who(request)
    if force:
        enforce(caller, "force_delete_package")
    values = {name: value for name, value in given.dict().items() if value is not None}
    if "public" in values:
        values["is_public"] = values.pop("public")
    package = service.get_package(caller, package_id)
    package = service.change(caller, package, force=force, anyway=anyway, **values)
    return details_json(request, package)


@routes.add("DELETE", "/packages/{package_id}", "deletePackage", "delete_package", status=204)
def delete_package(
    request: HttpRequest,
    package_id: str,
    force: Annotated[bool, Query(description="Also when others require it (rule force_delete_package).")] = False,
) -> Answer:
    """Removes a package; environments that use it keep it. 409 with the dependants where others require it."""
    caller = who(request)
    if force:
        enforce(caller, "force_delete_package")
    service.delete(caller, service.get_package(caller, package_id), force=force)
    return nothing()
