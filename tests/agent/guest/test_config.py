from __future__ import annotations

from pathlib import Path

import pytest

from vetro.agent.guest.config import Config, ConfigInvalid, read_config
from vetro.agent.signing import ensure_key

#: As the boot script of old packages writes it (AGENT.md 3 and 9).
OLD = """\
[DEFAULT]
debug=True
log_file = /var/log/murano-agent.log
storage=/var/murano/plans
engine_key = {key}

[rabbitmq]

# a comment
input_queue = e1-h2
result_routing_key = -execution-results-x
result_exchange =
login = user
password = 50%off;x#y = z
host = 10.0.0.1
port = 5671
virtual_host = vhost
ssl = TRUE
insecure = false
"""


def read(folder: Path, text: str) -> Config:
    (folder / "agent.conf").write_text(text)
    return read_config([], [str(folder)])


def test_an_old_file(tmp_path: Path) -> None:
    key = ensure_key(tmp_path / "key")
    config = read(tmp_path, OLD.format(key=key.public_pem().rstrip().replace("\n", "\n\t")))
    assert config.engine_key is not None
    assert config.engine_key.verifies(key.sign("q", "{}"), b"q{}")
    assert (config.input_queue, config.result_routing_key, config.result_exchange) == (
        "e1-h2",
        "-execution-results-x",
        "",
    )
    assert (config.host, config.port, config.login, config.password) == ("10.0.0.1", 5671, "user", "50%off;x#y = z")
    assert (config.virtual_host, config.ssl, config.insecure) == ("vhost", True, False)
    assert (config.debug, config.log_file, config.socket) == (True, "/var/log/murano-agent.log", None)


def test_defaults(tmp_path: Path) -> None:
    config = read(tmp_path, "[rabbitmq]\ninput_queue=q\nresult_routing_key=r\n")
    assert (config.storage, config.engine_key, config.dynamic_result_queue) == ("/var/murano/plans", None, False)
    assert (config.host, config.port, config.login, config.password) == ("localhost", 5672, "guest", "guest")
    assert (config.virtual_host, config.ssl, config.retry_delay, config.plan_timeout) == ("/", False, 5, 0)


def test_the_local_socket(tmp_path: Path) -> None:
    config = read(tmp_path, "[rabbitmq]\nhost=unix:/run/vetro/agent.sock\ninput_queue=q\nresult_routing_key=r\n")
    assert config.socket == "/run/vetro/agent.sock"


def test_later_files_win(tmp_path: Path) -> None:
    (tmp_path / "a.conf").write_text("[rabbitmq]\ninput_queue=q\nresult_routing_key=r\nhost=a\n")
    (tmp_path / "b.conf").write_text("[rabbitmq]\nhost=b\n")
    (tmp_path / "c.txt").write_text("[rabbitmq]\nhost=c\n")
    assert read_config([], [str(tmp_path)]).host == "b"
    (tmp_path / "d").write_text("[rabbitmq]\nhost=d\n")
    assert read_config([str(tmp_path / "d")], [str(tmp_path)]).host == "d"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "input_queue"),
        ("[rabbitmq]\ninput_queue=q\n", "result_routing_key"),
        ("[rabbitmq]\ninput_queue=q\nresult_routing_key=r\nssl=maybe\n", "ssl must be true or false"),
        ("[rabbitmq]\ninput_queue=q\nresult_routing_key=r\nport=x\n", "port must be a number"),
        ("[rabbitmq]\ninput_queue=q\nresult_routing_key=r\nport=-1\n", "port must be between"),
        ("[DEFAULT]\nengine_key=x\n[rabbitmq]\ninput_queue=q\nresult_routing_key=r\n", "engine_key"),
        ("no section", "malformed"),
        ("\x00[", "malformed"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigInvalid, match=message):
        read(tmp_path, text)


def test_missing_files(tmp_path: Path) -> None:
    for files, folders in (([str(tmp_path / "x")], []), ([], [str(tmp_path / "x")]), ([], [str(tmp_path)]), ([], [])):
        with pytest.raises(ConfigInvalid):
            read_config(files, folders)
