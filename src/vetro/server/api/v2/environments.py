"""Environments: list, make, show, rename, delete; copies of them; what they consist of."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from django.http import FileResponse, HttpRequest
from ninja import Field, File, Form, Query, Schema
from ninja.files import UploadedFile

from vetro.clouds.interface import PowerAction
from vetro.server.api.answers import environments as answers
from vetro.server.api.paging import picked, zoned
from vetro.server.api.v2.access import who
from vetro.server.api.v2.routes import Answer, Routes, accepted, created
from vetro.server.api.v2.shapes import Given, LongText, Name, Page
from vetro.server.api.v2.tasks import TaskShown
from vetro.server.catalog.inspection.protocol import content_of
from vetro.server.environments import deployments, history, lookup, queries, topology
from vetro.server.environments import description as changing
from vetro.server.errors import Invalid
from vetro.server.watch import repair

routes = Routes("environments")


class HealthTold(Schema):
    """How an environment or a component is."""

    state: str = Field(description="running, degraded, down, unknown, stopped, simulated")
    text: str = Field(description="Why it is not running.")
    since: datetime | None = Field(None, description="When it came into this state.")


class CheckTold(Schema):
    """How one check is."""

    name: str
    guessed: bool = Field(description="The author of the package declares nothing: it follows from what was deployed.")
    state: str | None = Field(description="null: it has told nothing yet.")
    text: str


class ComponentHealth(Schema):
    """How a component is."""

    id: str
    name: str
    health: HealthTold
    checks: list[CheckTold]


class HealthChanged(Schema):
    """That an environment, or a component of it, came into another state."""

    at: datetime
    component_id: str | None = Field(description="null: the environment as a whole.")
    state: str | None
    text: str


class EnvironmentHealth(Schema):
    """How an environment is, component by component. Those without servers have no state."""

    health: HealthTold | None
    components: list[ComponentHealth]
    changes: list[HealthChanged] = Field(description="The newest first, 100 at most.")


class MetricsSample(Schema):
    """What a server used at a time; null: nobody told."""

    at: datetime
    processors: float | None = Field(description="How many it kept busy, on average since the sample before.")
    memory: int | None = Field(description="Bytes.")
    memory_limit: int | None = Field(description="Bytes that it may have at most.")
    disk: int | None = Field(description="Bytes that it takes.")


class MeasuredServer(Schema):
    """A server with its samples of the last hour."""

    id: str
    name: str
    component_id: str
    samples: list[MetricsSample] = Field(description="One a minute, the oldest first.")


class EnvironmentMetrics(Schema):
    """What the servers of an environment used in the last hour."""

    reason: str | None = Field(description="Why there are no samples; null where there are some.")
    servers: list[MeasuredServer]


class AddressShown(Schema):
    """An address that an object has in a property."""

    component_id: str
    component: str = Field(description="Its name.")
    object_id: str = Field(description="The component itself, or what it owns.")
    property: str
    text: str
    url: str | None = Field(description="The same where a browser opens it; null for others, and if it is simulated.")


class Addresses(Schema):
    """Where an environment can be reached."""

    simulated: bool = Field(description="Nothing answers there.")
    items: list[AddressShown] = Field(description="Component by component; of each those first that a browser opens.")


class DriftItem(Schema):
    """One thing that is not as the last task left it."""

    kind: str = Field(
        description="server-ended, server-stopped, server-missing, server-unseen, server-unknown, stack-changed, "
        "stack-missing, stack-unknown, package-missing, draft-older."
    )
    id: str = Field(description="Of a server or session; name of a stack or package.")
    text: str
    repaired: bool = Field(description="Whether a repair does something about it.")


class EnvironmentDrift(Schema):
    """What of an environment is not as its last task left it."""

    looked: datetime | None = Field(description="When its cloud was listed last; null: never since its last task.")
    text: str = Field(description="Why nothing is known of its cloud; empty: it was listed a short while ago.")
    repair: str = Field(description="What happens about it: off, propose, auto.")
    items: list[DriftItem]


class UpgradeAvailable(Schema):
    """A newer version of a package that an environment uses."""

    package: str
    name: str = Field(description="For people.")
    used: str = Field(description="The lowest version that objects have.")
    to: str
    bump: str = Field(description="patch, minor, breaking by the numbers; security where a change is one.")
    verdict: str = Field(description="What was found when it came: compatible, breaking, unknown, first.")


class EnvironmentShown(Schema):
    """An environment."""

    id: str
    name: str
    project_id: str
    version: int = Field(description="Rises by one with every task that changed it.")
    status: str = Field(
        description="ready, pending (somebody has a draft), deploying, deleting, deploy failure, delete failure."
    )
    description: str
    created: datetime
    updated: datetime = Field(description="When a person last changed it.")
    changed: datetime = Field(description="When a person or a task last changed it.")
    task_id: str | None = Field(None, description="The task that works on it.")
    procedure_id: str | None = Field(None, description="The update with a way back that it belongs to until that ends.")
    simulated: bool = Field(description="Its cloud executes nothing: no server of it exists, or will.")
    health: HealthTold | None = Field(None, description="How what was deployed is; null: nothing can be watched.")
    upgrades: list[UpgradeAvailable] = Field([], description="Newer versions of its packages, most urgent first.")


class EnvironmentWanted(Given):
    """An environment to be made."""

    name: Name = Field(examples=["shop"])
    description: LongText = ""
    region: str | None = Field(None, max_length=255)
    default_networks: dict[str, Any] | None = Field(
        None, description="As in `defaultNetworks` of the model; without, as the installation is set up."
    )


class EnvironmentChange(Given):
    """What is to change; what is left out stays."""

    name: Name | None = None
    description: LongText | None = None
    repair: Literal["off", "propose", "auto"] | None = Field(
        None, description="What happens when it is not as it was left; auto starts servers that do not run."
    )


class Repair(Given):
    """How an environment is repaired."""

    plan: bool = Field(False, description="Only find out what would be done.")


class Switched(Given):
    """Which servers are meant."""

    what: str = Field(
        "", max_length=255, description="Id or name of a component or of a server; empty: all of the environment."
    )
    force: bool = Field(False, description="Without the methods of components that are called before and after.")


class Copy(Given):
    """How a copy is called."""

    name: Name = Field(examples=["shop-2"])
    session_id: str | None = Field(None, max_length=64, description="Copy this draft instead of the deployed state.")


class Begun(Schema):
    """A new environment, with a draft in it where there is one."""

    environment_id: str
    session_id: str | None = None


class Brought(Begun):
    """The environment of an archive."""

    notes: list[str] = Field([], description="What of the archive was left out, and why.")


class Node(Schema):
    """An object."""

    id: str
    type: str = Field(description="Class, without version and package.")
    name: str
    owner: str | None
    property: str | None = Field(description="The owner's property that holds it.")
    status: str = Field("", description="deployed, new, changed: as compared with what is deployed.")


class Edge(Schema):
    """A reference: property `property` of `source` is `target`."""

    source: str
    target: str
    property: str
    kind: str = Field(description="owns or uses")


class Topology(Schema):
    """Objects and how they belong together."""

    nodes: list[Node]
    edges: list[Edge]


class LastReport(Schema):
    """The newest report about a component."""

    component_id: str
    text: str | None
    level: str | None
    task_id: str | None
    created: datetime | None


class Statuses(Schema):
    """The environment's status and the newest report of each component."""

    status: str
    task_id: str | None
    items: list[LastReport]


