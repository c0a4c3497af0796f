"""`enforce`: whether the caller may do something, by rules of oslo.policy with Murano's names (API.md 15)."""

from __future__ import annotations

from vetro.server.caller import Caller
from vetro.server.errors import Forbidden

#: Rules that only administrators meet; every other one is met by each member of the project.
_ADMIN = frozenset({"list_environments_all_tenants", "publicize_package", "add_category", "delete_category"})


def enforce(caller: Caller, rule: str) -> None:
    """Raises `Forbidden` when the rule does not let the caller."""
    if rule in _ADMIN and not caller.is_admin:
        raise Forbidden(f"Rule '{rule}' does not allow this.")
