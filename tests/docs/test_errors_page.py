"""docs/errors.md lists every error class and every code, with the facts that the classes state."""

from __future__ import annotations

import re
from pathlib import Path

import vetro
import vetro_openstack
from tests.support.errors import error_classes
from vetro.yaql.errors import HOST_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "errors.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in PAGE.splitlines() if line.startswith("| ")]
BY_CODE = {row[0]: row for row in ROWS if re.fullmatch(r"[A-Z]{3}\d{3}", row[0])}
CODE = re.compile(r'"([A-Z]{3}\d{3})"')


def full(alias: str) -> str:
    bare = alias.strip("`")
    return bare.replace("…dsl.", "murano.dsl.exceptions.").replace("…yaql.", "yaql.language.exceptions.")


def test_every_class_is_listed_as_it_is() -> None:
    for cls in error_classes():
        code, kind = cls.code, cls.kind  # type: ignore[attr-defined]
        row = BY_CODE[code]
        assert len(row) == 6, row
        assert row[1:3] == [kind, f"`{cls.__module__}.{cls.__name__}`"]
        listed = [] if row[3] == "-" else [full(alias) for alias in row[3].split(", ")]
        assert listed == list(getattr(cls, "aliases", ()))
        assert row[4] and row[5]


def test_codes_are_unique() -> None:
    codes = [cls.code for cls in error_classes()]  # type: ignore[attr-defined]
    assert len(codes) == len(set(codes))
    listed = [row[0] for row in ROWS if row[0] in BY_CODE]
    assert len(listed) == len(set(listed))


def test_every_code_in_the_sources_is_listed_and_nothing_else() -> None:
    used: set[str] = set()
    for root in (vetro, vetro_openstack):
        for file in Path(str(root.__file__)).parent.rglob("*.py"):
            used.update(CODE.findall(file.read_text(encoding="utf-8")))
    assert used == set(BY_CODE)


def test_errors_of_python_are_listed() -> None:
    kinds = {row[0]: row[1] for row in ROWS if len(row) == 4 and row[0] != "kind"}
    for cls, kind in HOST_KINDS.items():
        assert cls.__name__ in kinds[kind]
