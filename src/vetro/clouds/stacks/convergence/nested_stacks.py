"""Stacks that are resources of others (`vetro.clouds.stacks.types.base.Nesting`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from vetro.clouds.interface import CloudError, TemplateInvalid
from vetro.clouds.stacks.convergence.live import LiveStack, TemplateScope
from vetro.clouds.stacks.convergence.quota_needs import resource_id
from vetro.clouds.stacks.convergence.scope import attribute_of, made, reference_of
from vetro.clouds.stacks.state.rows import StackRow
from vetro.clouds.stacks.templates.environment import load_yaml
from vetro.clouds.stacks.templates.functions import ReferenceInvalid, Unknown, resolve
from vetro.clouds.stacks.templates.limits import DEEPEST_STACK, MOST_TOGETHER, TemplateTooLarge
from vetro.clouds.stacks.types.base import Call, PropertyInvalid, ResourceFailed
from vetro.clouds.stacks.types.registry import is_template
from vetro.library.stackdata import Part, digest_of, parts_of

if TYPE_CHECKING:
    from vetro.clouds.stacks.convergence.protocol import StackInterpreter


class InnerStacks:
    """Makes them with the interpreter that works on the outer stack."""

    def __init__(self, interpreter: StackInterpreter) -> None:
        self._interpreter = interpreter

    def push(self, call: Call, template: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """See `Nesting.push`."""
        interpreter, outer = self._interpreter, self._outer(call)
        row = interpreter.rows.by_id(call.id)
        if row is None:
            row = StackRow(call.id, call.owner, call.region, call.physical_name, call.stack, "", "", "", 0.0, 0.0)
            live = interpreter.begin(row, outer.depth + 1)
        else:
            live = interpreter.load(row, outer.depth + 1)
        if live.depth > DEEPEST_STACK:
            raise TemplateTooLarge(f"stacks are nested deeper than {DEEPEST_STACK} levels")
        live.allowance = outer.allowance
        self.make_room(call, len(template.get("resources") or ()))
        wanted = parts_of(template, values, outer.files, outer.environment_text)
        there = dict(live.parts())
        nothing = object()
        put: dict[Part, Any] = {part: value for part, value in wanted.items() if there.get(part, nothing) != value}
        drop = [part for part in there if part not in wanted]
        digest = digest_of(wanted)
        if not put and not drop and row.status.endswith("_COMPLETE"):
            return
        interpreter.stage(live, put, drop)
        try:
            interpreter.converge(live, put, drop, digest)
        except CloudError as error:
            raise ResourceFailed(str(error)) from None

    def make_room(self, call: Call, resources: int) -> None:
        """See `Nesting.make_room`."""
        if self._interpreter.rows.resources_of(call.owner) + resources > MOST_TOGETHER:
            raise TemplateTooLarge(f"the environment would have more than {MOST_TOGETHER:,} resources")

    def delete(self, call: Call) -> None:
        """See `Nesting.delete`."""
        live = self._live(call)
        if live is not None:
            self._interpreter.remove(live)

    def outputs(self, call: Call) -> Mapping[str, Any]:
        """See `Nesting.outputs`."""
        live = self._live(call)
        return live.values if live is not None else {}

    def references(self, call: Call) -> Mapping[str, Any]:
        """See `Nesting.references`."""
        live = self._live(call)
        if live is None:
            return {}
        states = (live.states[name] for name in live.definitions if name in live.states)
        return {state.name: reference_of(self._interpreter, live, state) for state in states if made(state)}

    def attribute(self, call: Call, resource: str, name: str, path: list[Any]) -> Any:
        """See `Nesting.attribute`."""
        live = self._live(call)
        state = live.states.get(resource) if live is not None else None
        if live is None or state is None or not made(state):
            return None
        return attribute_of(self._interpreter, live, state, name, path)

    def file(self, call: Call, name: str) -> Mapping[str, Any]:
        """See `Nesting.file`."""
        return _template(self._outer(call), name)

    def _outer(self, call: Call) -> LiveStack:
        return self._interpreter.remembered(call.stack)

    def _live(self, call: Call) -> LiveStack | None:
        row = self._interpreter.rows.by_id(call.id)
        # The depth matters to a stack that is worked on; one that is only looked at may be read without the outer one.
        return self._interpreter.load(row, self._interpreter.depth(call.stack) + 1) if row is not None else None

    def check(self, live: LiveStack) -> None:
        """Checks the templates that a staged stack uses as types, before anything is done. Raises `TemplateInvalid`."""
        for name in live.dirty:
            if live.enabled(name) and is_template(live.types[name]):
                self._check_file(live, name)

    def _check_file(self, live: LiveStack, name: str) -> None:
        file = live.types[name]
        if live.depth + 1 > DEEPEST_STACK:
            raise TemplateTooLarge(f"resources.{name}: stacks are nested deeper than {DEEPEST_STACK} levels")
        try:
            template = _template(live, file)
            properties = live.definitions[name].properties
            known, unknown = {}, set()
            for key, raw in properties.items():
                try:
                    known[key] = resolve(raw, TemplateScope(live))
                except Unknown:
                    unknown.add(key)
            parameters = template.get("parameters") or {}
            for key in unknown:
                if key not in parameters:
                    raise PropertyInvalid(f"the template {file} has no parameter '{key}'")
            state = live.states.get(name)
            id = state.id if state is not None else resource_id(live.row.id, name)
            row = StackRow(id, live.row.owner, live.row.region, name, live.row.id, "", "", "", 0.0, 0.0)
            live.allowance.look(len(template.get("resources") or ()))
            inner = LiveStack(row, live.depth + 1, unknown=frozenset(unknown), allowance=live.allowance)
            self._interpreter.check(inner, parts_of(template, known, live.files, live.environment_text))
            live.quota_needs.update(inner.quota_needs)
        except CloudError as error:
            raise TemplateInvalid(f"resources.{name} ({file}): {error}") from None


@lru_cache(maxsize=8)
def _parsed(text: str, name: str) -> Any:
    """Files that are used many times are read once; nobody changes what they hold."""
    return load_yaml(text, name)


def _template(live: LiveStack, name: str) -> Mapping[str, Any]:
    text = live.files.get(name)
    if text is None:
        raise ReferenceInvalid(f"the template '{name}' is not among the files sent with the stack")
    data = _parsed(text, name) if isinstance(text, str) else text
    if not isinstance(data, dict) or not isinstance(data.get("resources") or {}, dict):
        raise TemplateInvalid(f"{name} is no template: it must be a mapping with resources")
    return data
