"""`vetro schema`: JSON Schemas of a class."""

from __future__ import annotations

import click

from vetro import muranopl
from vetro.cli import output as out
from vetro.cli.commands.memory import memory_option
from vetro.cli.compile_cache import code_cache
from vetro.cli.name_completion import classes
from vetro.cli.package_paths import extended, load_packages, source_finder, suggestion_of_class
from vetro.muranopl.errors import ClassNotFound, PackageForClassNotFound


@click.command("schema")
@click.argument("path", type=click.Path())
@click.argument("class_name", metavar="CLASS", shell_complete=classes)
@click.argument("methods", nargs=-1, metavar="[METHOD]...")
@click.option(
    "--version",
    metavar="SPEC",
    help="Version of the package, for example '1.2' or '>=1,<2'.  [default: the newest at PATH]",
)
@click.option(
    "--require",
    "others",
    multiple=True,
    metavar="PATH",
    type=click.Path(),
    help="More packages that the class needs. Repeatable.",
)
@memory_option()
@out.output_option("json", "yaml")
def command(
    path: str, class_name: str, methods: tuple[str, ...], version: str | None, others: tuple[str, ...], output: str
) -> None:
    """Print the JSON Schemas of CLASS in the packages at PATH.

    Without METHOD: the class itself (under '') and its model builders. With METHODs: only these; '' is the class.

    \b
    Examples:
      vetro schema ./my.app com.example.Web
      vetro schema ./my.app com.example.Web scale
      vetro schema ./my.app com.example.Web '' -o yaml
    """
    with out.explained():
        packages = load_packages((path,))
        more = load_packages(others)
    with out.explained(source_finder([*packages, *more])):
        known = [*packages, *more]
        everything, extensions = extended(known)
        session = muranopl.Engine(everything, natives=extensions.natives, code_cache=code_cache(known)).session()
        homes = sorted((p for p in packages if class_name in p.classes), key=lambda p: p.version)
        home = homes[-1] if homes else None
        spec = version or (f"=={home.version}" if home is not None else None)
        try:
            data = session.schema(class_name, spec, home.name if home is not None else None, list(methods) or None)
        except (ClassNotFound, PackageForClassNotFound) as error:
            if home is None and f"'{class_name}'" in error.message:
                error.hint = suggestion_of_class(class_name, packages) or error.hint
            raise
    missing = [m for m in methods if m not in data]
    if missing:
        listed = ", ".join(f"'{m}'" for m in missing)
        out.fail(f"class {class_name} has no public method {listed}", "only public methods have a schema")
    out.print_data(data, output)
