"""Nothing grows by deploying: memory and open files of each process of a service, over thousands of deployments."""

from __future__ import annotations

import os

import pytest

from benchmarks.memory import Deployments
from benchmarks.service.running import service

#: Deployments; an hour on two processors that have nothing else to do is some 20,000.
COUNT = int(os.environ.get("VETRO_SOAK", "10000"))


@pytest.mark.campaign
@pytest.mark.timeout(4 * 3600)
def test_nothing_grows_over_ten_thousand_deployments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VETRO_CLOUD__DRIVER", "record")
    with service(workers=1) as running:
        deployments = Deployments(running, 20)
        deployments.deploy(COUNT // 5)  # caches are full by then
        before = deployments.held()
        deployments.deploy(COUNT - COUNT // 5)
        after = deployments.held()
    assert after.keys() == before.keys()
    for kind, now in after.items():
        then = before[kind]
        told = f"{kind}: {then} before, {now} after"
        assert now.processes == then.processes, told
        # A twentieth and what one more arena of the allocator takes, for each process.
        assert now.mib <= then.mib * 1.05 + 2.0 * now.processes, told
        assert now.files <= then.files + 4 * now.processes, told  # threads open their connections when they are needed
