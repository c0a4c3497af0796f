"""Tries a package as its users will: check, load, schema, deploy, redeploy, destroy on servers that only record.

Each stage of `STAGES` either passes or raises; the first that raises ends the package. Packages may require each other;
those whose requirements are nowhere at hand are told apart from those that fail.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from vetro.engine.models import Environment, Suggester
from vetro.muranopl import Engine, Limits
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.precompile import compile_class
from vetro.packages.check import check_tree
from vetro.packages.check_all import package_paths
from vetro.packages.check_classes import check_classes
from vetro.packages.directory import open_tree
from vetro.packages.load import open_package
from vetro.yaql.errors import Stop, VetroError

APPLICATION = "io.murano.Application"
STAGES = ("check", "classes", "schema", "deploy", "redeploy", "destroy")
#: One deployment of one package may take so long.
SECONDS = 20.0


class Missing(Exception):
    """Something the package requires is not at hand."""


@dataclass(frozen=True)
class Verdict:
    """How one package fared: ``state`` is passed, failed or missing; ``stage`` where it ended."""

    path: str
    name: str
    state: str
    stage: str = ""
    reason: str = ""

    def __str__(self) -> str:
        where = f"  {self.stage}: {self.reason}" if self.reason else ""
        return f"{self.state:8}{self.name}  ({self.path}){where}"


class Shelf:
    """All packages below some paths; those that cannot even be opened are kept as verdicts."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.packages: list[tuple[str, Any]] = []
        self.broken: list[Verdict] = []
        for path in itertools.chain.from_iterable(package_paths(p) for p in paths):
            try:
                self.packages.append((path, open_package(path)))
            except (VetroError, OSError) as error:
                self.broken.append(Verdict(path, Path(path).name, "failed", "open", _line(error)))

    def try_all(self, only: str = "") -> Iterator[Verdict]:
        """A verdict for every package whose name or path holds ``only``."""
        yield from (v for v in self.broken if only in v.path)
        for path, package in self.packages:
            if only in path or only in package.name:
                yield self.attempt(path, package)

    def attempt(self, path: str, package: Any) -> Verdict:
        """Goes through the stages with one package."""
        label = f"{package.name} {package.version}"
        trial = Trial(path, package, self._mates(package))
        try:
            for stage in STAGES:
                try:
                    getattr(trial, stage)()
                except Missing as error:
                    return Verdict(path, label, "missing", stage, str(error))
                except (VetroError, Stop, AssertionError, ArithmeticError, LookupError, TypeError, ValueError) as error:
                    return Verdict(path, label, "failed", stage, _line(error))
        finally:
            trial.close()
        return Verdict(path, label, "passed")

    def _mates(self, package: Any) -> list[Any]:
        """The others, without other copies of the same name and version."""
        taken = {(package.name, package.version)}
        mates = []
        for _, other in self.packages:
            if (other.name, other.version) not in taken:
                taken.add((other.name, other.version))
                mates.append(other)
        return mates


