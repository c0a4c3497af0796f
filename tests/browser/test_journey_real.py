"""The journey on real servers: what the application's address shows is served from within one.

Needs root and systemd-nspawn. It ends with no trace of its own on this machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import kit_journey as journey
from tests.browser.conftest import Running
from tests.browser.kit_real import running_on_servers
from tests.support.servers import traces
from vetro.clouds.nspawn.links import cloud_id


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service whose cloud makes servers of this machine."""
    with running_on_servers(tmp_path_factory.mktemp("real")) as made:
        yield made


@pytest.mark.campaign
@pytest.mark.timeout(900)
def test_the_journey_on_real_servers(service: Running, page_for: Any) -> None:
    folder = service.service.folder

    def used() -> dict[str, int]:
        found = traces(cloud_id(folder / "data" / "cloud" / "nspawn"), folder)
        return {what: len(found[what]) for what in ("mounts", "loops", "links", "groups", "rules")}

    page = page_for(missing=True)  # the shop has no picture for its tab
    journey.arrive(page, *journey.newcomer(service, "kim"))
    nothing = used()
    journey.choose(page)
    journey.fill_in(page)
    journey.plan_and_deploy(page)
    journey.visit(page, "Good morning")
    running_servers = used()
    assert all(running_servers[what] > nothing[what] for what in ("loops", "links", "groups")), running_servers
    journey.change(page)
    journey.visit(page, "Good night")
    assert used() == running_servers
    journey.use(page, "Good night")
    journey.remove(page)
    assert used() == nothing
