"""How stacks of ours are recognised in Heat, and what stands beside their templates.

A stack's name in Heat is unique in a project, and one project may hold environments of many tenants: the name ends
with a digest of owner and name. Tags say whose it is, how its package calls it, and which wanted state it was given
last. A file of the stack holds what Heat would not give back: the environment's text, and which parameters were given.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from vetro.clouds.interface import Owner
from vetro.library.stackdata import Part, Parts, parts_of, whole_of
from vetro_openstack.settings import OpenStackSettings

#: The file among those of a stack that is ours.
STATE_FILE = "vetro/state.json"
_ENVIRONMENT, _DIGEST, _NAME, _REGION = "vetro-env-", "vetro-is-", "vetro-name=", "vetro-region="
_LARGEST_TAG = 80


def heat_name(owner: Owner, name: str) -> str:
    """The name of an owner's stack in Heat: readable, valid there, and nobody else's."""
    digest = hashlib.sha256("\0".join((owner.project, owner.environment, name)).encode()).hexdigest()[:16]
    readable = re.sub(r"[^A-Za-z0-9_.-]+", "-", name)[:60].strip("-.")
    return f"{readable if readable[:1].isalpha() else 'vetro-' + readable}-{digest}"


def owner_tag(owner: Owner) -> str:
    """The tag of all stacks of an environment."""
    return _ENVIRONMENT + hashlib.sha256(f"{owner.project}\0{owner.environment}".encode()).hexdigest()[:32]


def tags_of(settings: OpenStackSettings, owner: Owner, region: str, name: str, digest: str) -> str:
    """The tags of a stack, as Heat takes them; ``region`` as its package calls it."""
    tags = ["vetro", owner_tag(owner), _DIGEST + digest, *settings.tags]
    for told in (_NAME + name, _REGION + region):
        if not told.endswith("=") and len(told) <= _LARGEST_TAG and "," not in told:
            tags.append(told)
    return ",".join(tags)


def is_of(stack: Mapping[str, Any], owner: Owner) -> bool:
    """Whether a record of Heat is a stack of this environment."""
    return owner_tag(owner) in _tags(stack)


def digest_in(stack: Mapping[str, Any]) -> str:
    """The digest of the wanted state that a stack was given last; '' if it says none."""
    return _after(stack, _DIGEST)


def name_in(stack: Mapping[str, Any]) -> str:
    """How the package calls a stack; Heat's name where that did not fit into a tag."""
    return _after(stack, _NAME) or str(stack.get("stack_name", ""))


def region_in(stack: Mapping[str, Any]) -> str:
    """The region as the package called it when it pushed last: the home region has two names."""
    return _after(stack, _REGION)


def _after(stack: Mapping[str, Any], prefix: str) -> str:
    return next((tag[len(prefix) :] for tag in _tags(stack) if tag.startswith(prefix)), "")


def _tags(stack: Mapping[str, Any]) -> Sequence[str]:
    found = stack.get("tags") or ()
    if isinstance(found, str):
        return [tag.strip() for tag in found.split(",")]
    return [str(tag) for tag in found]


def body_of(parts: Mapping[Part, Any]) -> dict[str, Any]:
    """The wanted state as Heat takes it: template, parameters, files, environment."""
    template, values, files, environment = whole_of(parts)
    state = json.dumps({"environment": environment, "parameters": sorted(values)}, sort_keys=True)
    found: dict[str, Any] = {
        "template": template,
        "parameters": values,
        "files": {**files, STATE_FILE: state},
    }
    if environment is not None:
        found["environment"] = environment
    return found


def parts_in(template: Mapping[str, Any], files: Mapping[str, Any], environment: Mapping[str, Any]) -> Parts:
    """The parts that a stack of ours was made of; not exact where its state file is gone, which digests show."""
    ours = dict(files)
    try:
        state = json.loads(ours.pop(STATE_FILE, "{}"))
    except (TypeError, ValueError):
        state = {}
    given = environment.get("parameters") or {}
    names = state.get("parameters") if isinstance(state, dict) else None
    values = {name: given[name] for name in names or () if name in given}
    text = state.get("environment") if isinstance(state, dict) else None
    return parts_of(template, values, ours, text)
