"""Software configurations, their deployments on servers, and what goes into user data."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

import yaml

from vetro.clouds.drivers import values
from vetro.clouds.drivers.specs import ConfigSpec
from vetro.clouds.stacks.templates.functions import FunctionError, text_of
from vetro.clouds.stacks.types.base import Call, Prop, ResourceFailed, ResourceType
from vetro.clouds.waits import deployment_text

#: Fixed, so that the same parts give the same text: redeployments compare it.
_BOUNDARY = "===============vetro-multipart=="
_HEADER = re.compile(r"[^\x00-\x1f\"\\\x7f]*")

#: The C library where PyYAML was built with it.
_Dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


def _header(value: Any) -> None:
    """Raises `ValueInvalid` for what cannot stand in a header of a message."""
    if not _HEADER.fullmatch(value):
        raise values.ValueInvalid(f"{values.short(value)} cannot stand in a header of a multipart message")


_INPUT = {
    "name": Prop(required=True, parse=values.Name),
    "description": Prop(),
    "type": Prop(),
    "default": Prop("any"),
    "replace_on_change": Prop("boolean"),
}
_OUTPUT = {
    "name": Prop(required=True, parse=values.Name),
    "description": Prop(),
    "type": Prop(),
    "error_output": Prop("boolean", default=False),
}


def save_config(call: Call, config: Any, group: str) -> None:
    """Stores a configuration: what user data and deployments refer to by id."""
    props = call.props
    record = {
        "id": call.id,
        "name": "",
        "group": group,
        "config": config,
        "inputs": props.get("inputs") or [],
        "outputs": props.get("outputs") or [],
        "options": props.get("options") or {},
    }
    call.things.save("config", record, environment=call.owner.environment)


class SoftwareConfig(ResourceType):
    """OS::Heat::SoftwareConfig. Changed ones are replaced, so that deployments notice."""

    plain = True

    properties: Mapping[str, Prop] = {
        "group": Prop(default="Heat::Ungrouped", parse=values.Name),
        "config": Prop(parse=values.text),
        "inputs": Prop("list", fields=_INPUT),
        "outputs": Prop("list", fields=_OUTPUT),
        "options": Prop("map"),
    }
    attributes = ("id", "config")
    record = "config"

    def create(self, call: Call) -> None:
        """The record."""
        save_config(call, call.props.get("config") or "", call.props["group"])


class StructuredConfig(SoftwareConfig):
    """OS::Heat::StructuredConfig: the configuration is data; ``get_input`` in it waits for a deployment."""

    properties: Mapping[str, Prop] = {
        **SoftwareConfig.properties,
        "config": Prop("any"),
        "input_key": Prop(default="get_input"),
        "input_values_validate": Prop(default="LAX", allowed=("LAX", "STRICT")),
    }

    def create(self, call: Call) -> None:
        """The record."""
        save_config(call, call.props.get("config") or {}, call.props["group"])


class CloudConfig(ResourceType):
    """OS::Heat::CloudConfig: data that becomes the text of a cloud-config."""

    plain = True

    properties: Mapping[str, Prop] = {"cloud_config": Prop("any")}
    attributes = ("id", "config")
    record = "config"

    def create(self, call: Call) -> None:
        """The record with the YAML text."""
        data = call.props.get("cloud_config") or {}
        text = yaml.dump(data, Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=1 << 20)
        save_config(call, "#cloud-config\n" + text, "Heat::Cloudinit")


class MultipartMime(ResourceType):
    """OS::Heat::MultipartMime: several configurations in one message."""

    plain = True

    properties: Mapping[str, Prop] = {
        "parts": Prop(
            "list",
            fields={
                "config": Prop(required=True),
                "filename": Prop(parse=_header),
                "subtype": Prop(parse=_header),
                "type": Prop(default="text", allowed=("text", "multipart")),
            },
        ),
        "group": Prop(),
        "options": Prop("map"),
        "inputs": Prop("list"),
        "outputs": Prop("list"),
    }
    attributes = ("id", "config")
    record = "config"

    def create(self, call: Call) -> None:
        """The record with the message; a part is a configuration (by id) or a text."""
        made = [f'Content-Type: multipart/mixed; boundary="{_BOUNDARY}"\nMIME-Version: 1.0\n\n']
        for part in call.props.get("parts") or ():
            config = call.things.find("config", part["config"]) if len(part["config"]) == 36 else None
            text = text_of(config["config"] if config else part["config"])
            made += ("--", _BOUNDARY, "\n", _part(text, part))
        save_config(call, "".join([*made, "--", _BOUNDARY, "--\n"]), "Heat::Ungrouped")


def _part(text: str, part: Mapping[str, Any]) -> str:
    """One part with its headers; the content is Base64, so nothing in it can end the part."""
    kind, name = part.get("subtype") or _subtype(text), part.get("filename")
    head = f'Content-Type: text/{kind}; charset="utf-8"\nMIME-Version: 1.0\nContent-Transfer-Encoding: base64\n'
    if name:
        head += f'Content-Disposition: attachment; filename="{name}"\n'
    body = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return head + "\n" + "".join(body[start : start + 76] + "\n" for start in range(0, len(body), 76))


def _subtype(text: str) -> str:
    """The type by which cloud-init knows what to do with a part."""
    first = text.split("\n", 1)[0].strip()
    return "cloud-config" if first == "#cloud-config" else "x-shellscript" if first.startswith("#!") else "plain"


class SoftwareDeployment(ResourceType):
    """OS::Heat::SoftwareDeployment: applies a configuration on a server and waits for its result."""

    properties: Mapping[str, Prop] = {
        "config": Prop(update=True),
        "server": Prop(required=True),
        "input_values": Prop("map", update=True),
        "signal_transport": Prop(default="CFN_SIGNAL"),
        "actions": Prop("list", update=True, default=["CREATE", "UPDATE"], items="string"),
        "name": Prop(update=True, parse=values.Name),
        "deploy_timeout": Prop("number", update=True, default=3600, parse=values.seconds),
    }
    attributes = ("deploy_stdout", "deploy_stderr", "deploy_status_code")
    driven = True
    #: Whether the configuration is data in which ``get_input`` is replaced.
    structured = False

    def create(self, call: Call) -> None:
        """Runs the configuration when it is for this action. Raises `ResourceFailed` when it ends with an error."""
        self._apply(call, "CREATE")

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Runs the configuration anew with what changed."""
        self._apply(call, "UPDATE")

    def delete(self, call: Call) -> None:
        """Runs the configuration when it is for this action and the server is there."""
        server = call.things.find("server", call.props.get("server") or "")
        if server is not None and server["status"] == "ACTIVE" and "config" in call.props:
            self._apply(call, "DELETE")

    def _apply(self, call: Call, action: str) -> None:
        props = call.props
        if action not in (props.get("actions") or []) or not props.get("config"):
            return
        config = call.things.get("config", props["config"])
        server = call.things.get("server", props["server"])
        inputs = {item["name"]: item.get("default") for item in config["inputs"]}
        inputs.update(props.get("input_values") or {})
        inputs.update(
            deploy_server_id=server["id"],
            deploy_action=action,
            deploy_stack_id=f"{call.stack_name}/{call.stack}",
            deploy_resource_name=call.name,
            deploy_signal_transport=props["signal_transport"],
            deploy_signal_id=call.id,
        )
        text = config["config"]
        if self.structured:
            text = json.dumps(with_inputs(text, inputs, props.get("input_key") or "get_input"))
        # Each application has an id of its own, so that a driver which died in mid-run does not run it twice.
        turn = call.data.get("turn", 0) + 1
        spec = ConfigSpec(
            id=values.Id(f"{call.id}-{turn}"),
            name=values.Name(props.get("name") or call.name),
            group=config["group"],
            config=text_of(text),
            inputs={key: text_of(value) for key, value in inputs.items()},
            timeout=float(props["deploy_timeout"]),
        )
        call.say(deployment_text(server["name"], spec.name))
        result = call.services.driver.configure(server["id"], spec)
        call.data.update(turn=turn, stdout=result.stdout, stderr=result.stderr, code=result.code)
        if result.code != 0:
            last = (result.stderr or result.stdout).strip().splitlines()[-1:] or ["it wrote nothing"]
            raise ResourceFailed(
                f"deployment to server '{server['name']}' ended with status code {result.code}: {last[0][:500]}"
            )

    def value(self, call: Call, name: str) -> Any:
        """What the last application wrote; null before the first one or without a signal."""
        kept = {"deploy_stdout": "stdout", "deploy_stderr": "stderr", "deploy_status_code": "code"}
        return call.data.get(kept.get(name, name))

    def knows(self, name: str) -> bool:
        """Every name: a configuration may declare outputs. They are not reported here, so they are null."""
        return True


class StructuredDeployment(SoftwareDeployment):
    """OS::Heat::StructuredDeployment."""

    properties: Mapping[str, Prop] = {
        **SoftwareDeployment.properties,
        "input_key": Prop(default="get_input"),
        "input_values_validate": Prop(default="LAX", allowed=("LAX", "STRICT")),
    }
    structured = True


def with_inputs(data: Any, inputs: Mapping[str, Any], key: str) -> Any:
    """The data with ``{get_input: name}`` replaced. Raises `FunctionError` for an argument that is no name."""
    if isinstance(data, dict):
        if set(data) == {key}:
            if not isinstance(data[key], str):
                raise FunctionError(f"{key} is written as {key}: name")
            return inputs.get(data[key])
        return {name: with_inputs(value, inputs, key) for name, value in data.items()}
    if isinstance(data, list):
        return [with_inputs(item, inputs, key) for item in data]
    return data
