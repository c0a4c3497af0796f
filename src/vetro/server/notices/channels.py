"""`send`: sends one message by the channel of its target, within a time, to where the settings allow.

What a receiver answers is read no further than its status: it is nobody's business here, and an address that somebody
named may be that of something inside.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Mapping

from vetro.diagnostics import Text
from vetro.server import egress
from vetro.server.config.config import Config
from vetro.server.errors import Forbidden, Invalid
from vetro.server.notices import chat, mail, signatures
from vetro.server.notices.message import Failed, Message
from vetro.server.notices.models import Target

__all__ = ["SECONDS", "AddressRefused", "check_url", "send"]

#: Seconds that one attempt may take.
SECONDS = 15.0
#: Bytes of a message.
_MOST = 65_536


class AddressRefused(Forbidden):
    """The settings do not allow notices to this address."""

    code = "SRV600"


def send(message: Message, config: Config) -> None:
    """Sends it. Raises `Failed`."""
    if message.target == Target.MAIL:
        mail.send(message, config)
    elif message.target == Target.CHAT:
        _post(message, chat.body(message), {}, config)
    else:
        body = webhook_body(message)
        now = time.time()
        _post(
            message, body, signatures.headers(message.id, int(now), body, signatures.valid(message.keys, now)), config
        )


def webhook_body(message: Message) -> bytes:
    """A notice as programs read it: {type, timestamp, data}."""
    told = {"type": message.kind, "timestamp": message.at, "data": message.data}
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"), sort_keys=True).encode("utf-8", "replace")


def check_url(url: str, config: Config) -> egress.Address:
    """The parts of an address that notices may be sent to, as far as that is known without asking the name service.

    Raises `Invalid`, `AddressRefused`.
    """
    try:
        found = egress.parse(url)
    except ValueError:
        found = None
    if found is None or len(url) > 2000:
        raise Invalid(
            Text("'{url}' is no address that notices can be sent to", url=url[:200]),
            hint=Text("write https://… without a user"),
        )
    hosts = config["notices.hosts"]
    try:
        named = egress.is_named(found, hosts)
    except egress.NotAllowed:
        raise AddressRefused(
            Text("notices may not be sent to {host}", host=found.host),
            hint=Text("an administrator adds it to notices.hosts"),
        ) from None
    if found.scheme != "https" and not named:
        raise Invalid(
            Text("notices go by https only"), hint=Text("an administrator may name a host in notices.hosts for http")
        )
    return found


def _post(message: Message, body: bytes, headers: Mapping[str, str], config: Config) -> None:
    if len(body) > _MOST:
        raise Failed(Text("it has more than {most} bytes", most=_MOST))
    until = time.monotonic() + SECONDS
    try:
        address = check_url(str(message.settings["url"]), config)
        resolved = egress.resolve(address, config["notices.hosts"])
        with egress.connection(address, resolved, until) as connection:
            sent = {"Content-Type": "application/json", "User-Agent": "vetro", "Connection": "close", **headers}
            connection.request("POST", address.path, body, sent)
            with connection.getresponse() as response:
                status = response.status
        if time.monotonic() >= until:
            raise TimeoutError
    except (AddressRefused, Invalid) as error:
        raise Failed(error.message) from None
    except (egress.NotAllowed, egress.NotPublic, egress.NoHost):
        raise Failed(Text("there is no host of this name that notices may be sent to")) from None
    except (OSError, http.client.HTTPException) as error:
        raise _unreached(error, until) from None
    if status == 410:
        raise Failed(Text("the receiver says that it is gone; the target is switched off"), gone=True)
    if not 200 <= status < 300:
        raise Failed(Text("the receiver answered {status}", status=status))


def _unreached(error: Exception, until: float) -> Failed:
    if isinstance(error, TimeoutError) or time.monotonic() >= until:
        return Failed(Text("the receiver took more than {seconds:g} seconds", seconds=SECONDS))
    if isinstance(error, ssl.SSLError):
        return Failed(Text("the receiver has no certificate that can be trusted"))
    if isinstance(error, http.client.HTTPException):
        return Failed(Text("the receiver does not speak HTTP"))
    return Failed(Text("the receiver cannot be reached"))
