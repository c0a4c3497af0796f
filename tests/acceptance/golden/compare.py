"""Whether an answer is the recorded one (RECORDING.md, "Comparing")."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.acceptance.golden.names import Names

#: Lists whose order API.md promises (or the model itself has); others are compared as bags.
_ORDERED: Final = {"packages", "deployments", "reports", "services", "versions", "formSections", "list", "enum"}
#: Texts that are free: rule 3.
_FREE_TEXTS: Final = {"text", "details", "message", "explanation", "traceback"}
#: Our standard packages are other ones than those recorded: only their names and classes are told (rule 6).
_STANDARD: Final = ("io.murano", "io.murano.applications")
_STANDARD_FREE: Final = tuple(rf".*\.{key}" for key in ("name", "description", "author", "tags", "supplier"))
#: The packages that Murano cannot have: wherever packages are listed they are more, and nothing else may be.
_VETRO: Final = ("io.vetro", "io.vetro.std")
_CLASSES: Final = r".*\.class_definitions"
#: Reports that the service writes itself, which clients look for.
_OWN_REPORTS: Final = re.compile(r"Action \w+ is scheduled|Deployment finished.*")


@dataclass
class Answer:
    """What the service answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Allowed:
    """What may differ from the recording at one exchange. ``paths`` are patterns over `$.a[0].b`."""

    #: Keys that may be there besides.
    more: tuple[str, ...] = ()
    #: Places that are not compared.
    free: tuple[str, ...] = ()
    #: Places where only the type counts.
    kinds: tuple[str, ...] = ()
    #: Lists that hold the recorded items among others.
    contains: tuple[str, ...] = ()
    #: Ordered lists that are compared as bags.
    unordered: tuple[str, ...] = ()
    #: Only status and headers are compared.
    whole: bool = False


def differences(recorded: Mapping[str, Any], answer: Answer, names: Names, allowed: Allowed) -> list[str]:
    """What differs, in words; ids are bound in ``names`` on the way."""
    if answer.status != recorded["status"]:
        return [f"status {answer.status} instead of {recorded['status']}: {answer.body[:300]!r}"]
    found = list(_headers(recorded["headers"], answer.headers))
    body = recorded.get("body")
    if allowed.whole:
        return found
    if body is None:
        return found + ([f"a body where none is recorded: {answer.body[:200]!r}"] if answer.body else [])
    if "json" in body:
        try:
            data = answer.json()
        except ValueError:
            return [*found, f"no JSON: {answer.body[:200]!r}"]
        return found + list(_values(body["json"], data, "$", names, allowed))
    if "text" in body:
        return found + list(_text(recorded, body["text"], answer, names))
    return found + ([] if answer.body else ["no body where bytes are recorded"])


def _headers(recorded: Mapping[str, str], given: Mapping[str, str]) -> Iterator[str]:
    wanted = recorded.get("content-type", "").replace(" ", "").lower()
    have = given.get("content-type", "").replace(" ", "").lower()
    if wanted and wanted != have:
        yield f"content-type {given.get('content-type')!r} instead of {recorded['content-type']!r}"
    if "www-authenticate" in recorded and not given.get("www-authenticate"):
        yield "no www-authenticate"


def _text(recorded: Mapping[str, Any], text: str, answer: Answer, names: Names) -> Iterator[str]:
    given = answer.body.decode(errors="replace")
    if recorded["status"] >= 400:
        # Its explanation is free text; unhandled errors of the old service were JSON labelled as HTML.
        wanted, have = _title(text), _title(given)
        if wanted and wanted != have:
            yield f"title {have!r} instead of {wanted!r}"
    elif not names.matches(text, given):
        yield f"text {given[:200]!r} instead of {text[:200]!r}"


def _title(text: str) -> str:
    found = re.search(r"<title>(.*?)</title>", text)
    return found[1] if found else ""


