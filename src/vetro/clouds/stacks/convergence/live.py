"""A stack in memory: its definitions, who uses what, and its resources as they are.

Between two pushes all of this is kept, so that a push costs as much as what it changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any

from vetro.clouds.stacks.state.rows import StackRow, State
from vetro.clouds.stacks.templates.environment import StackEnvironment
from vetro.clouds.stacks.templates.functions import ReferenceInvalid, Unknown
from vetro.clouds.stacks.templates.functions_table import CFN, HOT, Function
from vetro.clouds.stacks.templates.hints import meant
from vetro.clouds.stacks.templates.limits import Allowance, Meter
from vetro.clouds.stacks.templates.template import Dialect, OutputDef, ResourceDef, Use
from vetro.data_classes import dataclass
from vetro.library.stackdata import ENVIRONMENT, FILES, VALUES, Part

#: Who uses something: a resource or an output.
User = tuple[str, str]


@dataclass(slots=True)
class Users:
    """Which resources and outputs use a resource, parameter, file or condition."""

    _of: dict[Use, dict[User, None]] = field(default_factory=dict)

    def change(self, user: User, old: Iterable[Use], new: Iterable[Use]) -> None:
        """``user`` uses ``new`` instead of ``old``."""
        for use in old:
            users = self._of.get(use)
            if users is not None:
                users.pop(user, None)
                if not users:
                    del self._of[use]
        for use in new:
            self._of.setdefault(use, {})[user] = None

    def of(self, use: Use) -> Iterable[User]:
        """Its users, in the order in which they came."""
        return self._of.get(use, ())


@dataclass(slots=True)
class LiveStack:
    """Everything of one stack."""

    row: StackRow
    #: How many stacks are around it.
    depth: int = 0
    #: The wanted state: section -> key -> value.
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: Characters of the wanted state.
    sizes: dict[Part, int] = field(default_factory=dict)
    size: int = 0
    dialect: Dialect | None = None
    environment: StackEnvironment = field(default_factory=StackEnvironment)
    parameters: dict[str, Any] = field(default_factory=dict)
    #: Parameters whose values come later: only while a nested template is checked ahead of time.
    unknown: frozenset[str] = frozenset()
    conditions: dict[str, bool] = field(default_factory=dict)
    definitions: dict[str, ResourceDef] = field(default_factory=dict)
    #: Names of resources that their conditions leave out.
    disabled: set[str] = field(default_factory=set)
    #: The type that stands for each resource, after the environment's registry.
    types: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, OutputDef] = field(default_factory=dict)
    users: Users = field(default_factory=Users)
    #: Resource name of a network -> resources that make subnets in it.
    subnets: dict[str, dict[str, None]] = field(default_factory=dict)
    states: dict[str, State] = field(default_factory=dict)
    #: Resources by id that will be removed.
    old: dict[str, State] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    #: Names of resources and outputs that have to be looked at.
    dirty: dict[str, None] = field(default_factory=dict)
    dirty_outputs: dict[str, None] = field(default_factory=dict)
    place: int = 0
    #: What the change that is under way needs of the quotas: id of a resource -> amounts.
    quota_needs: dict[str, dict[str, int]] = field(default_factory=dict)
    #: Ids of things that a snapshot of the environment keeps; none comes while the stack is worked on.
    kept: frozenset[str] = frozenset()
    #: What it may use.
    allowance: Allowance = field(default_factory=Allowance)

    def section(self, name: str) -> Mapping[str, Any]:
        """A section by the name that it has in HOT."""
        found = self.sections.get(name)
        if found is None and self.dialect is not None and self.dialect.name == "cfn":
            found = self.sections.get(name.capitalize())
        return found if found is not None else {}

    @property
    def files(self) -> Mapping[str, Any]:
        """The files that were sent with the stack."""
        return self.sections.get(FILES, {})

    @property
    def given(self) -> Mapping[str, Any]:
        """Values of parameters that were sent with the stack."""
        return self.sections.get(VALUES, {})

    @property
    def environment_text(self) -> str | None:
        """The text of the environment."""
        return self.sections.get(ENVIRONMENT, {}).get("")

    def parts(self) -> Iterator[tuple[Part, Any]]:
        """All parts of the wanted state."""
        for section, items in self.sections.items():
            for key, value in items.items():
                yield (section, key), value

    def template(self) -> dict[str, Any]:
        """The template as one mapping."""
        made: dict[str, Any] = {}
        for section, items in self.sections.items():
            if section == "":
                made.update(items)
            elif section not in (VALUES, FILES, ENVIRONMENT):
                made[section] = dict(items)
        return made

    def enabled(self, name: str) -> bool:
        """Whether a resource is wanted."""
        return name in self.definitions and name not in self.disabled

    def needs(self, name: str) -> set[str]:
        """The resources that have to be there before ``name``."""
        made: set[str] = set()
        for what, needed in self.definitions[name].uses:
            if what in ("resource", "attr"):
                made.add(needed)
            elif what == "ready":
                made.update(self.subnets.get(needed, ()))
        made.discard(name) if not self._needs_itself(name) else None
        return {needed for needed in made if self.enabled(needed)}

    def _needs_itself(self, name: str) -> bool:
        uses = self.definitions[name].uses
        return ("resource", name) in uses or ("attr", name) in uses

    def dependents(self, name: str) -> Iterator[str]:
        """The resources that need ``name``."""
        for what in ("resource", "attr"):
            for kind, user in self.users.of((what, name)):
                if kind == "resource" and user in self.definitions:
                    yield user
        definition = self.definitions.get(name)
        if definition is not None:
            for what, network in definition.uses:
                if what == "makes":
                    for kind, user in self.users.of(("ready", network)):
                        if kind == "resource" and user != name:
                            yield user

    def changed(self, name: str, *, reference: bool) -> None:
        """``name`` has other attributes now, or with ``reference`` is another thing: its users are looked at."""
        for what in ("resource", "attr") if reference else ("attr",):
            for kind, user in self.users.of((what, name)):
                (self.dirty if kind == "resource" else self.dirty_outputs)[user] = None


class TemplateScope:
    """Names of a stack's template while nothing is made: what depends on resources is `Unknown`."""

    def __init__(self, live: LiveStack) -> None:
        self.live = live
        self.meter = Meter(live.allowance)
        cfn = live.dialect is not None and live.dialect.name == "cfn"
        self.functions: Mapping[str, Function] = CFN if cfn else HOT

    def parameter(self, name: str) -> Any:
        """Values of parameters, and the pseudo parameters."""
        live = self.live
        if name in live.parameters:
            return live.parameters[name]
        if name in live.unknown:
            raise Unknown
        row = live.row
        pseudo = {"stack_id": row.id, "stack_name": row.name, "project_id": row.owner.project, "region": row.region}
        aws = {"StackId": row.id, "StackName": row.name, "Region": row.region, "AccountId": row.owner.project}
        if name.startswith("OS::") and name[4:] in pseudo:
            return pseudo[name[4:]]
        if name.startswith("AWS::") and name[5:] in aws:
            return aws[name[5:]]
        raise ReferenceInvalid(f"the template has no parameter '{name}'{meant(name, live.parameters)}")

    def reference(self, name: str) -> Any:
        """Not yet."""
        self.known(name)
        raise Unknown

    def attribute(self, name: str, attribute: str | None, path: list[Any]) -> Any:
        """Not yet."""
        self.known(name)
        raise Unknown

    def known(self, name: str) -> None:
        """Raises `ReferenceInvalid` unless the template has this resource."""
        if name not in self.live.definitions:
            raise ReferenceInvalid(f"the template has no resource '{name}'{meant(name, self.live.definitions)}")
        if name in self.live.disabled:
            raise ReferenceInvalid(f"the resource '{name}' is left out by its condition")

    def file(self, name: str) -> str:
        """Only what was sent with the stack: never a file of this machine."""
        found = self.live.files.get(name)
        if found is None:
            raise ReferenceInvalid(
                f"there is no file '{name}' among the files sent with the stack{meant(name, self.live.files)}"
            )
        return str(found)

    def condition(self, name: str) -> bool:
        """Conditions of the section, and true and false as names."""
        if name in self.live.conditions:
            return self.live.conditions[name]
        if name in ("true", "false"):
            return name == "true"
        raise ReferenceInvalid(f"the template has no condition '{name}'{meant(name, self.live.conditions)}")

    def mapping(self, name: str) -> Mapping[str, Any]:
        """A mapping of a CFN template."""
        found = self.live.section("mappings").get(name)
        if not isinstance(found, Mapping):
            raise ReferenceInvalid(f"the template has no mapping '{name}'{meant(name, self.live.section('mappings'))}")
        return found
