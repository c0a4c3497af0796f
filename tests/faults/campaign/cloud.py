"""The cloud of the campaign: takes its time, counts, and reaches the agents of some environments over RabbitMQ."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.faults.server_cloud import ServiceCloud
from tests.faults.world import World, WorldChannel
from vetro.agent.amqp import AmqpChannel
from vetro.agent.amqp_link import BrokerSettings
from vetro.clouds.interface import Owner, StackChange, StackState
from vetro.clouds.messages import Message


def over_amqp(environment: str) -> bool:
    """Whether the agents of an environment are reached over RabbitMQ, where there is one: those of every other one."""
    return int(environment[-1], 16) % 2 == 0


class SlowCloud(ServiceCloud):
    """Each push takes up to ``seconds`` before it is done and as long after: that is when processes are killed."""

    seconds = 0.0
    #: Of RabbitMQ; 0: none.
    port = 0

    def channel(self, owner: Owner) -> Any:
        if self.port and over_amqp(owner.environment):
            broker = BrokerSettings(host="127.0.0.1", port=self.port)
            return NotingChannel(broker, owner, World(self.path))
        channel = WorldChannel(self.path)
        if self.seconds:
            channel.pause = 0.03  # there are many, and they are slow anyway
        return channel

    def push_stack(self, owner: Any, region: str, name: str, change: StackChange) -> StackState:
        time.sleep(random.uniform(0, self.seconds))
        state = super().push_stack(owner, region, name, change)
        time.sleep(random.uniform(0, self.seconds))
        return state


class NotingChannel(AmqpChannel):
    """Writes down which queues there are, so that somebody can play their agents."""

    def __init__(self, settings: BrokerSettings, owner: Owner, world: World) -> None:
        super().__init__(settings, owner)
        self._world = world
        self._noted: set[str] = set()

    def send(self, queue: str, message: Message) -> None:
        if queue not in self._noted:
            self._world.note_queue(queue)
            self._noted.add(queue)
        super().send(queue, message)


def make(settings: Mapping[str, Any], owner: Owner) -> Any:
    """The cloud over the file that ``path`` names; ``port`` is that of RabbitMQ, 0: none."""
    path = Path(settings["path"])
    cloud = SlowCloud(path)
    cloud.seconds = float(settings["seconds"])
    cloud.port = settings["port"]
    return cloud
