"""What tests of Heat templates as applications share: a template, the package of it, its generated class."""

from __future__ import annotations

from typing import Any

import yaml

from vetro.packages.files import MemoryTree
from vetro.packages.formats import FormatRegistry
from vetro.packages.package import LoadedPackage

NAME = "com.example.HotApp"
MANIFEST = f"Format: Heat.HOT/1.0\nType: Application\nFullName: {NAME}\nVersion: 1.2\nDescription: A stack\n"
TEMPLATE = """\
heat_template_version: 2013-05-23
parameter_groups:
  - label: Database
    parameters: [db_name, count]
parameters:
  db_name:
    type: string
    default: wordpress
    constraints:
      - length: {min: 1, max: 16}
      - allowed_pattern: "[a-zA-Z][a-zA-Z0-9]*"
        description: must begin with a letter
  count:
    type: number
    description: How many
    constraints:
      - range: {min: 1, max: 4}
        description: 1 to 4
  size:
    type: string
    label: The size
    constraints:
      - allowed_values: [s, l]
resources:
  r: {type: "OS::Heat::RandomString", properties: {length: {get_param: count}}}
outputs:
  secret: {value: {get_attr: [r, value]}}
"""


def package(template: str | None = TEMPLATE, manifest: str = MANIFEST, **files: str | bytes) -> LoadedPackage:
    contents: dict[str, str | bytes] = {"manifest.yaml": manifest, **files}
    if template is not None:
        contents["template.yaml"] = template
    return FormatRegistry(discover=False).load(MemoryTree(contents, "/packages/hot"))


class Tagged(yaml.SafeLoader):
    """Reads expressions as ``yaql: text``."""


Tagged.add_constructor("!yaql", lambda loader, node: f"yaql: {node.value}")


def generated(loaded: LoadedPackage) -> dict[str, Any]:
    return yaml.load(loaded.read_class(NAME).text, Tagged)  # type: ignore[no-any-return]


def parameter(text: str) -> str:
    return f"resources: {{}}\nparameters:\n  p: {{{text}}}\n"
