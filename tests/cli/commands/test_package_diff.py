"""`vetro package diff`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from click.testing import Result

from tests.cli.conftest import write_package
from tests.cli.remotekit import Remote

SHOP = """\
Namespaces: {=: test}
Name: Shop
Properties:
  title: {Contract: $.string().notNull()}
  port: {Contract: $.int().notNull().check($ > 0), Default: 80}
"""


def versions(new: str) -> None:
    write_package(Path("old"), {"test.Shop": SHOP}, name="test", version="1.0.0")
    write_package(Path("new"), {"test.Shop": new}, name="test", version="1.1.0")


def test_a_break_has_a_value_places_and_the_number_that_is_needed(here: Path, vetro: Callable[..., Result]) -> None:
    versions(SHOP.replace("$ > 0", "$ > 1000"))
    done = vetro("package", "diff", "old", "new")
    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "breaking: test.Shop.port refuses what it took (CMP112)",
        "    for example: 1",
        "    old: old/Classes/Shop.yaml:5:3",
        "    new: new/Classes/Shop.yaml:5:3",
    ]
    assert done.stderr == "test 1.0.0 → 1.1.0: 1 break; it needs version 2.0.0 or a later one\n"
    # The number says so: nothing to complain about.
    write_package(Path("newer"), {"test.Shop": SHOP.replace("$ > 0", "$ > 1000")}, name="test", version="2.0.0")
    again = vetro("package", "diff", "old", "newer")
    assert (again.exit_code, again.stderr) == (0, "test 1.0.0 → 2.0.0: 1 break; the number is right\n")


def test_archives_and_data(here: Path, vetro: Callable[..., Result]) -> None:
    versions(SHOP + "  size: {Contract: $.int()}\n")
    assert vetro("package", "build", "old", "-o", "old.zip").exit_code == 0
    done = vetro("package", "diff", "old.zip", "new", "-o", "json")
    told = json.loads(done.stdout)
    assert (done.exit_code, told["level"], told["required"], told["sufficient"]) == (0, "minor", "1.1.0", True)
    (finding,) = told["findings"]
    assert (finding["code"], finding["element"], finding["new"]) == (
        "CMP119",
        "test.Shop.size",
        {"file": "new/Classes/Shop.yaml", "line": 6, "column": 3},
    )
    assert "compatible" in vetro("package", "diff", "old.zip", "new", "-o", "table").stdout


def test_the_old_version_comes_from_the_server(remote: Remote) -> None:
    old = write_package(Path("published"), {"sold.Shop": SHOP.replace("test", "sold")}, name="sold", version="1.0.0")
    remote.ok("package", "publish", str(old))
    narrow = SHOP.replace("test", "sold").replace("$ > 0", "$ > 1000")
    write_package(Path("next"), {"sold.Shop": narrow}, name="sold", version="1.1.0")
    for name in ("sold", "sold/1.0.0"):
        done = remote.run("package", "diff", name, "next", "-o", "json")
        assert done.exit_code == 1
        assert [one["code"] for one in json.loads(done.stdout)["findings"]] == ["CMP112"]
    assert "There is no package 'sold/7.0.0'" in remote.refused("package", "diff", "sold/7.0.0", "next")
    told = remote.run("package", "publish", "next")
    assert told.exit_code == 0 and "version: compared with 1.0.0: needs 2.0.0 or a later version" in told.stderr
    assert "sold.Shop.port refuses what it took, for example 1 (CMP112)" in told.stderr
    assert "needs 2.0.0 or a later version" in remote.run("package", "show", "sold").stdout
    both = remote.run("package", "diff", "sold/1.0.0", "sold")
    assert both.exit_code == 1 and "    new: Classes/Shop.yaml:5:3" in both.stdout
    assert remote.run("package", "diff", "next", "sold").exit_code == 0
    mixed = remote.run("package", "diff", "sold", "next", "--require", "published")
    assert mixed.exit_code == 2 and "--require is for packages that are here" in mixed.stderr


def test_what_cannot_be_compared(here: Path, vetro: Callable[..., Result]) -> None:
    versions(SHOP)
    write_package(Path("other"), {"other.Shop": SHOP.replace("test", "other")}, name="other")
    assert "test and other are two packages" in vetro("package", "diff", "old", "other").stderr
    broken = vetro("package", "diff", "old", "new/Classes")
    assert broken.exit_code == 1 and "manifest.yaml" in broken.stderr
    nowhere = vetro("package", "diff", "com.example.Nothing", "new")
    assert nowhere.exit_code == 1
    assert "'com.example.Nothing' is neither a folder nor an archive here" in nowhere.stderr
