"""`vetro schema`: JSON Schemas of a class."""

from __future__ import annotations

import click

from vetro.cli import loading
from vetro.cli import output as out


@click.command("schema")
@click.argument("path")
@click.argument("class_name", metavar="CLASS")
@click.argument("methods", nargs=-1, metavar="[METHOD]...")
@click.option("--version", "version", help="Version or version spec of the class; default: the one in PATH.")
@click.option("--require", "others", multiple=True, metavar="PATH", help="More packages that the class needs. Repeatable.")
@out.output_option("json", "yaml")
def command(
    path: str, class_name: str, methods: tuple[str, ...], version: str | None, others: tuple[str, ...], output: str
) -> None:
    """Print the JSON Schema of CLASS in the package at PATH.

    Without METHOD: the class itself (under '') and its model builders. With METHODs: only these; '' is the class.

    \b
    Examples:
      vetro schema ./my.app com.example.Web
      vetro schema ./my.app com.example.Web scale
    """
    with out.explained():
        packages = loading.load_packages((path, *others))
    with out.explained(loading.source_finder(packages)):
        from vetro.muranopl import Engine

        session = Engine(packages).session()
        home = next((p for p in packages if class_name in p.classes), None)
        spec = version or (f"=={home.version}" if home is not None else "*")
        data = session.schema(class_name, spec, home.name if home is not None else None, list(methods) or None)
    out.print_data(data, output)
