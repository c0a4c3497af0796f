"""`vetro test`: the MuranoPL tests of packages."""

from __future__ import annotations

import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from vetro.cli import output as out
from vetro.cli.client.connect import server
from vetro.cli.client.contexts import chosen, context_option
from vetro.cli.commands.memory import memory_option
from vetro.cli.package_paths import extended, load_packages, source_finder
from vetro.cli.problems import with_position
from vetro.muranopl.tools.render import code_of, message_of


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "--require",
    "others",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="Packages that the tested ones need; their own tests are not run. Repeatable.",
)
@click.option("-k", "pattern", metavar="TEXT", help="Run only tests whose 'Class.method' contains TEXT.")
@click.option("--coverage", is_flag=True, help="Show which lines of MuranoPL the tests ran.")
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="With --coverage: fail when less is covered.",
)
@click.option("-x", "--stop", is_flag=True, help="Stop at the first failure.")
@click.option(
    "--script",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="How the recorded servers answer plans, as of 'vetro env create --driver record --script'.",
)
@click.option("--list", "only_list", is_flag=True, help="List the tests, run none.")
@context_option
@memory_option(2048)
@out.output_option("text", "json", "yaml")
def command(
    paths: tuple[str, ...],
    others: tuple[str, ...],
    pattern: str | None,
    coverage: bool,
    fail_under: float | None,
    stop: bool,
    script: str | None,
    only_list: bool,
    output: str,
) -> None:
    """Run the test fixtures of the packages at PATH.

    A fixture is a class that extends io.murano.test.TestFixture; its tests are methods named testSomething. Each test
    runs on its own, with a clock that does not wait, and a cloud of its own that only records: servers exist at once
    and answer plans as --script says. Packages that are required and not named here come from the catalog of the server
    in force ('vetro context'). The exit status is 1 when a test fails, when a class cannot be loaded, and when
    there are no tests at all.

    \b
    Examples:
      vetro test ./my.app
      vetro test ./my.app -k Scale --coverage
      vetro test ./my.app --coverage --fail-under 90
      vetro test ./my.app --script agents.yaml
    """
    from vetro.muranopl.tools.fixtures import TestId, find_tests, test_engine
    from vetro.muranopl.tools.linetrace import LineTracer

    if fail_under is not None and not coverage:
        raise click.UsageError("--fail-under needs --coverage")
    with out.explained():
        packages = load_packages(paths)
        more = load_packages(others)
        more += _from_catalog([*packages, *more])
    run = _Run(source_finder([*packages, *more]), as_text=output == "text")
    tests: list[TestId] = []
    with out.explained(run.sources):
        known, extensions = extended([*packages, *more])
        engine = test_engine(known, natives=extensions.natives)
        for found in find_tests(engine, packages):
            if not isinstance(found, TestId):
                run.broken(found[1], found[2])
            elif pattern is None or pattern in str(found):
                tests.append(found)
    if only_list:
        _print_list(tests, output)
        sys.exit(out.FAILED if run.failed else 0)
    if not tests and not run.failed:
        out.fail(
            "there are no tests" + (f" that match '{pattern}'" if pattern else ""),
            "write a class that extends io.murano.test.TestFixture, with methods named testSomething",
        )
    tracer = LineTracer() if coverage else None
    run.tests(engine, tests, tracer, stop, script)
    covered = None
    if tracer is not None:
        with out.explained(run.sources):
            covered = run.coverage(engine, packages, tracer)
    run.summary(len(tests), output)
    if run.failed:
        sys.exit(out.FAILED)
    if covered is not None and fail_under is not None and covered < fail_under:
        out.fail(f"coverage is {covered:.1f} %, --fail-under asks for {fail_under:g} %")


def _from_catalog(known: list[Any]) -> list[Any]:
    """What these packages require and the server in force has; their files stay until the command ends."""
    from vetro.cli.package_transfer import download_folder, lacking, required

    if chosen() is None or not lacking(known):
        return []
    temporary = tempfile.TemporaryDirectory(prefix="vetro-packages-")
    folder = download_folder(Path(click.get_current_context().with_resource(temporary)))
    with server() as client:
        return load_packages([str(path) for path in required(client, known, folder)])


def _print_list(tests: list[Any], output: str) -> None:
    if output != "text":
        out.print_data([str(test) for test in tests], output)
        return
    for test in tests:
        out.echo(str(test))


