"""`vetro run`: load packages and a model, call a method, print the resulting model."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any

import click

from vetro.cli import loading, output


def _parse_value(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _arguments(pairs: tuple[str, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"'{pair}' is not of the form name=value", param_hint="--arg")
        made[name] = _parse_value(value)
    return made


@contextlib.contextmanager
def _progress(quiet: bool, what: str) -> Iterator[Any]:
    """A spinner on a terminal; reports appear above it as they come."""
    console = output.stderr()
    if quiet:
        yield lambda text: None
    elif console.is_terminal:
        with console.status(what) as status:
            yield status.update
    else:
        yield lambda text: None


@click.command("run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option("--model", "model_path", required=True, metavar="FILE", help="Object model (JSON or YAML); '-' reads it from standard input.")
@click.option("--method", default="deploy", show_default=True, help="Public method to call.")
@click.option("--object", "object_id", metavar="ID", help="Call it on this object instead of the root.")
@click.option("--arg", "args", multiple=True, metavar="NAME=VALUE", help="Argument of the method; the value is YAML. Repeatable.")
@click.option("--result", is_flag=True, help="Print what the method returned instead of the model.")
@click.option("--json", "as_json", is_flag=True, help="Short for --output json.")
@click.option("--quiet", "-q", is_flag=True, help="Do not show reports and progress.")
@click.option("--seed", default="0", help="Seed of ids and random names: the same seed gives the same run.")
@click.option("--max-seconds", type=float, help="Stop the run after so many seconds.")
@click.option("--max-steps", type=int, help="Stop the run after so many steps.")
@output.output_option("yaml", "json")
def command(
    paths: tuple[str, ...],
    model_path: str,
    method: str,
    object_id: str | None,
    args: tuple[str, ...],
    result: bool,
    as_json: bool,
    quiet: bool,
    seed: str,
    max_seconds: float | None,
    max_steps: int | None,
    output: str,
) -> None:
    """Load packages and an object model, call a method, and print the resulting model.

    PATH is a package folder, an archive, or a folder of packages. A model is what Murano calls one: a mapping with
    'Objects' (or just the root object). Reports of the packages appear on standard error while it runs; standard output
    holds nothing but the resulting model.

    \b
    Examples:
      vetro run ./my.app --model model.yaml
      vetro run ./apps --model model.yaml --method scale --arg count=3 --result
    """
    from vetro.cli import output as out

    chosen = "json" if as_json else output
    given = _arguments(args)
    model = out.read_data(model_path)
    with out.explained():
        packages = loading.load_packages(paths)
    with out.explained(loading.source_finder(packages)), _progress(quiet, f"{method} …") as update:
        data = _run(packages, model, method, object_id, given, result, quiet, seed, max_seconds, max_steps, update)
    out.print_data(data, chosen)


def _run(
    packages: list[Any],
    model: Any,
    method: str,
    object_id: str | None,
    given: dict[str, Any],
    result: bool,
    quiet: bool,
    seed: str,
    max_seconds: float | None,
    max_steps: int | None,
    update: Any,
) -> Any:
    from vetro.muranopl import Engine, Limits
    from vetro.muranopl.effects import InProcessEffects
    from vetro.muranopl.results import plain_result

    defaults = Limits()
    limits = Limits(max_seconds=max_seconds, max_steps=max_steps or defaults.max_steps)
    started = time.monotonic()
    console = output.stderr()

    def report(args: dict[str, Any]) -> None:
        if not quiet:
            level = str(args.get("level") or "info")
            style = {"error": "red", "warning": "yellow"}.get(level, "green")
            console.print(f"[dim]{time.monotonic() - started:7.2f}s[/] [{style}]{level:<7}[/] ", end="")
            console.print(str(args.get("text", "")), markup=False)

    engine = Engine(packages, limits=limits, effects=InProcessEffects(on_report=report), seed=seed)
    session = engine.session()
    try:
        update("loading the model …")
        session.load(as_model(model))
        update(f"running {method} …")
        value = session.call(method, (), given, object_id=object_id)
        if result:
            return plain_result(session, value)
        update("finishing …")
        return session.finalize()
    finally:
        session.close()


def as_model(data: Any) -> dict[str, Any]:
    """A model from what a user wrote: the full form, or just the root object."""
    if not isinstance(data, dict):
        raise click.UsageError("the model must be a mapping with 'Objects', or the root object itself")
    return data if "Objects" in data else {"Objects": data}
