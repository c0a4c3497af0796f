"""`BrokerAccounts`: virtual hosts of RabbitMQ for environments and logins for servers, over its management plug-in.

A server's login may read its own queue and publish on its own exchange, which leads to the queues with answers: it sees
no plan of another server, takes none away, and the broker tells who answered. Servers of before publish to the default
exchange, and whoever may do that can reach every queue of a virtual host: that is why an environment has one of its
own. The environment's login is for them: it may read the queues of all its servers and publish, nothing else. The
engine's own login is let in, too. Passwords are not stored: they follow from the signing key, which all workers
have, so that each of them can make an account anew, also after the broker has lost it.
"""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import threading
import urllib.error
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vetro.agent.amqp_link import BrokerSettings
from vetro.agent.errors import AccountRefused, BrokerUnavailable
from vetro.agent.hidden_password import PLACEHOLDER, SERVER_PLACEHOLDER, PasswordFilter, password_of, server_password_of
from vetro.agent.signing import ensure_key
from vetro.agent.sockets import queue_prefix
from vetro.clouds.interface import Owner
from vetro.data_classes import dataclass
from vetro.library.broker_names import EXCHANGE, answers_exchange, server_mark

#: Filters that are remembered: a host has one, a server looks into many environments.
_REMEMBERED = 64
#: Answers of what stands before the broker that say nothing about who asks: too slow, too often.
_PASSING = frozenset({408, 429})
#: What names of accounts begin with.
_PREFIX = "vetro-"
#: What a login may open. That of an environment is shared by servers that were made before servers had their own.
CONNECTIONS, CHANNELS = 256, 512
#: A server has one connection; one that broke may still count.
SERVER_CONNECTIONS, SERVER_CHANNELS = 4, 8
#: Queues of a virtual host, and bytes that wait in each: more is refused to who sends, and nobody else notices.
QUEUES, QUEUE_BYTES = 2048, 64 << 20
#: Answers of brokers that know no limits of logins (RabbitMQ before 3.8.10).
_UNKNOWN = frozenset({404, 405})


@dataclass(frozen=True, slots=True)
class Management:
    """Where RabbitMQ's management plug-in answers, and an administrator's login there."""

    #: ``http://mq.example.org:15672``
    url: str
    login: str
    password: str = field(repr=False)
    ca_certs: str = ""
    insecure: bool = False
    #: Seconds for one request.
    timeout: float = 30.0


def broker_of(data: Mapping[str, Any]) -> tuple[BrokerSettings, Management | None]:
    """The settings of ``engine.broker``; without ``management`` all servers share its login. What that does not say
    (login, password, certificates) is as for the broker. Raises `TypeError`, `ValueError`.
    """
    given = dict(data)
    more = given.pop("management", None)
    broker = BrokerSettings(**given)
    if more is None:
        return broker, None
    if not isinstance(more, Mapping):
        raise ValueError("'management' must be a table with 'url', 'login' and 'password'")
    like = {"login": broker.login, "password": broker.password}
    like.update(ca_certs=broker.ca_certs, insecure=broker.insecure)  # type: ignore[call-overload]
    management = Management(**{**like, **more})
    if not str(management.url).startswith(("http://", "https://")) or "@" in management.url:
        raise ValueError("'management.url' must be an address without a password in it, http://…:15672")
    return broker, management


def account_name(environment: str) -> str:
    """How an environment's login and its virtual host are called."""
    return f"{_PREFIX}{environment.lower()}"


def server_account_name(environment: str, mark: str) -> str:
    """How the login of a server is called; ``mark`` as `server_mark` gives it."""
    return f"{account_name(environment)}.{mark}"


def told_to_servers(data: Mapping[str, Any], environment: str) -> dict[str, Any]:
    """What packages put into their servers' settings of ``engine.broker``: not ``ca_certs``, a file of this machine.

    With ``management`` login and virtual host are those of the environment, and for the password stands a placeholder
    (`vetro.agent.hidden_password`); ``server_…`` is what `vetro.library.natives.agent_logins` makes those of a server
    from.
    """
    told = {name: value for name, value in data.items() if name not in ("management", "ca_certs")}
    if data.get("management"):
        name = account_name(environment)
        told |= {"login": name, "virtual_host": name, "password": PLACEHOLDER}
        told |= {"server_login": server_account_name(environment, "{server}"), "server_password": SERVER_PLACEHOLDER}
        told["server_exchange"] = EXCHANGE
    return told


