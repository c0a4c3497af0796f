"""Heat templates in two versions: parameters are contracts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.packages.hot.hotkit import MANIFEST, TEMPLATE
from vetro.packages.compat.comparison import compare
from vetro.packages.compat.findings import Level
from vetro.packages.files import MemoryTree
from vetro.packages.formats import default_registry
from vetro.packages.manifest import parse_manifest

NAME = "com.example.HotApp"
OUTPUTS = "outputs:\n  address: {value: {get_attr: [r, value]}}\n"
HIDDEN = "  secret: {type: string, hidden: true, default: x}\nresources:"
BASE = TEMPLATE.split("outputs:")[0].replace("resources:", HIDDEN) + OUTPUTS


def package(template: str, version: str = "1.2", **files: str) -> Any:
    content = {"manifest.yaml": MANIFEST.replace("1.2", version), "template.yaml": template, **files}
    tree = MemoryTree(dict(content), f"hot-{version}")
    return default_registry().load(tree, parse_manifest(tree.read("manifest.yaml"), tree.file_id("manifest.yaml")))


def findings(new: str, **files: str) -> list[tuple[str, str, Level, str | None]]:
    done = compare(package(BASE), package(new, "1.3", **files))
    return [(one.element.removeprefix(f"{NAME}."), one.code, one.level, one.witness) for one in done.findings]


IN = "templateParameters"
MAJOR, MINOR = Level.MAJOR, Level.MINOR


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("max: 4}", "max: 3}", (f"{IN}.count", "CMP112", MAJOR, "4")),
        ("max: 4}", "max: 5}", (f"{IN}.count", "CMP117", MINOR, None)),
        ("[s, l]", "[s]", (f"{IN}.size", "CMP112", MAJOR, '"l"')),
        ("[s, l]", "[s, m, l]", (f"{IN}.size", "CMP117", MINOR, None)),
        ("max: 16}", "max: 12}", (f"{IN}.db_name", "CMP112", MAJOR, None)),
        ("  size:\n", "  width:\n", (f"{IN}.size", "CMP180", MAJOR, None)),
        ("  size:\n", "  width:\n", (f"{IN}.width", "CMP115", MAJOR, None)),
        ("  size:\n", "  more: {type: string, default: a}\n  size:\n", (f"{IN}.more", "CMP119", MINOR, None)),
        ("    default: wordpress\n", "", (f"{IN}.db_name", "CMP115", MAJOR, None)),
        ("default: wordpress", "default: db", (f"{IN}.db_name", "CMP116", MINOR, None)),
        ("hidden: true, ", "", (f"{IN}.secret", "CMP104", MAJOR, None)),
        ("  secret: {type: string", "  secret: {type: json", (f"{IN}.secret", "CMP182", MAJOR, None)),
        ("  address:", "  place:", ("templateOutputs.address", "CMP181", MAJOR, None)),
        ("  address:", "  place:", ("templateOutputs.place", "CMP119", MINOR, None)),
    ],
)
def test_a_change_of_a_template(before: str, after: str, expected: tuple[str, str, Level, str | None]) -> None:
    assert before in BASE
    changed = BASE.replace(before, after, 1)
    if before == "  size:\n" and "width" in after:
        changed = changed.replace("[db_name, count, size]", "[db_name, count, width]")
    if "type: json" in after:
        changed = changed.replace("default: x}", "default: {}}")
    found = findings(changed)
    element, code, level, witness = expected
    assert (element, code, level) in [one[:3] for one in found]
    if witness is not None:
        assert expected in found
    if level is MINOR and "place" not in after:
        assert all(one[2] is MINOR for one in found)


def test_a_file_of_an_environment_may_give_what_is_new() -> None:
    more = BASE.replace("  size:\n", "  more: {type: string}\n  size:\n")
    given = findings(more, **{"Resources/HotEnvironments/a.yaml": "parameters: {more: x}\n"})
    assert (f"{IN}.more", "CMP119", MINOR, None) in given
    assert findings(BASE) == []
