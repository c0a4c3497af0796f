"""Parameters of a template: types, defaults, constraints, and the values that a stack has for them."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import TemplateInvalid
from vetro.clouds.stacks.templates.environment import StackEnvironment
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.templates.limits import check_depth
from vetro.yaql.api import Expression
from vetro.yaql.api import compile as compile_expression
from vetro.yaql.context import Limits
from vetro.yaql.errors import Stop, VetroError

_KEYS = ("type", "label", "description", "default", "hidden", "constraints", "immutable", "tags")
_TYPES = ("string", "number", "boolean", "json", "comma_delimited_list")
_CFN_TYPES = {
    "String": "string",
    "Number": "number",
    "Boolean": "boolean",
    "Json": "json",
    "CommaDelimitedList": "comma_delimited_list",
}
_TRUE, _FALSE = ("t", "true", "on", "y", "yes", "1"), ("f", "false", "off", "n", "no", "0")
_CONSTRAINTS = ("length", "range", "modulo", "allowed_values", "allowed_pattern", "custom_constraint")

#: Says what is wrong with a name of the catalog, or null: (custom constraint, value) -> text or null.
Check = Callable[[str, Any], str | None]


class ParameterInvalid(TemplateInvalid):
    """A value of a parameter is missing, of another type, or breaks a constraint. Nothing was done."""

    code = "CLD125"


def values_of(
    definitions: Mapping[str, Any],
    given: Mapping[str, Any],
    environment: StackEnvironment,
    check: Check,
    *,
    cfn: bool = False,
) -> dict[str, Any]:
    """The value of each parameter of a template. Raises `ParameterInvalid`, `TemplateInvalid`."""
    known = {name: _definition(name, body, cfn) for name, body in definitions.items()}
    for name in (*given, *environment.parameters):
        if name not in known:
            raise ParameterInvalid(f"the template has no parameter '{name}'{meant(name, known)}")
    values = {}
    for name, definition in known.items():
        for source in (given, environment.parameters, environment.parameter_defaults):
            if source.get(name) is not None:
                value = source[name]
                break
        else:
            if definition.get("default") is None:
                raise ParameterInvalid(f"the parameter '{name}' has no value and no default; give it one")
            value = definition["default"]
        hidden = bool(definition.get("hidden"))
        values[name] = convert(name, definition["type"], value, hidden)
        for constraint in definition.get("constraints") or []:
            check_constraint(name, constraint, values[name], check, hidden)
    return values


def _definition(name: str, body: Any, cfn: bool) -> dict[str, Any]:
    where = f"parameters.{name}"
    if not isinstance(body, Mapping):
        raise TemplateInvalid(f"{where} must be a mapping with a type")
    made: dict[str, Any] = _from_cfn(body) if cfn else dict(body)
    body = made
    if unknown := sorted(set(body) - set(_KEYS)):
        raise TemplateInvalid(f"{where} has an unknown key '{unknown[0]}'{meant(unknown[0], _KEYS)}")
    if body.get("type") not in _TYPES:
        raise TemplateInvalid(f"{where}.type must be one of {', '.join(_TYPES)}, not {body.get('type')!r}")
    constraints = body.get("constraints") or []
    if not isinstance(constraints, list):
        raise TemplateInvalid(f"{where}.constraints must be a list")
    for constraint in constraints:
        _check_form(where, constraint)
    return made


def _from_cfn(body: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": _CFN_TYPES.get(body.get("Type", ""), body.get("Type")), "constraints": []}
    if "Default" in body:
        made["default"] = body["Default"]
    if str(body.get("NoEcho", "")).lower() in _TRUE:
        made["hidden"] = True
    bounds: dict[str, dict[str, Any]] = {}
    for key, value in body.items():
        if key in ("AllowedValues", "AllowedPattern"):
            made["constraints"].append({"allowed_values" if key == "AllowedValues" else "allowed_pattern": value})
        elif key in ("MinLength", "MaxLength", "MinValue", "MaxValue"):
            bounds.setdefault("length" if key.endswith("Length") else "range", {})[key[:3].lower()] = convert(
                key, "number", value, False
            )
        elif key not in ("Type", "Default", "NoEcho", "Description", "ConstraintDescription", "Label"):
            made[key] = value
    made["constraints"] += [{key: value} for key, value in bounds.items()]
    return made


def _check_form(where: str, constraint: Any) -> None:
    kinds = [key for key in constraint if key != "description"] if isinstance(constraint, Mapping) else []
    if len(kinds) != 1:
        raise TemplateInvalid(f"a constraint of {where} must be a mapping with one of {', '.join(_CONSTRAINTS)}")
    kind, body = kinds[0], constraint[kinds[0]]
    if kind not in _CONSTRAINTS:
        raise TemplateInvalid(f"{where} has an unknown constraint '{kind}'{meant(kind, _CONSTRAINTS)}")
    if kind in ("length", "range", "modulo"):
        names = {"step", "offset"} if kind == "modulo" else {"min", "max"}
        if not isinstance(body, Mapping) or not body or not set(body) <= names:
            raise TemplateInvalid(f"the constraint '{kind}' of {where} needs {' or '.join(sorted(names))}")
        for key, value in body.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise TemplateInvalid(f"'{key}' of the constraint '{kind}' of {where} must be a number, not {value!r}")
        if kind == "modulo" and not body.get("step"):
            raise TemplateInvalid(f"the constraint 'modulo' of {where} needs a step that is not 0")
    elif kind == "allowed_values" and not isinstance(body, (list, Mapping)):
        raise TemplateInvalid(f"the constraint 'allowed_values' of {where} must be a list")
    elif kind in ("allowed_pattern", "custom_constraint") and not isinstance(body, str):
        raise TemplateInvalid(f"the constraint '{kind}' of {where} must be text")


def convert(name: str, kind: str, value: Any, hidden: bool) -> Any:
    """``value`` as the type says. Raises `ParameterInvalid`, which does not show values of hidden parameters."""
    shown = "its value" if hidden else f"the value {_short(value)}"
    if kind == "string":
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, (str, int, float)):
            return str(value)
    elif kind == "number":
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return value
        if isinstance(value, str):
            for read in (int, float):
                try:
                    return read(value)
                except ValueError:
                    continue
    elif kind == "boolean":
        text = str(value).lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
    elif kind == "json":
        if isinstance(value, (dict, list)):
            check_depth(value, f"the parameter '{name}'")
            return value
        if isinstance(value, str):
            try:
                data = json.loads(value or "{}")
            except (ValueError, RecursionError):
                raise ParameterInvalid(f"the parameter '{name}' must be JSON; {shown} is not") from None
            check_depth(data, f"the parameter '{name}'")
            return data
    elif isinstance(value, list):
        return value
    elif isinstance(value, str):
        return [item.strip() for item in value.split(",")] if value else []
    raise ParameterInvalid(f"the parameter '{name}' is of the type {kind}; {shown} is not")


def check_constraint(name: str, constraint: Mapping[str, Any], value: Any, check: Check, hidden: bool = False) -> None:
    """Raises `ParameterInvalid` with the constraint's own description when the value breaks it."""
    problem = _problem(constraint, value, check)
    if problem is None:
        return
    shown = "" if hidden else f" {_short(value)}"
    said = constraint.get("description")
    raise ParameterInvalid(f"the parameter '{name}'{shown} {(said and f'is not allowed: {said}') or problem}")


