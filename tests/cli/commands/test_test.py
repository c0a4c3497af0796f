"""`vetro test` and the numbers of its coverage."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import write_package
from vetro.muranopl.tools.linetrace import ranges

# The lines that the tests do not run end in "# missed"; what follows from it is checked below.
CODE = """\
Namespaces:
  =: t
Name: Sum
Properties:
  unused:
    Contract: $.int()
    Default: 1
Methods:
  classify:
    Arguments:
      - numbers:
          Contract: [$.int()]
    Body:
      - $big: 0
      - $small: 0
      - For: n
        In: $numbers
        Do:
          - If: $n > 10
            Then:
              - $big: $big + 1
            Else:
              - $small:
                  $small + 1
      - If: $big > 100
        Then: $.never()  # missed
        Else: $.always()
      - While: $big > 0
        Do: {$big: $big - 1}
      - Repeat: 2
        Do:
          - $small: $small + 1
      - Match:
          1: $.never()  # missed
          3:
            - $.always()
          5: [$.always(), $.never()]  # missed
        Value: $small
      - Switch:
          $small > 100:
            - $.never()  # missed
          $small > 1:
            - $.always()
        Default:
          - $.never()  # missed
      - Try:
          - Throw: Oops
            Message: x
        Catch:
          - With: Oops
            Do:
              - $.always()
          - As: e
            Do: $.never()  # missed
        Else:
          - $.never()  # missed
        Finally:
          - $.always()
      - Parallel:
          - $.always()
          - Do:
              - $.always()
              - $.always()
      - Return: [
          $big,
          $small]
  never:
    Body:
      - $x: 1  # missed
      - Return: $x  # missed
  always:
    Body:
      Return: 1
  empty:
    Body: []
"""
#: Counted by hand: every line on which an instruction begins; Try, Parallel and Do are no instructions of their own.
LINES = 33
TESTS = """\
Namespaces: {=: t, test: io.murano.test}
Name: SumTest
Extends: test:TestFixture
Methods:
  testSum:
    Body:
      - $s: new(Sum)
      - $.assertEqual([0, 3], $s.classify([11, 5]))
"""
FAILING = """\
Namespaces: {=: t, test: io.murano.test, sys: io.murano.system}
Name: BadTest
Extends: test:TestFixture
Methods:
  testFails:
    Body:
      - logger(l).info('before the end')
      - $.assertEqual(1, 2)
  testPasses:
    Body: []
"""


@pytest.fixture
def app(here: Path) -> Path:
    return write_package(here / "app", {"t.Sum": CODE, "t.SumTest": TESTS})


def test_coverage_is_what_a_person_counts(app: Path, vetro: Callable[..., Result]) -> None:
    missed = [number for number, line in enumerate(CODE.splitlines(), 1) if line.endswith("# missed")]
    result = vetro("test", "app", "--coverage", "-o", "json")
    assert result.exit_code == 0
    data = json.loads(result.stdout)
    (file,) = data["coverage"]["files"]
    assert file["file"] == "app/Classes/Sum.yaml"
    assert file["missing"] == missed
    assert file["lines"] == LINES
    assert data["coverage"]["percent"] == round(100 * (LINES - len(missed)) / LINES, 2)
    assert (data["passed"], data["failed"], data["not_run"]) == (1, 0, 0)


def test_coverage_as_text_and_its_limit(app: Path, vetro: Callable[..., Result]) -> None:
    result = vetro("test", "app", "--coverage", "--fail-under", "70")
    assert result.exit_code == 0
    assert "app/Classes/Sum.yaml  33     9       72 %     26, 34, 37, 41, 45, 54, 56, 69-70\n" in result.stdout
    failed = vetro("test", "app", "--coverage", "--fail-under", "73")
    assert failed.exit_code == 1
    assert failed.stderr == "error: coverage is 72.7 %, --fail-under asks for 73 %\n"
    assert vetro("test", "app", "--fail-under", "73").exit_code == 2


def test_failures_are_explained(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "app", {"t.BadTest": FAILING})
    result = vetro("test", "app")
    assert result.exit_code == 1
    assert "FAIL  t.BadTest.testFails" in result.stdout
    assert "before the end" in result.stdout
    assert "--> app/Classes/BadTest.yaml:8:9" in result.stdout
    assert "ok    t.BadTest.testPasses" in result.stdout
    assert result.stdout.endswith("1 passed, 1 failed\n")
    assert vetro("test", "app", "-x").stdout.endswith("0 passed, 1 failed, 1 not run\n")
    assert vetro("test", "app", "-k", "Passes").exit_code == 0


def test_a_class_that_cannot_be_loaded_fails_the_run(app: Path, vetro: Callable[..., Result]) -> None:
    (app / "Classes/Sum.yaml").write_text("Name: [\n")
    result = vetro("test", "app", "--coverage")
    assert result.exit_code == 1
    assert "FAIL  t.Sum cannot be loaded" in result.stdout
    assert "0 passed, 2 failed" in result.stdout
    assert json.loads(vetro("test", "app", "-o", "json").stdout)["broken"][0]["class"] == "t.Sum"


def test_lists(app: Path, vetro: Callable[..., Result]) -> None:
    assert vetro("test", "app", "--list").stdout == "t.SumTest.testSum\n"
    assert json.loads(vetro("test", "app", "--list", "-o", "json").stdout) == ["t.SumTest.testSum"]


def test_no_tests_are_an_error(here: Path, app: Path, vetro: Callable[..., Result]) -> None:
    result = vetro("test", "app", "-k", "nothing")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: there are no tests that match 'nothing'\nhint: write a class")
    assert vetro("test", "missing").exit_code == 1


def test_required_packages_are_not_tested_themselves(here: Path, app: Path, vetro: Callable[..., Result]) -> None:
    user = TESTS.replace("Namespaces: {=: t,", "Namespaces: {=: u, t: t,").replace("new(Sum)", "new('t.Sum')")
    write_package(here / "user", {"u.SumTest": user}, name="u", extra="Require: {t: '1.0'}\n")
    assert vetro("test", "user").exit_code == 1
    result = vetro("test", "user", "--require", "app")
    assert result.stdout.splitlines()[0].startswith("ok    u.SumTest.testSum")
    assert result.stdout.endswith("\n1 passed, 0 failed\n")


SITE = """\
Namespaces: {=: t, std: io.murano, res: io.murano.resources, conf: io.murano.configuration}
Name: Site
Extends: std:Application
Properties:
  server: {Contract: $.class(res:LinuxMuranoInstance).notNull()}
  version: {Contract: $.string(), Usage: Out}
