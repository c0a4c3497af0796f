"""No code asks for a kind's name: what a cloud can do is asked of its capabilities (decision 0015)."""

from __future__ import annotations

import ast
from pathlib import Path

import vetro
from vetro.clouds import kinds

SOURCE = Path(vetro.__file__).parent
#: Where the same word means something else, and what.
OTHERS = {
    "clouds/drivers/tools.py": {"proot"},  # the program, and its Debian package
    "library/natives/services.py": {"openstack"},  # a key of contexts that packages see
    # how far volumes go (`Capabilities.volumes`)
    "clouds/kind_protocols.py": {"record"},
    "clouds/drivers/needs.py": {"record"},
    "clouds/stacks/types/volumes.py": {"record"},
    "clouds/proot/kind.py": {"record"},
    "server/procedures/migrations/0001_initial.py": {"record"},  # what the reducer knows of a procedure
}


def test_kinds_are_named_in_their_folders_only() -> None:
    names = {*kinds.names(), "openstack"}
    assert {"nspawn", "proot", "record"} <= names
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        place = path.relative_to(SOURCE)
        if place.as_posix() == "clouds/kinds.py":
            continue
        own = place.parts[1] if place.parts[0] == "clouds" else ""
        words = {
            node.value
            for node in ast.walk(ast.parse(path.read_bytes()))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        quoted = (words & names) - {own}
        if quoted:
            found[place.as_posix()] = quoted
    assert found == OTHERS
