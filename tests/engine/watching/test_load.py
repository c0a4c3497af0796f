"""What it costs to watch 5,000 components in 1,000 environments, each with a check by HTTP every 30 seconds."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from multiprocessing.connection import Connection
from typing import Any

import pytest

from tests.engine.watching.world import Cloud, Door, check
from vetro.engine.watching.watch import Watch

ENVIRONMENTS, EACH, EVERY = 1000, 5, 30
#: Seconds after which all were asked once, and for which it is measured then.
BEGIN, MEASURED = 45.0, 60.0
#: Part of a processor.
MOST = 0.05


class Crowd(Cloud):
    """Thousands of servers, which all run."""

    def seen_servers(self, servers: Any) -> Any:
        return {owner: {id: self.there[id] for id in ids} for owner, ids in servers.items()}


def watch(port: int, told: Connection) -> None:
    cloud = Crowd()
    for number in range(ENVIRONMENTS * EACH):
        cloud.server(f"s{number}")

    async def run() -> None:
        watching = Watch(lambda key, owner: cloud, allowed=lambda *_: True)  # type: ignore[arg-type, return-value]
        task = asyncio.get_running_loop().create_task(watching.run())
        for number in range(ENVIRONMENTS):
            servers = [f"s{number * EACH + place}" for place in range(EACH)]
            components = [
                {"id": f"c{id}", "servers": [{"id": id, "name": id}], "checks": [check(port, on=[id], every=EVERY)]}
                for id in servers
            ]
            watching.put({
                "id": f"e{number}", "number": 1, "owner": {"project": f"p{number % 100}", "environment": f"e{number}"},
                "cloud": "c", "since": 0.0, "components": components,
            })  # fmt: skip
        states: dict[str, str] = {}

        async def tell(seconds: float) -> None:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                for item in watching.changes():
                    states.update({one["id"]: one["state"] for one in item["components"]})
                watching.contents()
                await asyncio.sleep(1.0)

        await tell(BEGIN)
        made, used, begun = watching.made, time.process_time(), time.monotonic()
        await tell(MEASURED)
        took = time.monotonic() - begun
        told.send((watching.made - made, time.process_time() - used, took, states))
        task.cancel()

    asyncio.run(run())


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_five_thousand_components_take_few_per_cent_of_a_processor() -> None:
    door = Door()
    mine, theirs = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=watch, args=(door.port, theirs), daemon=True)
    child.start()
    try:
        assert mine.poll(BEGIN + MEASURED + 60)
        made, used, took, states = mine.recv()
    finally:
        child.kill()
        child.join()
        door.close()
    print(f"{made} probes in {took:.0f} s: {used / took:.1%} of a processor, {used / made * 1e6:.0f} µs each")
    assert len(states) == ENVIRONMENTS * EACH and set(states.values()) == {"running"}
    assert made > 0.7 * took * ENVIRONMENTS * EACH / EVERY
    assert used / made * ENVIRONMENTS * EACH / EVERY <= MOST
