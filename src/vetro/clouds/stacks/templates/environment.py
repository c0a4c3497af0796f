"""The environment of a stack: a YAML text with parameters and the types that stand for others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import yaml

from vetro.clouds.interface import TemplateInvalid
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.templates.limits import check_depth
from vetro.data_classes import dataclass

_KEYS = (
    "parameters",
    "parameter_defaults",
    "resource_registry",
    "encrypted_param_names",
    "event_sinks",
    "parameter_merge_strategies",
)
#: Longest text; aliases are refused, so it cannot grow when it is read.
_LONGEST = 1 << 20


@dataclass(frozen=True, slots=True)
class StackEnvironment:
    """What an environment file says."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    parameter_defaults: Mapping[str, Any] = field(default_factory=dict)
    #: Type -> other type or file, for all resources of the type.
    types: Mapping[str, str] = field(default_factory=dict)
    #: Resource name -> {type: other type or file}.
    of_resources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def actual(self, name: str, type_name: str) -> str:
        """The type that stands for ``type_name`` of the resource ``name``. Raises `TemplateInvalid` for a circle."""
        seen = [type_name]
        while True:
            current = seen[-1]
            following = (
                self.of_resources.get(name, {}).get(current) or self.types.get(current) or self._pattern(current)
            )
            if following is None or following == current:
                return current
            if following in seen:
                raise TemplateInvalid(f"resource_registry maps types in a circle: {' -> '.join([*seen, following])}")
            seen.append(following)

    def _pattern(self, name: str) -> str | None:
        """The mapping of a whole family: ``OS::Old::*: OS::New::*``."""
        for key, value in self.types.items():
            if key.endswith("*") and value.endswith("*") and name.startswith(key[:-1]):
                return value[:-1] + name[len(key) - 1 :]
        return None


class _Loader(yaml.SafeLoader):
    """Plain data, no aliases, dates stay text."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise TemplateInvalid("YAML aliases are not allowed here")
        return super().compose_node(parent, index)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, expression) for tag, expression in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def load_yaml(text: str, what: str) -> Any:
    """Plain data of a YAML text. Raises `TemplateInvalid` with line and column."""
    if len(text) > _LONGEST:
        raise TemplateInvalid(f"{what} has {len(text):,} characters, more than {_LONGEST:,}")
    try:
        data = yaml.load(text, _Loader)
    except TemplateInvalid as error:
        raise TemplateInvalid(f"{what}: {error}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise TemplateInvalid(f"{what} is not YAML: {error}") from None
    check_depth(data, what)
    return plain_keys(data, what)


def plain_keys(data: Any, what: str) -> Any:
    """The data with text as keys, as JSON has it. Raises `TemplateInvalid` for what JSON does not know."""
    if isinstance(data, dict):
        return {_key(key, what): plain_keys(value, what) for key, value in data.items()}
    if isinstance(data, list):
        return [plain_keys(item, what) for item in data]
    if data is None or isinstance(data, (str, bool, int, float)):
        return data
    raise TemplateInvalid(f"{what} holds a {type(data).__name__}; write it as text")


def _key(key: Any, what: str) -> str:
    if isinstance(key, bool) or key is None or not isinstance(key, (str, int, float)):
        raise TemplateInvalid(f"{what} has the key {key!r}; keys must be text")
    return str(key)


def read_environment(text: str | None) -> StackEnvironment:
    """The environment written in ``text``. Raises `TemplateInvalid`."""
    if not text:
        return StackEnvironment()
    data = load_yaml(text, "the environment") or {}
    if not isinstance(data, dict):
        raise TemplateInvalid("the environment must be a mapping")
    for key, value in data.items():
        if key not in _KEYS:
            raise TemplateInvalid(f"the environment has an unknown key '{key}'{meant(key, _KEYS)}")
        if value is not None and not isinstance(value, (list if key == "encrypted_param_names" else dict, list)):
            raise TemplateInvalid(f"'{key}' of the environment must be a mapping")
    types: dict[str, str] = {}
    of_resources: dict[str, dict[str, str]] = {}
    for key, value in (data.get("resource_registry") or {}).items():
        if key == "resources" and isinstance(value, dict):
            for name, mapped in value.items():
                if not isinstance(mapped, dict):
                    raise TemplateInvalid(f"resource_registry.resources.{name} must be a mapping of types")
                of_resources[name] = {k: v for k, v in mapped.items() if isinstance(v, str) and k != "hooks"}
        elif isinstance(value, str):
            types[key] = value
        else:
            raise TemplateInvalid(f"resource_registry.{key} must be the name of a type or file")
    return StackEnvironment(
        dict(data.get("parameters") or {}), dict(data.get("parameter_defaults") or {}), types, of_resources
    )