class _Run:
    """Results as they come: printed at once as text, collected for JSON and YAML."""

    def __init__(self, sources: Any, *, as_text: bool) -> None:
        self.sources = sources
        self.passed = self.failed = 0
        self._as_text = as_text
        #: What was printed already, and under which name.
        self._printed: dict[tuple[Any, ...], str] = {}
        self._data: dict[str, Any] = {"tests": [], "broken": []}

    def broken(self, name: str, error: BaseException) -> None:
        """A class that cannot be loaded: its tests are lost, so the run has failed."""
        self.failed += 1
        self._data["broken"].append({"class": name, "error": self._described(error)})
        if self._as_text:
            out.echo(f"{out.style('FAIL', fg='red')}  {name} cannot be loaded")
            self._print_once(name, error)

    def tests(self, engine: Any, tests: list[Any], tracer: Any, stop: bool, script: str | None) -> None:
        """Runs the tests, each with a recorded cloud of its own."""
        from vetro.engine.recorded import RecordedCloud
        from vetro.muranopl.tools.fixtures import run_test

        more = {} if script is None else {"settings": {"script": script}}
        for test in tests:
            with ExitStack() as stack:
                if tracer is not None:
                    stack.enter_context(tracer.active())
                opened: list[RecordedCloud] = []

                def cloud(stack: ExitStack = stack, opened: list[RecordedCloud] = opened) -> Any:
                    opened.append(stack.enter_context(RecordedCloud("", **more)))
                    return opened[0].effects

                result = run_test(engine, test, cloud, lambda opened=opened: opened[0].plans())  # type: ignore[misc]
            self._show(result)
            if result.error is None:
                self.passed += 1
                continue
            self.failed += 1
            if stop:
                return

    def _show(self, result: Any) -> None:
        row = {"test": str(result.test), "passed": result.passed, "seconds": round(result.seconds, 6)}
        if result.error is not None:
            row |= {"error": self._described(result.error), "output": result.output}
        self._data["tests"].append(row)
        if not self._as_text:
            return
        mark = out.style("ok  ", fg="green") if result.passed else out.style("FAIL", fg="red")
        out.echo(f"{mark}  {result.test}  {out.style(f'{result.seconds * 1000:.1f} ms', dim=True)}")
        if result.error is not None:
            for line in result.output:
                out.echo(f"      {line}")
            self._print_once(str(result.test), result.error)

    def _print_once(self, name: str, error: BaseException) -> None:
        """Prints an error; of one that was printed already, under which name."""
        key = tuple(self._described(error).values())
        before = self._printed.setdefault(key, name)
        if key[-1] is not None and before != name:
            out.echo(f"      for the same reason as {before}")
        else:
            out.print_error(error, self.sources, err=False)

    def _described(self, error: BaseException) -> dict[str, Any]:
        place = with_position(error)
        return {"code": code_of(error), "message": message_of(error), "place": place and out.shown(str(place))}

    def coverage(self, engine: Any, packages: list[Any], tracer: Any) -> float:
        """Shows files with the lines that did not run; the total in percent."""
        from vetro.muranopl.tools.linetrace import covered_files, ranges

        files = covered_files(engine.session(), packages, tracer.executed)
        total = sum(len(f.lines) for f in files)
        missed = sum(len(f.missing) for f in files)
        percent = 100.0 * (total - missed) / total if total else 100.0
        if self._as_text:
            rows = [
                (out.shown(f.name), len(f.lines), len(f.missing), _percent(f.percent), ranges(f.missing)) for f in files
            ]
            out.print_table(
                ("file", "lines", "missed", "covered", "missing"),
                [*rows, ("total", total, missed, _percent(percent), "")],
            )
        self._data["coverage"] = {
            "percent": round(percent, 2),
            "files": [
                {
                    "file": out.shown(f.name),
                    "lines": len(f.lines),
                    "percent": round(f.percent, 2),
                    "missing": sorted(f.missing),
                }
                for f in files
            ],
        }
        return percent

    def summary(self, count: int, output: str) -> None:
        """The last line, or all data."""
        left = count - self.passed - self.failed + len(self._data["broken"])
        if not self._as_text:
            out.print_data(self._data | {"passed": self.passed, "failed": self.failed, "not_run": left}, output)
            return
        words = f"{self.passed} passed, {self.failed} failed" + (f", {left} not run" if left else "")
        out.echo(out.style(words, fg="red" if self.failed else "green"))


def _percent(value: float) -> str:
    """Whole percents, rounded down: 100 % means all of it."""
    return f"{int(value)} %"
