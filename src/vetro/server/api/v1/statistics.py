"""/v1/environments/…/instance-statistics and /v1/stats (API.md 12)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call
from vetro.server.api.v1.routing import endpoint
from vetro.server.environments import usage
from vetro.server.observe import request_counters


@endpoint("GET", "environments/{environment_id}/instance-statistics/raw", "get_instance_statistics")
def raw(call: Call, environment_id: str) -> Any:
    """Each instance."""
    return usage.raw(call.caller, environment_id)


@endpoint("GET", "environments/{environment_id}/instance-statistics/raw/{instance_id}", "get_instance_statistics")
def raw_instance(call: Call, environment_id: str, instance_id: str) -> Any:
    """One instance, each time it was there."""
    return usage.raw(call.caller, environment_id, instance_id)


@endpoint("GET", "environments/{environment_id}/instance-statistics/aggregated", "get_aggregated_statistics")
def aggregated(call: Call, environment_id: str) -> Any:
    """Sums by type."""
    return usage.aggregated(call.caller, environment_id)


@endpoint("GET", "stats", "get_statistics")
def stats(call: Call) -> Any:
    """What this process has answered so far."""
    return [request_counters.requests.told(call.caller)]
