"""`vetro package`."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import write_package
from vetro.packages import ArchiveTree

TEMPLATE = "heat_template_version: 2016-04-08\nresources: {}\n"


def test_a_new_package_is_sound_and_its_tests_pass(here: Path, vetro: Callable[..., Result]) -> None:
    made = vetro("package", "new", "Web")
    assert made.exit_code == 0
    assert made.stdout.splitlines() == [
        "com.example.Web/manifest.yaml",
        "com.example.Web/Classes/Web.yaml",
        "com.example.Web/Classes/WebTest.yaml",
        "com.example.Web/UI/ui.yaml",
    ]
    assert vetro("check", "com.example.Web", "--strict").stderr == "no problems found\n"
    assert vetro("test", "com.example.Web").stdout.endswith("2 passed, 0 failed\n")


def test_new_does_not_overwrite(here: Path, vetro: Callable[..., Result]) -> None:
    assert vetro("package", "new", "org.sample.App", "--dir", "sub/app").exit_code == 0
    assert (here / "sub/app/Classes/App.yaml").exists()
    again = vetro("package", "new", "org.sample.App", "--dir", "sub/app")
    assert again.exit_code == 1
    assert "sub/app: there is something already" in again.stderr
    assert vetro("package", "new", "a..b").exit_code == 1


def test_archives_are_the_same_every_time(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "app", {"t.A": "Name: t.A\n"})
    assert vetro("package", "build", "app").stdout == "t.1.0.0.zip\n"
    os.utime(here / "app/Classes/A.yaml", (1, 1))
    assert vetro("package", "build", "app", "-o", "dist").stdout == "dist/t.1.0.0.zip\n"
    assert vetro("package", "build", "app", "-o", "named.zip").stdout == "named.zip\n"
    contents = {(here / name).read_bytes() for name in ("t.1.0.0.zip", "dist/t.1.0.0.zip", "named.zip")}
    assert len(contents) == 1


def test_versioned_trees(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "App/1.0.0", {"t.A": "Name: t.A\n"})
    write_package(here / "App/dev", {"t.A": "Name: t.A\n"}, version="2.0.0")
    assert vetro("package", "build", "App", "-o", "d").stdout == "d/t.1.0.0.zip\n"
    assert vetro("package", "build", "App", "-o", "d", "--dev").stdout == "d/t.1.0.0.zip\nd/t.2.0.0.zip\n"
    (here / "App/dev").rename(here / "App/1.1.0")
    refused = vetro("package", "build", "App", "-o", "d")
    assert refused.exit_code == 1
    assert "App/1.1.0: the folder says version 1.1.0, its manifest 2.0.0" in refused.stderr
    assert "rename the folder or mend Version in manifest.yaml" in refused.stderr


def test_templates(here: Path, vetro: Callable[..., Result]) -> None:
    (here / "blog.yaml").write_text(TEMPLATE)
    made = vetro("package", "build", "--template", "blog.yaml", "--full-name", "a.Blog", "--version", "1.2", "-o", "d")
    assert made.stdout == "d/a.Blog.1.2.0.zip\n"
    assert b"FullName: a.Blog\n" in ArchiveTree(here / "d/a.Blog.1.2.0.zip").read("manifest.yaml")
    assert vetro("package", "build", "--template", "blog.yaml").stdout == "io.murano.apps.generated.Blog.0.0.0.zip\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        ([], 2, "name the folder of a package"),
        (["app", "--name", "x"], 2, "--name is for --template"),
        (["app", "--template", "t.yaml"], 2, "leave DIR and --dev out"),
        (["app", "app2", "-o", "x.zip"], 2, "--out names a file"),
        (["missing"], 1, "missing: no such folder"),
        (["--template", "missing.yaml"], 1, "missing.yaml: No such file or directory"),
        (["--template", "app/manifest.yaml"], 1, "no Heat template"),
        (["app", "-o", "app/manifest.yaml"], 1, "File exists"),
    ],
)
def test_mistakes(here: Path, vetro: Callable[..., Result], arguments: list[str], status: int, message: str) -> None:
    write_package(here / "app", {"t.A": "Name: t.A\n"})
    result = vetro("package", "build", *arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert message in result.stderr


LIBRARY = """\
# Counts things.
Namespaces: {=: r, std: io.murano, f: io.murano.test}
Name: Counter
Extends: std:Application
Properties:
  # How much is added.
  step: {Contract: $.int().notNull(), Default: 1}
  names: {Contract: {$.string(): [$.class(Counter)]}, Usage: Out}