class Trial:
    """The stages for one package."""

    def __init__(self, path: str, package: Any, mates: Sequence[Any]) -> None:
        from tests.support.recorded import RecordedCloud

        self.path = path
        self.package = package
        self.mates = mates
        self.cloud = RecordedCloud()
        self.model: dict[str, Any] | None = None
        self.main: str | None = None
        self._sessions = 0

    def session(self) -> Any:
        limits = Limits(max_seconds=SECONDS)
        self._sessions += 1  # each task has a seed of its own: ids of plans are never used again
        seed = f"{self.package.name}:{self._sessions}"
        return Engine([self.package, *self.mates], effects=self.cloud.effects, limits=limits, seed=seed).session()

    def close(self) -> None:
        """Lets the cloud go, with whatever still waits in it."""
        self.cloud.close()

    def check(self) -> None:
        """What `vetro check` finds. Raises `Missing` for requirements that nobody has."""
        session = self.session()
        for name, spec in self.package.requirements.items():
            try:
                session.resolver.find_package(name, spec)
            except VetroError as error:
                raise Missing(_line(error)) from None
        problems = [*check_tree(open_tree(self.path)), *check_classes(self.package, self.mates)]
        errors = [p for p in problems if p.severity == "error"]
        if errors and _undeclared(self.package) and all(p.code == "MPL300" for p in errors):
            raise Missing(errors[0].message)  # a package from before requirements: nobody says what it needs
        if errors:
            raise MuranoError(f"{errors[0].position}: {errors[0].message}")

    def classes(self) -> None:
        """Links every class and compiles every method."""
        session = self.session()
        for name in self.package.classes:
            compile_class(session.types.in_package(self.package, name))

    def schema(self) -> None:
        """The JSON Schema of the main class."""
        session = self.session()
        self.main = self._main_class(session)
        if self.main is not None:
            assert session.schema(self.main, f"=={self.package.version}", self.package.name)[""]["type"] == "object"

    def deploy(self) -> None:
        """A new environment with one application whose properties were chosen for it."""
        if self.main is None:
            return
        session = self.session()
        numbers = random.Random(self.package.name)
        suggester = Suggester(
            session,
            [self.package, *self.mates],
            lambda: f"{numbers.getrandbits(128):032x}",
            eager=True,
            hints=initial_values(self.package),
        )
        made = suggester.suggest(session.types.in_package(self.package, self.main))
        environment = Environment.new("trial", self.cloud.owner.environment)
        for application in [*made.applications, made.object]:
            environment.add(application)
        session.close()
        self._run(environment)

    def redeploy(self) -> None:
        """The same again, from what the deployment left."""
        if self.model is not None:
            self._run(Environment(self.model).deployed())

    def destroy(self) -> None:
        """Everything is removed, and nothing is left in the cloud."""
        if self.model is None:
            return
        self._run(Environment(self.model).emptied())
        left = [stack.name for stack in self.cloud.cloud.stacks(self.cloud.owner)]
        assert not left, f"stacks are left: {', '.join(left)}"

    def _run(self, environment: Environment) -> None:
        session = self.session()
        try:
            root = session.load(environment.model)
            session.cleanup()
            if root is not None:
                session.call("deploy", public_only=False)
            self.model = session.finalize()
        finally:
            session.close()

    def _main_class(self, session: Any) -> str | None:
        """The class that people deploy: that of the package's name, or the only application among its classes."""
        if self.package.type != "Application":
            return None
        found = []
        for name in self.package.classes:
            kind = session.types.in_package(self.package, name)
            if any(a.name == APPLICATION for a in kind.ancestors):
                found.append(name)
        if self.package.name in found or not found:
            return self.package.name if found else None
        return str(found[0])


def initial_values(package: Any) -> dict[str, Any]:
    """Initial values of the fields of a package's form by name: what its author expects people to leave as it is."""
    try:
        form = yaml.load(package.ui or "", _Form)
    except (yaml.YAMLError, VetroError):
        return {}
    found: dict[str, Any] = {}
    for step in (form.get("Forms") or ()) if isinstance(form, dict) else ():
        for part in step.values() if isinstance(step, dict) else ():
            for item in (part or {}).get("fields") or ():
                if isinstance(item.get("initial"), (str, int)):
                    found.setdefault(str(item.get("name")), item["initial"])
    return found


class _Form(yaml.SafeLoader):
    """YAML in which tags mean nothing."""


_Form.add_multi_constructor("!", lambda loader, suffix, node: None)


def _undeclared(package: Any) -> bool:
    return tuple(package.format)[:2] < (1, 3) and not package.requirements


def _line(error: BaseException) -> str:
    """An error in one line, with its place."""
    text = str(getattr(error, "message", None) or error) or type(error).__name__
    position = getattr(error, "position", None)
    frames = getattr(error, "murano_frames", None)
    if position is None and frames:
        position = getattr(frames[-1], "location", None) or frames[-1]
    shown = " ".join(text.split())[:300]
    return f"{shown} [{position}]" if position is not None else shown
