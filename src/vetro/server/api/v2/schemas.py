"""JSON Schemas (2020-12) of classes and methods."""

from __future__ import annotations

from typing import Annotated, Any

from django.http import HttpRequest
from ninja import Query

from vetro.engine.query.query import AskFailed
from vetro.server.api.v1.actions import failure
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Routes
from vetro.server.errors import Invalid
from vetro.server.tasks import class_names, schemas

routes = Routes("schemas")
_MOST = 100


@routes.add("GET", "/schemas/{class_name}", "readSchemas", "get_schema", dict[str, Any])
def read_schemas(
    request: HttpRequest,
    class_name: str,
    methods: Annotated[
        str | None,
        Query(
            max_length=4000, description="Names, separated by commas; an empty one is the class. All public methods."
        ),
    ] = None,
    version: Annotated[str | None, Query(max_length=255, description="Version spec of the class.")] = None,
    package: Annotated[str | None, Query(max_length=512)] = None,
) -> Any:
    """Name -> schema (draft 2020-12, with the keywords of docs/forms/schema.md); the class itself is under ''.

    Without `methods`: the class and its model builders.
    """
    caller = who(request)
    if len(class_name) > 512:
        raise Invalid("The name of a class has at most 512 characters.")
    names = None if methods is None else tuple(dict.fromkeys(methods.split(",")))
    if names is not None and len(names) > _MOST:
        raise Invalid(f"At most {_MOST} methods can be named.")
    meant = class_names.find(caller, class_name, version, package)
    try:
        return schemas.of_class(caller, meant, names)
    except AskFailed as error:
        raise failure(error.error) from None
