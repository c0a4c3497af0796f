"""What `vetro deploy` is about: which package, which class, which environment, which answers."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Mapping
from typing import Any

from vetro.engine.models import Environment, Suggester
from vetro.engine.models.environment import class_of
from vetro.muranopl.errors import MuranoError

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


def environment_name(class_name: str) -> str:
    """The name for an environment that is made for an application: the last word of its class."""
    word = re.sub(r"[^A-Za-z0-9]+", "-", class_name.rsplit(".", 1)[-1]).strip("-").lower()
    return word or "environment"


def put_application(
    session: Any,
    packages: Iterable[Any],
    environment: Environment,
    type_: Any,
    answers: Mapping[str, Any],
    named: str | None,
) -> tuple[dict[str, Any], dict[str, Any], bool]:
    """Adds an application of class ``type_`` to the environment, or changes the one that is there.

    ``named``: which one, by name or id; an unknown name gives the new application that name. The application, what was
    chosen for it, and whether it is new. Raises `TargetError` when several could be meant, and what `Suggester` raises.
    """
    existing = _existing(environment, type_.name, named)
    if existing is not None:
        _merge(session, type_, existing, answers, "")
        existing["?"]["type"] = f"{type_.name}/{type_.version}@{type_.package.name}"
        return existing, {}, False
    numbers = iter(range(1, 1 << 30))
    prefix = environment.root["name"] if environment.root else "server"
    taken = {str(obj.get("name")) for obj in environment.objects()}

    def server_name() -> str:
        while (name := f"{prefix}-{next(numbers)}") in taken:
            pass
        return name

    suggester = Suggester(session, packages, lambda: secrets.token_hex(16), server_name=server_name)
    made = suggester.suggest(type_, answers)
    if named is not None:
        made.object["?"]["name"] = named
    for application in [*made.applications, made.object]:
        environment.add(application)
    return environment.applications[-1], made.chosen, True


def _existing(environment: Environment, class_name: str, named: str | None) -> dict[str, Any] | None:
    if named is not None:
        found = environment.application(named)
        if found is not None and class_of(found) != class_name:
            raise TargetError(f"'{named}' is of class {class_of(found)}, not {class_name}", hint="give another --app")
        return found
    same = [app for app in environment.applications if class_of(app) == class_name]
    if len(same) > 1:
        names = ", ".join(str(a["?"].get("name") or a.get("name") or a["?"]["id"]) for a in same)
        raise TargetError(f"the environment has {len(same)} applications of class {class_name}",
                          hint=f"say which with --app: {names}; another name adds one")  # fmt: skip
    return same[0] if same else None


def _merge(session: Any, type_: Any, obj: dict[str, Any], answers: Mapping[str, Any], path: str) -> None:
    """Answers over what is there: mappings for objects are merged into them, anything else is replaced.

    Raises `UnknownProperty` for names that a class does not have.
    """
    from vetro.engine.models.suggest import unknown_property

    properties = session.schema(type_.name, f"=={type_.version}", type_.package.name)[""].get("properties", {})
    for name, value in answers.items():
        if name not in properties:
            raise unknown_property(type_.name, path + name, name, properties)
        old = obj.get(name)
        if isinstance(value, Mapping) and isinstance(old, dict) and "?" in old and "?" not in value:
            written, _, package = str(old["?"]["type"]).partition("@")
            class_name, _, version = written.partition("/")
            kind = session.type_for(class_name, version or None, package or None)
            _merge(session, kind, old, value, f"{path}{name}.")
        else:
            obj[name] = value
