"""Notices by e-mail, through the relay that the settings name: plain text, and the same as HTML."""

from __future__ import annotations

import smtplib
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import format_datetime
from html import escape
from typing import Final

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.utils import translation

from vetro.diagnostics import Text
from vetro.server.config.config import Config
from vetro.server.errors import Invalid
from vetro.server.language import translated
from vetro.server.notices.message import Failed, Message
from vetro.visible import visible

#: Receivers of one target, and seconds that one attempt may take.
MOST: Final = 20
SECONDS: Final = 30.0


def check_receivers(receivers: Sequence[str], config: Config) -> list[str]:
    """Addresses that notices may be sent to. Raises `Invalid`, also where the settings name no relay."""
    if not config["notices.mail_host"]:
        raise Invalid(
            Text("this service sends no e-mail"), hint=Text("an administrator names a relay in notices.mail_host")
        )
    if not 0 < len(receivers) <= MOST:
        raise Invalid(Text("give one to {most} addresses of e-mail", most=MOST))
    domains = {str(entry).lower() for entry in config["notices.mail_domains"]}
    for receiver in receivers:
        try:
            validate_email(receiver)
            if not receiver.isascii() or '"' in receiver:  # programs read quoted ones in several ways
                raise ValidationError("")
        except ValidationError:
            raise Invalid(Text("'{receiver}' is no address of e-mail", receiver=receiver[:200])) from None
        domain = receiver.rpartition("@")[2].lower()
        if "*" not in domains and domain not in domains:
            raise Invalid(
                Text("notices may not be sent to addresses of {domain}", domain=domain),
                hint=Text("an administrator adds it to notices.mail_domains"),
            )
    return list(dict.fromkeys(receivers))


def send(message: Message, config: Config) -> None:
    """Hands it to the relay. Raises `Failed`."""
    try:
        receivers = check_receivers(list(message.settings["to"]), config)
    except Invalid as error:
        raise Failed(error.message) from None
    until = time.monotonic() + SECONDS
    relay = _Relay(config, until)
    # Timeouts of a socket count from byte to byte; the watch ends what drips.
    watch = threading.Timer(SECONDS, relay.cut)
    watch.daemon = True
    watch.start()
    try:
        relay.hand_over(composed(message, receivers, str(config["notices.mail_from"])), receivers)
    except smtplib.SMTPRecipientsRefused:
        raise Failed(Text("the relay takes no mail for these addresses")) from None
    except smtplib.SMTPAuthenticationError:
        raise Failed(Text("the relay does not take the account of the service")) from None
    except smtplib.SMTPResponseException as error:
        raise Failed(Text("the relay answered {status}", status=error.smtp_code)) from None
    except (OSError, smtplib.SMTPException) as error:
        if isinstance(error, TimeoutError) or time.monotonic() >= until:
            raise Failed(Text("the relay took more than {seconds:g} seconds", seconds=SECONDS)) from None
        raise Failed(Text("the relay cannot be reached")) from None
    finally:
        watch.cancel()
        relay.close()


def composed(message: Message, receivers: Sequence[str], sender: str) -> EmailMessage:
    """The mail. Its id is that of the delivery: who gets it twice can tell."""
    made = EmailMessage()
    made["Subject"] = _plain(_subject(message.title))
    made["From"] = Address("Vetro", addr_spec=sender)
    made["To"] = ", ".join(receivers)
    made["Date"] = format_datetime(datetime.fromisoformat(message.at))
    made["Message-ID"] = f"<{message.id}@{sender.rpartition('@')[2]}>"
    made["Auto-Submitted"] = "auto-generated"
    project = str(message.data["project"]["name"])
    with translation.override(message.language):
        foot = translated(Text("Vetro sends this for project '{project}', by a rule of its notices.", project=project))
    lines = [message.title, *message.lines, *([message.link] if message.link else ())]
    made.set_content(_plain("\n\n".join([*lines, "-- \n" + foot]) + "\n"))
    made.add_alternative(_plain(_html(message, foot)), subtype="html")
    made["Content-Language"] = message.language
    return made


def _subject(title: str) -> str:
    """A title in one line of at most 200 characters. Names are in its middle: what became of them stays readable."""
    line = " ".join(title.split())
    return line if len(line) <= 200 else f"{line[:120]} … {line[-77:]}"


def _plain(text: str) -> str:
    """What others wrote as a mail may have it: scripts and packages say halves of characters, and control terminals."""
    return visible(text.encode("utf-8", "replace").decode())


def _html(message: Message, foot: str) -> str:
    title = escape(message.title)
    if message.link:
        title = f'<a href="{escape(message.link)}">{title}</a>'
    lines = "".join(f"<p>{escape(line)}</p>" for line in message.lines)
    head = f'<!doctype html><html lang="{escape(message.language)}"><meta charset="utf-8"><body>'
    return f'{head}<h1 style="font-size:1.2em">{title}</h1>{lines}<p><small>{escape(foot)}</small></p></body></html>'


class _Relay:
    """One connection to the relay of the settings."""

    def __init__(self, config: Config, until: float) -> None:
        self._config = config
        self._until = until
        self._client: smtplib.SMTP | None = None

    def hand_over(self, mail: EmailMessage, receivers: Sequence[str]) -> None:
        """Connects, signs in where there is an account, sends."""
        c = self._config
        host, port, security = str(c["notices.mail_host"]), int(c["notices.mail_port"]), str(c["notices.mail_security"])
        left = max(self._until - time.monotonic(), 0.1)
        trust = ssl.create_default_context()
        if security == "tls":
            client: smtplib.SMTP = smtplib.SMTP_SSL(timeout=left, context=trust)
        else:
            client = smtplib.SMTP(timeout=left)
        self._client = client
        client.connect(host, port)
        client._host = host  # type: ignore[attr-defined]  # what its certificate is checked against
        if security == "starttls":
            client.starttls(context=trust)
        if c["notices.mail_user"]:
            client.login(str(c["notices.mail_user"]), str(c["notices.mail_password"]))
        client.send_message(mail, to_addrs=receivers)
        try:
            client.quit()
        except (OSError, smtplib.SMTPException):  # it has the mail
            return

    def close(self) -> None:
        """Closes the connection, if there is one."""
        if self._client is not None:
            self._client.close()

    def cut(self) -> None:
        """Ends the connection, also from another thread."""
        found = self._client.sock if self._client is not None else None
        if found is not None:
            try:
                socket.socket.shutdown(found, socket.SHUT_RDWR)
            except OSError:  # it has ended already
                return
