"""From a section of a template to definitions: what a resource is, and what it needs.

`resource` and `output` read one part each, so that a push reads only what changed. `scan` finds what a value refers
to. Both dialects are read: HOT, and CFN for templates that a package sets as a whole. Reference: LOCAL_CLOUD.md 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.clouds.drivers.values import Name, ValueInvalid, short
from vetro.clouds.interface import TemplateInvalid
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.templates.limits import check_depth
from vetro.data_classes import dataclass

#: ``(what, name)``: resource, attr, param, file, condition.
Use = tuple[str, str]

#: Versions of HOT, and the names of releases that stand for them.
VERSIONS = (
    "2013-05-23",
    "2014-10-16",
    "2015-04-30",
    "2015-10-15",
    "2016-04-08",
    "2016-10-14",
    "2017-02-24",
    "2017-09-01",
    "2018-03-02",
    "2018-08-31",
    "2021-04-16",
    "newton",
    "ocata",
    "pike",
    "queens",
    "rocky",
    "wallaby",
)
_CFN_VERSIONS = {"HeatTemplateFormatVersion": ("2012-12-12",), "AWSTemplateFormatVersion": ("2010-09-09",)}

_HOT_KEYS = ("type", "properties", "metadata", "depends_on", "deletion_policy", "update_policy", "condition")
_CFN_KEYS = {
    "Type": "type",
    "Properties": "properties",
    "Metadata": "metadata",
    "DependsOn": "depends_on",
    "DeletionPolicy": "deletion_policy",
    "UpdatePolicy": "update_policy",
    "Condition": "condition",
}
_POLICIES = ("delete", "retain", "snapshot")
#: Sections of a template by dialect: their name here.
_SECTIONS = {
    "hot": {"parameters", "parameter_groups", "resources", "outputs", "conditions"},
    "cfn": {"Parameters", "Mappings", "Conditions", "Resources", "Outputs", "ParameterGroups"},
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a template is written."""

    name: str  # hot, cfn
    version: str

    def section(self, name: str) -> str:
        """The name that a section of the template has in all dialects: ``resources`` for Resources."""
        return name.lower() if self.name == "cfn" else name


@dataclass(slots=True)
class ResourceDef:
    """A resource as the template defines it."""

    name: str
    type: str
    properties: Mapping[str, Any]
    metadata: Any = None
    depends_on: tuple[str, ...] = ()
    deletion_policy: str = "delete"
    condition: Any = None
    #: What its value depends on.
    uses: frozenset[Use] = frozenset()
    #: Resources that it names anywhere, also where a condition leaves them out.
    mentions: frozenset[str] = frozenset()


@dataclass(slots=True)
class OutputDef:
    """An output as the template defines it."""

    key: str
    value: Any
    condition: Any = None
    uses: frozenset[Use] = frozenset()


def dialect_of(top: Mapping[str, Any]) -> Dialect:
    """The dialect of a template, from the keys that are no sections. Raises `TemplateInvalid`."""
    for key, versions in _CFN_VERSIONS.items():
        if key in top:
            if str(top[key]) not in versions:
                raise TemplateInvalid(f"{key} '{top[key]}' is not known, only {', '.join(versions)}")
            return Dialect("cfn", str(top[key]))
    version = top.get("heat_template_version")
    if version is None:
        raise TemplateInvalid("the template has no heat_template_version; add heat_template_version: 2013-05-23")
    if str(version) not in VERSIONS:
        raise TemplateInvalid(f"heat_template_version '{version}' is not known; known are {', '.join(VERSIONS)}")
    return Dialect("hot", str(version))


def check_top(top: Mapping[str, Any], sections: set[str], dialect: Dialect) -> None:
    """Refuses keys that a template does not have, and sections that are no mappings. Raises `TemplateInvalid`."""
    known = _SECTIONS[dialect.name]
    single = {"heat_template_version", "description"} if dialect.name == "hot" else {*_CFN_VERSIONS, "Description"}
    for key, value in top.items():
        if key in known:
            if value and key.lower() not in ("parameter_groups", "parametergroups"):
                raise TemplateInvalid(f"the section '{key}' must be a mapping")
        elif key not in single:
            raise TemplateInvalid(f"a template has no '{key}'{meant(key, known | single)}")
    for section in sections - known:
        raise TemplateInvalid(f"a template has no section '{section}'{meant(section, known)}")