Methods:
  # Adds, and gives the sum.
  add:
    Scope: Public
    Arguments:
      - times: {Contract: $.int(), Default: 2}
    Body: {Return: 1}
  _hidden: {Body: {Return: 1}}
"""


def test_reference_is_made_of_the_source(here: Path, vetro: Callable[..., Result]) -> None:
    fixture = "Namespaces: {=: r, f: io.murano.test}\nName: Tests\nExtends: f:TestFixture\n"
    package = write_package(here / "p", {"r.Counter": LIBRARY, "r.Tests": fixture}, name="r")
    assert (
        vetro("package", "reference", str(package)).stdout
        == """\
## r

### r.Counter

Counts things. Extends `io.murano.Application`.

| property | contract | default | |
|---|---|---|---|
| `step` | `$.int().notNull()` | `1` | How much is added. |
| `names` | `{$.string(): [$.class(Counter)]}` |  | Out. |

- `add(times=2)` (public): Adds, and gives the sum.
"""
    )


def test_reference_says_what_is_deprecated(here: Path, vetro: Callable[..., Result]) -> None:
    text = """\
Namespaces: {=: r, l: io.vetro.lifecycle}
Name: Old
Meta: {l:Deprecated: {text: it forgets things, replacement: r.New}}
Properties:
  # How large.
  size: {Contract: $.int(), Meta: {l:Deprecated: {text: "sizes\\n\\nare found out", replacement: "a`b"}}}
Methods:
  go: {Meta: {l:Deprecated: {text: it walks, replacement: run}}, Body: []}
"""
    package = write_package(here / "p", {"r.Old": text}, name="r", extra="Require: {io.vetro: 1}\n")
    made = vetro("package", "reference", str(package)).stdout
    assert "**Deprecated**: it forgets things; use `r.New`." in made
    assert "How large. **Deprecated**: sizes are found out; use `ab`. |" in made
    assert "- `go()`: **Deprecated**: it walks; use `run`." in made


def test_the_page_about_the_standard_packages_is_up_to_date(vetro: Callable[..., Result]) -> None:
    page = (Path(__file__).parents[3] / "docs" / "authors" / "library.md").read_text(encoding="utf-8")
    made = vetro("package", "reference", "io.murano", "io.murano.applications", "io.vetro").stdout
    assert page.endswith(made), "run: vetro package reference io.murano io.murano.applications io.vetro"
    assert page.index(made) < 600


HEIR = """\
Namespaces: {=: r}
Name: Twice
Extends: Counter
Methods:
  # Adds as much again.
  add: {Scope: Public, Body: {Return: 2}}
"""


def test_reference_has_a_page_for_each_class_with_what_it_inherits(here: Path, vetro: Callable[..., Result]) -> None:
    package = write_package(here / "p", {"r.Counter": LIBRARY, "r.Twice": HEIR}, name="r")
    assert vetro("package", "reference", str(package), "--pages", "pages").stdout.splitlines() == [
        "pages/index.md",
        "pages/Counter.md",
        "pages/Twice.md",
    ]
    assert "| [Counter](Counter.md) | Counts things |\n" in (here / "pages" / "index.md").read_text()
    assert "\nExtended by [`r.Twice`](Twice.md).\n" in (here / "pages" / "Counter.md").read_text()
    assert (
        (here / "pages" / "Twice.md").read_text()
        == """\
# r.Twice

[All classes](index.md)

Extends [`r.Counter`](Counter.md).

## Methods

- `add()` (public): Adds as much again.

## Inherited

- of [`r.Counter`](Counter.md): `step`, `names`
"""
    )
    refused = vetro("package", "reference", str(package), "io.murano", "--pages", "pages")
    assert refused.exit_code == 2 and "--pages is for one package" in refused.stderr


def test_the_pages_about_building_blocks_are_up_to_date(here: Path, vetro: Callable[..., Result]) -> None:
    there = Path(__file__).parents[3] / "docs" / "authors" / "std"
    assert vetro("package", "reference", "io.vetro.std", "--pages", "made").exit_code == 0
    made = {path.name: path.read_text("utf-8") for path in (here / "made").iterdir()}
    now = {path.name: path.read_text("utf-8") for path in there.iterdir()}
    assert now == made, "run: vetro package reference io.vetro.std --pages docs/authors/std"
    assert len(made) > 20 and "## Inherited" in made["PrimaryReplicaGroup.md"]
