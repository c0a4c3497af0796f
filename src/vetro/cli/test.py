"""`vetro test`: the MuranoPL tests of packages."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import click

from vetro.cli import loading
from vetro.cli import output as out


@click.command("test")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("-k", "pattern", metavar="TEXT", help="Run only tests whose 'Class.method' contains TEXT.")
@click.option("--coverage", is_flag=True, help="Show which lines of MuranoPL the tests ran.")
@click.option("--fail-under", type=float, metavar="PERCENT", help="With --coverage: fail when less is covered.")
@click.option("-x", "--stop", is_flag=True, help="Stop at the first failure.")
@click.option("--list", "only_list", is_flag=True, help="List the tests, run none.")
def command(
    paths: tuple[str, ...], pattern: str | None, coverage: bool, fail_under: float | None, stop: bool, only_list: bool
) -> None:
    """Run the test fixtures of the packages at PATH.

    A fixture is a class that extends io.murano.test.TestFixture; its tests are methods named testSomething. Each test
    runs in a session of its own with a clock that does not wait.

    \b
    Examples:
      vetro test ./my.app
      vetro test ./my.app -k Scale --coverage
    """
    from vetro.muranopl.fixtures import TestId, find_tests, run_test, test_engine
    from vetro.muranopl.linetrace import LineTracer

    with out.explained():
        packages = loading.load_packages(paths)
    sources = loading.source_finder(packages)
    engine = test_engine(packages)
    console = out.stdout()
    tests: list[TestId] = []
    broken = 0
    with out.explained(sources):
        for found in find_tests(engine, packages):
            if isinstance(found, TestId):
                if pattern is None or pattern in str(found):
                    tests.append(found)
            else:
                broken += 1
                _show(found[2], sources, f"{found[1]} cannot be loaded")
    if only_list:
        for test in tests:
            click.echo(str(test))
        sys.exit(out.FAILED if broken else 0)
    if not tests and not broken:
        out.fail(
            "there are no tests" + (f" that match '{pattern}'" if pattern else ""),
            "write a class that extends io.murano.test.TestFixture, with methods named testSomething",
        )
    tracer = LineTracer() if coverage else None
    failed = 0
    for test in tests:
        with tracer.active() if tracer is not None else nullcontext():
            result = run_test(engine, test)
        mark = "[green]ok[/]  " if result.passed else "[red]FAIL[/]"
        console.print(f"{mark} {test} [dim]{result.seconds * 1000:.1f} ms[/]")
        if result.error is not None:
            failed += 1
            for line in result.output:
                console.print(f"     {line}", markup=False)
            _show(result.error, sources, None)
            if stop:
                break
    covered = _coverage(engine, packages, tracer) if tracer is not None else None
    console.print(f"{len(tests) - failed} passed, {failed + broken} failed")
    if failed or broken:
        sys.exit(out.FAILED)
    if covered is not None and fail_under is not None and covered < fail_under:
        out.fail(f"coverage is {covered:.1f} %, --fail-under asks for {fail_under:g} %")


def _show(error: BaseException, sources: Any, title: str | None) -> None:
    from vetro.cli.problems import render_error

    if title:
        out.stdout().print(title, style="red", markup=False)
    out.stdout().print(render_error(error, sources, color=out.stdout().is_terminal), markup=False)


def _coverage(engine: Any, packages: list[Any], tracer: Any) -> float:
    """Prints a table of files with the lines that did not run; the total in percent."""
    from vetro.muranopl.fixtures import FIXTURE
    from vetro.muranopl.linetrace import executable_lines

    session = engine.session()
    base = session.types.core(FIXTURE)
    known: dict[str, set[int]] = {}
    for package in packages:
        for name in package.classes:
            kind = session.types.in_package(package, name)
            if kind.derives_from(base):
                continue
            for file, lines in executable_lines(kind).items():
                known.setdefault(file, set()).update(lines)
    rows = []
    total = hit = 0
    for file, lines in sorted(known.items()):
        ran = lines & tracer.executed.get(file, set())
        total += len(lines)
        hit += len(ran)
        share = 100.0 * len(ran) / len(lines) if lines else 100.0
        rows.append((file, len(lines), len(lines) - len(ran), f"{share:.0f} %", ranges(lines - ran)))
    percent = 100.0 * hit / total if total else 100.0
    rows.append(("total", total, total - hit, f"{percent:.0f} %", ""))
    out.print_table(("file", "lines", "missed", "covered", "missing"), rows, "no code to cover")
    return percent


def ranges(lines: set[int]) -> str:
    """``3, 5-7`` for a set of lines."""
    parts: list[str] = []
    ordered = sorted(lines)
    start = previous = None
    for line in [*ordered, None]:
        if previous is not None and line == previous + 1:
            previous = line
            continue
        if start is not None:
            parts.append(str(start) if start == previous else f"{start}-{previous}")
        start = previous = line
    return ", ".join(parts)
