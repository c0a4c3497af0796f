"""`shown`: the cloud of an installation: which driver and why, and its servers in all environments."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from vetro.clouds.errors import CloudError
from vetro.clouds.overview import overview
from vetro.clouds.stacks.kind import DriverKind
from vetro.data_classes import dataclass
from vetro.server.accounts.models import Project
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.environments.models import Environment


@dataclass(frozen=True, slots=True)
class Cloud:
    """The cloud as an operator sees it."""

    #: The kind that new environments get; '' where none can be told.
    kind: str
    executes: bool
    #: One line: which cloud, and why.
    text: str
    #: Whether what it holds is told here; False: it keeps its servers elsewhere.
    told: bool
    #: {id, name, status, driver, simulated, environment_id, environment, project, addresses, image, flavor}
    servers: list[dict[str, Any]] = field(default_factory=list)
    #: {name, driver, subnets}
    networks: list[dict[str, Any]] = field(default_factory=list)
    #: {name}
    images: list[dict[str, Any]] = field(default_factory=list)
    #: Servers that the cloud does not know, stopped and kept until a time: {name, environment, folder, until}
    quarantined: list[dict[str, Any]] = field(default_factory=list)
    #: Folders of clouds that are gone while things of theirs are still on this machine.
    orphans: list[str] = field(default_factory=list)
    #: Why nothing is told of it, and what to do.
    problem: str = ""
    hint: str = ""


def shown(config: Config) -> Cloud:
    """What there is. Nothing is made or changed; what cannot be asked is told in ``problem``."""
    try:
        kind = cloud_settings.kind(config)
        chosen = cloud_settings.selection(config)
    except CloudError as error:
        return Cloud("", False, "", False, problem=error.message, hint=error.hint or "")
    if not isinstance(kind, DriverKind):
        return Cloud(chosen.kind, chosen.executes, chosen.text, False)
    try:
        found = overview(config.path("cloud.directory"), sizes=False)
    except (CloudError, OSError) as error:
        hint = getattr(error, "hint", None) or ""
        return Cloud(chosen.kind, chosen.executes, chosen.text, False, problem=str(error), hint=hint)
    rows = Environment.objects.filter(id__in={server["environment"] for server in found.servers})
    known = {id: (name, project) for id, name, project in rows.values_list("id", "name", "project_id")}
    projects = dict(Project.objects.filter(id__in={project for _, project in known.values()}).values_list("id", "name"))
    servers = []
    for server in found.servers:
        id = server["environment"]
        name, project = known.get(id, (id, ""))
        names = {"environment_id": id if id in known else "", "environment": name}
        servers.append({**server, **names, "project": projects.get(project, project)})
    servers.sort(key=lambda server: (server["project"], server["environment"], server["name"]))
    return Cloud(
        kind=chosen.kind,
        executes=chosen.executes,
        text=chosen.text,
        told=True,
        servers=servers,
        networks=found.networks,
        images=[{"name": image["name"]} for image in found.images],
        quarantined=found.quarantined,
        orphans=found.orphans,
    )