def _problem(constraint: Mapping[str, Any], value: Any, check: Check) -> str | None:
    if "length" in constraint:
        return _outside(len(value) if hasattr(value, "__len__") else len(str(value)), constraint["length"], "a length")
    if "range" in constraint:
        return _outside(value, constraint["range"], "a value") if isinstance(value, (int, float)) else "is no number"
    if "modulo" in constraint:
        step, offset = constraint["modulo"]["step"], constraint["modulo"].get("offset", 0)
        fits = isinstance(value, (int, float)) and value % step == offset % step
        return None if fits else f"must be a multiple of {step}" + (f" plus {offset}" if offset else "")
    if "allowed_values" in constraint:
        allowed = list(constraint["allowed_values"])
        for item in value if isinstance(value, list) else [value]:
            if not any(item == one or str(item) == str(one) for one in allowed):
                return f"must be one of {_short(allowed)}"
        return None
    if "allowed_pattern" in constraint:
        for item in value if isinstance(value, list) else [value]:
            if not _matches(constraint["allowed_pattern"], str(item)):
                return f"must match {constraint['allowed_pattern']}"
        return None
    for item in value if isinstance(value, list) else [value]:
        problem = check(constraint["custom_constraint"], item)
        if problem is not None:
            return f"is not allowed: {problem}"
    return None


@functools.cache
def _fits() -> Expression:
    return compile_expression("regex($.pattern).matches($.text)", limits=Limits(max_steps=1_000_000))


def _outside(number: float, bounds: Mapping[str, Any], what: str) -> str | None:
    low, high = bounds.get("min"), bounds.get("max")
    if (low is None or number >= low) and (high is None or number <= high):
        return None
    if low is not None and high is not None:
        return f"must have {what} from {low} to {high}"
    return f"must have {what} of at least {low}" if high is None else f"must have {what} of at most {high}"


def _matches(pattern: str, text: str) -> bool:
    """Whether the whole text fits. The expression language's engine is used: it bounds hostile patterns."""
    try:
        found = _fits()({"pattern": rf"^(?:{pattern})\Z", "text": text})
    except (VetroError, Stop, ValueError) as error:
        raise TemplateInvalid(f"the pattern {_short(pattern)} cannot be used: {error}") from None
    return bool(found)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."