def resource(name: str, body: Any, dialect: Dialect, conditions: Mapping[str, bool]) -> ResourceDef:
    """One resource. Raises `TemplateInvalid`, `TemplateTooLarge`."""
    where = f"resources.{name}"
    if not name or "/" in name:
        raise TemplateInvalid(f"a resource cannot have the name {short(name)}: it must not be empty or hold a slash")
    try:
        Name(name)
    except ValueInvalid as error:
        raise TemplateInvalid(f"a resource cannot have the name {short(name)}: {error}") from None
    if not isinstance(body, Mapping):
        raise TemplateInvalid(f"{where} must be a mapping with a type")
    check_depth(body, where)
    parts: dict[str, Any] = {}
    for key, value in body.items():
        plain = _CFN_KEYS.get(key) if dialect.name == "cfn" else key if key in _HOT_KEYS else None
        if plain is not None:
            parts[plain] = value
        elif key.lower() not in ("description", "external_id"):
            known = _CFN_KEYS if dialect.name == "cfn" else _HOT_KEYS
            raise TemplateInvalid(f"{where} has an unknown key '{key}'{meant(key, known)}")
    if not isinstance(parts.get("type"), str) or not parts["type"]:
        raise TemplateInvalid(f"{where} has no type")
    properties = parts.get("properties")
    if properties is None:
        properties = {}
    if not isinstance(properties, Mapping):
        raise TemplateInvalid(f"{where}.properties must be a mapping")
    depends = parts.get("depends_on") or []
    depends = [depends] if isinstance(depends, str) else depends
    if not isinstance(depends, list) or not all(isinstance(item, str) for item in depends):
        raise TemplateInvalid(f"{where}.depends_on must be the name of a resource or a list of names")
    policy = str(parts.get("deletion_policy") or "delete").lower()
    if policy not in _POLICIES:
        raise TemplateInvalid(f"{where}.deletion_policy must be one of {', '.join(_POLICIES)}, not '{policy}'")
    uses: set[Use] = set()
    mentions: set[str] = set(depends)
    for value in (properties, parts.get("metadata")):
        scan(value, uses, mentions, conditions)
    condition = parts.get("condition")
    scan_condition(condition, uses, mentions, conditions)
    uses.update(("resource", item) for item in depends)
    return ResourceDef(
        name,
        parts["type"],
        properties,
        parts.get("metadata"),
        tuple(depends),
        policy,
        condition,
        frozenset(uses),
        frozenset(mentions),
    )


def output(key: str, body: Any, dialect: Dialect, conditions: Mapping[str, bool]) -> OutputDef:
    """One output. Raises `TemplateInvalid`, `TemplateTooLarge`."""
    names = {"Value": "value", "Condition": "condition", "Description": "description"}
    if not isinstance(body, Mapping):
        raise TemplateInvalid(f"outputs.{key} must be a mapping with a value")
    check_depth(body, f"outputs.{key}")
    parts: dict[str, Any] = {}
    for word, value in body.items():
        parts[str(names.get(word, word) if dialect.name == "cfn" else word)] = value
    if "value" not in parts:
        raise TemplateInvalid(f"outputs.{key} has no value")
    if unknown := sorted(set(parts) - set(names.values())):
        raise TemplateInvalid(f"outputs.{key} has an unknown key '{unknown[0]}'{meant(unknown[0], names.values())}")
    uses: set[Use] = set()
    scan(parts["value"], uses, set(), conditions)
    scan_condition(parts.get("condition"), uses, set(), conditions)
    return OutputDef(key, parts["value"], parts.get("condition"), frozenset(uses))


_NAMING = {
    "get_resource": "resource",
    "get_attr": "attr",
    "Fn::GetAtt": "attr",
    "get_param": "param",
    "get_file": "file",
}


def scan(value: Any, uses: set[Use], mentions: set[str], conditions: Mapping[str, bool], live: bool = True) -> None:
    """Adds what ``value`` refers to; of an ``if`` only the side that its condition chooses counts as a use."""
    if value.__class__ is str:  # most are
        return
    if isinstance(value, list):
        for item in value:
            scan(item, uses, mentions, conditions, live)
        return
    if not isinstance(value, (dict, Mapping)):
        return
    if len(value) == 1:
        ((key, argument),) = value.items()
        if key in ("if", "Fn::If") and isinstance(argument, list) and len(argument) == 3:
            scan_condition(argument[0], uses, mentions, conditions)
            chosen = conditions.get(argument[0]) if isinstance(argument[0], str) else None
            scan(argument[1], uses, mentions, conditions, live and chosen is not False)
            scan(argument[2], uses, mentions, conditions, live and chosen is not True)
            return
        if key in ("not", "and", "or", "Fn::Not", "Fn::And", "Fn::Or"):
            scan_condition(value, uses, mentions, conditions)
        what = _NAMING.get(key)
        name = argument[0] if isinstance(argument, list) and argument else argument
        if key == "Fn::GetAtt" and isinstance(argument, str):
            name = argument.split(".", 1)[0]
        if what is not None and isinstance(name, str):
            _found(what, name, uses, mentions, live)
        elif key == "Ref" and isinstance(argument, str):
            _found("ref", argument, uses, mentions, live)
    for item in value.values():
        if item.__class__ is not str:
            scan(item, uses, mentions, conditions, live)


def _found(what: str, name: str, uses: set[Use], mentions: set[str], live: bool) -> None:
    if what in ("resource", "attr"):
        mentions.add(name)
        if live:
            uses.add((what, name))
    else:
        uses.add((what, name))


def scan_condition(value: Any, uses: set[Use], mentions: set[str], conditions: Mapping[str, bool]) -> None:
    """As `scan`, for a condition: bare texts in it are names of conditions."""
    if isinstance(value, str):
        uses.add(("condition", value))
    elif isinstance(value, Mapping) and len(value) == 1:
        ((key, argument),) = value.items()
        if key in ("not", "and", "or", "Fn::Not", "Fn::And", "Fn::Or"):
            for item in argument if isinstance(argument, list) else [argument]:
                scan_condition(item, uses, mentions, conditions)
        else:
            scan(value, uses, mentions, conditions)
