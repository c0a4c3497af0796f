"""/v1/deployments and /v1/environments/…/deployments (API.md 8)."""

from __future__ import annotations

from typing import Any

from vetro.server.api.v1.call import Call
from vetro.server.api.v1.routing import endpoint
from vetro.server.environments import deployments


@endpoint("GET", "deployments", "list_deployments_all_environments")
def all_deployments(call: Call) -> Any:
    """The deployments of the project."""
    return {"deployments": deployments.of_project(call.caller)}


@endpoint("GET", "environments/{environment_id}/deployments", "list_deployments")
def list_deployments(call: Call, environment_id: str) -> Any:
    """The deployments of an environment."""
    return {"deployments": deployments.of_environment(call.caller, environment_id)}


@endpoint("GET", "environments/{environment_id}/deployments/{deployment_id}", "statuses_deployments")
def show_reports(call: Call, environment_id: str, deployment_id: str) -> Any:
    """The reports of a deployment."""
    service_id = call.query.get("service_id")
    found = deployments.reports(call.caller, environment_id, deployment_id, service_id)
    return {"reports": [plain(report) for report in found]}


def plain(report: dict[str, Any]) -> dict[str, Any]:
    """A report as clients of /v1 know it: its details are text or nothing."""
    details = report["details"]
    return report if isinstance(details, str) else {**report, "details": None}
