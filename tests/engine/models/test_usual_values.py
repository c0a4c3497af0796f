"""Names of servers that nobody has named."""

from __future__ import annotations

from vetro.clouds.stacks.types.server import _hostname
from vetro.engine.models.usual_values import server_names


def test_servers_of_an_environment_with_a_long_name_call_themselves_differently() -> None:
    for around in ("x" * 255, "A shop for the trade fair of the whole northern region in the year 2026"):
        name = server_names(around, set())
        first, second = name(), name()
        assert len(first) <= 255 and _hostname(first) == first.lower() != _hostname(second)
