"""`vetro run`: load packages and a model, call a method, print the resulting model."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import click

from vetro import muranopl
from vetro.cli import output as out
from vetro.cli.arguments import named_values, read_data
from vetro.cli.commands.memory import memory_option
from vetro.cli.compile_cache import code_cache
from vetro.cli.package_paths import extended, load_packages, source_finder, suggestion_of_class
from vetro.cli.progress import Progress
from vetro.muranopl.errors import MethodNotExposed, MethodNotFound, PackageForClassNotFound
from vetro.yaql.didyoumean import suggest


@click.command("run")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...", type=click.Path())
@click.option(
    "-m",
    "--model",
    "model_path",
    required=True,
    metavar="FILE",
    type=click.Path(),
    help="Object model (JSON or YAML); '-' reads it from standard input.",
)
@click.option("--method", metavar="NAME", default="deploy", show_default=True, help="Method to call.")
@click.option(
    "--internal", is_flag=True, help="Call it as the engine does: it need not be public. Always so for deploy."
)
@click.option("--object", "object_id", metavar="ID", help="Call it on this object instead of the root.")
@click.option(
    "--arg", "args", multiple=True, metavar="NAME=VALUE", help="Argument of the method; the value is YAML. Repeatable."
)
@click.option("--result", is_flag=True, help="Print what the method returned instead of the model.")
@click.option("--json", "as_json", is_flag=True, help="Short for --output json.")
@out.output_option("yaml", "json")
@click.option("-q", "--quiet", is_flag=True, help="Do not show reports and progress.")
@click.option("-v", "--verbose", is_flag=True, help="Show the log lines of the packages, too.")
@click.option(
    "--seed",
    metavar="TEXT",
    default="0",
    show_default=True,
    help="Where ids and random names come from: the same seed gives the same run.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop the run after so much time.",
)
@memory_option(2048)
@click.option("--max-steps", type=click.IntRange(min=1), metavar="STEPS", help="Stop the run after so many steps.")
def command(
    paths: tuple[str, ...],
    model_path: str,
    method: str,
    internal: bool,
    object_id: str | None,
    args: tuple[str, ...],
    result: bool,
    as_json: bool,
    quiet: bool,
    verbose: bool,
    seed: str,
    max_seconds: float | None,
    max_steps: int | None,
    output: str,
) -> None:
    """Load packages and an object model, call a method, and print the resulting model.

    PATH is a package folder, an archive, or a folder of packages. The model is a mapping with 'Objects', or just the
    root object. Reports of the packages appear on standard error as they come; standard output holds nothing but the
    resulting model, which can be the model of the next run. A model whose 'Objects' is null removes what
    'ObjectsCopy' holds.

    \b
    Examples:
      vetro run ./my.app --model model.yaml
      vetro run ./apps -m model.yaml --json > deployed.json
      vetro run ./apps -m deployed.json --method scale --arg count=3 --result
      cat model.yaml | vetro run ./my.app -m -
    """
    given = named_values(args, "--arg")
    model = as_model(read_data(model_path), "standard input" if model_path == "-" else model_path)
    with out.explained():
        packages = load_packages(paths)
    with out.explained(source_finder(packages)), Progress(quiet=quiet, verbose=verbose) as progress:
        session = _session(packages, progress, seed, max_seconds, max_steps)
        try:
            public_only = not internal and method != "deploy"
            data = _run(session, model, method, object_id, given, public_only, result, progress)
        except (MethodNotFound, MethodNotExposed, PackageForClassNotFound) as error:
            error.hint = _hint(error, session, packages, method, object_id)
            raise
        finally:
            session.close()
    out.print_data(data, "json" if as_json else output)


def _session(packages: list[Any], progress: Any, seed: str, max_seconds: float | None, max_steps: int | None) -> Any:
    from vetro.muranopl.runtime.effects import InProcessEffects

    defaults = muranopl.Limits()
    limits = muranopl.Limits(max_seconds=max_seconds, max_steps=max_steps or defaults.max_steps)
    effects = InProcessEffects({"log": progress.log}, on_report=progress.report)
    cache = code_cache(packages)
    known, extensions = extended(packages)
    extensions.register_effects(effects)
    natives = extensions.natives
    return muranopl.Engine(
        known, natives=natives, limits=limits, effects=effects, seed=seed, code_cache=cache
    ).session()


def _run(
    session: Any,
    model: Mapping[str, Any],
    method: str,
    object_id: str | None,
    given: Mapping[str, Any],
    public_only: bool,
    result: bool,
    progress: Any,
) -> Any:
    from vetro.muranopl.objects.results import plain_result

    progress.step("loading the model")
    root = session.load(model)
    progress.step("removing what the model no longer has")
    session.cleanup()
    if root is not None:
        progress.step(f"running {method}")
        value = session.call(method, (), given, object_id=object_id, public_only=public_only)
        if result:
            return plain_result(session, value)
    progress.step("finishing")
    return session.finalize()


def _hint(error: Any, session: Any, packages: list[Any], method: str, object_id: str | None) -> str | None:
    """What to do about a method that cannot be called from here, or about a class that nobody has."""
    if error.kind == "package-not-found":
        named = re.search(r"class '([^']+)'", error.message)
        missing = named is not None and all(named[1] not in p.classes for p in packages)
        return suggestion_of_class(named[1], packages) if named is not None and missing else error.hint
    if getattr(error, "murano_frames", ()):  # not our call, but one in the code of a package
        return str(error.hint) if error.hint else None
    obj = session.root if object_id is None else session.store.get(object_id)
    public = sorted(n for n, m in obj._type.methods.items() if m.public) if obj is not None else []
    if obj is not None and error.kind == "method-not-found":
        close = suggest(method, obj._type.methods)
        if close:
            return f"did you mean '{close}'?"
    listed = f"public methods: {', '.join(public)}" if public else "the class has no public methods"
    return f"{listed}; --internal calls others, too" if error.kind == "not-an-action" else listed


def as_model(data: Any, name: str) -> Mapping[str, Any]:
    """A model from what a user wrote: the full form, or just the root object. Fails the command for anything else."""
    hint = "write a mapping with 'Objects', or the root object: a mapping with '?: {type: ..., id: ...}'"
    if not isinstance(data, dict):
        what = "is empty" if data is None else "is a list" if isinstance(data, list) else f"is just {data!r:.40}"
        out.fail(f"{name} holds no object model: it {what}", hint)
    if "Objects" not in data and "ObjectsCopy" not in data:
        if "?" not in data:
            out.fail(f"{name} holds no object model: it has neither 'Objects' nor '?'", hint)
        return {"Objects": data}
    for key in ("Objects", "ObjectsCopy"):
        value = data.get(key)
        if value is not None and not (isinstance(value, dict) and isinstance(value.get("?"), dict)):
            out.fail(f"{name} holds no object model: '{key}' is no object", hint)
    for key, kind, what in (("Attributes", list, "list"), ("SystemData", dict, "mapping")):
        if data.get(key) is not None and not isinstance(data[key], kind):
            out.fail(f"{name} holds no object model: '{key}' is no {what}", hint)
    if data.get("Objects") is None and data.get("ObjectsCopy") is None:
        out.fail(f"{name} holds an empty object model", hint)
    return data
