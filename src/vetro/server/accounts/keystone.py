"""Tokens of a Keystone v3 (settings ``keystone.url``, ``keystone.options``; extra ``keystone``).

A token that is none of ours is shown to Keystone with the service's own credentials; what Keystone says of it, user,
project and roles, makes the caller. The answer is kept for some seconds, so a token that Keystone revokes works
that much longer; ``keystone.options`` may say how long (``cache_seconds``).
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections import OrderedDict
from datetime import UTC, datetime
from typing import Any

from vetro.server.accounts.policy import is_admin
from vetro.server.caller import Caller
from vetro.server.config.config import Config, ConfigError
from vetro.server.errors import NotSignedIn, Unavailable
from vetro.server.setup import config

_OWN = frozenset({"cache_seconds", "verify", "cafile", "timeout", "login_domain"})
_CREDENTIALS = frozenset(
    {
        "username", "user_id", "password", "user_domain_id", "user_domain_name", "project_id", "project_name",
        "project_domain_id", "project_domain_name", "domain_id", "domain_name", "system_scope", "trust_id",
        "default_domain_id", "default_domain_name",
    }
)  # fmt: skip
_LARGEST = 4096
#: How long a refusal is remembered: long enough to bear a client that tries again and again.
_REFUSED_SECONDS = 2.0


def checked_settings(settings: Config) -> None:
    """Raises `ConfigError` for settings that cannot work, or without the extra that they need."""
    url, options = str(settings["keystone.url"]), settings["keystone.options"]
    if not url:
        return
    if not url.startswith(("http://", "https://")):
        raise ConfigError(f"'keystone.url' must begin with http:// or https://, not '{url}'")
    for name in options:
        if name not in _OWN | _CREDENTIALS:
            raise ConfigError(f"'keystone.options': there is no option '{name}'")
    if "password" not in options or not {"username", "user_id"} & set(options):
        raise ConfigError("'keystone.options' must hold username (or user_id) and password of the service")
    _library()


def caller_of_keystone(token: str, address: str = "") -> Caller:
    """The caller. Raises `NotSignedIn` for a token that Keystone refuses, `Unavailable` when it does not answer."""
    return checker().caller(token, address)


class Checker:
    """Shows tokens to one Keystone and remembers its answers. Used by many threads."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        identity, session, _ = _library()
        self._url = url.rstrip("/")
        self._base = self._url if self._url.endswith("/v3") else self._url + "/v3"
        self._seconds = float(options.get("cache_seconds", 60))
        credentials = {name: value for name, value in options.items() if name in _CREDENTIALS}
        if "username" in credentials and not {"user_domain_id", "user_domain_name"} & set(credentials):
            credentials["user_domain_id"] = "default"
        if "project_name" in credentials and not {"project_domain_id", "project_domain_name"} & set(credentials):
            credentials["project_domain_id"] = "default"
        self._session = session.Session(
            auth=identity.Password(auth_url=self._base, **credentials),
            verify=options.get("cafile") or options.get("verify", True),
            timeout=float(options.get("timeout", 10)),
        )
        self._lock = threading.Lock()
        self._known: OrderedDict[str, tuple[float, dict[str, Any] | None]] = OrderedDict()

    def caller(self, token: str, address: str) -> Caller:
        """See `caller_of_keystone`."""
        key = hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
        now = time.monotonic()
        with self._lock:
            until, said = self._known.get(key, (0.0, None))
        if until <= now:
            said = self._ask(token)
            life = self._seconds if said is not None else min(_REFUSED_SECONDS, self._seconds)
            with self._lock:
                self._known[key] = (now + life, said)
                self._known.move_to_end(key)
                while len(self._known) > _LARGEST:
                    self._known.popitem(last=False)
        return _caller(said, address)

    def ask(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        """What Keystone answers to somebody, not to the service: the JSON, with the header ``X-Subject-Token``.

        Raises `NotSignedIn` when it refuses, `Unavailable`.
        """
        _, _, errors = _library()
        try:
            answer = self._session.request(
                self._base + path, method, authenticated=False, raise_exc=False, log=False, **request
            )
        except errors.ClientException as error:
            raise Unavailable(f"Keystone does not answer: {type(error).__name__}", hint="try again later") from None
        if answer.status_code in (400, 401, 403, 404):
            raise NotSignedIn("The name or the password is wrong.")
        if answer.status_code not in (200, 201):
            raise Unavailable(f"Keystone answers {answer.status_code}.", hint="try again later")
        try:
            return {**answer.json(), "X-Subject-Token": answer.headers.get("X-Subject-Token", "")}
        except (ValueError, TypeError):
            raise Unavailable("Keystone's answer is not understood.") from None

    def _ask(self, token: str) -> dict[str, Any] | None:
        """What Keystone says of a token; None when it does not know it."""
        _, _, errors = _library()
        if not token.isascii() or not token.isprintable() or len(token) > 16384:
            return None
        try:
            answer = self._session.get(
                f"{self._base}/auth/tokens?nocatalog",
                headers={"X-Subject-Token": token, "Accept": "application/json"},
                raise_exc=False,
                log=False,
            )
        except errors.ClientException as error:
            raise Unavailable(f"Keystone does not answer: {type(error).__name__}", hint="try again later") from None
        if answer.status_code in (401, 403) and "WWW-Authenticate" in answer.headers:
            self._session.invalidate()
            raise Unavailable("Keystone refuses the service's own credentials.", hint="see keystone.options")
        if answer.status_code == 404:
            return None
        if answer.status_code != 200:
            raise Unavailable(f"Keystone answers {answer.status_code}.", hint="try again later")
        try:
            found = answer.json()["token"]
        except (ValueError, KeyError, TypeError):
            raise Unavailable("Keystone's answer is not understood.") from None
        return found if isinstance(found, dict) else None


def _caller(said: dict[str, Any] | None, address: str) -> Caller:
    if said is None:
        raise NotSignedIn("The token is unknown, expired or revoked.")
    try:
        expires = datetime.fromisoformat(str(said["expires_at"]))
        user, project = said["user"], said.get("project")
        if expires.replace(tzinfo=expires.tzinfo or UTC) <= datetime.now(UTC):
            raise NotSignedIn("The token is unknown, expired or revoked.")
        if project is None:
            raise NotSignedIn("The token is for no project.", hint="ask Keystone for one that is")
        roles = tuple(sorted(str(role["name"]) for role in said.get("roles", ())))
        who = (str(user["id"]), str(user["name"]), str(project["id"]), str(project["name"]))
    except (KeyError, TypeError, ValueError):
        raise Unavailable("Keystone's answer is not understood.") from None
    return Caller(*who, roles, is_admin(roles, who[0], who[2]), None, address)


def _library() -> Any:
    """(identity, session, exceptions) of keystoneauth1."""
    try:
        from keystoneauth1 import exceptions, session
        from keystoneauth1.identity import v3
    except ImportError:
        raise ConfigError("'keystone.url' needs the extra: pip install 'vetro[keystone]'") from None
    return v3, session, exceptions


_checkers: dict[int, tuple[Config, Checker]] = {}
_making = threading.Lock()


def checker() -> Checker:
    """The one of this process for the Keystone of the settings."""
    settings = config()
    with _making:
        found = _checkers.get(id(settings))
        if found is None or found[0] is not settings:
            _checkers.clear()
            made = Checker(str(settings["keystone.url"]), settings["keystone.options"])
            found = _checkers[id(settings)] = (settings, made)
        return found[1]
