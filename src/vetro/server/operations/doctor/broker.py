"""The AMQP broker of agents: whether it answers, and to these credentials."""

from __future__ import annotations

from collections.abc import Iterator

from vetro.agent.broker_accounts import BrokerAccounts, broker_of
from vetro.clouds.interface import Owner
from vetro.diagnostics import ERROR, OK, WARNING, Diagnostic, Text
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config

#: No environment has this id.
_NOBODY = "doctor"


def examine(config: Config) -> Iterator[Diagnostic]:
    """Connects and opens a channel."""
    if not config["engine.broker"]:
        return
    broker, management = broker_of(config["engine.broker"])
    where = f"{broker.host}:{broker.port}, virtual host {broker.virtual_host}"
    connection = broker.connection()
    try:
        connection.ensure_connection(max_retries=1, interval_start=0.2)
        connection.channel().close()
    except Exception as error:  # the library raises errors of its transport, of sockets, of TLS
        text = Text(
            "{where} does not answer to {login}: {reason}",
            where=where,
            login=broker.login,
            reason=str(error).splitlines()[0][:200] or type(error).__name__,
        )
        hint = Text("see 'engine.broker': host, port, login, password, virtual_host, ssl, and the log of RabbitMQ")
        yield Diagnostic("broker", ERROR, text, hint)
        return
    finally:
        connection.release()
    yield Diagnostic("broker", OK, Text("{where} answers to {login}", where=where, login=broker.login))
    if not broker.ssl and broker.host not in ("localhost", "127.0.0.1", "::1"):
        hint = Text("set 'ssl = true' in 'engine.broker', and have RabbitMQ speak TLS")
        yield Diagnostic("broker", WARNING, Text("passwords, plans and their results go to it unencrypted"), hint)
    if management is not None:
        # Removing an account that there is not takes the same right as making one.
        accounts = BrokerAccounts(broker, management, config.path("engine.signing_key"))
        accounts.remove(Owner(_NOBODY, _NOBODY))
        yield Diagnostic(
            "broker",
            OK,
            Text("{url} lets {login} make logins of environments", url=management.url, login=management.login),
        )
    able = cloud_settings.capabilities(config)
    if management is None and able is not None and able.agents == "broker":
        hint = Text("set 'engine.broker.management': docs/openstack.md, Agents")
        text = Text("all servers share one login: whoever has one may read what the others are told")
        yield Diagnostic("broker", WARNING, text, hint)
