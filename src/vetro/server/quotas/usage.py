"""What projects have: counted by queries over an index, or by lengths that the database knows without reading rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from vetro.clouds.quotas import OF_CLOUD
from vetro.clouds.stacks.reservations import used_in
from vetro.server.queries import fetch, on_sqlite
from vetro.server.setup import config

_MODELS = "coalesce(sum(length({0}.{1}) + coalesce(length({0}.answers), 0)), 0)"
#: Quota -> its query, with the project's id for each %s. Those in MiB give bytes.
_QUERIES: Final[Mapping[str, str]] = {
    "environments": "SELECT count(*) FROM environments_environment WHERE project_id = %s",
    "packages": "SELECT count(*) FROM catalog_package WHERE project_id = %s",
    "archives": (
        "SELECT (SELECT coalesce(sum(size), 0) FROM catalog_package WHERE project_id = %s)"
        " + (SELECT coalesce(sum(i.size), 0) FROM (SELECT DISTINCT digest, size FROM impact_impact"
        " WHERE project_id = %s AND size > 0) i WHERE NOT EXISTS (SELECT 1 FROM catalog_package p"
        " WHERE p.project_id = %s AND p.digest = i.digest))"
    ),
    "states": (
        f"SELECT (SELECT {_MODELS.format('s', 'model')} FROM environments_state s"
        " JOIN environments_environment e ON e.id = s.environment_id WHERE e.project_id = %s)"
        f" + (SELECT {_MODELS.format('d', 'draft')} + coalesce(sum(length(d.upgrade)), 0) FROM environments_session d"
        " JOIN environments_environment e ON e.id = d.environment_id WHERE e.project_id = %s AND d.draft IS NOT NULL)"
        " + (SELECT coalesce(sum(length(t.model)), 0) FROM environments_template t WHERE t.project_id = %s)"
    ),
    "logs": "SELECT coalesce(sum(log_bytes), 0) FROM dispatch_task WHERE project_id = %s AND log_bytes > 0",
    "notice_targets": "SELECT count(*) FROM notices_target WHERE project_id = %s",
    "notice_rules": "SELECT count(*) FROM notices_rule WHERE project_id = %s",
    "notices": (
        "SELECT count(*) FROM notices_delivery WHERE project_id = %s AND created > DAY_AGO AND state <> 'dropped'"
    ),
    "tasks": "SELECT count(*) FROM dispatch_task WHERE project_id = %s AND state = 'queued'",
}


def used(project_id: str, name: str) -> int:
    """What a project has of a quota that the service keeps: a number of things, or bytes."""
    day_ago = "datetime('now', '-1 day')" if on_sqlite() else "now() - interval '1 day'"
    query = _QUERIES[name].replace("DAY_AGO", day_ago)
    return int(fetch(query, (project_id,) * query.count("%s"))[0][0])


def used_in_cloud(project_id: str) -> dict[str, int] | None:
    """What a project has in the cloud; None where its state is not on this machine."""
    folder = config().path("cloud.directory")
    if not config()["worker.embedded"] and not folder.exists():
        return None
    found = used_in(folder, project_id)
    return None if found is None else {**dict.fromkeys(OF_CLOUD, 0), **found}


def measured(name: str) -> bool:
    """Whether the service counts this itself."""
    return name in _QUERIES
