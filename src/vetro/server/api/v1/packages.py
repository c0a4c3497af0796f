"""/v1/catalog/packages (API.md 3)."""

from __future__ import annotations

import json
from typing import Any

from django.http import QueryDict

from vetro.server.api.v1.call import Call, Raw
from vetro.server.api.v1.package_patch import changes
from vetro.server.api.v1.paging import counted, is_true, limit_of, one_of
from vetro.server.api.v1.routing import endpoint
from vetro.server.catalog import search, service
from vetro.server.catalog.answers import package_json, shown
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.catalog.limits import check_values
from vetro.server.catalog.storage import storable
from vetro.server.errors import Invalid, UnsupportedType
from vetro.server.setup import config

PATCH_TYPE = "application/murano-packages-json-patch"
#: Types that other calls take: sent to the wrong one they are 400, unknown ones 415 (API.md 1).
KNOWN_TYPES = frozenset({"application/json", PATCH_TYPE, "application/env-model-json-patch", "multipart/form-data"})
_BYTES = ("application/octet-stream",)
_UPLOAD = {"tags": list, "categories": list, "name": str, "description": str, "is_public": bool, "enabled": bool}


@endpoint("GET", "catalog/packages", "get_package")
def index(call: Call) -> dict[str, Any]:
    """A page of the packages that the caller sees."""
    query = query_of(call)
    rows = search.page(call.caller, query)
    answer: dict[str, Any] = {"packages": [package_json(row) for row in rows]}
    if rows and len(rows) == query.limit:
        answer["next_marker"] = rows[-1][0]
    return answer


def query_of(call: Call) -> search.Query:
    """The parameters of a list of packages. Raises `Invalid`."""
    query = _query(call)
    given = {name: query.getlist(name) for name in query}
    last = {name: values[-1] for name, values in given.items() if values}
    most = int(config()["packages.max_page_size"])
    limit = limit_of(last["limit"]) if "limit" in last else int(config()["packages.page_size"])
    direction = last.get("sort_dir", "asc")
    if direction not in ("asc", "desc"):
        raise Invalid("Unknown sort direction, must be one of: asc, desc")
    return search.Query(
        ids=check_values(one_of(given.get("id", [])), "id"),
        categories=check_values(one_of(given.get("category", [])), "category"),
        tags=check_values(one_of(given.get("tag", [])), "tag"),
        fqn=last.get("fqn"),
        name=last.get("name"),
        class_name=last.get("class_name"),
        type=last.get("type"),
        version=last.get("version") or None,
        search=last.get("search", ""),
        owned=is_true(last.get("owned")),
        include_disabled=is_true(last.get("include_disabled")),
        catalog=is_true(last.get("catalog")),
        order_by=[key for key in dict.fromkeys(given.get("order_by", ["name"])) if key in search.ORDERS],
        descending=direction == "desc",
        limit=min(limit, most),
        marker=last.get("marker"),
    )


@endpoint("POST", "catalog/packages", "upload_package")
def upload(call: Call) -> dict[str, Any]:
    """Imports one archive. Findings in class files are stored with it and do not refuse it: Murano never looked.

    Nor does what it requires: it is unusable until that arrives. Clients exchange packages by deleting and uploading.
    """
    data, metadata = _parts(call)
    options = _metadata(metadata)
    result = service.import_packages(call.caller, [data], strict=False, allow_missing=True, exchange=True, **options)
    return shown(result.packages[0])


