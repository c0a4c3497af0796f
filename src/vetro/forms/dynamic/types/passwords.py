"""Passwords, typed in twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vetro.diagnostics import Text
from vetro.forms.dynamic.patterns import read_pattern
from vetro.forms.dynamic.types.base import Resolved, ResolvedRule
from vetro.forms.dynamic.types.texts import String

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look

SUFFIX = "-clone"
_SPECIAL = frozenset("!@#$%^&*()_+|\\/.,~?><:{}-")
_STRENGTH = r"^.*(?=.*\d)(?=.*[a-z])(?=.*[A-Z])(?=.*[!@#$%^&*()_+|\/.,~?><:{}-]).*$"
_WEAK = Text("The password must contain at least one letter, one number and one special character")
_HELP = Text("Enter a complex password with at least one letter, one number and one special character")


class Password(String):
    """A secret text. Without validators of its own it has to be strong and 7 to 255 characters long."""

    widget = "password"
    own = String.own | {"confirm_input"}
    secret = True

    def settle(self, field: Resolved, values: Mapping[str, Any], look: Look) -> None:
        super().settle(field, values, look)
        own_rules = not field.definition.settings.keys().isdisjoint(("validators", "regexp_validator"))
        if not own_rules:
            field.min_length = 7 if field.min_length is None else field.min_length
            field.max_length = 255 if field.max_length is None else field.max_length
            field.rules = [
                ResolvedRule(field.messages.get("invalid", _WEAK), pattern=read_pattern(_STRENGTH), test=is_strong)
            ]
        if "help_text" not in values:
            field.help = Text("Enter a password") if own_rules else _HELP
        field.confirm = values.get("confirm_input", True) and not field.hidden


def is_strong(text: str) -> bool:
    """Whether there is a digit, a small letter, a capital and a special character in it."""
    return (
        any(c.isdecimal() for c in text)
        and any("a" <= c <= "z" for c in text)
        and any("A" <= c <= "Z" for c in text)
        and not _SPECIAL.isdisjoint(text)
    )


def confirmation(field: Resolved) -> Resolved:
    """The field for typing the password again."""
    return replace(
        field,
        name=field.name + SUFFIX,
        label=Text("Confirm password"),
        description="",
        description_title="",
        help=Text("Retype your password"),
        messages={**field.messages, "required": Text("Please confirm your password")},
        confirms=field.name,
        confirm=False,
    )
