"""What is to hold at the end: each check finds what is wrong, or nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.campaign.clients import Ordered, Site
from tests.faults.world import World

#: What each deployment tells first and last, and once between them because the cloud has no security groups.
_FIRST, _LAST = "Action deploy is scheduled", "Deployment finished"
_GROUPS = "The network service has no security groups, so their rules are left out"


@dataclass
class Check:
    """One thing that has to hold, and where it does not."""

    name: str
    wrong: list[str] = field(default_factory=list)


@dataclass
class Told:
    """A deployment as the service tells of it at the end."""

    site: Site
    order: Ordered
    state: str
    reports: list[str]
    error: str

    @property
    def done(self) -> bool:
        """Whether it ended well."""
        return self.state == "success"

    @property
    def as_ordered(self) -> bool:
        """Whether it ended as it was meant to: some are meant to fail."""
        if self.order.fails:
            return self.state == "completed_w_errors" and "no customers" in self.error
        return self.done

    @property
    def steps(self) -> int:
        """How many steps were made, where it ended as it was meant to."""
        return self.order.steps // 2 if self.order.fails else self.order.steps


def counted(sites: Iterable[Site], listed: dict[str, int]) -> Check:
    """The service knows each deployment that was ordered, once."""
    check = Check("every deployment that was ordered is there once")
    for site in sites:
        if listed[site.name] != len(site.ordered):
            check.wrong.append(f"{site.name}: {len(site.ordered)} ordered, {listed[site.name]} listed")
    return check


def ended(told: Iterable[Told]) -> Check:
    """Each is finished, or failed with a reason."""
    check = Check("every deployment is finished, or failed with a reason")
    for one in told:
        if one.error.startswith("run again, "):  # it did not repeat itself: kills must not lead to that
            check.wrong.append(f"{one.order.title} diverged: {one.error}")
        elif not one.done and not (one.state == "completed_w_errors" and one.error):
            check.wrong.append(f"{one.order.title}: {one.state} {one.error!r}")
    return check


def done_once(told: Iterable[Told], world: World) -> Check:
    """No effect is doubled; none of a deployment that ended as it was meant to is missing."""
    check = Check("no effect is doubled or missing")
    runs, states = Counter(world.done("run")), world.done("state")
    check.wrong += [f"plan {name} ran {count} times" for name, count in runs.items() if count > 1]
    check.wrong += [f"{name} was pushed {count} times" for name, count in Counter(states).items() if count > 1]
    resources = world.resources()
    for one in told:
        if not one.as_ordered:
            continue
        title = one.order.title
        wanted = {f"{title} {n}" for n in range(one.steps)}
        ran = {name for name in runs if name.startswith(f"{title} ")}
        pushed = {name for name in resources if name.startswith(f"{title}-")}
        if ran != wanted:
            check.wrong.append(f"{title}: plans {sorted(ran)} ran instead of {len(wanted)}")
        if pushed != {f"{title}-{n}" for n in range(one.steps)}:
            check.wrong.append(f"{title}: resources {sorted(pushed)} instead of {len(wanted)}")
    return check


def reported_once(told: Iterable[Told]) -> Check:
    """No report is lost or doubled."""
    check = Check("no report is lost or doubled")
    for one in told:
        found = one.reports
        steps = [text for text in found if text.startswith("step ")]
        twice = [text for text, count in Counter(found).items() if count > 1]
        good = found[:1] == [_FIRST] and found[-1].startswith(_LAST) and not twice
        if one.as_ordered:
            good = good and steps == [f"step {n}" for n in range(one.steps)]
            # Where the machine is busy, people are told, once, that an agent is waited for.
            waits = [text for text in found if text.startswith("waits for the agent ")]
            good = good and _GROUPS in found and len(found) - len(waits) == one.steps + 3 + one.order.fails
        if not good:
            check.wrong.append(f"{one.order.title}: {found}")
    return check


def free(sites: Iterable[Site], world: World) -> Check:
    """Each environment took a further deployment and could be deleted, with what was made for it."""
    check = Check("every environment takes a further deployment and can be deleted")
    check.wrong += [f"{site.name} was not deleted" for site in sites if not site.deleted]
    check.wrong += [f"stack {name} is left" for name in world.stacks()]
    return check
