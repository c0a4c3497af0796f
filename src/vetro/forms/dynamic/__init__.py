"""UI definitions (DYNAMIC_UI): the hand-written forms of packages.

    definition = load(text, "UI/ui.yaml")            # raises DefinitionError with line and column
    wizard = Wizard(definition, Surroundings(Package(fqn, name, version), cloud, catalog, …))
    state = wizard.start()                           # plain JSON data, kept by the caller
    wizard.form(state) / wizard.page(state)          # the form model (vetro.forms.model)
    outcome = wizard.submit(state, {"field": "text", …})
    model = wizard.model(outcome.state)              # once outcome.kind is "done"

`check` lists everything that is wrong or odd with a definition, for `vetro check`. Definitions hold no state: one may
serve many wizards and threads. Everything evaluates expressions of the package within limits of steps, items and
bytes; `load` and `check` do so as well.
"""

from vetro.forms.dynamic.check import check
from vetro.forms.dynamic.definition import Definition
from vetro.forms.dynamic.environment import Catalog, Cloud, Package, StaticCall, Surroundings
from vetro.forms.dynamic.errors import (
    BadAttribute,
    ChoicesUnavailable,
    DefinitionError,
    DynamicFormError,
    EncryptionUnavailable,
    ExpressionFailed,
    StaticActionFailed,
    TemplateLoop,
    UnknownAttribute,
    UnsupportedVersion,
    WizardStateError,
)
from vetro.forms.dynamic.load import load
from vetro.forms.dynamic.wizard import Outcome, State, Wizard, quick_environment_name

__all__ = [
    "BadAttribute",
    "Catalog",
    "ChoicesUnavailable",
    "Cloud",
    "Definition",
    "DefinitionError",
    "DynamicFormError",
    "EncryptionUnavailable",
    "ExpressionFailed",
    "Outcome",
    "Package",
    "State",
    "StaticActionFailed",
    "StaticCall",
    "Surroundings",
    "TemplateLoop",
    "UnknownAttribute",
    "UnsupportedVersion",
    "Wizard",
    "WizardStateError",
    "check",
    "load",
    "quick_environment_name",
]
