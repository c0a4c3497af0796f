"""What is sent, and where to: signatures that a foreign library verifies, no address inside, no word of answers."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from tests.server.notices.conftest import Notices, later
from tests.server.notices.receivers import MailRelay, WebReceiver
from tests.support.certificates import self_signed
from vetro.server import setup
from vetro.server.environments.models import Environment
from vetro.server.errors import Invalid
from vetro.server.notices import channels, mail, service, signatures
from vetro.server.notices.channels import AddressRefused
from vetro.server.notices.message import Failed, Message, message_of
from vetro.server.notices.models import Delivery, Target

pytestmark = pytest.mark.django_db

Deliver = Callable[..., int]


# -- webhooks ----------------------------------------------------------------------------------------------------------


def test_a_foreign_library_verifies_what_arrives(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    notices.webhook(receiver.url)
    notices.task(state="failed")
    deliver()
    (path, headers, body) = receiver.posts[0]
    found = Webhook(notices.secret).verify(body, headers)
    assert path == "/vetro" and headers["Content-Type"] == "application/json"
    assert found["type"] == "deployment.failed" and found["data"]["reason"] == "the box is broken"
    assert found["data"]["title"] == "Deploying environment 'shop' failed"
    assert found["data"]["project"] == {"id": notices.environment.project_id, "name": "demo"}
    assert datetime.fromisoformat(found["timestamp"]).tzinfo is not None
    with pytest.raises(WebhookVerificationError):
        Webhook(notices.secret).verify(body.replace(b"shop", b"shap"), headers)
    with pytest.raises(WebhookVerificationError):
        Webhook(signatures.new_secret()).verify(body, headers)


def test_the_vector_that_the_specification_publishes() -> None:
    secret, id, at = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    body = b'{"test": 2432232314}'
    assert signatures.signature(secret, id, at, body) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_an_attempt_later_has_the_same_id_and_body_and_a_time_of_its_own(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    notices.webhook(receiver.url)
    receiver.answer = lambda: 500
    notices.task()
    deliver()
    later(minutes=1)
    monkeypatch.setattr(channels.time, "time", lambda: 2_000_000_000.0)
    deliver()
    (_, one, first), (_, two, second) = receiver.posts
    assert first == second and one["webhook-id"] == two["webhook-id"]
    assert one["webhook-timestamp"] != two["webhook-timestamp"] == "2000000000"


def test_during_a_rotation_both_secrets_verify_and_then_the_new_one_alone(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, ann: Any
) -> None:
    id = notices.webhook(receiver.url)
    new = service.rotate_secret(ann.caller, id, 2)
    assert service.target(ann.caller, id)["secrets"] == 2
    notices.task()
    deliver()
    _, headers, body = receiver.posts[0]
    Webhook(notices.secret).verify(body, headers)
    Webhook(new).verify(body, headers)
    row = Target.objects.get(id=id)
    now = datetime.now(UTC)
    assert signatures.valid(row.keys, (now + timedelta(hours=1, minutes=59)).timestamp()) == [new, notices.secret]
    assert signatures.valid(row.keys, (now + timedelta(hours=2, minutes=1)).timestamp()) == [new]
    third = service.rotate_secret(ann.caller, id, 0)
    row.refresh_from_db()
    assert signatures.valid(row.keys, (now + timedelta(seconds=30)).timestamp()) == [third]


# -- where to ----------------------------------------------------------------------------------------------------------


@pytest.mark.attack("networks", "notices")
@pytest.mark.parametrize(
    "url",
    [
        "https://127.0.0.1/", "https://localhost/", "https://10.0.0.1/", "https://169.254.169.254/latest/",
        "https://[::1]/", "https://[::ffff:10.0.0.1]/", "https://0.0.0.0/", "https://192.168.1.1/",
        "https://[fd00::1]/", "https://2130706433/",
    ],
)  # fmt: skip
def test_nothing_is_sent_inside(notices: Notices, deliver: Deliver, url: str) -> None:
    notices.webhook(url)
    notices.task()
    deliver()
    row = Delivery.objects.get()
    assert (row.state, row.problem["text"]) == ("waiting", "there is no host of this name that notices may be sent to")


@pytest.mark.attack("networks", "notices")
def test_a_name_that_resolves_to_the_inside_later_gains_nothing(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The address that was checked is the one that is connected to."""
    notices.webhook("https://rebound.example.com/")
    answers = iter([[("8.8.8.8", 443)], [("127.0.0.1", 443)]])
    connected: list[Any] = []

    def resolve(*_: Any, **__: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in next(answers)]

    def connect(address: Any, *_: Any, **__: Any) -> Any:
        connected.append(address)
        raise OSError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    notices.task()
    deliver()
    later(minutes=1)
    deliver()
    assert connected == [("8.8.8.8", 443)]


