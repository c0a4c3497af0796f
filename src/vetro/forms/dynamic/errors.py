"""What can go wrong with a UI definition. Authors get the message with its place; people get their ``civil``."""

from __future__ import annotations

from typing import Any, ClassVar

from vetro.diagnostics import Text
from vetro.yaql.errors import VetroError


class DynamicFormError(VetroError):
    """Root of the errors of UI definitions.

    ``position`` (a `vetro.muranopl.declarations.tree.Position`, or None) is for the author. ``civil`` is what may be
    told to the person who wanted to fill in the form.
    """

    kind = "ui-definition"
    code = "DUI000"
    civil: ClassVar[str] = Text(
        "The form of this application has a mistake and cannot be used. Please tell whoever maintains the package."
    )

    def __init__(self, message: str = "", *, position: Any = None, hint: str | None = None) -> None:
        super().__init__(message or (self.__doc__ or "").split("\n")[0])
        self.position = position
        if hint is not None:
            self.hint = hint

    def __str__(self) -> str:
        return f"{self.position}: {self.message}" if self.position is not None else self.message


class DefinitionError(DynamicFormError):
    """The definition is malformed."""

    code = "DUI100"


class UnsupportedVersion(DefinitionError):
    """The definition is written in a format version that is not supported."""

    kind = "ui-version"
    code = "DUI101"


class UnknownAttribute(DefinitionError):
    """A field has an attribute that its type does not know."""

    kind = "ui-attribute"
    code = "DUI102"


class BadAttribute(DefinitionError):
    """An attribute of a field has a value that it cannot have."""

    kind = "ui-attribute"
    code = "DUI103"


class ExpressionFailed(DynamicFormError):
    """An expression of the definition cannot be evaluated."""

    kind = "ui-expression"
    code = "DUI200"


class TemplateLoop(ExpressionFailed):
    """Templates contain each other without end."""

    code = "DUI201"


class StaticActionFailed(DynamicFormError):
    """The static action that `ParametersSource` names failed."""

    kind = "ui-parameters"
    code = "DUI300"
    civil = Text("The values that this form starts from could not be fetched. Please try again later.")


class EncryptionUnavailable(DynamicFormError):
    """The definition encrypts values and there is no secret store."""

    kind = "ui-encryption"
    code = "DUI301"
    civil = Text("This Application requires encryption, please contact your administrator to configure this.")


class ChoicesUnavailable(DynamicFormError):
    """A list of the cloud or the catalog cannot be read now. Raised by implementations of `Cloud` and `Catalog`."""

    kind = "ui-choices"
    code = "DUI302"
    civil = Text("The choices cannot be read at the moment. Please try again later.")


class WizardStateError(DynamicFormError):
    """The stored answers do not belong to this definition, or a step is asked for that there is not."""

    kind = "ui-state"
    code = "DUI303"
    civil = Text("The form has changed since it was opened. Please open it again.")
