"""procrastinate passes the tests that every dispatcher has to pass."""

from __future__ import annotations

from vetro.server.tasks import conformance


class TestProcrastinate(conformance.DispatcherConformance):
    backend = "procrastinate"
    distribution = "vetro-procrastinate"
