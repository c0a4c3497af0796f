"""Tries a package as its users will: check, load, schema, deploy, redeploy, destroy on servers that only record.

Each stage of `STAGES` either passes or raises; the first that raises ends the package. Packages may require each other;
those whose requirements are nowhere at hand are told apart from those that fail. The three stages on servers are tried
with the answers of `ANSWERS` in turn until one passes: a package may need a switch on, or a certain word from a server.
"""

from __future__ import annotations

import itertools
import json
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.packages.forms import Form
from tests.support.compiled_library import compiled_library
from vetro.engine.models import Suggester
from vetro.model.environment import Environment
from vetro.muranopl import Engine, Limits
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.precompile import compile_class
from vetro.packages.checks.classes import check_classes
from vetro.packages.checks.package import check_tree
from vetro.packages.checks.paths import package_paths
from vetro.packages.directory import open_tree
from vetro.packages.load import open_package
from vetro.packages.paths import MANIFEST
from vetro.yaql.errors import Stop, TimeExceeded, VetroError

APPLICATION = "io.murano.Application"
#: Stages that look at a package, and those that need servers.
READING = ("check", "classes", "schema")
SERVING = ("deploy", "redeploy", "destroy")
STAGES = (*READING, *SERVING)
#: All attempts at one package together, and one run of one attempt, may take so many seconds.
SECONDS = 30.0
RUN_SECONDS = 12.0


#: How deep applications of forms are made that other forms choose.
DEEPEST = 3
#: What a package can be the cause of.
CAUGHT = (VetroError, Stop, AssertionError, ArithmeticError, LookupError, TypeError, ValueError, OSError, RuntimeError)


class Missing(Exception):
    """Something the package requires is not at hand."""


@dataclass(frozen=True)
class Answers:
    """How an attempt fills in what people and servers say. ``label`` tells of it where it is not the usual way."""

    label: str
    #: From the package's form; without one, parts that may be empty are left out, too.
    form: bool = True
    #: What scripts print, and whether all switches are on.
    prints: str = ""
    switches: bool = False


#: What old servers printed when they were asked for their system; several words, as most output has.
SYSTEM = "Ubuntu 14.04.6 LTS"
ANSWERS = (
    Answers(""),
    Answers("optional parts made", form=False),
    Answers("servers print text", prints=SYSTEM),
    Answers("servers print text, optional parts made", form=False, prints=SYSTEM),
    Answers("switches on, servers print text", prints=SYSTEM, switches=True),
    Answers("switches on, optional parts made, servers print text", form=False, prints=SYSTEM, switches=True),
)


@dataclass(frozen=True)
class Verdict:
    """How one package fared: ``state`` is passed, failed or missing; ``stage`` where it ended; ``how`` it passed."""

    path: str
    name: str
    state: str
    stage: str = ""
    reason: str = ""
    how: str = ""

    def __str__(self) -> str:
        where = f"  {self.stage}: {self.reason}" if self.reason else f"  with {self.how}" if self.how else ""
        return f"{self.state:8}{self.name}  ({self.path}){where}"


