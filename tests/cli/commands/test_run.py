"""`vetro run`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from click.testing import Result

from tests.cli.conftest import write_package

MAIN = """\
Namespaces: {=: t, std: io.murano, sys: io.murano.system}
Name: Main
Extends: std:Application
Properties:
  size: {Contract: $.int().notNull(), Default: 1, Usage: InOut}
  id: {Contract: $.string(), Usage: Out}
Methods:
  deploy:
    Body:
      - $reporter: $.find(std:Environment).reporter
      - $reporter.report($this, "working\\x1b[31m")
      - $reporter.report_error($this, trouble)
      - sys:Logger
      - logger(test).info('a log line')
      - $.id: randomName()
  grow:
    Scope: Public
    Arguments:
      - by: {Contract: $.int().notNull()}
    Body:
      - $.size: $.size + $by
      - Return: [$.size, $this]
  hidden:
    Body: {Return: 1}
"""
MODEL = """\
'?': {type: io.murano.Environment, id: env}
name: e
applications:
  - '?': {type: t.Main, id: main}
"""


@pytest.fixture
def app(here: Path) -> Path:
    write_package(here / "app", {"t.Main": MAIN})
    (here / "model.yaml").write_text(MODEL)
    return here


def test_the_model_goes_to_stdout_and_reports_to_stderr(app: Path, vetro: Callable[..., Result]) -> None:
    result = vetro("run", "app", "--model", "model.yaml")
    assert result.exit_code == 0
    data = yaml.safe_load(result.stdout)
    assert data["Objects"]["applications"][0]["size"] == 1
    lines = [re.sub(r"^ *\d+\.\d\ds ", "", line) for line in result.stderr.splitlines()]
    assert lines == ["info    working\\x1b[31m", "error   trouble"]


def test_the_same_seed_gives_the_same_run(app: Path, vetro: Callable[..., Result]) -> None:
    def made(*options: str) -> str:
        return vetro("run", "app", "-m", "model.yaml", "--json", "-q", *options).stdout

    assert made() == made("--seed", "0")
    assert made() != made("--seed", "1")


def test_the_printed_model_can_be_run_again(app: Path, vetro: Callable[..., Result]) -> None:
    first = vetro("run", "app", "-m", "model.yaml", "--json", "-q")
    assert first.stderr == ""
    second = vetro(
        "run", "app", "-m", "-", "--object", "main", "--method", "grow", "--arg", "by=4", "--json", input=first.stdout
    )
    assert json.loads(second.stdout)["Objects"]["applications"][0]["size"] == 5


def test_the_result_of_a_method(app: Path, vetro: Callable[..., Result]) -> None:
    options = ["--object", "main", "--method", "grow", "--arg", "by=2", "--result", "-o", "json"]
    result = vetro("run", "app", "-m", "model.yaml", *options)
    number, made = json.loads(result.stdout)
    assert (number, made["?"]["id"]) == (3, "main")


def test_removing_what_a_model_no_longer_has(app: Path, vetro: Callable[..., Result]) -> None:
    objects = json.loads(vetro("run", "app", "-m", "model.yaml", "--json", "-q").stdout)["Objects"]
    result = vetro("run", "app", "-m", "-", "--json", input=json.dumps({"Objects": None, "ObjectsCopy": objects}))
    assert result.exit_code == 0
    assert json.loads(result.stdout)["Objects"] is None


def test_only_public_methods_unless_told_otherwise(app: Path, vetro: Callable[..., Result]) -> None:
    options = ["run", "app", "-m", "model.yaml", "--object", "main", "--method", "hidden", "--result"]
    refused = vetro(*options)
    assert refused.exit_code == 1
    assert "public methods: grow; --internal calls others, too" in refused.stderr
    assert vetro(*options, "--internal").stdout == "1\n"


def test_log_lines_on_request(app: Path, vetro: Callable[..., Result]) -> None:
    assert "a log line" not in vetro("run", "app", "-m", "model.yaml").stderr
    assert re.search(r"info +test: a log line", vetro("run", "app", "-m", "model.yaml", "-v").stderr)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("- 1", "it is a list"),
        ("5", "it is just 5"),
        ("a: 1", "it has neither 'Objects' nor '?'"),
        ("Objects: 5", "'Objects' is no object"),
        ("Objects:", "holds an empty object model"),
        ("{Objects: {'?': {type: t.Main}}, Attributes: 5}", "'Attributes' is no list"),
        ("{Objects: {'?': {type: t.Main}}, SystemData: []}", "'SystemData' is no mapping"),
        ("'?': 5", "the header '?' of an object must be a mapping"),
        ("'?': {id: a}", "an object definition must name its class"),
        ("'?': {type: [1]}", "the 'type' of an object must be the name of a class"),
        ("'?': {type: x.Main}", "did you mean 't.Main'?"),
        ("'?': {type: t.Main/x}", "version spec 'x' is malformed"),
        ("'?': {type: t.Main/7}", "in version 7; package 't' has it in 1.0.0"),
        ("{'?': {type: t.Main}, size: many}", "[t.Main.size] expected an integer"),
    ],
)
def test_unusable_models(app: Path, vetro: Callable[..., Result], text: str, message: str) -> None:
    result = vetro("run", "app", "-m", "-", input=text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing", "missing: no such file or folder"),
        ("model.yaml", "no readable ZIP archive"),
        ("empty", "no usable package"),
        ("broken", "MPL103"),
    ],
)
def test_unusable_packages(app: Path, vetro: Callable[..., Result], path: str, message: str) -> None:
    (app / "empty").mkdir()
    write_package(app / "broken", {"t.Broken": "Name: [\n"})
    (app / "broken.yaml").write_text("'?': {type: t.Broken, id: b}\n")
    result = vetro("run", path, "-m", "broken.yaml" if path == "broken" else "model.yaml")
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr


def test_every_problem_of_a_manifest_is_shown_with_its_line(app: Path, vetro: Callable[..., Result]) -> None:
    (app / "app" / "manifest.yaml").write_text("Format: 1.4\nType: Thing\nFullName: t\nVersion: one\n")
    result = vetro("run", "app", "-m", "model.yaml")
    assert result.exit_code == 1
    assert "2 | Type: Thing" in result.stderr
    assert "4 | Version: one" in result.stderr


def test_wrong_command_lines(app: Path, vetro: Callable[..., Result]) -> None:
    for options in (["--max-steps", "0"], ["--max-seconds", "-1"], ["--arg", "x"], ["-o", "table"], ["--modle", "x"]):
        assert vetro("run", "app", "-m", "model.yaml", *options).exit_code == 2
    assert vetro("run", "app").exit_code == 2


def test_time_limit(app: Path, vetro: Callable[..., Result]) -> None:
    body = "Name: t.Main\nMethods:\n  deploy:\n    Body:\n      - While: !yaql 'true'\n        Do: {$x: 1}\n"
    (app / "app/Classes/Main.yaml").write_text(body)
    result = vetro(
        "run", "app", "-m", "-", "--max-seconds", "0.2", "--max-steps", "1000000000000", input="'?': {type: t.Main}"
    )
    assert result.exit_code == 1
    assert "error[LIM202]" in result.stderr


def test_archives_show_their_lines(app: Path, vetro: Callable[..., Result]) -> None:
    (app / "app/Classes/Main.yaml").write_text("Name: t.Main\nMethods:\n  deploy:\n    Body:\n      - $x: 1 / 0\n")
    assert vetro("package", "build", "app", "-o", "t.zip").exit_code == 0
    result = vetro("run", "t.zip", "-m", "-", input="'?': {type: t.Main}")
    assert "--> t.zip/Classes/Main.yaml:5:13" in result.stderr
    assert "5 |       - $x: 1 / 0" in result.stderr
