"""The standard packages as the last release had them, without the bodies of their methods.

`python -m tests.packages.compat.release` writes them anew: at a release, with the commit that raises the version.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from vetro.packages.memory import memory_package
from vetro.packages.package import LoadedPackage

FOLDER = Path(__file__).parent


def released(name: str) -> LoadedPackage:
    """A standard package of the last release."""
    return memory_package(yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")))


def surface(package: LoadedPackage) -> dict[str, Any]:
    """What `memory_package` makes of it again, without bodies."""
    return {
        "name": package.name,
        "version": str(package.version),
        "format": f"{package.format[0]}.{package.format[1]}",
        "type": package.type,
        "require": dict(package.requirements),
        "classes": {name: _file(package, name) for name in package.classes},
        "files": {_file(package, name): without_bodies(package.read_class(name).text) for name in package.classes},
    }


def _file(package: LoadedPackage, name: str) -> str:
    """Path of a class file below ``Classes``."""
    return package.classes[name].removeprefix(f"{package.location}/Classes/")


def without_bodies(text: str) -> str:
    """A class file without comments and what its methods do; everything else is written as it was."""
    lines = text.splitlines()
    for first, last in _bodies(text):
        for number in range(first, last):
            lines[number] = ""
    return "\n".join(line.rstrip() for line in lines if line.strip() and not line.lstrip().startswith("#")) + "\n"


def _bodies(text: str) -> Iterator[tuple[int, int]]:
    """First line of each body, and the line after it."""
    for document in yaml.compose_all(text, Loader=yaml.SafeLoader):
        for key, value in _pairs(document):
            if key.value == "Methods":
                for _, method in _pairs(value):
                    for name, body in _pairs(method):
                        if name.value == "Body":
                            block = isinstance(body, yaml.CollectionNode) and not body.flow_style
                            yield name.start_mark.line, body.end_mark.line + (0 if block else 1)


def _pairs(node: Any) -> list[tuple[Any, Any]]:
    return node.value if isinstance(node, yaml.MappingNode) and not node.flow_style else []
