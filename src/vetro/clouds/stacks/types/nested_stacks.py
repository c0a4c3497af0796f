"""Stacks within stacks: how handlers of groups and templates used as types make them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from vetro.clouds.stacks.types.base import Call


class Nesting(Protocol):
    """What the interpreter does for a resource that is a stack itself; the id of both is the same."""

    def push(self, call: Call, template: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Makes the stack or brings it to this template; files and environment are the outer stack's.

        Raises `CloudError` with the place of what failed.
        """
        ...  # pragma: no cover - protocol

    def make_room(self, call: Call, resources: int) -> None:
        """Raises `TemplateTooLarge` when the environment cannot have so many more resources."""
        ...  # pragma: no cover - protocol

    def delete(self, call: Call) -> None:
        """Removes the stack with all its resources. Raises `CloudError`."""
        ...  # pragma: no cover - protocol

    def outputs(self, call: Call) -> Mapping[str, Any]:
        """The outputs of the stack; none when it is not there."""
        ...  # pragma: no cover - protocol

    def references(self, call: Call) -> Mapping[str, Any]:
        """Resource name -> what get_resource gives, for the resources that there are."""
        ...  # pragma: no cover - protocol

    def attribute(self, call: Call, resource: str, name: str, path: list[Any]) -> Any:
        """An attribute of a resource of the stack; null without one. Raises `ReferenceInvalid`."""
        ...  # pragma: no cover - protocol

    def file(self, call: Call, name: str) -> Mapping[str, Any]:
        """A file of the outer stack as a template. Raises `TemplateInvalid`, `ReferenceInvalid`."""
        ...  # pragma: no cover - protocol
