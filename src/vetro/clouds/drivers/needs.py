"""What resource types need of a cloud, against what it can do (`vetro.clouds.kind_protocols.Capabilities`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from vetro.clouds import kinds
from vetro.clouds.interface import CloudError, TemplateInvalid
from vetro.clouds.kind_protocols import Capabilities

#: A capability and how much of it: ``{"volumes": "attach"}``, ``{"floating": True}``.
Needs = Mapping[str, str | bool]

#: What the values of capabilities that are no yes or no include, the least first.
_LEVELS: Final[Mapping[str, tuple[str, ...]]] = {
    "volumes": ("none", "record", "attach"),
    "networks": ("none", "given", "own"),
    "groups": ("none", "outside", "full"),
    "consoles": ("none", "log", "terminal"),
    "walls": ("none", "host", "network", "full"),
}
#: What people call them.
_WORDS: Final[Mapping[tuple[str, str | bool], str]] = {
    ("volumes", "record"): "data volumes",
    ("volumes", "attach"): "data volumes that are attached to servers",
    ("floating", True): "floating addresses",
    ("networks", "own"): "networks of its own",
    ("groups", "full"): "security groups between servers",
    ("shared_ips", True): "addresses that servers share",
}


class NeedsMissing(TemplateInvalid):
    """A resource needs something that the cloud does not have. Nothing was done."""

    code = "CLD137"


def satisfied(needs: Needs, able: Capabilities) -> bool:
    """Whether a cloud with these capabilities has all of it."""
    return next(_absent(needs, able), None) is None


def require(needs: Needs, able: Capabilities, cloud: str) -> None:
    """Raises `NeedsMissing` for the first thing that the cloud (by the name of its kind) does not have."""
    for name, wanted in _absent(needs, able):
        words = _WORDS.get((name, wanted), f"{name}: {wanted}")
        error = NeedsMissing(f"it needs {words}, which clouds of kind '{cloud}' do not have")
        having = kinds_with(needs)
        if having:
            error.hint = f"clouds that have them: {', '.join(having)}"
        raise error


def kinds_with(needs: Needs) -> list[str]:
    """The kinds of this installation that have all of it."""
    found = []
    for kind in kinds.usable():
        try:
            able = kind.capabilities(None)
        except CloudError:
            continue
        if satisfied(needs, able):
            found.append(kind.name)
    return found


def _absent(needs: Needs, able: Capabilities) -> Iterator[tuple[str, str | bool]]:
    for name, wanted in needs.items():
        has = getattr(able, name)
        levels = _LEVELS.get(name)
        enough = levels.index(has) >= levels.index(str(wanted)) if levels else has == wanted
        if not enough:
            yield name, wanted
