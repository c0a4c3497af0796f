"""A neighbour works on while a tenant attacks with everything at once (`benchmarks.service.attacked`, for a while)."""

from __future__ import annotations

import pytest

from benchmarks.service.attacked import attacked, tenants
from benchmarks.service.running import service

pytestmark = [pytest.mark.attack("bodies", "M7"), pytest.mark.campaign]


@pytest.mark.timeout(300)
def test_a_neighbour_goes_on_working() -> None:
    with service() as running:
        found = attacked(running, *tenants(running), 15.0)
    before, during = found["before"], found["during"]
    assert during["failed"] == 0 and during["requests"] > 15, found
    # Of what it takes without an attack on this machine, as busy as it is: an interpreter that is held takes seconds.
    for what in ("get_p99_ms", "post_p99_ms"):
        assert during[what] < 20 * before[what] + 750, found
    assert during["memory_mib"] < 800, found
    assert found["answers"]["changes"].get("413"), found
