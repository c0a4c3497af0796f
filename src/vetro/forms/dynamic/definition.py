"""What a UI definition says, read and checked: sections, forms, fields, rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Diagnostic
from vetro.forms.dynamic.expressions import Expression
from vetro.forms.dynamic.versions import APPLICATION_NAME, LATEST, Version
from vetro.muranopl.declarations.tree import Position

if TYPE_CHECKING:
    from vetro.forms.dynamic.types.base import FieldType

#: The last step, which every wizard has by itself.
BUILT_IN_FORM = "workflowManagement"


@dataclass(frozen=True, slots=True)
class Setting:
    """An attribute of a field: its folded name, its value as a snippet, where that stands."""

    name: str
    snippet: Any
    position: Position


@dataclass(frozen=True, slots=True)
class Rule:
    """A validator: an expression that must hold, or a regular expression that must be found.

    ``pattern`` is text, or an expression that gives it. ``message`` is a snippet; None where none was written.
    """

    position: Position
    condition: Expression | None = None
    pattern: Any = None
    message: Any = None
    #: A `regexpValidator` of its own takes its message from `errorMessages`.
    by_attribute: bool = False


@dataclass(eq=False)
class FieldDefinition:
    """One field. ``settings`` are its attributes without name, type and rules, by folded name.

    ``static`` holds the values of those that need no evaluation, checked and converted; ``moving`` the others.
    """

    name: str
    declared: Any
    type: FieldType
    position: Position
    settings: Mapping[str, Setting]
    rules: Sequence[Rule] = ()
    static: dict[str, Any] = field(default_factory=dict)
    moving: Sequence[Setting] = ()
    #: Answers that attributes read: pairs (form, field).
    reads: frozenset[tuple[str, str]] = frozenset()
    #: What `vetro.forms.dynamic.resolve` found for a field that nothing can change.
    resolved: Any = None
    #: The same as a field of the form model, before anything was answered.
    shown: Any = None

    @property
    def revealed(self) -> bool:
        """Whether answers say if it is shown at all."""
        return any(setting.name == "hidden" for setting in self.moving)


@dataclass(frozen=True, slots=True)
class FormDefinition:
    """One step. ``region`` is a snippet: where choices of the cloud come from."""

    name: str
    fields: Mapping[str, FieldDefinition]
    rules: Sequence[Rule]
    position: Position
    region: Any = None


@dataclass(frozen=True, slots=True)
class Definition:
    """A UI definition, ready to be used by any number of wizards at once.

    ``application``, ``templates`` and ``parameters`` are snippets. ``warnings`` says what is odd but harms nothing.
    """

    origin: str
    application: Any
    application_position: Position
    forms: Sequence[FormDefinition] = ()
    templates: Mapping[str, Any] = field(default_factory=dict)
    parameters: Sequence[tuple[str, Any]] = ()
    parameters_source: str | None = None
    source_position: Position | None = None
    version: Version = LATEST
    warnings: Sequence[Diagnostic] = ()

    @property
    def names_application(self) -> bool:
        """Whether the wizard asks for the application's name and writes it into the model (from 2.2 on)."""
        return self.version >= APPLICATION_NAME
