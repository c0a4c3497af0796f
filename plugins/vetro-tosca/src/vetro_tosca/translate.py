"""TOSCA to Heat: the translation by tosca-parser and heat-translator, and what has to be mended in its result."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

from vetro.packages.errors import PackageError
from vetro_tosca.archive import Csar

#: Types that heat-translator gives parameters and Heat does not have.
_TYPES = {"list": "comma_delimited_list", "map": "json"}
_MAIN = "template.yaml"


# What the translator says of inputs without values is for its own command line, which gives values; programs that want
# to see it configure logging.
for _name in ("tosca", "heat-translator"):
    logging.getLogger(_name).addHandler(logging.NullHandler())


@dataclass(frozen=True)
class Translation:
    """A Heat template and its files: the names that it uses -> their texts."""

    template: str
    files: dict[str, str] = field(default_factory=dict)


class _Unset(dict[str, Any]):
    """Inputs that nobody has given yet: the translator asks for each, and only Heat will know."""

    def __missing__(self, name: str) -> None:
        return None


@lru_cache(maxsize=64)
def translate(data: bytes, location: str) -> Translation:
    """The Heat template of the CSAR archive ``data``. Raises `PackageError`."""
    csar = Csar(data, location)
    with tempfile.TemporaryDirectory(prefix="vetro-tosca-") as folder:
        for path in csar.paths:
            target = os.path.join(folder, *path.split("/"))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(csar.read(path))
        try:
            made = _translated(os.path.join(folder, *csar.entry.split("/")))
        except Exception as error:
            text = _reasons(str(error)).replace(folder, location)
            raise PackageError(
                f"{location}/{csar.entry}: the topology cannot be translated: {text}",
                hint="what heat-translator supports is in its documentation",
            ) from error
    texts = {path: csar.text(path) for path in csar.paths}
    files = {f"../{path}": content for path, content in texts.items() if content is not None}
    for name, text in made.items():
        if name != _MAIN:
            files[name] = text
        for reference in _references(yaml.safe_load(text)):
            files[reference] = _file(csar, reference)
    return Translation(_mended(made[_MAIN]), files)


def _reasons(text: str) -> str:
    """What tosca-parser says, without the stacks it adds: lines that name its files, and what stands below them."""
    lines = []
    for line in text.splitlines():
        if line.lstrip().startswith("File ") or line.startswith("\t\t\t"):
            continue
        lines.append(line.strip())
    return " ".join(line for line in lines if line)


def _translated(entry: str) -> dict[str, str]:
    """File name -> text of the main template and of those that it nests."""
    from toscaparser.tosca_template import ToscaTemplate
    from translator.hot.tosca_translator import TOSCATranslator

    topology = ToscaTemplate(entry, None, True)
    made: dict[str, str] = TOSCATranslator(topology, _Unset(), False).translate_to_yaml_files_dict(_MAIN)
    return made


def _references(node: Any) -> Iterator[str]:
    """The files that a template asks for with `get_file`."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            if len(item) == 1 and isinstance(item.get("get_file"), str):
                yield item["get_file"]
            todo.extend(item.values())
        elif isinstance(item, list):
            todo.extend(item)


def _file(csar: Csar, reference: str) -> str:
    path = csar.resolve(reference, csar.entry)
    if path is None:
        raise PackageError(f"{csar.location}: the topology refers to '{reference[:200]}', which is not in the archive")
    text = csar.text(path)
    if text is None:
        raise PackageError(f"{csar.location}/{path}: Heat takes texts only, this is no UTF-8")
    return text


def _mended(text: str) -> str:
    """The main template with parameter types that Heat has."""
    template = yaml.safe_load(text)
    parameters = template.get("parameters") or {}
    for parameter in parameters.values():
        parameter["type"] = _TYPES.get(parameter["type"], parameter["type"])
        default = parameter.get("default")
        if isinstance(default, dict):
            parameter["default"] = json.dumps(default)
    return str(yaml.safe_dump(template, sort_keys=False, allow_unicode=True))
