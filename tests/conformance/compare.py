"""Does an outcome equal the expected one?

Generated object ids are compared by unification: ``<id:3>`` stands for one generated id, the same wherever it occurs in
the case, and two numbers never stand for the same id. This asks the same as renumbering both sides, but does not
depend on the order of mapping keys.
"""

from __future__ import annotations

import json
import re
from typing import Any

_MARK = re.compile(r"<id:(\d+)>")
_GENERATED = "[0-9a-f]{32}"


class Bindings:
    """Which generated id every ``<id:n>`` of a case stands for."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._marks: dict[str, str] = {}

    def match(self, expected: str, actual: str) -> bool:
        """Whether two texts are equal up to ids; binds the marks that are new in ``expected``."""
        marks = _MARK.findall(expected)
        if not marks:
            return expected == actual
        pattern = f"({_GENERATED})".join(re.escape(part) for part in _MARK.split(expected)[::2])
        found = re.fullmatch(pattern, actual)
        if found is None:
            return False
        before = (dict(self._ids), dict(self._marks))
        for mark, generated in zip(marks, found.groups(), strict=True):
            if self._ids.setdefault(mark, generated) != generated or self._marks.setdefault(generated, mark) != mark:
                self._ids, self._marks = before
                return False
        return True

    def state(self) -> tuple[dict[str, str], dict[str, str]]:
        """A copy of what is bound, for `restore`."""
        return dict(self._ids), dict(self._marks)

    def restore(self, state: tuple[dict[str, str], dict[str, str]]) -> None:
        """Forgets what was bound since `state`."""
        self._ids, self._marks = dict(state[0]), dict(state[1])

    def show(self, value: Any) -> Any:
        """``value`` with bound ids replaced by their marks, for diffs."""
        if isinstance(value, str):
            return re.sub(_GENERATED, lambda m: f"<id:{self._marks[m[0]]}>" if m[0] in self._marks else m[0], value)
        if isinstance(value, dict):
            return {self.show(key): self.show(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.show(item) for item in value]
        return value


def same_outcome(
    expected: dict[str, Any], actual: dict[str, Any], bindings: Bindings, *, load: bool = False, unordered: bool = False
) -> bool:
    """Whether a step (or, with ``load``, the loading of the model) had the expected outcome."""
    if set(expected) != set(actual):
        return False
    # Results first: ids occur there in the order in which a reader numbers them.
    for key in sorted(expected, key="traces".__eq__):
        left, right = expected[key], actual[key]
        if key == "error":
            if not same_error(left, right, bindings, load=load):
                return False
            continue
        if key == "traces" and unordered:
            left, right = sorted(left, key=_text), sorted(right, key=_text)
        if key == "model":
            left, right = _sort_attributes(left), _sort_attributes(right)
        if not same_value(left, right, bindings):
            return False
    return True


def same_error(expected: dict[str, Any], actual: dict[str, Any], bindings: Bindings, *, load: bool = False) -> bool:
    """Whether an error is the expected one: kind, location if one is expected, and everything a thrown one carries.

    ``kind: error`` accepts any error but a timeout; so do key-error and value-error while loading.
    """
    kind = expected.get("kind")
    if actual["kind"] == "timeout":
        return kind == "timeout"
    if kind == "error" or (load and kind in ("key-error", "value-error")):
        return True
    if kind != actual["kind"]:
        return False
    if "at" in expected and not bindings.match(str(expected["at"]), str(actual.get("at"))):
        return False
    if kind != "thrown":
        return True
    if not all(same_value(expected.get(key), actual.get(key), bindings) for key in ("names", "message", "extra")):
        return False
    cause, found = expected.get("cause"), actual.get("cause")
    if cause is None or found is None:
        return cause is found
    return same_error(cause, found, bindings)


def same_value(expected: Any, actual: Any, bindings: Bindings) -> bool:
    """Whether two converted values are equal: same types, lists in order, mappings and sets in any order."""
    if isinstance(expected, str) and isinstance(actual, str):
        return bindings.match(expected, actual)
    if expected.__class__ is not actual.__class__:
        return False
    if isinstance(expected, list):
        return len(expected) == len(actual) and all(
            same_value(left, right, bindings) for left, right in zip(expected, actual, strict=True)
        )
    if not isinstance(expected, dict):
        return bool(expected == actual)
    if len(expected) != len(actual):
        return False
    for bag in ("$set", "$map"):
        if set(expected) == {bag} == set(actual):
            return _same_bag(expected[bag], actual[bag], bindings)
    return _same_mapping(expected, actual, bindings)


def _same_mapping(expected: dict[Any, Any], actual: dict[Any, Any], bindings: Bindings) -> bool:
    marked = [key for key in expected if isinstance(key, str) and _MARK.search(key)]
    # The header goes first, because keys of `_actions` below it hold the id it binds.
    for key in sorted((key for key in expected if key not in marked), key=lambda key: (key != "?", key != "id")):
        if not any(key is other or (key.__class__ is other.__class__ and key == other) for other in actual):
            return False
        if not same_value(expected[key], actual[key], bindings):
            return False
    plain = {key for key in expected if key not in marked}
    left = [[key, expected[key]] for key in marked]
    return _same_bag(left, [[key, item] for key, item in actual.items() if key not in plain], bindings)


def _same_bag(expected: list[Any], actual: list[Any], bindings: Bindings) -> bool:
    """Whether the items can be paired so that all pairs are equal."""
    if len(expected) != len(actual):
        return False
    if not expected:
        return True
    first, rest = expected[0], expected[1:]
    for index, candidate in enumerate(actual):
        state = bindings.state()
        if same_value(first, candidate, bindings) and _same_bag(rest, actual[:index] + actual[index + 1 :], bindings):
            return True
        bindings.restore(state)
    return False


def _sort_attributes(model: Any) -> Any:
    if isinstance(model, dict) and isinstance(model.get("Attributes"), list):
        return {**model, "Attributes": sorted(model["Attributes"], key=_text)}
    return model


def _text(value: Any) -> str:
    """A textual form to sort by, the same for a generated id and the mark that stands for it."""
    text = json.dumps(value, sort_keys=True, default=str)
    return re.sub(_GENERATED, "<id>", _MARK.sub("<id>", text))
