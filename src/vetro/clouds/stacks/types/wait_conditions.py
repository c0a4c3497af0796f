"""Types that wait: a stack goes on when servers said so, or after some seconds.

Servers say so with `vetro.clouds.guest.signal_command`; drivers read it (`signals` in `vetro.clouds.guest.commands`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vetro.clouds.drivers import values
from vetro.clouds.stacks.types.base import Call, Prop, ResourceFailed, ResourceType
from vetro.clouds.waits import signals_text

#: Seconds between two looks at what servers signalled.
_LOOK = 0.2


class WaitConditionHandle(ResourceType):
    """OS::Heat::WaitConditionHandle: what servers signal with `curl_cli`."""

    plain = True

    properties: Mapping[str, Prop] = {"signal_transport": Prop(default="TOKEN_SIGNAL")}
    attributes = ("curl_cli", "endpoint", "token", "signal")
    record = "wait_handle"

    def create(self, call: Call) -> None:
        """The record."""
        call.things.save("wait_handle", {"id": call.id, "name": call.physical_name}, environment=call.owner.environment)

    def value(self, call: Call, name: str) -> Any:
        """``curl_cli`` is a command of the guest; there is no address to reach over the network."""
        return call.services.driver.signal_command(call.id) if name == "curl_cli" else call.id


class WaitCondition(ResourceType):
    """OS::Heat::WaitCondition."""

    properties: Mapping[str, Prop] = {
        "handle": Prop(required=True, parse=values.Id),
        "timeout": Prop("number", required=True, update=True, parse=values.seconds),
        "count": Prop("integer", default=1, update=True, parse=values.count),
    }
    attributes = ("data",)
    driven = True

    def create(self, call: Call) -> None:
        """Waits for so many signals. Raises `ResourceFailed` when one says failure, or none comes in time."""
        services, props = call.services, call.props
        ends = services.clock() + props["timeout"]
        while True:
            everyone = call.things.all("server")
            servers = [item["id"] for item in everyone if item["environment"] == call.owner.environment]
            signals = list(services.driver.signals(props["handle"], servers))
            call.data["signals"] = {signal.id or str(place): signal.data for place, signal in enumerate(signals, 1)}
            failed = [signal for signal in signals if signal.status.upper() != "SUCCESS"]
            if failed:
                raise ResourceFailed(f"a server signalled {failed[0].status}: {failed[0].reason or 'without a reason'}")
            if len(call.data["signals"]) >= props["count"] or (signals and not services.driver.executes):
                return  # a recorder's one signal stands for all
            call.say(signals_text(len(call.data["signals"]), props["count"]))
            if services.clock() >= ends:
                raise ResourceFailed(
                    f"timed out after {props['timeout']} seconds with {len(signals)} of {props['count']} signals"
                )
            if services.closing.wait(_LOOK):
                raise ResourceFailed("the cloud was closed while it waited for signals")

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """Waits again when more signals are wanted."""
        self.create(call)

    def value(self, call: Call, name: str) -> Any:
        """The data of the signals by their ids, as JSON text."""
        return json.dumps(call.data.get("signals", {}))


class TestResource(ResourceType):
    """OS::Heat::TestResource: a value that takes time or fails as its properties say, to try what an author handles."""

    properties: Mapping[str, Prop] = {
        "value": Prop("string", update=True, default="test_string"),
        "fail": Prop("boolean", update=True, default=False),
        "update_replace": Prop("boolean", update=True, default=False),
        "wait_secs": Prop("number", update=True, default=0, parse=values.seconds),
    }
    attributes = ("output",)
    driven = True

    def create(self, call: Call) -> None:
        """Waits where servers are real; a recorder's time does not pass. Raises `ResourceFailed` when it is to fail."""
        services, props = call.services, call.props
        if services.driver.executes and services.closing.wait(max(props["wait_secs"], 0)):
            raise ResourceFailed("the cloud was closed while it waited")
        if props["fail"]:
            raise ResourceFailed(f"the test resource '{call.name}' fails, as its property fail says")

    def update(self, call: Call, old: Mapping[str, Any]) -> None:
        """The same again."""
        self.create(call)

    def replaces(self, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
        """When ``update_replace`` says so."""
        return bool(new.get("update_replace"))

    def value(self, call: Call, name: str) -> Any:
        """The value."""
        return call.props.get("value")
