"""`vetro explain`: what a class is for and what its members take, in words.

The words are those of the pages (`vetro.server.web.value_words`), in English: terminals have no language.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from django.conf import settings

from vetro import muranopl
from vetro.cli import output as out
from vetro.cli.commands.memory import memory_option
from vetro.cli.compile_cache import code_cache
from vetro.cli.name_completion import classes
from vetro.cli.package_paths import extended, load_packages, source_finder, suggestion_of_class
from vetro.diagnostics import Text
from vetro.library import core_packages
from vetro.muranopl.contracts.model import ContractExpression, ContractList, ContractMap, OfClass, StepName
from vetro.muranopl.contracts.words import text_of
from vetro.muranopl.declarations.tree import NO_DEFAULT
from vetro.muranopl.errors import ClassNotFound, PackageForClassNotFound
from vetro.muranopl.tools.inspect import inspect_class
from vetro.muranopl.tools.usage import users_of
from vetro.server.web import value_words
from vetro.yaql.didyoumean import suggest

#: Uses that the text names.
_USES = 12


@click.command("explain")
@click.argument("name", metavar="CLASS[.MEMBER]", shell_complete=classes)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path())
@memory_option()
@out.output_option("text", "json", "yaml")
def command(name: str, paths: tuple[str, ...], output: str) -> None:
    """Explain CLASS, or one property or method of it: what it takes, defaults, who uses it.

    Classes are those of the packages at PATHs, of this folder without any, and of the standard packages.

    \b
    Examples:
      vetro explain com.example.Web ./my.app
      vetro explain com.example.Web.instances ./my.app
      vetro explain io.murano.resources.Instance.flavor -o json
    """
    if not settings.configured:  # the words are looked up by Django, which has to know that there is one language
        settings.configure(USE_I18N=False)
    with out.explained():
        packages = load_packages(paths) if paths else _here()
    with out.explained(source_finder(packages)):
        everything, extensions = extended(packages)
        engine = muranopl.Engine(everything, natives=extensions.natives, code_cache=code_cache(packages))
        session = engine.session()
        try:
            found, member = _found(session, name, packages)
            told = _of_class(session, found, [*everything, *core_packages()])
        finally:
            session.close()
    if member:
        chosen = [one for one in (*told["properties"], *told["methods"]) if one["name"] == member]
        if not chosen:
            names = sorted(one["name"] for one in (*told["properties"], *told["methods"]))
            close = suggest(member, names)
            hint = f"did you mean '{close}'?" if close else f"it has {', '.join(names)}"
            out.fail(f"class {told['name']} has no property or method '{member}'", hint)
        told = {"class": told["name"], **chosen[0]}
    if output != "text":
        out.print_data(told, output)
    elif member:
        _print_member(told)
    else:
        _print_class(told)


def _here() -> list[Any]:
    """The package that this folder is, or those in folders of it; none where there are none."""
    folder = Path.cwd()
    named = [folder] if (folder / "manifest.yaml").exists() else [one.parent for one in folder.glob("*/manifest.yaml")]
    return load_packages(str(one) for one in sorted(named))


def _found(session: Any, name: str, packages: list[Any]) -> tuple[Any, str]:
    """The class, and the member that is meant; '' for the class itself. Raises what says that there is none."""
    try:
        return _newest(session, name, packages), ""
    except (ClassNotFound, PackageForClassNotFound) as error:
        owner, _, member = name.rpartition(".")
        try:
            return _newest(session, owner, packages), member
        except (ClassNotFound, PackageForClassNotFound):
            where = Text("say where its package is: vetro explain {name} PATH", name=name)
            error.hint = suggestion_of_class(name, packages) or where
            raise error from None


def _newest(session: Any, name: str, packages: list[Any]) -> Any:
    """The class, of the newest of these packages that has it."""
    homes = sorted((package for package in packages if name in package.classes), key=lambda package: package.version)
    if not homes:
        return session.run(lambda: session.type_for(name))
    return session.run(lambda: session.type_by_name(name, f"=={homes[-1].version}", homes[-1].name))


def _of_class(session: Any, of: Any, packages: list[Any]) -> dict[str, Any]:
    """The class as plain data: {name, package, version, description, extends, properties, methods, used_by}."""
    version, package = f"=={of.package.version}", of.package.name
    about = inspect_class(session, of.name, version, package)
    public = [method.name for method in about.methods if method.public]
    schemas = session.schema(of.name, version, package, ["", *public], form=True)
    own = schemas.get("", {})
    shown = own.get("properties", {})
    properties = []
    for item in about.properties:
        declared = of.properties[item.name].decl
        properties.append(
            {
                "name": item.name,
                "usage": item.usage,
                **_value(declared, shown.get(item.name, {})),
                "declared_in": item.declared_in,
            }
        )
    methods = []
    for method in about.methods:
        if method.name.startswith("."):
            continue
        decl = of.methods[method.name].decl
        schema = schemas.get(method.name, {})
        told = schema.get("properties", {})
        arguments = (
            [] if decl is None else [{"name": a.name, **_value(a, told.get(a.name, {}))} for a in decl.arguments]
        )
        methods.append(
            {
                "name": method.name,
                "usage": method.usage,
                "public": method.public,
                "description": _text(schema),
                "arguments": arguments,
                "declared_in": method.declared_in,
            }
        )
    return {
        "name": about.name,
        "package": about.package,
        "version": about.version,
        "title": str(own.get("title") or ""),
        "description": _text(own),
        "extends": list(about.parents),
        "properties": properties,
        "methods": methods,
        "used_by": [{"class": use.by, "member": use.member} for use in users_of(session, packages, about.name)],
    }


def _value(declared: Any, schema: Mapping[str, Any]) -> dict[str, Any]:
    """What a property or argument takes; ``takes`` is '' where only the contract says it."""
    default = None if declared.default is NO_DEFAULT else text_of(declared.default)
    chain = declared.contract.chain if isinstance(declared.contract, ContractExpression) else None
    return {
        "title": str(schema.get("title") or ""),
        "description": _text(schema),
        "takes": value_words.of_schema(schema or _shape(declared.contract)),
        "contract": text_of(declared.contract),
        "default": default,
        "required": default is None and chain is not None and not chain.nullable,
    }


def _shape(contract: Any) -> dict[str, Any]:
    """As much of a schema as words need, of a contract that no form is made of."""
    if isinstance(contract, ContractList):
        return {"type": "array", "items": _shape(contract.items[0]) if contract.items else {}}
    if isinstance(contract, ContractMap):
        return {"type": "object", "properties": {str(key): _shape(item) for key, item in contract.entries}}
    chain = contract.chain if isinstance(contract, ContractExpression) else None
    named = [step.name for step in chain.steps if isinstance(step, OfClass) and step.name] if chain is not None else []
    if named:
        return {"muranoType": named[-1].rpartition(":")[2]}
    kinds = {StepName.INT: "integer", StepName.STRING: "string", StepName.BOOL: "boolean"}
    kind = kinds.get(chain.kind) if chain is not None and chain.kind is not None else None
    return {} if kind is None else {"type": kind}


def _text(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description") or schema.get("helpText") or "")


def _print_class(told: Mapping[str, Any]) -> None:
    title = f" - {told['title']}" if told["title"] else ""
    out.echo(out.style(told["name"], bold=True) + title)
    parents = f", extends {', '.join(told['extends'])}" if told["extends"] else ""
    out.echo(f"of {told['package']} {told['version']}{parents}")
    if told["description"]:
        out.echo(f"\n{told['description']}")
    if told["properties"]:
        out.echo("\n" + out.style("Properties", bold=True))
        for item in told["properties"]:
            _print_value(item, item["usage"])
    methods = [method for method in told["methods"] if method["public"] or method["usage"] == "Action"]
    if methods:
        out.echo("\n" + out.style("Actions and public methods", bold=True))
        for method in methods:
            _print_method(method)
    if hidden := len(told["methods"]) - len(methods):
        out.echo(f"  ({out.plural(hidden, 'method')} more for code of packages: -o json)")
    out.echo("\n" + out.style("Used by", bold=True))
    uses = [one["class"] + (f".{one['member']}" if one["member"] else " (extends it)") for one in told["used_by"]]
    for use in uses[:_USES]:
        out.echo(f"  {use}")
    if not uses:
        out.echo("  nothing here")
    if len(uses) > _USES:
        out.echo(f"  and {len(uses) - _USES} more")


def _print_member(told: Mapping[str, Any]) -> None:
    out.echo(f"{told['class']}." + out.style(told["name"], bold=True) + f"  (declared in {told['declared_in']})")
    if "arguments" in told:
        _print_method(told)
    else:
        _print_value(told, told["usage"])
        out.echo(f"    contract: {told['contract']}")


def _print_method(method: Mapping[str, Any]) -> None:
    names = ", ".join(argument["name"] for argument in method["arguments"])
    out.echo(f"  {out.style(method['name'], bold=True)}({names})  {method['usage'].lower()}")
    if method["description"]:
        out.echo(f"    {method['description']}")
    for argument in method["arguments"]:
        _print_value(argument, "", 4)


def _print_value(item: Mapping[str, Any], usage: str, indent: int = 2) -> None:
    """One line of what it takes, one of what it is for."""
    takes = item["takes"] or item["contract"]
    end = "required" if item["required"] else "" if item["default"] is None else f"default {item['default']}"
    if usage in ("Out", "Runtime", "Static", "Config"):
        end = "" if usage != "Config" else "from the configuration"
        takes = f"{takes}; set by its code" if usage != "Config" else takes
    space = " " * indent
    out.echo(f"{space}{out.style(item['name'], bold=True)}: {takes}" + (f" ({end})" if end else ""))
    said = item["description"] or item["title"]
    if said:
        out.echo(f"{space}  {said}")
