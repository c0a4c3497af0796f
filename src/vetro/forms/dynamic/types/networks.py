"""A network with one of its subnets: network."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from vetro.diagnostics import Text
from vetro.forms.dynamic.attributes import Convert
from vetro.forms.dynamic.environment import Row
from vetro.forms.dynamic.errors import BadAttribute
from vetro.forms.dynamic.patterns import FormPattern, TooMuchToCheck, read_pattern
from vetro.forms.dynamic.types.base import Resolved
from vetro.forms.dynamic.types.choices import is_offered, not_offered
from vetro.forms.dynamic.types.cloud import CloudSelect
from vetro.forms.model import Choice
from vetro.yaql.errors import LimitExceeded

if TYPE_CHECKING:
    from vetro.forms.dynamic.resolve import Look

_WAYS = ("exclude", "translate")


def filter_pattern(value: Any) -> FormPattern | None:
    """A regular expression for the beginning of names. Raises ValueError."""
    if value is None or value == "":
        return None
    try:
        return read_pattern(value)
    except (ValueError, LimitExceeded) as error:
        raise ValueError(Text("is no regular expression ({error})", error=error)) from None


def way(value: Any) -> str:
    """What happens to networks of environments: exclude, translate, or nothing. Raises ValueError."""
    if value is None:
        return ""
    if value not in _WAYS:
        raise ValueError(Text("must be exclude or translate"))
    return str(value)


class Network(CloudSelect):
    """A pair of the ids of a network and of one of its subnets; null for "any"."""

    own = frozenset({"filter", "murano_networks", "allow_auto", "include_subnets"})
    conversions: ClassVar[Mapping[str, Convert]] = {"filter": filter_pattern, "murano_networks": way}

    def nothing(self) -> Any:
        return [None, None]

    def shown(self, value: Any, field: Resolved) -> Any:
        pair = _pair(value)
        return pair if pair is not None else super().shown(value, field)

    def offers(self, field: Resolved, values: Mapping[str, Any], look: Look) -> Sequence[Choice]:
        pattern: FormPattern | None = values.get("filter")
        handling: str = values.get("murano_networks", "")
        found = [Choice([None, None], "Auto")] if values.get("allow_auto", True) else []
        for row in look.cloud("networks"):
            if row.get("external"):
                continue
            subnets: Sequence[Row] = row.get("subnets") or ()
            environment = _environment(str(row["name"]), look) if handling and len(subnets) == 1 else None
            if handling == "exclude" and environment is not None:
                continue
            if pattern is not None and not _begins(pattern, str(row["name"]), field, look):
                continue
            name = (
                str(row["name"]) if environment is None else Text("Network of '{environment}'", environment=environment)
            )
            found += _choices(row["id"], name, subnets, environment is not None, values.get("include_subnets", True))
        return found

    def clean(self, raw: Any, field: Resolved) -> Any:
        pair = _pair(raw)
        if pair is None:
            if raw is None or raw == "":
                pair = [None, None]
                if not field.required:
                    return pair
            else:
                raise not_offered(raw, field)
        if is_offered(pair, field.choices):
            return pair
        raise not_offered((pair[0], pair[1]), field)

    def received(self, raw: Any, field: Resolved) -> Any:
        return _pair(raw) or self.nothing()

    def is_empty(self, value: Any) -> bool:
        return False

    def text_of(self, value: Any) -> str:
        return ",".join(part or "" for part in value)


def _choices(ident: Any, name: str, subnets: Sequence[Row], translated: bool, with_subnets: bool) -> list[Choice]:
    if not with_subnets:
        return [Choice([ident, None], name)]
    found = [
        Choice([ident, subnet["id"]], name if translated else f"{name}: {subnet['cidr']} {subnet['name']}")
        for subnet in subnets
    ]
    return [*found, Choice([ident, None], f"{name}: random subnet")]


def _environment(network: str, look: Look) -> str | None:
    return next((name for name in look.environment_names() if network.startswith(f"{name}-network")), None)


def _begins(pattern: FormPattern, name: str, field: Resolved, look: Look) -> bool:
    try:
        return pattern.begins(name, look.evaluation.patterns)
    except TooMuchToCheck:
        raise BadAttribute(Text("filter takes too long to try"), position=field.definition.position) from None


def _pair(raw: Any) -> list[Any] | None:
    """A pair that was sent as a list or as JSON; None for anything else."""
    if isinstance(raw, str) and raw.startswith("["):
        try:
            raw = json.loads(raw)
        except (ValueError, RecursionError):
            return None
    if isinstance(raw, (list, tuple)) and len(raw) == 2 and all(part is None or isinstance(part, str) for part in raw):
        return list(raw)
    return None
