"""`enforce`: whether the caller may do something, by rules of oslo.policy with Murano's names (API.md 15).

Rules depend on who asks, not on what is asked about (projects are kept apart elsewhere, and no rule can open them).
So a decision is remembered by rule and caller's roles, and costs a look-up. A changed policy file takes effect within
a second; while it is broken, the rules before it stay.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from vetro.diagnostics import Text
from vetro.server.accounts.policy_rules import RULES, default_rules
from vetro.server.caller import Caller
from vetro.server.config.config import Config
from vetro.server.errors import Forbidden, NotSignedIn
from vetro.server.setup import config

_log = logging.getLogger("vetro.policy")
#: Seconds between two looks at the policy file.
_LOOK = 1.0


def enforce(caller: Caller, rule: str) -> None:
    """Raises `Forbidden` when the rule does not let the caller; for ``get_schema`` `NotSignedIn` (API.md)."""
    if not allows(caller, rule):
        kind = NotSignedIn if rule == "get_schema" else Forbidden
        roles = ", ".join(sorted(caller.roles)) or "without a role"
        hint = Text("you act as {roles}; administrators grant roles", roles=roles)
        if caller.project_name:
            hint = Text(
                "you act as {roles} in project {project_name}; administrators grant roles",
                roles=roles,
                project_name=caller.project_name,
            )
        raise kind(Text("Rule '{rule}' does not allow this.", rule=rule), hint=hint)


def allows(caller: Caller, rule: str) -> bool:
    """Whether the rule lets the caller."""
    return _current().decide(rule, tuple(caller.roles), caller.is_admin, caller.user_id, caller.project_id)


def is_admin(roles: Sequence[str], user_id: str = "", project_id: str = "") -> bool:
    """Whether these roles make an administrator (rule ``context_is_admin``)."""
    return _current().decide("context_is_admin", tuple(roles), False, user_id, project_id)


def describe() -> list[tuple[str, str, str, str]]:
    """(name, expression in force, where it comes from, meaning) of every rule."""
    rules = _current()
    return [
        (
            name,
            str(text),
            "file" if name in rules.given else "default",
            RULES[name][1] if name in RULES else rules.unasked.get(name, ""),
        )
        for name, text in rules.texts.items()
    ]


class Policy:
    """One set of rules. Raises `vetro.server.accounts.policy_file.PolicyError` when they are broken."""

    def __init__(self, settings: Config) -> None:
        from oslo_config import cfg
        from oslo_policy import policy

        from vetro.server.accounts import policy_file

        name = str(settings["accounts.policy_file"])
        self.path: Path | None = settings.path("accounts.policy_file") if name else None
        self.stamp = stamp_of(self.path)
        self.given: Mapping[str, Any] = policy_file.read_policy(self.path) if self.path else {}
        self.texts = {**default_rules(str(settings["accounts.admin_role"])), **self.given}
        where = str(self.path) if self.path else "default rules"
        policy_file.checked(dict(self.texts), lambda name: where)
        self.unasked = {
            name: "nothing asks for this rule" + (f"; did you mean '{meant}'?" if meant else "")
            for name, meant in policy_file.unasked(self.given).items()
        }
        for name, text in self.unasked.items():
            _log.warning("%s: %s: %s", where, name, text)
        checks = {name: policy_file.parsed(text) for name, text in self.texts.items()}
        options = cfg.ConfigOpts()
        options([], project="vetro", default_config_files=[], default_config_dirs=[])
        self._enforcer = policy.Enforcer(options, rules=checks, default_rule="default", use_conf=False)
        # Bounded, since users and projects of a Keystone are without number.
        self.decide = lru_cache(maxsize=16384)(self._decide)

    def _decide(self, rule: str, roles: tuple[str, ...], admin: bool, user_id: str, project_id: str) -> bool:
        who: dict[str, Any] = {
            "roles": list(roles),
            "is_admin": admin,
            "user_id": user_id,
            "project_id": project_id,
            "tenant_id": project_id,
        }
        return bool(self._enforcer.enforce(rule, {k: v for k, v in who.items() if k != "roles"}, who))


def stamp_of(path: Path | None) -> tuple[int, int, int] | None:
    """What changes when a file does; None when there is none."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size, found.st_ino)


class _Keeper:
    """The rules in force, and when the file was looked at last."""

    def __init__(self) -> None:
        self.policy: Policy | None = None
        self.settings: Config | None = None
        self.next_look = 0.0
        self.lock = threading.Lock()

    def reload(self) -> Policy:
        settings = config()
        with self.lock:
            current = self.policy
            if current is None or settings is not self.settings:
                current = Policy(settings)
            elif current.path is not None and stamp_of(current.path) != current.stamp:
                try:
                    current = Policy(settings)
                    _log.info("policy file %s was read again", current.path)
                except Exception as error:
                    current.stamp = stamp_of(current.path)
                    _log.error("the changed policy file is not used: %s", error)
            self.policy, self.settings = current, settings
            self.next_look = time.monotonic() + _LOOK
            return current


_keeper = _Keeper()


def _current() -> Policy:
    keeper = _keeper
    policy = keeper.policy
    if policy is None or keeper.settings is not config():
        return keeper.reload()
    if policy.path is not None and time.monotonic() >= keeper.next_look:
        return keeper.reload()
    return policy
