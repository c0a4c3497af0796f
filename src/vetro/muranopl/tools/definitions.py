"""Definitions that name their class by a key (``p:Item: {…}``), written with a header as stored models have them.

Which class a key means depends on the class whose property it stands in: its namespaces, and its contract, which alone
says whether a mapping is an object or data with such a key. Classes are only read, nothing of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from vetro.model.header import header_of, parse_type_text, type_of
from vetro.muranopl.api import Engine
from vetro.muranopl.contracts.model import (
    Contract,
    ContractExpression,
    ContractList,
    ContractMap,
    object_calls,
)
from vetro.muranopl.objects.header import inline_key
from vetro.muranopl.runtime.protocol import LinkedClass
from vetro.muranopl.session import Session
from vetro.muranopl.tools.inspect import class_of_header
from vetro.yaql.errors import VetroError

#: A value, what holds it and where, and where its contract stands: None where nothing says what it is.
_Task = tuple[Any, Any, Any, "Contract | None", "LinkedClass | None"]


def with_headers(engine: Engine, model: Any, new_id: Callable[[], str] | None = None) -> Any:
    """A copy of a model; ``new_id`` gives ids to definitions that have none and get a header.

    What stands below an object whose class is in no package of the engine stays as it is.
    """
    session = engine.session()
    try:
        return session.run(lambda: _rewritten(session, model, new_id))
    finally:
        session.close()


def _rewritten(session: Session, model: Any, new_id: Callable[[], str] | None) -> Any:
    root: list[Any] = [None]
    work: list[_Task] = [(model, root, 0, None, None)]
    while work:
        value, holder, place, contract, context = work.pop()
        if isinstance(value, Mapping):
            made, type_ = _headed(session, value, contract, context)
            if made is not value and new_id is not None and made["?"].get("id") is None:
                made["?"]["id"] = new_id()
            holder[place] = copy = dict(made)
            for key, item in made.items():
                if key != "?" and isinstance(item, (Mapping, list, tuple)):
                    if type_ is not None:
                        declared = type_.property_owners.get(key)
                        inner = declared[0].own_properties[key].decl.contract if declared else None
                        work.append((item, copy, key, inner, declared[0] if declared else None))
                    else:
                        work.append((item, copy, key, _of_key(contract, key), context))
        elif isinstance(value, (list, tuple)):
            holder[place] = items = list(value)
            work += [(item, items, index, _of_item(contract, index), context) for index, item in enumerate(value)]
        else:
            holder[place] = value
    return root[0]


def _headed(
    session: Session, value: Mapping[str, Any], contract: Contract | None, context: LinkedClass | None
) -> tuple[Mapping[str, Any], LinkedClass | None]:
    """The mapping, with a header if it is a definition, and its class where there is one."""
    if header_of(value) is not None:
        return value, _class_of(session, type_of(value))
    if context is None or not isinstance(contract, ContractExpression) or not any(object_calls(contract)):
        return value, None
    key = inline_key(value)
    if key is None:
        return value, None
    name, version, package = parse_type_text(key)
    type_ = None
    try:
        text = context.decl.namespaces.resolve(name)
        if version is None and package is None:
            type_ = context.resolve_class(name)
        else:  # as it is written; its package may not be among those that are read
            text += (f"/{version}" if version else "") + (f"@{package}" if package else "")
            type_ = _class_of(session, text)
    except VetroError:
        return value, None
    header = {name: item for name, item in value.items() if name != key}
    return {"?": {**header, "type": text}, **{k: v for k, v in (value[key] or {}).items() if k != "?"}}, type_


def _class_of(session: Session, type_text: str) -> LinkedClass | None:
    if not type_text:
        return None
    try:
        return class_of_header(session, type_text)
    except VetroError:
        return None


def _of_item(contract: Contract | None, index: int) -> Contract | None:
    if isinstance(contract, ContractList) and contract.items:
        return contract.items[min(index, len(contract.items) - 1)]
    return None


def _of_key(contract: Contract | None, key: Any) -> Contract | None:
    if not isinstance(contract, ContractMap):
        return None
    for known, inner in contract.entries:
        if known == key:
            return inner
    return contract.rest[0][1] if contract.rest else None
