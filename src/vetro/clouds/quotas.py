"""The table of quotas: what a project may have at most. Clouds and the service enforce their parts of it.

A limit is a whole number; `UNLIMITED` stands for none. Defaults are settings of the service (``quotas.NAME``), limits
of single projects lie in its database (`vetro.server.quotas`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from vetro.clouds.interface import CloudError
from vetro.diagnostics import Text

UNLIMITED: Final = -1
#: The largest limit: every database keeps it, and sums of what is used stay within.
LARGEST: Final = 2**53


@dataclass(frozen=True, slots=True)
class Quota:
    """A quota. ``unit``: '' where things are counted. ``kept_by``: who counts and refuses."""

    name: str
    meaning: str
    default: int
    unit: Literal["", "MiB", "GiB"] = ""
    kept_by: Literal["cloud", "service"] = "service"


class QuotaInvalid(CloudError):
    """A limit names no quota, or is no whole number from -1 on."""

    kind = "bad-argument"
    code = "CLD141"


class QuotaExceeded(CloudError):
    """A change of a stack needs more than the project may have. Nothing of it was made."""

    kind = "limit"
    code = "CLD140"


QUOTAS: Final[Mapping[str, Quota]] = {
    quota.name: quota
    for quota in (
        Quota("servers", Text("servers"), 500, kept_by="cloud"),
        Quota("processors", Text("processors of servers, by their flavors"), 2000, kept_by="cloud"),
        Quota("memory", Text("memory of servers, by their flavors"), 2_097_152, "MiB", "cloud"),
        Quota("disk", Text("disks of servers, by their flavors"), 40_960, "GiB", "cloud"),
        Quota("addresses", Text("floating addresses"), 250, kept_by="cloud"),
        Quota("networks", Text("networks"), 100, kept_by="cloud"),
        Quota("volumes", Text("volumes"), 500, kept_by="cloud"),
        Quota("volume_space", Text("size of volumes"), 20_480, "GiB", "cloud"),
        Quota("environments", Text("environments"), 10_000),
        Quota("packages", Text("packages in the catalog, each version"), 20_000),
        Quota("archives", Text("archives of packages"), 20_480, "MiB"),
        Quota("states", Text("object models: states of environments, drafts and templates"), 20_480, "MiB"),
        Quota("logs", Text("reports and log lines of tasks"), 10_240, "MiB"),
        Quota("tasks", Text("tasks that wait"), 1000),
        Quota("notice_targets", Text("targets of notices"), 20),
        Quota("notice_rules", Text("rules of notices"), 100),
        Quota("notices", Text("notices of the last 24 hours"), 2000),
        Quota("streams", Text("event streams that a process of the service sends at once"), 28),
        Quota("bodies", Text("bodies of requests that a process of the service receives at once"), 4),
    )
}

#: What people write for no limit, and for that of the settings.
_NONE, _DEFAULT = "none", "default"
#: Those that a cloud enforces.
OF_CLOUD: Final = tuple(name for name, quota in QUOTAS.items() if quota.kept_by == "cloud")


def limit_of(name: str, value: Any) -> int:
    """``value`` as the limit of a quota. Raises `QuotaInvalid`."""
    if name not in QUOTAS:
        known = ", ".join(QUOTAS)
        raise QuotaInvalid(Text("There is no quota '{name}'; there are {known}.", name=name, known=known))
    if isinstance(value, bool) or not isinstance(value, int) or not UNLIMITED <= value <= LARGEST:
        raise QuotaInvalid(
            Text(
                "The quota '{name}' must be a whole number from 0 to {largest}; none or {unlimited} is no limit.",
                name=name,
                largest=LARGEST,
                unlimited=UNLIMITED,
            )
        )
    return value


def limits_of(given: Mapping[str, Any]) -> dict[str, int]:
    """Limits out of plain data. Raises `QuotaInvalid`."""
    return {name: limit_of(name, value) for name, value in given.items()}


def parsed(texts: Mapping[str, str]) -> dict[str, int | None]:
    """Limits as people write them: a whole number, ``none`` for no limit, ``default`` (None) for the usual one.

    Raises `QuotaInvalid`.
    """
    made: dict[str, int | None] = {}
    for name, text in texts.items():
        word = text.strip().lower()
        number = word.isascii() and word.isdigit() and len(word) < 20
        value = int(word) if number else UNLIMITED if word in (_NONE, str(UNLIMITED)) else None
        if value is None and word != _DEFAULT:
            limit_of(name, text)  # which is none
        limit_of(name, 0 if value is None else value)
        made[name] = value
    return made


def exceeds(limit: int, used: float, asked: float) -> bool:
    """Whether ``asked`` more is too much."""
    return limit != UNLIMITED and asked > 0 and used + asked > limit


def refusal(project: str, name: str, used: float, asked: float, limit: int) -> str:
    """Why something is refused, and who can change that: the same words everywhere."""
    unit = f" {QUOTAS[name].unit}" if QUOTAS[name].unit else ""
    has, most, more = _number(used), f"{limit:,}{unit}", _number(asked)
    again, entry = project, name  # who translates a sentence knows its values by their names
    return Text(
        "Quota '{name}': project '{project}' has {has} of {most}, this asks for {more} "
        "more; remove what is not needed, or have an administrator raise it with 'vetro "
        "quota set {again} {entry}=NUMBER' (of a workspace: [quotas] in its vetro.toml)",
        name=name,
        project=project,
        has=has,
        most=most,
        more=more,
        again=again,
        entry=entry,
    )


def _number(value: float) -> str:
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:,.1f}" if value >= 1 else f"{value:.2g}"
