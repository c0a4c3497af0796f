"""How clouds are asked: one that hangs or fails holds nobody else up."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tests.engine.watching.world import Cloud, Door, Run, check, environment
from vetro.clouds.interface import Owner
from vetro.engine.watching.watch import Watch


def test_nobody_knows_anything_while_the_cloud_does_not_answer(cloud: Cloud, run: Run) -> None:
    cloud.server("s1")
    run.put(environment())
    run.until("running")
    cloud.trouble = "the keystone is away"
    assert run.until("unknown")["text"] == "the cloud does not answer: the keystone is away"
    cloud.trouble = ""
    run.until("running")


def test_who_names_a_strangers_server_learns_nothing_and_harms_nobody(cloud: Cloud, run: Run, door: Door) -> None:
    cloud.server("s1")
    run.put(environment())
    run.put(environment("thief", checks=[check(door.port)]))
    run.until("running")
    assert run.until("down", "thief")["text"] == "server 'web' is gone"
    assert door.asked == [] and run.told["e1", "app"]["state"] == "running"


@pytest.mark.attack("secrets", "texts of exceptions")
def test_of_errors_that_nobody_wrote_for_tenants_nothing_is_told(
    cloud: Cloud, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(servers: Any) -> Any:
        raise OSError("/var/lib/secret: no")

    monkeypatch.setattr(cloud, "seen_servers", broken)
    run.put(environment())
    assert run.until("unknown")["text"] == "the cloud does not answer: nobody knows why"
    cloud.asked.append({})  # it was opened


@pytest.mark.attack("quotas", "clouds that hang")
def test_clouds_that_hang_hold_nobody_up_and_what_is_not_needed_is_closed(quick: None) -> None:
    clouds: dict[str, Cloud] = {}
    over = threading.Event()

    class Hanging(Cloud):
        def seen_servers(self, servers: Any) -> Any:
            if not over.is_set():
                over.wait(20)
            return super().seen_servers(servers)

    def opened(key: str, owner: Owner) -> Any:
        made = clouds[key] = Hanging() if key.startswith("h") else Cloud()
        made.server("s1")
        return made

    async def watched() -> None:
        watch = Watch(opened)
        task = asyncio.get_running_loop().create_task(watch.run())
        for number in range(40):
            watch.put(environment(f"hog{number}") | {"cloud": f"h{number}"})
        await asyncio.sleep(0.7)
        watch.put(environment())
        for _ in range(500):
            if any(item["id"] == "e1" for item in watch.changes()):
                break
            await asyncio.sleep(0.01)
        assert "c" in clouds and clouds["c"].asked
        over.set()
        watch.drop(["e1"])
        for _ in range(500):
            if clouds["c"].closed:
                break
            await asyncio.sleep(0.01)
        assert clouds["c"].closed
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(watched())
