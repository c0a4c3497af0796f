"""What servers get as user data: agents, configuration languages, software deployments."""

from __future__ import annotations

import base64
import configparser
import re
from typing import Any
from xml.etree import ElementTree

from tests.library.deploying import Deployed, server
from tests.library.templates import nova

KEY = "-----BEGIN RSA PUBLIC KEY-----\nMIIB\nAQAB\n-----END RSA PUBLIC KEY-----\n"
BROKER = {"host": "mq.example", "port": 5671, "login": "l", "password": 'p%w<&"', "virtual_host": "v", "ssl": True}


def secured(kind: str, **settings: Any) -> Deployed:
    """A server whose engine has a broker and a signing key."""
    given = {"rabbitmq": {**BROKER, "ca_certs": "CERTIFICATE"}, **settings}
    done = Deployed(server(kind), deploy=False, settings=given)
    done.host.inner.register("agent.key", lambda args: KEY)
    done.deploy()
    return done


def unpacked(script: str) -> dict[str, str]:
    """The files that the boot script of a Linux server writes, path -> text."""
    found = re.findall(r"^unpack (\d+) (\S+) <<'END_OF_FILE'\n(.*?)\nEND_OF_FILE$", script, re.S | re.M)
    return {path: base64.b64decode(text).decode() for _, path, text in found}


def test_user_data_of_servers_with_agent() -> None:
    done = secured("LinuxMuranoInstance", engine={"agent_source": "git+https://agent"})
    keys = ("boot_config-web", "boot_script_web", "user_data-web")
    config, script, multipart = (done.resources[key] for key in keys)
    assert done.resources["web"]["properties"]["user_data"] == {"get_resource": "user_data-web"}
    assert done.resources["web"]["properties"]["user_data_format"] == "RAW"
    assert multipart == {
        "type": "OS::Heat::MultipartMime",
        "properties": {"parts": [{"config": {"get_resource": key}} for key in keys[:2]]},
    }
    assert config["type"] == "OS::Heat::CloudConfig" and config["properties"]["cloud_config"]["hostname"] == "web"
    assert (script["type"], script["properties"]["group"]) == ("OS::Heat::SoftwareConfig", "ungrouped")
    text = script["properties"]["config"]
    assert text.startswith("#!/bin/sh\n") and "'git+https://agent'" in text
    files = unpacked(text)
    assert set(files) == {
        "/etc/init/murano-agent.conf",
        "/etc/systemd/system/murano-agent.service",
        "/etc/init.d/murano-agent",
        "/etc/murano/agent.conf",
        "/etc/murano/certs/ca_certs",
    }
    assert not re.search(r"%[A-Z_0-9]+%", text + "".join(files.values()))
    assert files["/etc/murano/certs/ca_certs"] == "CERTIFICATE"
    parser = configparser.RawConfigParser()
    parser.read_string(files["/etc/murano/agent.conf"])
    listener = done.host.performed("stack.push")[0]["name"].removeprefix("murano-")
    defaults = parser.defaults()
    assert {key: value for key, value in parser["rabbitmq"].items() if key not in defaults} == {
        "host": "mq.example", "port": "5671", "login": "l", "password": "p%w<&\"", "virtual_host": "v", "ssl": "true",
        "ca_certs": "/etc/murano/certs/ca_certs", "insecure": "false", "input_queue": "eenv-hsrv",
        "result_exchange": "", "result_routing_key": f"-execution-results-eenv-{listener}",
    }  # fmt: skip
    assert defaults["engine_key"].strip() == KEY.strip()
    assert "\t-----BEGIN" in files["/etc/murano/agent.conf"]


def test_the_agent_configuration_is_readable_by_root_alone() -> None:
    script = Deployed(server()).resources["boot_script_web"]["properties"]["config"]
    modes = {path: mode for mode, path in re.findall(r"^unpack (\d+) (\S+)", script, re.M)}
    assert modes["/etc/murano/agent.conf"] == modes["/etc/murano/certs/ca_certs"] == "600"
    assert "ca_certs = \n" in unpacked(script)["/etc/murano/agent.conf"]


def test_configuration_languages_add_packages() -> None:
    config = Deployed(server("ConfLangInstance")).resources["boot_config_web"]["properties"]["cloud_config"]
    assert config["hostname"] == "web"
    assert {"python3-pip", "puppet", "chef"} <= set(config["packages"])


def test_user_data_of_windows_servers() -> None:
    done = secured("WindowsInstance")
    properties = done.resources["web"]["properties"]
    assert properties["user_data_format"] == "HEAT_CFNTOOLS"
    text = properties["user_data"]
    assert not re.search(r"%[A-Z_0-9]+%", text)
    encoded = dict(re.findall(r"^\$(\w+) = '([^']*)'$", text, re.M))
    assert (encoded["computerName"], encoded["serverAddress"]) == ("web", "mq.example")
    config = base64.b64decode(encoded["agentConfig"]).decode()
    assert not re.search(r"%[A-Z_0-9]+%", config)
    values = {item.get("key"): item.get("value") for item in ElementTree.fromstring(config).iter("add")}
    assert (values["rabbitmq.password"], values["rabbitmq.inputQueue"]) == ('p%w<&"', "eenv-hsrv")
    assert values["engine.key"].startswith("-----BEGIN RSA PUBLIC KEY-----")


def test_user_data_of_the_package() -> None:
    step = "!yaql '$server.setCustomUserData(mine)', !yaql '$server.deploy()'"
    done = Deployed(server("LinuxUDInstance"), step=step)
    assert done.resources["web"] == nova()
    done.load().call("run", object_id="app")
    assert done.resources["web"] == nova(user_data="mine")


def test_software_deployments() -> None:
    step = (
        "!yaql \"$server.addSoftwareConfig(one, 'echo 1', inputValues => {a => 1}, configGroup => script)\", "
        '!yaql "$server.addStructuredConfig(two, {k => v}, signalTransport => HEAT_SIGNAL)", $server.deploy()'
    )
    done = Deployed(server("HeatSWConfigInstance"), step=step)
    assert done.resources["web"] == nova(user_data_format="SOFTWARE_CONFIG")
    done.load().call("run", object_id="app")
    done.model = done.session.finalize()
    one, two = "web-one", "web-two"
    assert {key: done.resources[key] for key in (one, two, one + "-deployment", two + "-deployment")} == {
        one: {"type": "OS::Heat::SoftwareConfig", "properties": {"group": "script", "config": "echo 1"}},
        two: {
            "type": "OS::Heat::StructuredConfig",
            "properties": {
                "group": "Heat::Ungrouped",
                "config": {"k": "v", "completion-signal": {"get_input": "deploy_signal_id"}},
            },
        },
        one + "-deployment": {
            "type": "OS::Heat::SoftwareDeployment",
            "properties": {
                "config": {"get_resource": one}, "server": {"get_resource": "web"}, "input_values": {"a": 1},
            },
        },
        two + "-deployment": {
            "type": "OS::Heat::StructuredDeployment",
            "properties": {
                "config": {"get_resource": two}, "server": {"get_resource": "web"}, "input_values": {},
                "signal_transport": "HEAT_SIGNAL",
            },
        },
    }  # fmt: skip
    assert done.outputs["web-one-deployment-stderr"] == {"get_attr": ["web-one-deployment", "deploy_stderr"]}
    done.deploy(parts=[])
    assert not [key for key in (*done.resources, *done.outputs) if key.startswith("web")]