@pytest.mark.attack("networks", "notices")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_is_followed(notices: Notices, receiver: WebReceiver, deliver: Deliver, status: int) -> None:
    notices.webhook(receiver.url)
    receiver.answer, receiver.headers = lambda: status, {"Location": f"http://{receiver.host}/inside"}
    notices.task()
    deliver()
    assert [path for path, _, _ in receiver.posts] == ["/vetro"]
    assert Delivery.objects.get().problem["text"] == f"the receiver answered {status}"


@pytest.mark.attack("networks", "notices")
def test_nothing_that_a_receiver_says_is_shown(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, ann: Any
) -> None:
    id = notices.webhook(receiver.url)
    receiver.answer = lambda: 500
    receiver.body = b"SECRET-OF-THE-INSIDE"
    receiver.headers = {"X-Inside": "SECRET-OF-THE-INSIDE"}
    notices.task()
    deliver()
    shown = [ann.get("/v2/notices/deliveries").content, ann.get(f"/v2/notices/targets/{id}").content]
    assert b"the receiver answered 500" in shown[0] and b"SECRET" not in b"".join(shown)


def test_what_a_receiver_says_is_not_even_read(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    receiver.body = b"x" * (64 << 20)
    notices.webhook(receiver.url)
    notices.task()
    deliver()
    assert Delivery.objects.get().state == "delivered"


@pytest.mark.parametrize(
    ("url", "wanted", "text"),
    [
        ("ftp://ops.example.com/", Invalid, "no address"),
        ("https://user:word@ops.example.com/", Invalid, "no address"),
        ("https://ops.example.com/\u00e4", Invalid, "no address"),
        ("http://ops.example.com/", Invalid, "https only"),
        ("", Invalid, "no address"),
    ],
)
def test_addresses_that_are_none(ann: Any, url: str, wanted: type[Exception], text: str) -> None:
    with pytest.raises(wanted, match=text):
        service.add_target(ann.caller, "ops", "webhook", {"url": url})


def test_only_hosts_that_the_settings_name(ann: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(setup, "_current", setup.config().changed({"notices.hosts": ["ops.example.com"]}))
    service.add_target(ann.caller, "ops", "webhook", {"url": "http://ops.example.com/"})
    with pytest.raises(AddressRefused, match=r"not be sent to other\.example\.com"):
        service.add_target(ann.caller, "other", "webhook", {"url": "https://other.example.com/"})


def test_a_receiver_that_says_nothing_is_left_in_time(
    notices: Notices, receiver: WebReceiver, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channels, "SECONDS", 0.2)
    receiver.release.clear()
    notices.webhook(receiver.url)
    notices.task()
    deliver()
    assert Delivery.objects.get().problem["text"] == "the receiver took more than 0.2 seconds"


def test_an_answer_whose_head_has_no_end_is_left(
    notices: Notices, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One "100 Continue" after the other: they are skipped as fast as they come."""
    sent = 0
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            nonlocal sent
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.recv(1 << 16)
                while True:
                    sent += connection.send(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)

        host = f"127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setattr(setup, "_current", setup.config().changed({"notices.hosts": [host]}))
        thread = threading.Thread(target=answer)
        thread.start()
        notices.webhook(f"http://{host}/")
        notices.task()
        assert deliver() == 1
        thread.join(30)
    assert not thread.is_alive() and sent < 16 << 20
    assert Delivery.objects.get().problem["text"] == "the receiver does not speak HTTP"


def test_certificates_are_checked(
    notices: Notices, deliver: Deliver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = tmp_path / "c", tmp_path / "k"
    self_signed(certificate, key, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve() -> None:
            with server.accept()[0] as connection:
                try:
                    context.wrap_socket(connection, server_side=True).recv(10)
                except OSError:
                    return

        thread = threading.Thread(target=serve)
        thread.start()
        monkeypatch.setattr(setup, "_current", setup.config().changed({"notices.hosts": [f"127.0.0.1:{port}"]}))
        notices.webhook(f"https://127.0.0.1:{port}/")
        notices.task()
        deliver()
        thread.join()
    assert Delivery.objects.get().problem["text"] == "the receiver has no certificate that can be trusted"


# -- chat --------------------------------------------------------------------------------------------------------------


def chat(notices: Notices, receiver: WebReceiver, **settings: Any) -> None:
    made, secret = service.add_target(notices.caller, "room", "chat", {"url": receiver.url, **settings})
    assert secret is None
    service.add_rule(notices.caller, made["id"])


def test_slack_gets_text_that_calls_nobody(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    notices.environment.name = "<!channel> & co"
    notices.environment.save()
    chat(notices, receiver)
    notices.task(state="failed")
    deliver()
    found = json.loads(receiver.posts[0][2])
    assert found["text"] == "Deploying environment '&lt;!channel&gt; &amp; co' failed"
    (shown,) = found["attachments"]
    assert shown["color"] == "#c62828" and "the box is broken" in shown["blocks"][0]["text"]["text"]
    assert "webhook-signature" not in receiver.posts[0][1]


def test_mattermost_gets_text_that_calls_nobody(notices: Notices, receiver: WebReceiver, deliver: Deliver) -> None:
    notices.environment.name = "@all"
    notices.environment.save()
    chat(notices, receiver, form="mattermost")
    notices.task()
    deliver()
    notices.task(state="failed", error_text="![x](http://evil.example/a.png) @all <b>")
    deliver()
    (failed,) = json.loads(receiver.posts[1][2])["attachments"]
    assert "\\!\\[x\\]\\(http" in failed["text"] and "\\<b\\>" in failed["text"] and "@all" not in failed["text"]
    (shown,) = json.loads(receiver.posts[0][2])["attachments"]
    assert "@all" not in shown["title"] and shown["title"].replace("\u200b", "") == "Environment '@all' is deployed"


def test_templates_of_ones_own_are_filled_and_stay_json(
    notices: Notices, receiver: WebReceiver, deliver: Deliver
) -> None:
    notices.environment.name = 'a "quoted" {{level}}'
    notices.environment.save()
    template = '{"content": "{{level}}: {{ title }}", "list": [{"e": "{{environment}}", "n": 1}]}'
    chat(notices, receiver, form="template", template=template)
    notices.task()
    deliver()
    name = notices.environment.name
    wanted = {"content": f"info: Environment '{name}' is deployed", "list": [{"e": name, "n": 1}]}
    assert json.loads(receiver.posts[0][2]) == wanted


@pytest.mark.parametrize(
    "template",
    [
        "", "text", "[]", '{"a": "{{secret}}"}', "[" * 100_000, '{"a": "' + "x" * 9000 + '"}',
        '{"a": "\\u007b\\u007bsecret}}"}', '{"a": "{{\\nsecret}}"}', '{"a": ' + "[" * 400 + "]" * 400 + "}",
    ],
)  # fmt: skip
def test_templates_that_are_none(ann: Any, template: str) -> None:
    with pytest.raises(Invalid):
        service.add_target(
            ann.caller, "x", "chat", {"url": "https://a.example.com/", "form": "template", "template": template}
        )


# -- mail --------------------------------------------------------------------------------------------------------------


def mailed(notices: Notices, relay: MailRelay, deliver: Deliver, language: str = "", **task: Any) -> Any:
    made, _ = service.add_target(notices.caller, "mail", "mail", {"to": ["ops@example.com", "b@example.org"]}, language)
    service.add_rule(notices.caller, made["id"])
    notices.task(**task)
    deliver()
    receivers, data = relay.mails[0]
    assert receivers == ["ops@example.com", "b@example.org"]
    return message_from_bytes(data, policy=policy.default)


def test_a_mail_has_text_and_html(notices: Notices, relay: MailRelay, deliver: Deliver) -> None:
    notices.environment.name = "<b>shop</b>\nBcc: all@example.com"
    notices.environment.save()
    found = mailed(notices, relay, deliver, state="failed")
    assert found["Subject"] == "Deploying environment '<b>shop</b> Bcc: all@example.com' failed"
    assert (found["From"], found["Bcc"], found["Auto-Submitted"]) == (
        "Vetro <vetro@example.com>",
        None,
        "auto-generated",
    )
    assert found["Message-ID"] == f"<{Delivery.objects.get().id}@example.com>"
    text, html = (part.get_content() for part in found.iter_parts())
    assert "the box is broken" in text and "for project 'demo'" in text
    assert "&lt;b&gt;shop" in html and "<b>" not in html


def test_a_mail_holds_what_scripts_and_packages_say(notices: Notices, relay: MailRelay, deliver: Deliver) -> None:
    """Half of a character was no text of a mail: it was tried for three days."""
    made, _ = service.add_target(notices.caller, "mail", "mail", {"to": ["ops@example.com"]})
    service.add_rule(notices.caller, made["id"])
    notices.task(state="failed")
    row = Delivery.objects.get()
    row.body = {**row.body, "reason": "half \ud800 and \x1b[31mred"}
    row.body["environment"] = {"id": "x", "name": "shop \ud800\x1b[2J"}
    row.save()
    deliver()
    ((_, data),) = relay.mails
    found = message_from_bytes(data, policy=policy.default)
    text, html = (part.get_content() for part in found.iter_parts())
    assert "half ? and \\x1b[31mred" in text and "half ?" in html
    assert "\x1b" not in text + html + found["Subject"] and b"\x1b" not in data


def test_mails_are_in_the_language_of_their_target(notices: Notices, relay: MailRelay, deliver: Deliver) -> None:
    found = mailed(notices, relay, deliver, "de")
    assert found["Subject"] == "Umgebung „shop“ ist bereitgestellt" and found["Content-Language"] == "de"


def test_no_name_is_so_long_that_a_subject_hides_what_became_of_it(
    notices: Notices, relay: MailRelay, deliver: Deliver
) -> None:
    Environment.objects.filter(id=notices.environment.id).update(cloud={"kind": "record"}, name="long " * 51)
    found = str(mailed(notices, relay, deliver, state="failed")["Subject"])
    assert found.startswith("Deploying environment 'long long") and len(found) == 200
    assert found.endswith("' failed (simulated: nothing was executed)")


@pytest.mark.parametrize(("language", "wanted"), [
    ("en", "Environment 'shop' is deployed (simulated: nothing was executed)"),
    ("de", "Umgebung „shop“ ist bereitgestellt (simuliert: nichts wurde ausgeführt)"),
])  # fmt: skip
def test_what_was_only_written_down_is_told_as_simulated(
    notices: Notices, relay: MailRelay, receiver: WebReceiver, deliver: Deliver, language: str, wanted: str
) -> None:
    """To people and to programs, whatever the target: nobody believes that it runs."""
    Environment.objects.filter(id=notices.environment.id).update(cloud={"kind": "record"})
    notices.webhook(receiver.url)
    assert mailed(notices, relay, deliver, language)["Subject"] == wanted
    (_, _, body) = receiver.posts[0]
    data = json.loads(body)["data"]
    assert data["environment"]["simulated"] is True and "simulated" in data["title"]


def test_the_relay_is_signed_in_at(
    notices: Notices, relay: MailRelay, deliver: Deliver, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = setup.config().changed({"notices.mail_user": "vetro", "notices.mail_password": "word"})
    monkeypatch.setattr(setup, "_current", changed)
    mailed(notices, relay, deliver)
    assert len(relay.accounts) == 1


def test_nothing_is_said_to_a_relay_that_cannot_be_trusted(
    notices: Notices, deliver: Deliver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    self_signed(tmp_path / "c", tmp_path / "k", "localhost")
    relay = MailRelay(certificate=(tmp_path / "c", tmp_path / "k"))
    settings = {
        "notices.mail_host": "localhost", "notices.mail_port": relay.port, "notices.mail_user": "vetro",
        "notices.mail_password": "word",
    }  # fmt: skip
    monkeypatch.setattr(setup, "_current", setup.config().changed(settings))
    try:
        made, _ = service.add_target(notices.caller, "mail", "mail", {"to": ["ops@example.com"]})
        service.add_rule(notices.caller, made["id"])
        notices.task()
        deliver()
    finally:
        relay.close()
    assert relay.mails == relay.accounts == [] and Delivery.objects.get().state == "waiting"


def test_receivers_are_checked(ann: Any, relay: MailRelay, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in ([], ["a@example.com"] * 21, ["nobody"], ["a@example.com\nBcc: x@example.com"], ["a b@example.com"],
                  ['"x@example.org,y"@example.com']):  # fmt: skip
        with pytest.raises(Invalid):
            service.add_target(ann.caller, "x", "mail", {"to": given})
    monkeypatch.setattr(setup, "_current", setup.config().changed({"notices.mail_domains": ["example.com"]}))
    service.add_target(ann.caller, "x", "mail", {"to": ["a@EXAMPLE.com"]})
    with pytest.raises(Invalid, match=r"addresses of example\.org"):
        service.add_target(ann.caller, "y", "mail", {"to": ["a@example.org"]})


def test_a_relay_that_says_nothing_is_left_in_time(
    notices: Notices, relay: MailRelay, ann: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mail, "SECONDS", 0.3)
    made, _ = service.add_target(ann.caller, "mail", "mail", {"to": ["ops@example.com"]})
    row = Delivery.objects.get(id=service.test_target(ann.caller, made["id"])["id"])
    held = threading.Event()

    def hold() -> int:
        held.wait(30)
        return 250

    relay.answer = hold
    message: Message = message_of(row, row.target)
    try:
        with pytest.raises(Failed, match="the relay took more than"):
            mail.send(message, setup.config())
    finally:
        held.set()