def _values(recorded: Any, given: Any, path: str, names: Names, allowed: Allowed) -> Iterator[str]:
    if _among(path, allowed.free):
        return
    if _among(path, allowed.kinds):
        if type(recorded) is not type(given):
            yield f"{path}: {_short(given)} is of another type than {_short(recorded)}"
        return
    if isinstance(recorded, dict):
        if not isinstance(given, dict):
            yield f"{path}: {_short(given)} instead of a mapping"
            return
        if recorded.get("fully_qualified_name") in _STANDARD:
            allowed = replace(allowed, free=(*allowed.free, *_STANDARD_FREE), contains=(*allowed.contains, _CLASSES))
        yield from _mappings(recorded, given, path, names, allowed)
    elif isinstance(recorded, list):
        if not isinstance(given, list):
            yield f"{path}: {_short(given)} instead of a list"
            return
        yield from _lists(recorded, given, path, names, allowed)
    elif isinstance(recorded, str):
        if not isinstance(given, str):
            yield f"{path}: {_short(given)} instead of {_short(recorded)}"
        elif not names.matches(recorded, given) and not _free_text(path, recorded):
            yield f"{path}: {_short(given)} instead of {_short(names.fill(recorded))}"
    elif type(recorded) is not type(given) or recorded != given:
        yield f"{path}: {_short(given)} instead of {_short(recorded)}"


def _free_text(path: str, recorded: str) -> bool:
    return path.rpartition(".")[2] in _FREE_TEXTS and not _OWN_REPORTS.fullmatch(recorded)


def _mappings(recorded: Any, given: Any, path: str, names: Names, allowed: Allowed) -> Iterator[str]:
    keys = {}
    for key in recorded:
        if "id-" not in key:
            keys[key] = key if key in given else None
            continue
        # An action's key holds an id that may be new here.
        keys[key] = next((have for have in given if have not in keys.values() and names.matches(key, have)), None)
    for key, have in keys.items():
        if have is None:
            if not _among(f"{path}.{key}", allowed.free):
                yield f"{path}: no {key!r}"
        else:
            yield from _values(recorded[key], given[have], f"{path}.{key}", names, allowed)
    for key in given.keys() - set(keys.values()):
        if not _among(f"{path}.{key}", allowed.more):
            yield f"{path}: {key!r} is more than recorded ({_short(given[key])})"


def _lists(recorded: Any, given: Any, path: str, names: Names, allowed: Allowed) -> Iterator[str]:
    contains = _among(path, allowed.contains)
    if path == "$.packages":
        given = [one for one in given if not isinstance(one, dict) or one.get("fully_qualified_name") not in _VETRO]
    if len(given) < len(recorded) or (len(given) > len(recorded) and not contains):
        yield f"{path}: {len(given)} items instead of {len(recorded)}: {_labels(given)} instead of {_labels(recorded)}"
        return
    last = path.rpartition(".")[2]
    ordered = (last in _ORDERED or path == "$") and not contains and not _among(path, allowed.unordered)
    if ordered:
        for index, (one, other) in enumerate(zip(recorded, given, strict=True)):
            yield from _values(one, other, f"{path}[{index}]", names, allowed)
        return
    left = list(given)
    for index, one in enumerate(recorded):
        best: tuple[list[str], int, Names] | None = None
        for position, other in enumerate(left):
            trial = names.copy()
            found = list(_values(one, other, f"{path}[{index}]", trial, allowed))
            if best is None or len(found) < len(best[0]):
                best = (found, position, trial)
            if not found:
                break
        assert best is not None
        yield from best[0]
        names.learn(best[2])
        del left[best[1]]


def _labels(items: list[Any]) -> str:
    return str([item.get("name", item.get("id", "…")) if isinstance(item, dict) else item for item in items])[:400]


def _among(path: str, patterns: tuple[str, ...]) -> bool:
    return any(re.fullmatch(pattern, path) for pattern in patterns)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 160 else text[:157] + "…"
