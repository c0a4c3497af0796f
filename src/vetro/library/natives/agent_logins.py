"""A login of its own at the message broker for each server: what packages see of it, and when a server has one.

Settings of the section ``rabbitmq`` with ``server_login``, ``server_password`` and ``server_exchange`` say that servers
get one; ``{server}`` in them stands for `server_mark`. A server that was made before keeps the login it was told:
another one in its boot script would have the cloud replace it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.broker_names import server_mark
from vetro.library.natives.common import whole

_INSTANCE = "io.murano.resources.Instance"
_ATTRIBUTE = "ownLogin"


def has_login(cx: Any, host: Any) -> bool:
    """Whether the boot script of a server was given a login of its own."""
    instance = _instance_type(host)
    return instance is not None and cx.session.attributes.get(whole(host), instance, _ATTRIBUTE) is True


def account(cx: Any, host: Any, queue: str, broker: Mapping[str, Any]) -> dict[str, Any]:
    """The broker as a server shall know it. ``result_exchange`` is where it answers, '' for the default exchange.

    A broker that the model names, not the settings, is left as it is.
    """
    told = cx.session.settings.get("rabbitmq") or {}
    found = {**broker, "result_exchange": ""}
    if not told.get("server_login") or broker.get("login") != told.get("login"):
        return found
    instance = _instance_type(host)
    if instance is None:
        return found
    if not has_login(cx, host):
        if host.yaql_attribute("openstackId", cx) is not None:
            return found
        cx.session.attributes.set(whole(host), instance, _ATTRIBUTE, True)
    mark = server_mark(queue)
    for name, setting in (("login", "login"), ("password", "password"), ("result_exchange", "exchange")):
        found[name] = str(told[f"server_{setting}"]).replace("{server}", mark)
    return found


def _instance_type(host: Any) -> Any:
    return next((type_ for type_ in whole(host)._type.ancestors if type_.name == _INSTANCE), None)