class Shelf:
    """All packages below some paths; those that cannot even be opened are kept as verdicts."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.packages: list[tuple[str, Any]] = []
        self.broken: list[Verdict] = []
        found: set[str] = set()
        for path in itertools.chain.from_iterable(package_paths(p) for p in paths):
            real = str(Path(path).resolve())
            if real in found:
                continue
            found.add(real)
            try:
                if Path(path).is_dir() and not (Path(path) / MANIFEST).is_file():
                    continue
                self.packages.append((path, open_package(path)))
            except CAUGHT as error:
                self.broken.append(Verdict(path, Path(path).name, "failed", "open", line_of(error)))

    def try_all(self, only: str = "") -> Iterator[Verdict]:
        """A verdict for every package whose name or path holds ``only``."""
        yield from (v for v in self.broken if only in v.path)
        for path, package in self.packages:
            if only in path or only in package.name:
                yield self.attempt(path, package)

    def attempt(self, path: str, package: Any, answers: Sequence[Answers] = ANSWERS) -> Verdict:
        """Goes through the stages with one package; `Stop` and every error of the package end in a verdict."""
        label = f"{package.name} {package.version}"
        ends = time.monotonic() + SECONDS
        reader = Trial(path, package, self._mates(package), answers[0], ends)
        found = self._stages(reader, READING, label)
        if found is not None or reader.main is None:
            return found or Verdict(path, label, "passed")
        first: Verdict | None = None
        for answer in answers:
            if first is not None and time.monotonic() > ends:
                break
            trial = Trial(path, package, reader.mates, answer, ends)
            trial.main = reader.main
            found = self._stages(trial, SERVING, label)
            if found is None:
                return Verdict(path, label, "passed", how=answer.label)
            first = first or found
        assert first is not None
        return first

    @staticmethod
    def _stages(trial: Trial, stages: Iterable[str], label: str) -> Verdict | None:
        """What ended the trial, if anything did."""
        try:
            for stage in stages:
                try:
                    getattr(trial, stage)()
                except Missing as error:
                    return Verdict(trial.path, label, "missing", stage, str(error))
                except TimeExceeded as error:
                    return Verdict(trial.path, label, "failed", stage, f"it took too long: {line_of(error)}")
                except CAUGHT as error:
                    return Verdict(trial.path, label, "failed", stage, line_of(error))
        finally:
            trial.close()
        return None

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
    """The stages for one package, with one way of answering."""

    def __init__(self, path: str, package: Any, mates: Sequence[Any], answers: Answers, ends: float) -> None:
        self.path = path
        self.package = package
        self.mates = mates
        self.answers = answers
        self.model: dict[str, Any] | None = None
        self.main: str | None = None
        self._ends = ends
        self._sessions = 0
        self._cloud: Any = None
        self._folder: Any = None

    @property
    def cloud(self) -> Any:
        """The recorded cloud, made when it is first needed."""
        from vetro.engine.recorded import RecordedCloud

        if self._cloud is None:
            self._folder = tempfile.TemporaryDirectory(prefix="vetro-trial-")
            table = Path(self._folder.name, "table.json")
            table.write_text(json.dumps({"plans": [{"plan": "*", "stdout": self.answers.prints}]}), encoding="utf-8")
            self._cloud = RecordedCloud(settings={"script": str(table)})
        return self._cloud

    def session(self, *, effects: bool = True) -> Any:
        """A session over the package and its mates. What runs longer than is left raises `TimeExceeded`."""
        left = max(0.1, min(RUN_SECONDS, self._ends - time.monotonic()))
        self._sessions += 1  # each task has a seed of its own: ids of plans are never used again
        seed = f"{self.package.name}:{self._sessions}"
        done = {"effects": self.cloud.effects} if effects else {}
        limits, compiled = Limits(max_seconds=left), compiled_library()
        return Engine([self.package, *self.mates], limits=limits, seed=seed, code_cache=compiled, **done).session()

    def close(self) -> None:
        """Lets the cloud go, with whatever still waits in it."""
        if self._cloud is not None:
            self._cloud.close()
            self._folder.cleanup()
            self._cloud = None

    def check(self) -> None:
        """What `vetro check` finds. Raises `Missing` for requirements that nobody has."""
        session = self.session(effects=False)
        for name, spec in self.package.requirements.items():
            try:
                session.resolver.find_package(name, spec)
            except VetroError as error:
                raise Missing(line_of(error)) from None
        problems = [*check_tree(open_tree(self.path)), *check_classes(self.package, self.mates)]
        errors = [p for p in problems if p.severity == "error"]
        if errors and _undeclared(self.package) and all(p.code == "MPL300" for p in errors):
            raise Missing(errors[0].message)  # a package from before requirements: nobody says what it needs
        if errors:
            raise MuranoError(f"{errors[0].place}: {errors[0].message}")

    def classes(self) -> None:
        """Links every class and compiles every method."""
        session = self.session(effects=False)
        for name in self.package.classes:
            compile_class(session.types.in_package(self.package, name))

    def schema(self) -> None:
        """The JSON Schema of the main class."""
        session = self.session(effects=False)
        self.main = self._main_class(session)
        if self.main is not None:
            assert session.schema(self.main, f"=={self.package.version}", self.package.name)[""]["type"] == "object"

    def deploy(self) -> None:
        """A new environment with one application whose properties were chosen for it."""
        if self.main is None:
            return
        session = self.session()
        environment = Environment.new("trial", self.cloud.owner.environment)
        self._add(session, environment, self.package, self.main, 0)
        session.close()
        self._run(environment)

    def _add(self, session: Any, environment: Environment, package: Any, main: str, depth: int) -> str:
        """Puts an application of class ``main`` into the environment, after those that it needs; gives its id."""
        numbers = random.Random(f"{package.name}:{len(environment.applications)}:{depth}")
        form = Form(package, switches=self.answers.switches)
        suggester = Suggester(
            session,
            [self.package, *self.mates],
            lambda: f"{numbers.getrandbits(128):032x}",
            eager=not (self.answers.form and form.main),
            hints=form.initial(),
            switches=self.answers.switches,
            server_name=iter(self._names(len(environment.applications), depth)).__next__,
        )

        def properties(name: str) -> Any:
            try:
                type_ = session.type_by_name(name)
                return session.schema(name, f"=={type_.version}", type_.package.name)[""].get("properties", {})
            except VetroError:
                return None

        def other(name: str) -> str | None:
            for owner in (package, *self.mates, self.package):
                if name in owner.classes and depth < DEEPEST:
                    return self._add(session, environment, owner, name, depth + 1)
            return None

        answers = form.application(properties, other) if self.answers.form and form.main == main else None
        type_ = session.types.in_package(package, main)
        made = suggester.suggest(type_, {k: v for k, v in (answers or {}).items() if k != "?"})
        for application in [*made.applications, made.object]:
            environment.add(application)
        return str(made.object["?"]["id"])

    @staticmethod
    def _names(place: int, depth: int) -> Iterator[str]:
        return (f"server-{number}" for number in itertools.count(1 + 100 * place + 10000 * depth))

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
        """The class that people deploy: that of the form, of the package's name, or the first application."""
        if self.package.type != "Application":
            return None
        found = []
        for name in self.package.classes:
            kind = session.types.in_package(self.package, name)
            if any(a.name == APPLICATION for a in kind.ancestors):
                found.append(name)
        made = Form(self.package).main
        if made in found:
            return str(made)
        if self.package.name in found or not found:
            return self.package.name if found else None
        return str(found[0])


def _undeclared(package: Any) -> bool:
    return tuple(package.format)[:2] < (1, 3) and not package.requirements


def line_of(error: BaseException) -> str:
    """An error in one line, with its place."""
    text = str(getattr(error, "message", None) or error) or type(error).__name__
    position = getattr(error, "position", None)
    frames = getattr(error, "murano_frames", None)
    if position is None and frames:
        code = frames[-1].code
        position = f"{code.co_filename}:{code.co_firstlineno} {code.co_name}"
    shown = " ".join(text.split())[:300]
    return f"{shown} [{position}]" if position is not None else shown
