"""Names of a template while its resources are there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vetro.clouds.stacks.convergence.live import LiveStack, TemplateScope
from vetro.clouds.stacks.state.rows import State
from vetro.clouds.stacks.templates.functions import Unknown

if TYPE_CHECKING:
    from vetro.clouds.stacks.convergence.protocol import StackInterpreter


class LiveScope(TemplateScope):
    """References and attributes are those of the resources that there are."""

    def __init__(self, interpreter: StackInterpreter, live: LiveStack) -> None:
        super().__init__(live)
        self._interpreter = interpreter

    def reference(self, name: str) -> Any:
        """What ``get_resource`` gives. Raises `ReferenceInvalid`, `Unknown` while it is not made."""
        state = self._state(name)
        return reference_of(self._interpreter, self.live, state)

    def attribute(self, name: str, attribute: str | None, path: list[Any]) -> Any:
        """An attribute; without a name all of them."""
        state = self._state(name)
        return attribute_of(self._interpreter, self.live, state, attribute, path)

    def _state(self, name: str) -> State:
        self.known(name)
        state = self.live.states.get(name)
        if state is None or not made(state):
            raise Unknown
        return state


def made(state: State) -> bool:
    """Whether a resource was made, whatever happened to it later."""
    return state.status == "CREATE_COMPLETE" or state.status.startswith("UPDATE_")


def reference_of(interpreter: StackInterpreter, live: LiveStack, state: State) -> Any:
    """What get_resource gives of a resource."""
    call = interpreter.call(live, state.name, state.type, state.id, state.properties)
    call.data = state.data
    return interpreter.handler(state.type).reference(call)


def attribute_of(
    interpreter: StackInterpreter, live: LiveStack, state: State, attribute: str | None, path: list[Any]
) -> Any:
    """An attribute of a resource. Raises `ReferenceInvalid` for a name that there is not."""
    call = interpreter.call(live, state.name, state.type, state.id, state.properties)
    call.data = state.data
    handler = interpreter.handler(state.type)
    if attribute is None:
        return {name: handler.attribute(call, name, []) for name in handler.attributes}
    return handler.attribute(call, attribute, path)
