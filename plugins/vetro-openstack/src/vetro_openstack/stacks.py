"""Stacks of environments in Heat: read, push by difference, adopt, delete (`vetro.clouds.interface.Cloud`)."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from vetro.clouds.interface import (
    Conflict,
    Owner,
    StackChange,
    StackFailed,
    StackState,
    StaleStack,
    Taken,
    TemplateInvalid,
)
from vetro.library.stackdata import EMPTY, Parts, apply, digest_of, whole_of
from vetro_openstack import marks
from vetro_openstack.errors import CloudUnreachable, Refused
from vetro_openstack.link import Link
from vetro_openstack.settings import OpenStackSettings
from vetro_openstack.stack_progress import Stack, path_of, settled, status_of, why

#: How often a write whose end is not known is looked for and sent again, and the pause before.
_TRIES, _PAUSE = 4, 1.0
#: Seconds for which a stack may still show the state before an update that Heat has accepted.
_LAG = 5.0
_REMEMBERED = 8
#: States in which a stack has what it was given last.
_GOOD = frozenset({"CREATE_COMPLETE", "UPDATE_COMPLETE", "CHECK_COMPLETE", "RESUME_COMPLETE"})


class Stacks:
    """All stacks of one cloud; which services are asked follows from the link. Used by many threads."""

    def __init__(self, settings: OpenStackSettings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        #: Parts of stacks as they were sent last, by id: reading them again costs as much as the template is long.
        self._sent: dict[str, tuple[str, Parts]] = {}

    def read(self, link: Link, owner: Owner, region: str, name: str, *, wait: bool) -> StackState | None:
        """See `Cloud.read_stack`."""
        found = self._find(link, owner, name)
        if found is not None and wait and status_of(found).endswith("_IN_PROGRESS"):
            found = settled(link, found, self._settings.stack_minutes)
        if found is None or not marks.is_of(found, owner):
            return None
        parts = self.parts(link, found)
        if parts is None:
            return None
        template, values, _, _ = whole_of(parts)
        return self._state(link, found, region, template=template, parameters=values, digest=digest_of(parts))

    def list(self, link: Link, owner: Owner) -> Sequence[StackState]:
        """The stacks of an environment in the region of the link."""
        return [self._record(stack, marks.region_in(stack)) for stack in self.ids(link, owner)]

    def ids(self, link: Link, owner: Owner) -> Sequence[Stack]:
        """Records of the environment's stacks as Heat has them."""
        found = link.pages("orchestration", "/stacks", "stacks", tags=marks.owner_tag(owner))
        return [stack for stack in found if status_of(stack) != "DELETE_COMPLETE"]  # listed for a moment still

    def push(self, link: Link, owner: Owner, region: str, name: str, change: StackChange) -> StackState:
        """See `Cloud.push_stack`."""
        if not name:
            raise TemplateInvalid("a stack needs a name")
        found = self._find(link, owner, name)
        if found is not None:
            self._ours(found, owner, name)
            if status_of(found).endswith("_IN_PROGRESS"):
                # Begun by us, or by one of us that died: the same wanted state is adopted, another one comes first.
                same = marks.digest_in(found) == change.digest and not status_of(found).startswith("DELETE")
                found = settled(link, found, self._settings.stack_minutes)
                if found is not None and same:
                    return self._ended(link, found, region)
        if found is not None and status_of(found).startswith("DELETE"):
            self._remove(link, found, name)
            found = None
        if found is not None and marks.digest_in(found) == change.digest and status_of(found) in _GOOD:
            return self._state(link, found, region, digest=change.digest)
        parts = self._wanted(link, found, name, change)
        done = self._write(link, owner, (region, name), found, parts, change.digest)
        with self._lock:
            self._sent[done["id"]] = (change.digest, parts)
            while len(self._sent) > _REMEMBERED:
                del self._sent[next(iter(self._sent))]
        return self._ended(link, done, region)

    def delete(self, link: Link, owner: Owner, name: str) -> None:
        """See `Cloud.delete_stack`."""
        found = self._find(link, owner, name)
        if found is not None and marks.is_of(found, owner):
            self._remove(link, found, name)

    # -- what is wanted ------------------------------------------------------------------------------------------------

    def _wanted(self, link: Link, found: Stack | None, name: str, change: StackChange) -> Parts:
        """All parts of the wanted state. Raises `StaleStack`, `TemplateInvalid`."""
        put, drop = _checked(change)
        if change.base is None:
            parts = apply({}, put, ())
        elif found is None:
            if change.base != EMPTY:
                raise StaleStack(f"there is no stack '{name}'")
            parts = apply({}, put, ())
        else:
            there = self.parts(link, found)
            if there is None:
                raise StaleStack(f"the stack '{name}' is gone")
            digest = digest_of(there)
            if digest not in (change.base, change.digest):
                raise StaleStack(f"the stack '{name}' is in another state")
            parts = there if digest == change.digest else apply(there, put, drop)
        if digest_of(parts) != change.digest:
            if change.base is not None:
                raise StaleStack(f"the change of stack '{name}' does not fit to its state")
            raise TemplateInvalid(f"the digest of the change of stack '{name}' is not that of its content")
        return parts

    def parts(self, link: Link, found: Stack) -> Parts | None:
        """The parts that Heat has; None when the stack went meanwhile."""
        with self._lock:
            digest, parts = self._sent.get(found["id"], ("", None))
        if parts is not None and digest and digest == marks.digest_in(found):
            return parts
        path = path_of(found)
        template = link.get("orchestration", path + "/template")
        files = link.get("orchestration", path + "/files")
        environment = link.get("orchestration", path + "/environment")
        if template is None or files is None or environment is None:
            return None
        return marks.parts_in(template, files, environment)

    # -- writing -------------------------------------------------------------------------------------------------------

    def _write(
        self, link: Link, owner: Owner, place: tuple[str, str], found: Stack | None, parts: Parts, digest: str
    ) -> Stack:
        """Has Heat make the wanted state; the stack when that ended, well or not.

        An answer that got lost is no harm: the stack is looked at, and what carries our digest is ours.
        """
        region, name = place
        heat = marks.heat_name(owner, name)
        body = {
            **marks.body_of(parts),
            "tags": marks.tags_of(self._settings, owner, region, name, digest),
            "disable_rollback": True,
            "timeout_mins": self._settings.stack_minutes,
        }
        for attempt in range(_TRIES):
            before = None if found is None else (marks.digest_in(found), found.get("updated_time"))
            try:
                if found is None:
                    made = link.request(
                        "orchestration", "POST", "/stacks", json={"stack_name": heat, **body}, again=False
                    )
                    found = {"id": made["stack"]["id"], "stack_name": heat}
                else:
                    more = {"converge": True} if status_of(found).startswith("CHECK") else {}
                    answer = link.request("orchestration", "PUT", path_of(found), json={**body, **more}, again=False)
                    if answer is None:
                        raise Conflict(f"the stack '{name}' was deleted by other hands")
                return self._after(link, found, name, digest, before)
            except Refused as error:
                if error.status != 400:
                    raise
                raise TemplateInvalid(f"stack '{name}': {error.message}") from None
            except CloudUnreachable:
                if attempt == _TRIES - 1:
                    raise
                link.pause(_PAUSE * 2**attempt)
            found = self._find(link, owner, name)
            if found is not None:
                self._ours(found, owner, name)
                going = status_of(found).endswith("_IN_PROGRESS")
                if marks.digest_in(found) == digest and (going or before is None or before[0] != digest):
                    return self._after(link, found, name, digest, None)
        raise AssertionError

    def _after(self, link: Link, found: Stack, name: str, digest: str, before: tuple[str, Any] | None) -> Stack:
        """The stack after an operation that Heat has accepted; ``before``: how it looked then."""
        waited = 0.0
        while True:
            done = settled(link, found, self._settings.stack_minutes)
            if done is None:
                raise StackFailed(f"stack '{name}' was deleted while it was made")
            same = before is not None and before == (marks.digest_in(done), done.get("updated_time"))
            if not same or waited >= _LAG:
                return done
            link.pause(0.5)
            waited += 0.5

    def _ended(self, link: Link, stack: Stack, region: str) -> StackState:
        if status_of(stack) not in _GOOD:
            words = why(link, stack)
            raise StackFailed(f"stack '{marks.name_in(stack)}' is in state {status_of(stack)}: {words}")
        return self._state(link, stack, region, digest=marks.digest_in(stack))

    def _remove(self, link: Link, found: Stack, name: str) -> None:
        if not status_of(found).startswith("DELETE_IN"):
            link.request("orchestration", "DELETE", path_of(found))
        left = settled(link, found, self._settings.stack_minutes)
        while left is not None and not status_of(left).startswith("DELETE"):  # accepted, and not begun yet
            link.pause(0.5)
            left = settled(link, found, self._settings.stack_minutes)
        if left is not None:
            raise StackFailed(f"stack '{name}' is in state {status_of(left)}: {why(link, left)}")
        with self._lock:
            self._sent.pop(found["id"], None)

    # -- records -------------------------------------------------------------------------------------------------------

    def _find(self, link: Link, owner: Owner, name: str) -> Stack | None:
        answer = link.get("orchestration", f"/stacks/{marks.heat_name(owner, name)}", resolve_outputs="false")
        if answer is None or status_of(answer["stack"]) == "DELETE_COMPLETE":
            return None
        return dict(answer["stack"])

    def _ours(self, found: Stack, owner: Owner, name: str) -> None:
        if not marks.is_of(found, owner):
            raise Taken(
                f"Heat has a stack '{found['stack_name']}' that is not of this environment, whose stack '{name}' has"
                " that name there; rename or delete it"
            )

    def _state(self, link: Link, stack: Stack, region: str, **more: Any) -> StackState:
        answer = link.get("orchestration", path_of(stack))
        rows = ((answer or {}).get("stack") or {}).get("outputs") or ()
        # Heat gives them in any order; models shall be the same every time.
        outputs = {
            row["output_key"]: row.get("output_value") for row in sorted(rows, key=lambda row: row["output_key"])
        }
        return self._record(stack, region, outputs=outputs, **more)

    def _record(self, stack: Mapping[str, Any], region: str, **more: Any) -> StackState:
        return StackState(
            **{
                "name": marks.name_in(stack),
                "region": region,
                "status": status_of(stack),
                "reason": str(stack.get("stack_status_reason") or ""),
                "digest": marks.digest_in(stack),
                "created": _seconds(stack.get("creation_time")),
                "updated": _seconds(stack.get("updated_time") or stack.get("creation_time")),
                **more,
            }
        )


def _checked(change: StackChange) -> tuple[list[Any], list[Any]]:
    for item in change.put:
        if len(item) != 3 or not isinstance(item[0], str) or not isinstance(item[1], str):
            raise TemplateInvalid("every item of 'put' must be [section, key, value]")
    for part in change.drop:
        if len(part) != 2 or not all(isinstance(name, str) for name in part):
            raise TemplateInvalid("every item of 'drop' must be [section, key]")
    return [list(item) for item in change.put], [list(part) for part in change.drop]


def _seconds(text: Any) -> float:
    try:
        found = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
    except ValueError:
        return 0.0
    return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
