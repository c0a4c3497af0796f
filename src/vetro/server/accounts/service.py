"""What others call of the accounts: users, projects, roles, tokens, links, signing in."""

from __future__ import annotations

from vetro.server.accounts.login import sign_in
from vetro.server.accounts.people import (
    ROLES,
    create_project,
    create_user,
    delete_user,
    find_project,
    find_user,
    grant,
    list_projects,
    list_users,
    revoke_role,
    roles_of,
    set_active,
    set_password,
    set_project_enabled,
)
from vetro.server.accounts.tokens import create_link, create_token, list_tokens, redeem_link, revoke_token

__all__ = [
    "ROLES",
    "create_link",
    "create_project",
    "create_token",
    "create_user",
    "delete_user",
    "find_project",
    "find_user",
    "grant",
    "list_projects",
    "list_tokens",
    "list_users",
    "redeem_link",
    "revoke_role",
    "revoke_token",
    "roles_of",
    "set_active",
    "set_password",
    "set_project_enabled",
    "sign_in",
]
