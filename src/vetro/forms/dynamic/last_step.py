"""The last step, which every wizard has by itself (DYNAMIC_UI 7)."""

from __future__ import annotations

from vetro.diagnostics import Text
from vetro.forms.dynamic.definition import BUILT_IN_FORM, Definition, FieldDefinition, FormDefinition, Rule
from vetro.forms.dynamic.environment import Surroundings
from vetro.forms.dynamic.patterns import read_pattern
from vetro.forms.dynamic.types import type_of
from vetro.muranopl.declarations.tree import Position

NAME = "application_name"
STAY = "stay_at_the_catalog"
STAY_LABEL = Text("Continue application adding")
STAY_TEXT = Text(
    "If checked, you will be returned to the Catalog page. If not - to the "
    "Environment page, where you can deploy the application."
)
_NAME_TEXT = Text("Enter a desired name for the application. Just A-Z, a-z, 0-9, dash and underline are allowed")


def built_in_form(definition: Definition, surroundings: Surroundings) -> FormDefinition | None:
    """The step, or None where it would be empty: before 2.2 for quick deployments and for referred wizards."""
    place = Position(definition.origin, 1, 1)
    fields: dict[str, FieldDefinition] = {}
    if definition.names_application:
        fields[NAME] = FieldDefinition(
            NAME,
            "string",
            type_of("string"),
            place,
            {},
            [Rule(place, pattern=read_pattern(r"^[-\w]+$"), by_attribute=True)],
            {
                "label": Text("Application Name"),
                "description": _NAME_TEXT,
                "initial": surroundings.package.fqn.rpartition(".")[2],
            },
        )
    if asks_to_stay(surroundings):
        fields[STAY] = FieldDefinition(
            STAY, "boolean", type_of("boolean"), place, {}, (), {"label": STAY_LABEL, "description": STAY_TEXT}
        )
    return FormDefinition(BUILT_IN_FORM, fields, (), place) if fields else None


def asks_to_stay(surroundings: Surroundings) -> bool:
    """Whether the box is there: not for quick deployments and not for wizards that another one opened."""
    return not (surroundings.quick or surroundings.referred)