class BrokerAccounts:
    """``signing_key`` is its file; it is read, or made, when a password is needed. Used by many threads."""

    def __init__(self, broker: BrokerSettings, management: Management, signing_key: Path) -> None:
        self._broker = broker
        self._management = management
        self._signing_key = signing_key
        self._lock = threading.Lock()
        self._password_filters: dict[str, PasswordFilter] = {}

    def settings(self, owner: Owner) -> BrokerSettings:
        """With these the engine reaches the agents of an environment, once `ensure` was called."""
        return replace(self._broker, virtual_host=account_name(owner.environment))

    def password(self, owner: Owner) -> str:
        """The password of an environment's login. Raises `SigningKeyError`."""
        about = f"vetro broker\0{owner.project}\0{owner.environment}"
        return password_of(ensure_key(self._signing_key).derive(about, 24))

    def server_password(self, owner: Owner, mark: str) -> str:
        """The password of a server's login. Raises `SigningKeyError`."""
        about = f"vetro broker\0{owner.project}\0{owner.environment}\0{mark}"
        return server_password_of(mark, ensure_key(self._signing_key).derive(about, 24))

    def password_filter(self, owner: Owner) -> PasswordFilter:
        """Puts the password of an environment into what leaves for its servers; its account is there then."""
        key = f"{owner.project}\0{owner.environment}"
        with self._lock:
            found = self._password_filters.pop(key, None)
            if found is None:
                found = PasswordFilter(
                    lambda: self.password(owner),
                    lambda mark: self.server_password(owner, mark),
                    lambda: self.ensure(owner),
                )
            self._password_filters[key] = found
            while len(self._password_filters) > _REMEMBERED:
                del self._password_filters[next(iter(self._password_filters))]
            return found

    def ensure(self, owner: Owner) -> None:
        """Makes the account, or whatever of it is missing. Raises `BrokerUnavailable`, `AccountRefused`."""
        name = account_name(owner.environment)
        place, user = quote(name, safe=""), quote(self._broker.login, safe="")
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        queues = f"^{re.escape(queue_prefix(owner))}"
        self._request("PUT", f"vhosts/{place}", {"description": f"Vetro: environment {owner.environment}"})
        self._request("PUT", f"permissions/{place}/{user}", everything)
        self._request("PUT", f"users/{place}", {"password": self.password(owner), "tags": ""})
        own = {"configure": "^$", "write": r"^amq\.default$", "read": queues}
        self._request("PUT", f"permissions/{place}/{place}", own)
        self._limit_login(name, CONNECTIONS, CHANNELS)
        self._request("PUT", f"vhost-limits/{place}/max-queues", {"value": QUEUES})
        full = {"max-length-bytes": QUEUE_BYTES, "overflow": "reject-publish"}
        policy = {"pattern": ".*", "apply-to": "queues", "priority": 0, "definition": full}
        self._request("PUT", f"policies/{place}/vetro", policy)

    def is_there(self, owner: Owner) -> bool:
        """Whether the broker has an account of the environment; it was made as a whole. Raises as `ensure`."""
        place = quote(account_name(owner.environment), safe="")
        return bool(self._request("GET", f"vhosts/{place}?columns=name", passing=frozenset({404})))

    def ensure_server(self, owner: Owner, queue: str) -> None:
        """Makes the login of the server with an input queue; its environment has its account. Raises as `ensure`."""
        mark = server_mark(queue)
        name, host = server_account_name(owner.environment, mark), quote(account_name(owner.environment), safe="")
        place = quote(name, safe="")
        self._request("PUT", f"users/{place}", {"password": self.server_password(owner, mark), "tags": ""})
        own = {
            "configure": "^$",
            "write": f"^{re.escape(answers_exchange(queue))}$",
            "read": f"^{re.escape(queue)}$",
        }
        self._request("PUT", f"permissions/{host}/{place}", own)
        self._limit_login(name, SERVER_CONNECTIONS, SERVER_CHANNELS)

    def _limit_login(self, name: str, connections: int, channels: int) -> None:
        place = quote(name, safe="")
        for what, most in (("max-connections", connections), ("max-channels", channels)):
            self._request("PUT", f"user-limits/{place}/{what}", {"value": most}, passing=_UNKNOWN)

    def remove(self, owner: Owner) -> None:
        """Removes the account with its queues and what they hold; nothing when there is none. Raises as `ensure`."""
        self.remove_of(owner.environment)

    def remove_of(self, environment: str) -> None:
        """The same, whosever the environment is. Raises as `ensure`."""
        place = quote(account_name(environment), safe="")
        for mark in self._servers().get(environment.lower(), ()):
            self._remove_server(environment, mark)
        self._request("DELETE", f"users/{place}")
        self._request("DELETE", f"vhosts/{place}")

    def remove_unused(self, environments: Iterable[str]) -> int:
        """Removes the logins of servers whose queues are not there any more; how many. Raises as `ensure`.

        A queue goes a day after its server was connected last. The next plan makes both again.
        """
        servers, count = self._servers(), 0
        for environment in environments:
            marks = set(servers.get(environment.lower(), ()))
            if marks:
                place = quote(account_name(environment), safe="")
                marks.difference_update(map(server_mark, self._names(f"queues/{place}")))
            for mark in marks:
                self._remove_server(environment, mark)
            count += len(marks)
        return count

    def _remove_server(self, environment: str, mark: str) -> None:
        self._request("DELETE", f"users/{quote(server_account_name(environment, mark), safe='')}")
        place = quote(account_name(environment), safe="")
        self._request("DELETE", f"exchanges/{place}/{quote(EXCHANGE.format(server=mark), safe='')}")

    def _servers(self) -> dict[str, list[str]]:
        """The marks of servers that have logins, by environment."""
        found: dict[str, list[str]] = {}
        for name in self._names("users"):
            environment, dot, mark = name.removeprefix(_PREFIX).partition(".")
            if dot and name.startswith(_PREFIX):
                found.setdefault(environment, []).append(mark)
        return found

    def _names(self, what: str) -> list[str]:
        try:
            said = self._request("GET", f"{what}?columns=name", passing=frozenset({404})) or b"[]"
            return [str(row["name"]) for row in json.loads(said)]
        except (ValueError, TypeError, KeyError):
            raise BrokerUnavailable("the management of the message broker lists what nobody understands") from None

    def environments(self) -> set[str]:
        """Whose accounts, or parts of accounts, the broker has: ids in small letters, also those of other installations
        at the same broker. Raises as `ensure`.
        """
        names = self._names("vhosts") + self._names("users")
        return {name.removeprefix(_PREFIX).partition(".")[0] for name in names if name.startswith(_PREFIX)}

    def _request(self, method: str, path: str, body: Any = None, *, passing: frozenset[int] = frozenset()) -> bytes:
        """What the management says; nothing for codes in ``passing``. Raises as `ensure`."""
        settings = self._management
        login = base64.b64encode(f"{settings.login}:{settings.password}".encode()).decode()
        request = urllib.request.Request(
            f"{settings.url.rstrip('/')}/api/{path}",
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Basic {login}", "Content-Type": "application/json"},
            method=method,
        )
        handlers: list[Any] = [urllib.request.ProxyHandler({})]  # a broker stands beside its users
        if settings.url.startswith("https:"):
            handlers.append(urllib.request.HTTPSHandler(context=_context(settings)))
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=settings.timeout) as answer:
                said: bytes = answer.read()
                return said
        except urllib.error.HTTPError as error:
            with error:
                if (method == "DELETE" and error.code == 404) or error.code in passing:
                    return b""
                if error.code >= 500 or error.code in _PASSING:
                    raise BrokerUnavailable(f"the management of the message broker answers {error.code}") from None
                raise AccountRefused(
                    f"the management of the message broker at {settings.url} refuses {method} {path}: {error.code}"
                    f" {_reason(error)}"
                ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
            raise BrokerUnavailable(
                f"the management plug-in of the message broker does not answer at {settings.url}"
                f" (engine.broker.management): {reason}"
            ) from None


def _context(settings: Management) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ca_certs or None)
    if settings.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        said = json.loads(error.read(4096))
        return str(said.get("reason") or said.get("error") or "")
    except (ValueError, AttributeError, OSError):
        return ""
