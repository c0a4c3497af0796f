"""JSON schemas of classes and their methods (API.md 10): draft-04, remembered by content of the packages."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from typing import Any

from vetro.engine.query.query import AskFailed
from vetro.server.accounts.policy import enforce
from vetro.server.api.v1.actions import failure
from vetro.server.api.v1.call import Call, Raw
from vetro.server.api.v1.routing import endpoint
from vetro.server.errors import Forbidden, NotSignedIn
from vetro.server.tasks import class_names
from vetro.server.tasks.package_queries import ask

#: Answers that are remembered, and characters of the longest.
_MOST, _LONGEST = 1000, 100_000

_lock = threading.Lock()
_known: OrderedDict[tuple[Any, ...], str] = OrderedDict()


@endpoint("GET", "schemas/{class_name}", "")
def class_schema(call: Call, class_name: str) -> Any:
    """Schemas of a class and its model builders."""
    return _answer(call, class_name, None)


@endpoint("GET", "schemas/{class_name}/{methods}", "")
def method_schemas(call: Call, class_name: str, methods: str) -> Any:
    """Schemas of the public methods that are named; an empty name is the class."""
    return _answer(call, class_name, methods.split(","))


def _answer(call: Call, class_name: str, methods: list[str] | None) -> Raw:
    try:
        enforce(call.caller, "get_schema")
    except Forbidden as error:  # 401 here (API.md)
        raise NotSignedIn(error.message) from None
    query = call.query
    meant = class_names.find(call.caller, class_name, query.get("classVersion"), query.get("packageName"))
    wanted = None if methods is None else tuple(dict.fromkeys(methods))
    key = (tuple(sorted(meant.on_class.items(), key=str)), wanted, tuple(sorted(p.digest for p in meant.packages)))
    with _lock:
        found = _known.get(key)
        if found is not None:
            _known.move_to_end(key)
            return Raw(found, "application/json")
    args = None if wanted is None else {"methods": list(wanted)}
    try:
        schemas = ask(call.caller, "schema", packages=meant.packages, on_class=meant.on_class, args=args)
    except AskFailed as error:
        raise failure(error.error) from None
    text = json.dumps(schemas, ensure_ascii=False)
    if len(text) <= _LONGEST:
        with _lock:
            _known[key] = text
            while len(_known) > _MOST:
                _known.popitem(last=False)
    return Raw(text, "application/json")