def _parts(call: Call) -> tuple[bytes | memoryview, str | None]:
    """The archive and the text of the other part."""
    if call.content_type != "multipart/form-data":
        if call.content_type and call.content_type not in KNOWN_TYPES:
            raise UnsupportedType(f"The request media type {call.content_type} is not supported by this server.")
        if not call.content_type and call.body:
            raise UnsupportedType("The body has no type; send multipart/form-data.")
        raise Invalid("Content-Type must be 'multipart/form-data'")
    most = int(config()["packages.max_upload_mib"])
    too_large = Invalid(f"Uploading file is too large. The limit is {most} Mb")
    if int(call.request.META.get("CONTENT_LENGTH") or 0) > (most + 1) << 20:
        raise too_large
    with counted():
        files = [file for name in call.request.FILES for file in call.request.FILES.getlist(name)]
    texts = [str(text) for name in call.request.POST for text in call.request.POST.getlist(name)]
    if len(files) + len(texts) > 2:
        raise Invalid("'multipart/form-data' request should contain 1 or 2 parts: json string and zip archive.")
    if not files:
        raise Invalid("There is no file package with application description")
    if len(files) > 1:
        raise Invalid("'multipart/form-data' request should contain one file only.")
    if (files[0].size or 0) > most << 20:
        raise too_large
    return content_of(files[0]), texts[0] if texts else None


def _metadata(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        raise Invalid("The part beside the archive is no JSON.") from None
    if not isinstance(data, dict):
        raise Invalid("The part beside the archive has to be a JSON object.")
    data = {storable(key): value for key, value in data.items()}
    value: Any
    for key, value in data.items():
        kind = _UPLOAD.get(key)
        if kind is None:
            raise Invalid(f"Unknown key '{key[:80]}' beside the archive", hint=f"allowed are {', '.join(_UPLOAD)}")
        if not isinstance(value, kind):
            raise Invalid(f"'{key}' beside the archive has to be a {_NAMES[kind]}")
        if isinstance(value, list) and (not all(isinstance(v, str) for v in value) or len(set(value)) != len(value)):
            raise Invalid(f"'{key}' beside the archive has to be a list of different texts")
    return data


_NAMES = {list: "list", str: "text", bool: "boolean"}


@endpoint("GET", "catalog/packages/{id}", "get_package")
def show(call: Call, id: str) -> dict[str, Any]:
    """One package."""
    return package_json(service.package_row(call.caller, id))


@endpoint("PATCH", "catalog/packages/{id}", "modify_package")
def patch(call: Call, id: str) -> dict[str, Any]:
    """Changes a package by a list of operations, whatever others require."""
    if call.content_type != PATCH_TYPE:
        if call.content_type in KNOWN_TYPES or not call.content_type:
            raise Invalid(f"Content-Type must be '{PATCH_TYPE}'")
        raise UnsupportedType(f"The request media type {call.content_type} is not supported by this server.")
    package = service.get_package(call.caller, id, reveal=True)
    values = changes(call.json(PATCH_TYPE), package)
    package = service.change(call.caller, package, force=True, **values)
    return shown(package)


@endpoint("DELETE", "catalog/packages/{id}", "delete_package")
def delete(call: Call, id: str) -> None:
    """Removes a package, whatever others require; environments that use it keep it."""
    package = service.get_package(call.caller, id, reveal=True)
    service.delete(call.caller, package, force=True)


def _query(call: Call) -> QueryDict:
    """The parameters. Raises `Invalid` for too many."""
    with counted():
        return call.query


@endpoint("GET", "catalog/packages/{id}/ui", "get_package", ("text/plain", "text/html"))
def ui(call: Call, id: str) -> Raw | None:
    """The form definition. Typed as it was recorded; nobody's browser asks for it, since that sends no token."""
    text = service.content(service.get_package(call.caller, id, reveal=True), "ui")
    return Raw(text, "text/html; charset=UTF-8") if text else Raw(b"", "text/plain")


@endpoint("GET", "catalog/packages/{id}/logo", "get_package", _BYTES)
def logo(call: Call, id: str) -> Raw:
    """The picture."""
    return Raw(service.content(service.get_package(call.caller, id, reveal=True), "logo"))


@endpoint("GET", "catalog/packages/{id}/supplier_logo", "get_package", _BYTES)
def supplier_logo(call: Call, id: str) -> Raw:
    """The supplier's picture."""
    return Raw(service.content(service.get_package(call.caller, id, reveal=True), "supplier_logo"))


@endpoint("GET", "catalog/packages/{id}/download", "download_package", _BYTES)
def download(call: Call, id: str) -> Raw:
    """The archive."""
    return Raw(service.content(service.get_package(call.caller, id, reveal=True), "digest"))
