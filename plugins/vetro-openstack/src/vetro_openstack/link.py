"""`Link`: the services of one region for one project, over openstacksdk; retries, and errors in our words."""

from __future__ import annotations

import copy
import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from vetro.clouds.interface import Conflict, NotAvailable, Owner
from vetro.clouds.kind_protocols import SecretFilter
from vetro.clouds.waits import Say, Waits, service_text
from vetro.diagnostics import Text
from vetro_openstack.errors import Closing, CloudUnreachable, Refused, SignInRefused
from vetro_openstack.settings import OpenStackSettings

_log = logging.getLogger(__name__)

#: Seconds before a request that met a passing trouble is sent again (CORE_LIBRARY.md 3: four tries, doubling).
PAUSES = (0.5, 1.0, 2.0)
#: Answers that say nothing about the request: the service is busy, restarts, or a part of it did not answer in time.
_PASSING = frozenset({408, 429, 500, 502, 503, 504})
_PAGE = 500
_MOST = 20_000
#: What people call the services that the catalog of Keystone lists by their types.
SERVICES: Mapping[str, str] = {
    "orchestration": "Heat",
    "compute": "Nova",
    "network": "Neutron",
    "image": "Glance",
    "block_storage": "Cinder",
}


class Link:
    """Requests to the services of one region. Used by many threads."""

    def __init__(self, settings: OpenStackSettings, session: Any, region: str, closing: threading.Event) -> None:
        self.region = region
        self.closing = closing
        self._settings = settings
        self._session = session
        self._lock = threading.Lock()
        self._connections: list[Any] = []
        self._services: dict[str, Any] = {}
        self._secret_filter: SecretFilter | None = None
        self._owner, self._waits = Owner("", ""), Waits()

    def of(self, owner: Owner, waits: Waits, secret_filter: SecretFilter | None) -> Link:
        """The same for one environment: ``waits`` hears what is waited for, ``secret_filter`` sees both ways."""
        found = copy.copy(self)
        found._owner, found._waits, found._secret_filter = owner, waits, secret_filter
        return found

    def waiting(self, kind: str, text: Text) -> AbstractContextManager[Say]:
        """Tells those who ask (`ShowsWaits`) during the block what is waited for."""
        return self._waits.on(self._owner, kind, text)

    def offers(self, service: str) -> bool:
        """Whether the catalog of Keystone lists the service for this region."""
        return self._address(service) is not None

    def project(self) -> str:
        """The id of the project that is signed in to."""
        return str(self._session.get_project_id() or "")

    def get(self, service: str, path: str, **params: Any) -> Any:
        """The answer; None for what there is not. Raises `CloudError`."""
        return self.request(service, "GET", path, params=params)

    def pages(self, service: str, path: str, key: str, **params: Any) -> Iterator[dict[str, Any]]:
        """The records of a list, page for page: the marker is the id of the last one."""
        seen = 0
        last = None
        while True:
            more: dict[str, Any] = {"marker": last} if last else {}
            answer = self.get(service, path, limit=_PAGE, **params, **more)
            rows = (answer or {}).get(key) or []
            yield from rows
            seen += len(rows)
            if len(rows) < _PAGE or seen >= _MOST or not rows[-1].get("id") or rows[-1]["id"] == last:
                return
            last = rows[-1]["id"]

    def request(
        self,
        service: str,
        method: str,
        path: str,
        *,
        json: Any = None,
        params: Mapping[str, Any] | None = None,
        again: bool = True,
        kind: str = "application/json",
        version: str = "",
    ) -> Any:
        """The JSON of the answer, {} for none, None for 404. ``kind``: the type of the body. ``version``: that of the
        API that the service has to speak, 'volume 3.40'.

        ``again`` False: a request whose end is not known is not repeated. Raises `NotAvailable`, `CloudUnreachable`,
        `SignInRefused`, `Conflict` (409), `Refused` (other answers).
        """
        if self._secret_filter is not None and json is not None:
            json = self._secret_filter.fill(json)
        pauses = PAUSES if again else ()
        with ExitStack() as told:
            for number, pause in enumerate((*pauses, None)):
                try:
                    return self._once(service, method, path, json, params, kind, version)
                except CloudUnreachable as error:
                    if pause is None:
                        raise
                    _log.info("%s %s of %s is tried again: %s", method, path, service, error.message)
                    if not number:
                        told.enter_context(self.waiting("service", service_text(SERVICES[service])))
                    self.pause(pause)
        raise AssertionError

    def pause(self, seconds: float) -> None:
        """Waits. Raises `Closing` when the cloud is let go meanwhile."""
        if self.closing.wait(seconds):
            raise Closing("the cloud is let go while something is waited for")

    def _once(
        self,
        service: str,
        method: str,
        path: str,
        json: Any,
        params: Mapping[str, Any] | None,
        kind: str,
        version: str,
    ) -> Any:
        from keystoneauth1 import exceptions

        if self.closing.is_set():
            raise Closing("the cloud is let go")
        name = SERVICES[service]
        if not self.offers(service):
            where = f"region '{self.region}'" if self.region else "this cloud"
            raise NotAvailable(f"{where} has no {name} ({service.replace('_', ' ')}) in the catalog of Keystone")
        headers = {} if json is None else {"Content-Type": kind}
        if version:
            headers["OpenStack-API-Version"] = version
        try:
            answer = self._service(service).request(
                path,
                method,
                json=json,
                params=params,
                headers=headers,
                raise_exc=False,
                connect_retries=0,
                status_code_retries=0,
            )
        except exceptions.Unauthorized:
            raise _unauthorised() from None
        except (exceptions.ClientException, OSError) as error:
            raise CloudUnreachable(f"{name} does not answer: {type(error).__name__}") from None
        return _judged(name, answer, (lambda said: said) if self._secret_filter is None else self._secret_filter.hide)

    def _address(self, service: str) -> str | None:
        from keystoneauth1 import exceptions

        for pause in (*PAUSES, None):
            try:
                return self._connected().endpoint_for(  # type: ignore[no-any-return]
                    service.replace("_", "-"), interface=self._settings.interface, region_name=self.region or None
                )
            except (exceptions.Unauthorized, exceptions.NotFound):
                raise _unauthorised() from None
            except (exceptions.ClientException, OSError) as error:
                if pause is None:
                    raise CloudUnreachable(f"Keystone does not answer: {type(error).__name__}") from None
            self.pause(pause)
        raise AssertionError

    def _service(self, service: str) -> Any:
        """An adapter that knows where a service is and which version it speaks."""
        from keystoneauth1.adapter import Adapter
        from openstack.proxy import Proxy

        class Plain(Proxy):
            """A service of openstacksdk without its caches and counters."""

            request = Adapter.request  # type: ignore[assignment]

        with self._lock:
            found = self._services.get(service)
        if found is None:
            make = self._connected().config.get_session_client
            found = make(service.replace("_", "-"), constructor=Plain)
            # The service is asked once for its versions, and never again.
            address = found.get_endpoint() or self._address(service)
            found.endpoint_override = str(address).replace("%", "%%")
            with self._lock:
                self._services[service] = found
        return found

    def _connected(self) -> Any:
        with self._lock:
            if not self._connections:
                from openstack.connection import Connection

                self._connections.append(
                    Connection(
                        session=self._session,
                        region_name=self.region or None,
                        interface=self._settings.interface,
                    )
                )
            return self._connections[0]


