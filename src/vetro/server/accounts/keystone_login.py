"""`Visit`: somebody of a Keystone signs in with name and password, to the pages or for a token (API v2).

Vetro keeps no account for them: the tokens that Keystone gives are shown to it again with each request
(`vetro.server.accounts.keystone`), so whoever loses a role, or is locked there, loses it here. The pages keep them in
the web session, encrypted; the session ends with them.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from vetro.data_classes import dataclass
from vetro.diagnostics import Text
from vetro.server.accounts import login, throttle
from vetro.server.accounts.keystone import caller_of_keystone, checker
from vetro.server.accounts.models import User
from vetro.server.accounts.people import LONGEST_PASSWORD
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.errors import Forbidden, NotSignedIn
from vetro.server.secrets.encryption import keyring
from vetro.server.secrets.key_file import KeysUnusable
from vetro.server.setup import config


@dataclass(frozen=True, slots=True)
class Visit:
    """``token`` is for project ``project``, ``unscoped`` for getting another one; both are Keystone's."""

    unscoped: str
    token: str
    expires: str
    project: str
    #: (id, name) of each project of the person, by name.
    projects: tuple[tuple[str, str], ...]

    def caller(self, address: str = "") -> Caller:
        """What Keystone says now. Raises `NotSignedIn`, `Unavailable`."""
        if not config()["keystone.url"]:
            raise NotSignedIn(Text("The token is unknown, expired or revoked."))
        return caller_of_keystone(self.token, address)

    def kept(self) -> str:
        """For a web session, which others may read in the database."""
        return keyring().encrypt(json.dumps(asdict(self)).encode()).decode("ascii")


def opened(kept: str) -> Visit | None:
    """What `Visit.kept` gave; None where the keys of the service have changed."""
    try:
        data = json.loads(keyring().decrypt(kept.encode("ascii")))
    except KeysUnusable:
        return None
    return Visit(**{**data, "projects": tuple((id, name) for id, name in data["projects"])})


def sign_in(name: str, password: str, address: str = "", project: str | None = None) -> User | Visit:
    """Who has an account here by its password (`login.sign_in`), others by that of a Keystone, if there is one.

    ``project``: name or id of the one that a visit is to, else the first by name. Raises what `login.sign_in` raises,
    `Forbidden` for somebody without projects, or who does not belong to this one, and `Unavailable`.
    """
    name = name[:255]
    if not config()["keystone.url"] or User.objects.filter(username=name).exists():
        return login.sign_in(name, password, address)
    domain, _, bare = name.rpartition("\\")
    given = config()["keystone.options"].get("login_domain")
    home = {"name": domain} if domain else {"name": str(given)} if given else {"id": "default"}
    # One account of Keystone has many spellings, and each of them must not get attempts of its own.
    spelled = f"keystone {domain or given or 'default'}\\{bare.strip()}".casefold()[:255]
    try:
        return login.sign_in(name, password, address, spelled)
    except NotSignedIn:  # counted, as an attempt at Keystone has to be
        user = {"name": bare, "password": password[:LONGEST_PASSWORD], "domain": home}
    unscoped, _said = _token({"methods": ["password"], "password": {"user": user}}, None)
    rows = checker().ask("GET", "/auth/projects", headers={"X-Auth-Token": unscoped}).get("projects") or ()
    found = sorted(((str(row["id"]), str(row["name"])) for row in rows if row.get("enabled", True)), key=lambda p: p[1])
    chosen = [id for id, called in found if project in (None, id, called)]
    if not chosen:
        text = (
            Text("You belong to no project.")
            if project is None
            else Text("You do not belong to a project '{project}'.", project=project)
        )
        raise Forbidden(text, details={"projects": [called for _, called in found]})
    visit = _scoped(unscoped, chosen[0], tuple(found))
    caller = visit.caller(address)
    throttle.forget(spelled, address)
    record(caller, "login.keystone", caller.user_id, caller.user_name)
    return visit


def switched(visit: Visit, project: str) -> Visit:
    """The same person in another project. Raises `NotSignedIn`, `Unavailable`."""
    return _scoped(visit.unscoped, project, visit.projects)


def _scoped(unscoped: str, project: str, projects: tuple[tuple[str, str], ...]) -> Visit:
    token, said = _token({"methods": ["token"], "token": {"id": unscoped}}, project)
    return Visit(unscoped, token, str(said.get("expires_at", "")), project, projects)


def _token(identity: dict[str, Any], project: str | None) -> tuple[str, dict[str, Any]]:
    scope: Any = "unscoped" if project is None else {"project": {"id": project}}
    said = checker().ask("POST", "/auth/tokens", json={"auth": {"identity": identity, "scope": scope}})
    return str(said["X-Subject-Token"]), dict(said.get("token") or {})
