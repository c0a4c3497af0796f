"""Environments: list, make, show, delete; as archives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import IO, Any

from vetro.clouds.interface import PowerAction
from vetro.diagnostics import Text
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, label_of
from vetro.server.accounts.policy import enforce
from vetro.server.api.answers.tasks import task_json
from vetro.server.api.paging import cursor as cursor_of
from vetro.server.api.paging import page, part, place
from vetro.server.caller import Caller
from vetro.server.environments import (
    deploy,
    exports,
    lookup,
    offers,
    power,
    queries,
    reachable_addresses,
    realize,
    service,
    simulation,
)
from vetro.server.environments import search as listing
from vetro.server.errors import Invalid
from vetro.server.watch import drift, metrics, repair
from vetro.server.watch import queries as watch


def environment_json(
    found: queries.ListedEnvironment,
    told: watch.HealthStatus | None,
    simulated: Collection[str],
    newer: Sequence[offers.Available] = (),
) -> dict[str, Any]:
    """An environment as clients see it. ``simulated``: the ids of those that are; ``newer``: what it could have."""
    return {
        "id": found.id,
        "name": found.name,
        "project_id": found.project_id,
        "version": found.version,
        "status": found.status,
        "description": found.description_text,
        "created": found.created,
        "updated": found.updated,
        "changed": found.changed,
        "task_id": found.task_id or None,
        "procedure_id": found.procedure_id or None,
        "simulated": found.id in simulated,
        "health": health_json(told),
        "upgrades": [asdict(one) for one in newer],
    }


def health_json(told: watch.HealthStatus | None) -> dict[str, Any] | None:
    """How something is, as clients see it."""
    return None if told is None else {"state": told.state.value, "text": told.text, "since": told.since}


def _all_json(rows: list[queries.ListedEnvironment]) -> list[dict[str, Any]]:
    ids = [row.id for row in rows]
    told, simulated, newer = watch.of_environments(ids), simulation.of_environments(ids), offers.of_environments(ids)
    return [environment_json(row, told.get(row.id), simulated, newer.get(row.id, ())) for row in rows]


def list_environments(
    caller: Caller,
    *,
    project: str | None = None,
    all_projects: bool = False,
    search: str = "",
    limit: int = 100,
    cursor: str | None = None,
) -> dict[str, Any]:
    """The environments of the project by name, with their status; those of others by a rule of the policy."""
    wanted: str | None = caller.project_id
    if all_projects or (project is not None and project != caller.project_id):
        enforce(caller, "list_environments_all_tenants")
        wanted = None if all_projects else project
    if search:
        rows = listing.part(wanted, search=search, sort="exact name")
        return part(_all_json(rows), "id", cursor, limit)
    after = place(cursor, str, str)
    rows = queries.part_of(wanted, None if after is None else (after[0], after[1]), limit + 1)
    end = cursor_of(rows[limit - 1].name, rows[limit - 1].id) if len(rows) > limit else None
    return page(_all_json(rows[:limit]), queries.count(wanted), end)


def create_environment(
    caller: Caller,
    *,
    name: str,
    description: str = "",
    region: str | None = None,
    default_networks: dict[str, Any] | None = None,
    cloud: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Makes an environment, empty. ``cloud``: where its servers are made, for who may say so (`Environment.cloud`)."""
    wanted: dict[str, Any] = {"name": name, "description_text": description}
    if region is not None:
        wanted["region"] = region
    if default_networks is not None:
        wanted["defaultNetworks"] = default_networks
    made = service.create(caller, wanted, cloud)
    return _all_json([queries.get(caller, made["id"])])[0]


def show_environment(caller: Caller, environment_id: str) -> dict[str, Any]:
    """One environment."""
    return _all_json([queries.get(caller, lookup.environment(caller, environment_id))])[0]


def show_health(caller: Caller, environment_id: str) -> dict[str, Any]:
    """How an environment and its components are, and what changed."""
    found = queries.get(caller, lookup.environment(caller, environment_id), model=True)
    told = watch.of_environment(found.id)
    root = deployed_objects(found.model or {})
    parts = watch.components(found.id, told, root)
    names = {id_of(item): label_of(item) for item in applications_of(root)}
    return {
        "health": health_json(told),
        "components": [
            {"id": one.id, "name": names.get(one.id, one.id), "health": health_json(one.told), "checks": one.checks}
            for one in parts
        ],
        "changes": watch.changes(found.id),
    }