Methods:
  deploy:
    Body:
      - $.server.deploy()
      - $.version: conf:Linux.runCommand($.server.agent, 'nginx -v').stdout
"""
SITE_TEST = """\
Namespaces: {=: t, test: io.murano.test, res: io.murano.resources}
Name: SiteTest
Extends: test:TestFixtureWithEnvironment
Methods:
  testVersion:
    Body:
      - $server:
          '?': {type: res:LinuxMuranoInstance}
          name: web
          image: 'debian-12-murano'
          flavor: 'm1.small'
      - $site: new(Site, $.environment, server => $server)
      - $.assertEqual([], sentPlans())
      - $site.deploy()
      - $.assertEqual('1.22', $site.version)
      - $plans: sentPlans()
      - $.assertEqual(['web'], $plans.server)
      - $.assertEqual(['nginx -v'], $plans.first().texts.where('nginx' in $).distinct())
  testNothingIsLeft:
    Body:
      - $.assertEqual([], sentPlans())
"""


def test_servers_are_recorded_and_answer_by_a_script(here: Path, vetro: Callable[..., Result]) -> None:
    write_package(here / "site", {"t.Site": SITE, "t.SiteTest": SITE_TEST}, name="t")
    (here / "agents.yaml").write_text('plans: [{server: "web*", script: "/nginx -v/", stdout: "1.22"}]')
    result = vetro("test", "site", "--script", "agents.yaml")
    assert result.exit_code == 0, result.output
    (here / "agents.yaml").write_text('plans: [{server: "*", exitCode: 3, stderr: no such host}]')
    result = vetro("test", "site", "--script", "agents.yaml")
    assert result.exit_code == 1 and "returned error code" in result.output
    assert vetro("test", "site").exit_code == 1  # nothing was said, so nothing was printed


@pytest.mark.parametrize(("lines", "text"), [(set(), ""), ({3}, "3"), ({3, 4, 5, 7}, "3-5, 7"), ({9, 1, 2}, "1-2, 9")])
def test_ranges(lines: set[int], text: str) -> None:
    assert ranges(lines) == text


def test_one_cause_is_printed_once(here: Path, vetro: Callable[..., Result]) -> None:
    head = "Name: {name}\nNamespaces: {{=: t, f: io.murano.test}}\nExtends: {base}\nMethods: "
    helper = head.format(name="Base", base="f:TestFixture") + "{helper: {Body: [$x: nobody()]}}\n"
    tests = head.format(name="One", base="Base") + "{testA: {Body: [$.helper()]}, testB: {Body: [$.helper()]}}\n"
    package = write_package(here / "p", {"t.Base": helper, "t.One": tests})
    said = vetro("test", str(package)).stdout
    assert said.count("error[") == 1
    assert said.count("for the same reason as t.One.testA") == 1
