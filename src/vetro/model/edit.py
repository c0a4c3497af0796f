"""Objects of a model are taken out, and put back as another model has them."""

from __future__ import annotations

from typing import Any

from vetro.model.differences import same
from vetro.model.header import id_of
from vetro.model.paths import ABSENT
from vetro.model.tree import SCALARS, by_id, find, objects


class NotRestorable(LookupError):
    """The place where an object stood is deep inside of a property that has changed."""


class OwnerMissing(NotRestorable):
    """What owned an object is not there any more."""


def place_of(root: Any, object_id: str) -> tuple[Any, Any] | None:
    """The list or mapping below ``root`` that holds an object, and its key in it; None where there is none."""
    stack: list[Any] = [root] if isinstance(root, (dict, list)) else []
    while stack:
        holder = stack.pop()
        for key, item in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if item.__class__ in SCALARS or key == "?":
                continue
            if id_of(item) == object_id:
                return holder, key
            if isinstance(item, (dict, list)):
                stack.append(item)
    return None


def take_out(root: Any, object_id: str) -> bool:
    """Removes an object with all that it owns, or makes its owner's property null. False where there is none."""
    place = place_of(root, object_id)
    if place is None:
        return False
    holder, key = place
    if isinstance(holder, list):
        del holder[key]
    else:
        holder[key] = None
    return True


def overwrite(obj: dict[str, Any], new: Any) -> None:
    """Gives an object the contents of another one; who holds it holds it still."""
    made = dict(new)
    obj.clear()
    obj.update(made)


def take_back(root: dict[str, Any], before: Any, object_id: str) -> bool:
    """Makes one object, and what it owns, what it was ``before``; False where neither model has it.

    A new object is removed, one that was removed comes back at its place, a changed one gets its old values. Raises
    `OwnerMissing` when one that was removed would have no owner, `NotRestorable` where its place cannot be told.
    """
    there = find(before, object_id)
    if there is None:
        return take_out(root, object_id)
    here = find(root, object_id)
    if here is not None:
        overwrite(here, there)
    else:
        _put_back(root, before, object_id)
    return True


def _put_back(root: dict[str, Any], before: Any, object_id: str) -> None:
    for owner in objects(before):
        for name, value in owner.items():
            index = None
            if isinstance(value, list):
                index = next((i for i, item in enumerate(value) if id_of(item) == object_id), None)
            if index is None and id_of(value) != object_id:
                continue
            own = id_of(owner)
            mine = None if own is None else find(root, own)
            if mine is None:
                raise OwnerMissing
            if index is None:
                mine[name] = value
            else:
                kept = mine.get(name)
                kept = kept if isinstance(kept, list) else []
                mine[name] = [*kept[:index], value[index], *kept[index:]]
            return
    raise NotRestorable


def follow(draft: Any, before: Any, after: Any) -> bool:
    """Gives the objects of a draft, which was made of ``before``, the values that ``after`` has: where these are others
    and the draft has not changed them itself. Values that hold objects stay. Whether anything was changed.
    """
    changed = False
    old, new = by_id(before), by_id(after)
    for id, own in by_id(draft).items():
        if id not in old or id not in new:
            continue
        for name in {*old[id], *new[id]} - {"?"}:
            was, now, mine = old[id].get(name, ABSENT), new[id].get(name, ABSENT), own.get(name, ABSENT)
            if _equal(was, now) or not _equal(was, mine) or any(True for value in (was, now) for _ in objects(value)):
                continue
            changed = True
            if now is ABSENT:
                del own[name]
            else:
                own[name] = now
    return changed


def _equal(one: Any, other: Any) -> bool:
    return one is other if ABSENT in (one, other) else same(one, other)