def show_metrics(caller: Caller, environment_id: str) -> dict[str, Any]:
    """What its servers used in the last hour: see `vetro.server.watch.metrics.shown`."""
    found = queries.get(caller, lookup.environment(caller, environment_id), model=True)
    return metrics.shown(found.id, found.model or {}, watch.of_environment(found.id) == watch.SIMULATED)


def show_drift(caller: Caller, environment_id: str) -> dict[str, Any]:
    """What of an environment is not as its last task left it."""
    found = queries.get(caller, lookup.environment(caller, environment_id), model=True)
    told = drift.of(found)
    return {
        "looked": told.looked,
        "text": told.text,
        "repair": told.repair,
        "items": [{"kind": o.kind, "id": o.id, "text": o.text, "repaired": o.repaired} for o in told.items],
    }


def list_addresses(caller: Caller, environment_id: str) -> dict[str, Any]:
    """Where what is deployed in an environment can be reached. Of a simulated one nothing can be opened."""
    simulated, found = reachable_addresses.of_environment(caller, lookup.environment(caller, environment_id))
    items = [{**asdict(one), "url": None if simulated else one.url or None} for one in found]
    return {"simulated": simulated, "items": items}


def repair_environment(caller: Caller, environment_id: str, *, plan: bool = False) -> dict[str, Any]:
    """Makes an environment again as it was left, or plans that: the task. See `vetro.server.watch.repair`."""
    do = repair.planned if plan else repair.repaired
    return task_json(do(caller, lookup.environment(caller, environment_id)))


def delete_environment(caller: Caller, environment_id: str, *, abandon: bool = False) -> dict[str, Any] | None:
    """Destroys what was deployed, then the environment: the task that does it; None when it is gone already."""
    task = deploy.delete(caller, lookup.environment(caller, environment_id), abandon=abandon)
    return None if task is None else task_json(task)


def switch_servers(
    caller: Caller, environment_id: str, action: PowerAction, *, what: str = "", force: bool = False
) -> dict[str, Any]:
    """Starts, stops or restarts servers: the task that does it. See `vetro.server.environments.power.change`."""
    return task_json(power.change(caller, lookup.environment(caller, environment_id), action, what, force=force))


def start_servers(caller: Caller, environment_id: str, **more: Any) -> dict[str, Any]:
    """See `switch_servers`."""
    return switch_servers(caller, environment_id, "start", **more)


def stop_servers(caller: Caller, environment_id: str, **more: Any) -> dict[str, Any]:
    """See `switch_servers`."""
    return switch_servers(caller, environment_id, "stop", **more)


def restart_servers(caller: Caller, environment_id: str, **more: Any) -> dict[str, Any]:
    """See `switch_servers`."""
    return switch_servers(caller, environment_id, "restart", **more)


def realize_environment(caller: Caller, environment_id: str, *, cloud: dict[str, Any] | None = None) -> dict[str, Any]:
    """Makes real what is simulated: the task that deploys it. See `vetro.server.environments.realize.realize`."""
    return task_json(realize.realize(caller, lookup.environment(caller, environment_id), cloud))


def export_environment(caller: Caller, environment_id: str) -> IO[bytes]:
    """The environment as a ZIP archive in the format of workspaces, with secrets in clear."""
    return exports.export_environment(caller, lookup.environment(caller, environment_id))


def import_environment(
    caller: Caller,
    archive: bytes | memoryview,
    *,
    name: str | None = None,
    fresh: bool = False,
    keep_ids: bool = False,
) -> dict[str, Any]:
    """An environment from what `export_environment` or `vetro env export` wrote: {environment_id, session_id}."""
    from vetro.server.environments import imports  # what few commands need takes long to load

    if keep_ids:
        enforce(caller, "keep_environment_ids")
        if not fresh:
            raise Invalid(Text("'keep_ids' goes with 'fresh': without it an environment keeps its ids anyway"))
    return imports.import_environment(caller, archive, name=name, fresh=fresh, keep_ids=keep_ids)
