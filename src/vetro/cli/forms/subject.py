"""Which form `vetro form` is about: the definition of a package, a class, an application that is there."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vetro.cli import output as out
from vetro.cli.deploy_target import TargetError, main_package
from vetro.cli.package_paths import load_packages, suggestion_of_class
from vetro.cli.plaindata import DataError, load_data
from vetro.data_classes import dataclass
from vetro.forms import form_source
from vetro.forms.sessions import FormSession
from vetro.library import core_packages
from vetro.model.header import class_of, id_of, name_of


@dataclass(frozen=True, slots=True)
class Subject:
    """What the form is about. ``text``: the definition, where there is one; ``class_name`` None: only a definition."""

    package: Any
    class_name: str | None
    text: str | None = None
    origin: str = ""
    stored: Any = None


def sorted_targets(targets: Sequence[str]) -> tuple[list[str], str | None, str | None]:
    """Paths of packages, the file of a definition, a class. Raises `TargetError`."""
    paths: list[str] = []
    file = wanted = None
    for target in targets:
        if os.path.isfile(target) and target.endswith((".yaml", ".yml")):
            file = target
        elif any(_inside(target, path) for path in paths) and wanted is None:
            wanted = target  # a folder that is named like its package, and is read already: the class is meant
        elif os.path.exists(target) or os.sep in target or target.endswith(".zip"):
            paths.append(target)
        elif wanted is None:
            wanted = target
        else:
            raise TargetError(f"two classes are named: '{wanted}' and '{target}'", hint="a form is about one")
    return paths, file, wanted


def _inside(target: str, folder: str) -> bool:
    """Whether a folder of the working directory, written as a bare name, lies within ``folder``."""
    return os.sep not in target and os.path.isdir(target) and Path(folder).resolve() == Path(target).resolve().parent


def with_environment(packages: Sequence[Any], used: Sequence[str]) -> list[Any]:
    """The packages, and those of an environment, at the paths ``used``, that are not among them."""
    known = {(package.name, str(package.version)) for package in packages}
    own = load_packages(used) if used else ()
    return [*packages, *(package for package in own if (package.name, str(package.version)) not in known)]


def subject_of(
    named: Sequence[Any], known: Sequence[Any], file: str | None, wanted: str | None, place: Any, edit: str | None
) -> Subject:
    """The subject. ``named``: packages that the form is about, ``known``: all. Raises `TargetError`, `DataError`."""
    if edit is not None:
        return _edited(known, place, edit)
    if file is not None:
        return Subject(_about_file(file), None, _read(file), file)
    package, class_name = _wanted(named, wanted)
    if package is None:
        return Subject(None, class_name)
    # The definition belongs to the class that is named like its package.
    text = package.ui if class_name in (None, package.name) else None
    return Subject(package, class_name, text, f"{out.shown(package.location)}/UI/ui.yaml")


def _wanted(packages: Sequence[Any], wanted: str | None) -> tuple[Any, str | None]:
    """The package and class of a form; the package is None for a class of the standard packages."""
    if wanted is None:
        package = main_package(packages) if len(packages) > 1 else packages[0]
        return package, package.name if package.name in package.classes else None
    homes = [package for package in packages if wanted in package.classes or package.name == wanted]
    if homes:
        package = max(homes, key=lambda p: p.version)
        return package, wanted if wanted in package.classes else None
    if any(wanted in package.classes for package in core_packages()):
        return None, wanted
    raise TargetError(f"no package has a class '{wanted}'", hint=suggestion_of_class(wanted, packages))


def _edited(known: Sequence[Any], place: Any, name: str) -> Subject:
    model = place.environment
    stored = model.application(name)
    if stored is None:
        names = ", ".join(name_of(app) or str(id_of(app)) for app in model.applications)
        label = place.row["name"]
        raise TargetError(f"environment '{label}' has no application '{name}'", hint=f"there are: {names or '-'}")
    class_name = class_of(stored)
    homes = [package for package in known if class_name in package.classes]
    return Subject(max(homes, key=lambda p: p.version) if homes else None, class_name, stored=stored)


def _about_file(file: str) -> dict[str, str]:
    """What a definition alone says of its package: the class of its application."""
    try:
        data = load_data(file)
        written = data["Application"]["?"]["type"]
    except (DataError, TypeError, KeyError):  # loading it says what is wrong
        written = None
    fqn = written if isinstance(written, str) else "com.example.Application"
    return {"fqn": fqn, "name": fqn.rpartition(".")[2], "version": "0.0.0"}


def _read(file: str) -> str:
    try:
        return Path(file).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"{file} is no UTF-8 text") from None


def form_session_of(place: Any, subject: Subject, source: str, *, checked: bool) -> FormSession:
    """What fills it in. ``checked``: whether the contracts have a say. Raises `TargetError`, `FormFailed`."""
    offer = form_source.for_adding(has_definition=subject.text is not None, has_class=subject.class_name is not None)
    chosen = offer.first if source == "auto" else source
    if chosen == "definition":
        if subject.text is None:
            raise TargetError("there is no UI definition for this", hint="use '--form class'")
        package = subject.package
        about = (
            package
            if isinstance(package, dict)
            else {"fqn": package.name, "name": package.display_name, "version": str(package.version)}
        )
        # The contracts have a say only where the package with the classes is there.
        form_session: FormSession = place.definition_form_session(
            subject.text, subject.origin, about, check=checked and package is not about
        )
        return form_session
    if subject.class_name is None:
        name = subject.package.name if hasattr(subject.package, "name") else subject.origin
        raise TargetError(f"{name} has no class of its own name", hint="name the CLASS that the form is for")
    package = subject.package
    version = f"=={package.version}" if package is not None else None
    described = place.describer.of(subject.class_name, version, package.name if package is not None else None)
    if described is None:
        raise TargetError(f"there is no class '{subject.class_name}'")
    made: FormSession = place.class_form_session(described)
    return made
