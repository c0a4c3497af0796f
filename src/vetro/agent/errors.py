"""What can go wrong between the engine and the agents, on the engine's side."""

from __future__ import annotations

from vetro.yaql.errors import VetroError


class AgentError(VetroError):
    """Root of the errors of channels and keys."""

    kind = "error"
    code = "AGT100"


class SigningKeyError(AgentError):
    """The file with the signing key is no usable RSA key, or cannot be read or written."""

    code = "AGT101"
    hint = "give signing_key the path of an RSA private key in PEM or OpenSSH form without a passphrase"


class ChannelClosed(AgentError):
    """The channel was closed; nothing was sent or received."""

    code = "AGT102"


class MessageInvalid(AgentError):
    """A message that cannot be carried: it is too large, or its text is no Unicode."""

    kind = "value-error"
    code = "AGT103"


class BrokerUnavailable(AgentError):
    """The message broker cannot be reached or refuses; the message says where and why. What was sent is not lost."""

    code = "AGT104"
    hint = "check host, port, login, password and virtual host of the broker, and that it runs"


class ChannelStoreError(AgentError):
    """The file that keeps the messages cannot be opened or written."""

    code = "AGT105"
    hint = "check the space and the permissions of the folder"


class AccountRefused(AgentError):
    """RabbitMQ's management does not let Vetro make or remove the login of an environment."""

    code = "AGT106"
    hint = "the login of engine.broker.management needs the tag administrator"
