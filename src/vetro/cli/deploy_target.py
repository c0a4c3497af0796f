"""What `vetro deploy` is about: which package, which class, which environment, which answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from vetro import muranopl
from vetro.cli import output as out
from vetro.cli.package_paths import extended
from vetro.model.environment import Environment
from vetro.model.header import class_of
from vetro.muranopl.errors import MuranoError
from vetro.packages.yamltree import TreeError, read_documents

APPLICATION = "io.murano.Application"


class TargetError(MuranoError):
    """The command line does not say clearly what to deploy; the hint names the choices."""

    kind = "bad-argument"
    code = "CLI110"


def main_package(packages: Iterable[Any]) -> Any:
    """The application package that the others are there for. Raises `TargetError` when there is none or several."""
    applications = [p for p in packages if p.type == "Application"]
    if not applications:
        raise TargetError("none of the packages is an application", hint="its manifest would say 'Type: Application'")
    required = {name for p in applications for name in p.requirements if name != p.name}
    roots = {p.name for p in applications if p.name not in required}
    if len(roots) == 1:
        (name,) = roots
        return max((p for p in applications if p.name == name), key=lambda p: p.version)
    names = ", ".join(sorted(roots or {p.name for p in applications}))
    raise TargetError("several applications could be deployed", hint=f"choose one with --class: {names}")


def main_class(session: Any, packages: Iterable[Any], wanted: str | None) -> Any:
    """The class to make an object of: ``wanted`` (a class or package name), else that of the main package."""
    known = list(packages)
    if wanted is not None:
        homes = [p for p in known if wanted in p.classes]
        if homes:
            return session.types.in_package(max(homes, key=lambda p: p.version), wanted)
        named = [p for p in known if p.name == wanted]
        if not named:
            names = ", ".join(sorted(n for p in known for n in p.classes))
            raise TargetError(f"no package has a class '{wanted}'", hint=f"there are {names}")
        known = named
    package = main_package(known)
    if package.name in package.classes:
        return session.types.in_package(package, package.name)
    kinds = [session.types.in_package(package, name) for name in sorted(package.classes)]
    applications = [k for k in kinds if any(a.name == APPLICATION for a in k.ancestors)]
    if len(applications) == 1:
        return applications[0]
    names = ", ".join(k.name for k in applications or kinds)
    raise TargetError(f"package {package.name} has no class of its own name", hint=f"choose one with --class: {names}")


def main_type(packages: Iterable[Any], named: Iterable[Any], wanted: str | None) -> Any:
    """The same of packages alone: without ``wanted`` that of the ``named`` ones, which are among them.

    Reads class files; code of them runs in task processes only.
    """
    every = list(packages)
    known, extensions = extended(every)
    session = muranopl.Engine(known, natives=extensions.natives).session()
    return main_class(session, named if wanted is None else every, wanted)


def needed_packages(packages: Iterable[Any], type_: Any, environment: Environment) -> list[Any]:
    """Those that the environment needs: the packages of its objects' classes, and all that they require.

    Packages of formats before 1.3 that state no requirements may need any class: then it is all of them.
    """
    known = list(packages)
    by_name: dict[str, list[Any]] = {}
    for package in known:
        by_name.setdefault(package.name, []).append(package)
    classes = {class_of(obj) for obj in environment.objects()} | {type_.name}
    wanted = [package.name for package in known if classes & set(package.classes)]
    chosen: dict[str, None] = {}
    while wanted:
        name = wanted.pop()
        if name in chosen or name not in by_name:
            continue
        chosen[name] = None
        for package in by_name[name]:
            if tuple(package.format)[:2] < (1, 3) and not package.requirements:
                return known
            wanted.extend(package.requirements)
    return [package for package in known if package.name in chosen]


def say_chosen(type_: Any, applied: Mapping[str, Any]) -> None:
    """Tells what was chosen for a new application, and what its form would have set."""
    for key, value in applied["chosen"].items():
        out.note(f"chosen: {key} = {value}")
    left = left_to_the_form(type_, applied)
    if left:
        out.note(
            f"left out, though the form of {type_.package.name} sets it: {', '.join(left)} (--set NAME=VALUE gives it)"
        )


def environment_name(class_name: str) -> str:
    """The name for an environment that is made for an application: the last word of its class."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", class_name.rsplit(".", 1)[-1]).strip("-").lower()
    return word or "environment"


def left_to_the_form(type_: Any, applied: Mapping[str, Any]) -> list[str]:
    """Properties without a default that the UI definition of a package sets, and this new object leaves out."""
    package, text = type_.package, getattr(type_.package, "ui", None)
    if not applied["new"] or not text or package.name != type_.name:
        return []
    open_ = {name for name, prop in type_.properties.items() if not prop.has_default}
    return [name for name in _template_keys(text) if name in open_ and name not in applied["object"]]


def _template_keys(text: str) -> list[str]:
    """The names under Application in a definition; empty where they are not written there. Evaluates nothing."""
    try:
        documents = read_documents(text, "UI/ui.yaml")
    except TreeError:  # who reads the definition says what is wrong with it
        return []
    pairs = documents[0].pairs if documents else None
    template = next((value for key, value in pairs or () if key.text == "Application"), None)
    return [key.text for key, _ in (template.pairs if template is not None else None) or () if key.text != "?"]
