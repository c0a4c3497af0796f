"""Writes the files of this folder from the standard packages as they are."""

from __future__ import annotations

from typing import Any

import yaml

from tests.packages.compat.release import FOLDER, surface
from vetro.library import core_packages


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as they are."""


def _text(dumper: yaml.SafeDumper, value: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)


_Dumper.add_representer(str, _text)

for package in core_packages():
    text = yaml.dump(surface(package), Dumper=_Dumper, sort_keys=False, width=100_000)
    (FOLDER / f"{package.name}.yaml").write_text(text, encoding="utf-8")