def sign_in(settings: OpenStackSettings, project: str) -> Any:
    """A session of keystoneauth1 for environments of a project; it signs in when it is used first."""
    from keystoneauth1 import session
    from keystoneauth1.identity import v3

    auth: dict[str, Any] = {**settings.auth_for(project)}
    if "username" in auth and not {"user_domain_id", "user_domain_name"} & set(auth):
        auth["user_domain_id"] = "default"
    if "project_name" in auth and not {"project_domain_id", "project_domain_name"} & set(auth):
        auth["project_domain_id"] = "default"
    base = settings.auth_url.rstrip("/")
    base = base if base.endswith("/v3") else base + "/v3"
    make = v3.ApplicationCredential if "application_credential_secret" in auth else v3.Password
    return session.Session(
        auth=make(auth_url=base, **auth), verify=settings.cafile or settings.verify, timeout=settings.timeout
    )


def _unauthorised() -> SignInRefused:
    return SignInRefused(
        "Keystone refuses the worker's credentials, or they give no role in the project of the environment"
    )


def _judged(name: str, answer: Any, shown: Callable[[Any], Any]) -> Any:
    status = answer.status_code
    if status < 300:
        if not answer.content or "json" not in answer.headers.get("Content-Type", ""):
            return {}  # "Accepted"
        try:
            return shown(answer.json())
        except ValueError:
            raise CloudUnreachable(f"{name}'s answer is no JSON") from None
    if status == 404:
        return None
    said = shown(_message(answer))
    if status == 409:
        raise Conflict(said or f"{name} says that this conflicts with something")
    if status == 401:
        raise _unauthorised()
    if status in _PASSING:
        raise CloudUnreachable(f"{name} is in trouble ({status})" + (f": {said}" if said else ""))
    refused = Refused(f"{name} refuses ({status}): {said or answer.reason}")
    refused.status = status
    raise refused


def _message(answer: Any) -> str:
    """The sentence in an error, which each service puts elsewhere."""
    try:
        todo = [answer.json()]
    except ValueError:
        return ""
    while todo:
        item = todo.pop(0)
        if isinstance(item, Mapping):
            found = item.get("message")
            if isinstance(found, str) and found:
                return found[:4000]
            todo += item.values()
    return ""
