"""``io.murano.User`` and ``io.murano.Project``: who runs the deployment (CORE_LIBRARY.md, User / Project)."""

from __future__ import annotations

from typing import Any

from vetro.library.natives.common import perform
from vetro.muranopl.types.native import method
from vetro.yaql.values import freeze

_DROPPED = {
    "user": frozenset({"links", "enabled", "default_project_id"}),
    "project": frozenset({"links", "parent_id", "enabled"}),
}
_FIELDS = {"user": ("id", "name", "domain", "email"), "project": ("id", "name", "domain", "description")}
_CLASSES = {"user": "io.murano.User", "project": "io.murano.Project"}


def _lookup(cx: Any, what: str, of: str) -> Any:
    record: dict[str, Any] = dict(perform(cx, "identity", what=what, of=of) or {})
    if not record.get("domain"):
        record["domain"] = record.get("domain_name") or "Default"
    values = {name: record.pop(name, None) for name in _FIELDS[what]}
    extra = {key: value for key, value in record.items() if key not in _DROPPED[what] and key != "domain_name"}
    values["extra"] = freeze(extra)
    return cx.session.store.create(cx.resolve(_CLASSES[what]), values, None, None)


class User:
    """A person of the identity service."""

    @method("getCurrent", static=True)
    def get_current(cx: Any) -> Any:
        """Who started this task."""
        return _lookup(cx, "user", "caller")

    @method("getEnvironmentOwner", static=True)
    def get_environment_owner(cx: Any) -> Any:
        """Who owns the environment."""
        return _lookup(cx, "user", "environment")


class Project:
    """A project of the identity service."""

    @method("getCurrent", static=True)
    def get_current(cx: Any) -> Any:
        """The project this task was started in."""
        return _lookup(cx, "project", "caller")

    @method("getEnvironmentOwner", static=True)
    def get_environment_owner(cx: Any) -> Any:
        """The project the environment belongs to."""
        return _lookup(cx, "project", "environment")
