"""`of_class`: JSON Schemas (2020-12) of a class and its methods, remembered by content of the packages."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from vetro.muranopl.schema_draft import to_2020_12
from vetro.server.caller import Caller
from vetro.server.tasks.class_names import ResolvedClass
from vetro.server.tasks.package_queries import ask

#: Answers that are remembered, and characters of the longest.
_MOST, _LONGEST = 500, 100_000
_lock = threading.Lock()
_known: OrderedDict[tuple[Any, ...], str] = OrderedDict()


def of_class(caller: Caller, meant: ResolvedClass, methods: Sequence[str] | None = None) -> dict[str, Any]:
    """Method name -> schema; '' is the class. ``methods`` None: the class and its model builders.

    Raises `vetro.engine.query.query.AskFailed`, and what `ask` raises. No package code runs in this process.
    """
    wanted = None if methods is None else tuple(methods)
    key = (tuple(sorted(meant.on_class.items(), key=str)), wanted, tuple(sorted(p.digest for p in meant.packages)))
    with _lock:
        text = _known.get(key)
        if text is not None:
            _known.move_to_end(key)
    if text is not None:
        found: dict[str, Any] = json.loads(text)
        return found
    args = None if wanted is None else {"methods": list(wanted)}
    answer = ask(caller, "schema", packages=meant.packages, on_class=meant.on_class, args=args)
    schemas = {name: to_2020_12(schema) for name, schema in answer.items()}
    text = json.dumps(schemas, ensure_ascii=False)
    if len(text) <= _LONGEST:
        with _lock:
            _known[key] = text
            while len(_known) > _MOST:
                _known.popitem(last=False)
    return schemas