@routes.add("GET", "/environments", "listEnvironments", "list_environments", Page[EnvironmentShown])
def list_environments(
    request: HttpRequest,
    project: Annotated[str | None, Query(max_length=64, description="Id of another project (administrators).")] = None,
    all_projects: Annotated[bool, Query(description="Those of all projects (administrators).")] = False,
    search: Annotated[str, Query(max_length=255, description="Part of the name.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    cursor: Annotated[str | None, Query(max_length=4000)] = None,
) -> Any:
    """The environments of the project by name, with their status."""
    return answers.list_environments(
        who(request), project=project, all_projects=all_projects, search=search, limit=limit, cursor=cursor
    )


@routes.add("POST", "/environments", "createEnvironment", "create_environment", EnvironmentShown, status=201)
def create_environment(request: HttpRequest, given: EnvironmentWanted) -> Answer:
    """Makes an environment, empty."""
    return created(answers.create_environment(who(request), **given.model_dump()))


class ImportForm(Given):
    """What goes with an archive of an environment."""

    name: str | None = Field(None, max_length=255, description="Another name than it has.")
    fresh: bool = Field(False, description="As a draft with new ids, as if nothing were deployed.")
    keep_ids: bool = Field(False, description="With fresh: under its own ids; needs rule keep_environment_ids.")


@routes.add(
    "POST", "/environments/import", "importEnvironment", "create_environment", Brought, status=201, takes="multipart"
)
def import_environment(
    request: HttpRequest, archive: Annotated[UploadedFile, File()], given: Annotated[ImportForm, Form()]
) -> Answer:
    """An environment from what `export` or `vetro env export` wrote."""
    given_name, data = given.name or None, content_of(archive)
    more = {"fresh": given.fresh, "keep_ids": given.keep_ids}
    return created(answers.import_environment(who(request), data, name=given_name, **more))


@routes.add("GET", "/environments/{environment_id}", "showEnvironment", "show_environment", EnvironmentShown)
def show_environment(request: HttpRequest, environment_id: str) -> Any:
    """One environment."""
    return answers.show_environment(who(request), environment_id)


@routes.add("PATCH", "/environments/{environment_id}", "changeEnvironment", "update_environment", EnvironmentShown)
def change_environment(request: HttpRequest, environment_id: str, given: EnvironmentChange) -> Any:
    """Changes name, description, and what happens when it is not as it was left."""
    caller = who(request)
    lookup.environment(caller, environment_id)
    changing.change(caller, environment_id, name=given.name, description=given.description)
    if given.repair is not None:
        repair.choose(caller, environment_id, given.repair)
    return answers.show_environment(caller, environment_id)


@routes.add("DELETE", "/environments/{environment_id}", "deleteEnvironment", "delete_environment", TaskShown | None)
def delete_environment(
    request: HttpRequest,
    environment_id: str,
    abandon: Annotated[bool, Query(description="Forget it at once; what was deployed stays where it is.")] = False,
) -> Any:
    """Destroys what was deployed, then the environment: the task that does it; null when it is gone already."""
    return answers.delete_environment(who(request), environment_id, abandon=abandon)


@routes.add("POST", "/environments/{environment_id}/clone", "cloneEnvironment", "create_environment", Begun, status=201)
def clone(request: HttpRequest, environment_id: str, given: Copy) -> Answer:
    """A new environment whose draft has the same components, with new ids and nothing that a deployment wrote."""
    caller = who(request)
    lookup.environment(caller, environment_id)
    if given.session_id is not None and lookup.session(caller, given.session_id) != environment_id:
        raise Invalid("The session belongs to another environment.")
    return created(history.clone(caller, environment_id, given.name, given.session_id or ""))


@routes.add(
    "GET",
    "/environments/{environment_id}/export",
    "exportEnvironment",
    "update_environment",  # whoever only looks around gets no secrets
    extra={"responses": {200: {"content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}}}}},
)
def export(request: HttpRequest, environment_id: str) -> FileResponse:
    """The environment as a ZIP archive in the format of workspaces, with secrets in clear."""
    archive = answers.export_environment(who(request), environment_id)
    return FileResponse(archive, as_attachment=True, filename=f"{environment_id}.zip", content_type="application/zip")


@routes.add("GET", "/environments/{environment_id}/health", "showHealth", "show_environment", EnvironmentHealth)
def show_health(request: HttpRequest, environment_id: str) -> Any:
    """How an environment and its components are, and what changed."""
    return answers.show_health(who(request), environment_id)


@routes.add("GET", "/environments/{environment_id}/metrics", "showMetrics", "show_environment", EnvironmentMetrics)
def show_metrics(request: HttpRequest, environment_id: str) -> Any:
    """Processors, memory and disk of its servers in the last hour."""
    return answers.show_metrics(who(request), environment_id)


@routes.add("GET", "/environments/{environment_id}/addresses", "listAddresses", "show_environment", Addresses)
def list_addresses(request: HttpRequest, environment_id: str) -> Any:
    """Where what is deployed can be reached: properties with usage Out whose values are addresses."""
    return answers.list_addresses(who(request), environment_id)


@routes.add("GET", "/environments/{environment_id}/drift", "showDrift", "show_environment", EnvironmentDrift)
def show_drift(request: HttpRequest, environment_id: str) -> Any:
    """What is not as the last task left it: servers, stacks, packages, drafts. Looked at every ten minutes."""
    return answers.show_drift(who(request), environment_id)


@routes.add(
    "POST", "/environments/{environment_id}/repair", "repairEnvironment", "update_environment", TaskShown, status=202
)
def repair_environment(request: HttpRequest, environment_id: str, given: Repair | None = None) -> Answer:
    """Makes it again as it was left: deploys what is deployed, no draft. `plan`: only says what that would do."""
    plan = given is not None and given.plan
    return accepted(answers.repair_environment(who(request), environment_id, plan=plan))


def _switch(request: HttpRequest, environment_id: str, action: PowerAction, given: Switched | None) -> Answer:
    what, force = ("", False) if given is None else (given.what, given.force)
    return accepted(answers.switch_servers(who(request), environment_id, action, what=what, force=force))


@routes.add("POST", "/environments/{environment_id}/start", "startServers", "power_environment", TaskShown, status=202)
def start_servers(request: HttpRequest, environment_id: str, given: Switched | None = None) -> Answer:
    """Starts servers that do not run: those first that others need."""
    return _switch(request, environment_id, "start", given)


@routes.add("POST", "/environments/{environment_id}/stop", "stopServers", "power_environment", TaskShown, status=202)
def stop_servers(request: HttpRequest, environment_id: str, given: Switched | None = None) -> Answer:
    """Stops servers, which keep their disks: those last that others need. They stay stopped until they are started."""
    return _switch(request, environment_id, "stop", given)


@routes.add(
    "POST", "/environments/{environment_id}/restart", "restartServers", "power_environment", TaskShown, status=202
)
def restart_servers(request: HttpRequest, environment_id: str, given: Switched | None = None) -> Answer:
    """Restarts servers; several components are all stopped before the first is started."""
    return _switch(request, environment_id, "restart", given)


@routes.add(
    "POST",
    "/environments/{environment_id}/realize",
    "realizeEnvironment",
    "update_environment",
    TaskShown,
    status=202,
)
def realize_environment(request: HttpRequest, environment_id: str) -> Answer:
    """Makes a simulated environment real: deploys it anew where servers run. 409 says what is missing for that."""
    return accepted(answers.realize_environment(who(request), environment_id))


@routes.add("GET", "/environments/{environment_id}/topology", "showTopology", "show_environment", Topology)
def show_topology(
    request: HttpRequest,
    environment_id: str,
    session: Annotated[
        str | None, Query(max_length=64, description="Of this draft instead of what is deployed.")
    ] = None,
) -> Any:
    """The objects of the model and how they belong together, without their values."""
    caller = who(request)
    lookup.environment(caller, environment_id)
    if session is not None and lookup.session(caller, session) != environment_id:
        raise Invalid("The session belongs to another environment.")
    return topology.of_environment(caller, environment_id, session or "")


@routes.add("GET", "/environments/{environment_id}/status", "showStatus", "statuses_deployments", Statuses)
def show_status(request: HttpRequest, environment_id: str) -> Any:
    """The newest report about each component."""
    caller = who(request)
    lookup.environment(caller, environment_id)
    found = queries.get(caller, environment_id)
    items = []
    for component, report in deployments.last_statuses(caller, environment_id).items():
        told = picked(report or {}, "text", "level", "task_id")
        empty = {"text": None, "level": None, "task_id": None}
        items.append({"component_id": component, **empty, **told, "created": zoned((report or {}).get("created"))})
    return {"status": found.status, "task_id": found.task_id or None, "items": items}
