"""What is written down of a task when it is enqueued, and what a worker makes of it.

``Task.spec`` is the engine's task as plain data (`vetro.engine.task.task.Task.as_json`) with two differences:
``packages`` is a list of ``{fqn, version, digest, source}``, and ``identities`` (who asks, whose environment it is;
`vetro.engine.host`), ``environment`` (id of the environment that a plan is about), ``trace`` (what its spans belong to)
``cloud`` (where its servers are made, where that is not what the settings say) and ``resolution`` (why these packages:
rows of `vetro.packages.lock.ChosenVersion`) stand beside. Settings that a run
depends on are part of it: a task that is continued after a death sees what it saw before.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any

from vetro.agent.errors import AgentError
from vetro.clouds.interface import CloudError, Owner
from vetro.clouds.quotas import OF_CLOUD
from vetro.clouds.stacks.kind import DriverKind
from vetro.clouds.stacks.settings import EXTENSIONS
from vetro.engine.host.encryption import derived, key_in
from vetro.engine.task.task import Budget
from vetro.engine.task.task import Task as EngineTask
from vetro.engine.version import engine_version
from vetro.model.header import id_of
from vetro.packages.lock import ChosenVersion, canonical, requirements_of
from vetro.server.caller import Caller
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.config.file_folders import host_setting
from vetro.server.observe import traces
from vetro.server.quotas.limits import limits
from vetro.server.secrets.key_file import read_keys
from vetro.server.tasks.models import Task

#: Kind of the service -> kind of the engine.
ENGINE_KINDS: Mapping[str, str] = {"destroy": "deploy", "plan": "deploy", "repair": "deploy"}
_BESIDE = frozenset({"identities", "environment", "trace", "cloud", "resolution"})
#: What servers are told of their logins, which no setting changes.
_LOGINS = ("login", "password", "virtual_host", "server_login", "server_password", "server_exchange")
#: How guests reach the agent's socket where no broker is configured.
_SOCKET = "unix:/run/vetro/agent.sock"

_log = logging.getLogger("vetro.worker")


def make(
    config: Config,
    caller: Caller,
    task_id: str,
    kind: str,
    *,
    environment: Any = None,
    model: Mapping[str, Any] | None = None,
    packages: Sequence[Any] = (),
    resolution: Sequence[ChosenVersion] = (),
    method: str | None = None,
    args: Mapping[str, Any] | None = None,
    object_id: str | None = None,
    on_class: Mapping[str, Any] | None = None,
    power: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """The content of ``Task.spec``. ``packages`` are rows of the catalog (fqn, version, digest)."""
    model = dict(model or {})
    if kind == "destroy" and model.get("Objects") is not None:
        model["ObjectsCopy"], model["Objects"] = model["Objects"], None
    about = environment.id if environment is not None else None
    if kind == "plan" and environment is None:  # of one that is still to be made: it has its id already
        about = id_of(model.get("Objects"))
    data = EngineTask(
        id=task_id,
        kind=ENGINE_KINDS.get(kind, kind),  # type: ignore[arg-type]
        model=model,
        method=method,
        args=dict(args or {}),
        object_id=object_id,
        on_class=on_class,
        power=power,
        seed=_plan_seed(model, packages, resolution) if kind == "plan" else task_id,
        settings=engine_settings(config, about or task_id, None if environment is None else environment.cloud),
        configs=class_configs(config),
        budget=budget(config),
    ).as_json()
    data["packages"] = [
        {"fqn": p.fqn, "version": p.version, "digest": p.digest, "source": source_of(p)} for p in packages
    ]
    data["resolution"] = [astuple(choice) for choice in resolution]
    data["identities"] = identities(caller, environment)
    trace = traces.carrier()
    if trace:
        data["trace"] = trace
    if kind == "plan" and about:
        data["environment"] = about
    if environment is not None and environment.cloud:
        data["cloud"] = environment.cloud
    return data


def source_of(package: Any) -> str:
    """Where the archive of a package is, as locks say it."""
    public = getattr(package, "is_public", None)
    if public is None or package.id.startswith("gone-"):
        return "environment"
    return "public" if public else "project"


def engine_task(task: Task) -> EngineTask:
    """The engine's task, with the folders and archives of this machine. Raises what `blobs.local_path` raises."""
    data = {name: value for name, value in task.spec.items() if name not in _BESIDE}
    data["packages"] = local_paths([package["digest"] for package in data["packages"]])
    data["requirements"] = requirements_of(resolution_of(task))
    data["engine"] = task.engine or engine_version()
    return EngineTask.from_json(data)


def local_paths(digests: Sequence[str]) -> list[str]:
    """Where task processes find these packages."""
    from vetro.server.catalog.blobs import local_path

    return [str(local_path(digest)) for digest in digests]


def packages_of(task: Task) -> list[dict[str, str]]:
    """``{fqn, version, digest}`` of the packages that a task uses."""
    return list(task.spec.get("packages") or [])


def resolution_of(task: Task) -> list[ChosenVersion]:
    """Why a task uses these packages; empty for tasks of earlier versions."""
    return [ChosenVersion(*row) for row in task.spec.get("resolution") or ()]


def budget(config: Config) -> Budget:
    """What a task may use."""
    return Budget(
        steps=config["task.steps"] or None,
        cpu_seconds=config["task.cpu_seconds"],
        memory_mib=config["task.memory_mib"],
        grace_seconds=config["task.grace_seconds"],
    )


def engine_settings(config: Config, environment: str = "", cloud: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What packages of an environment see of the settings, by section; ``cloud``: its own (`Environment.cloud`).

    Where environments have logins of their own at the broker, these are not to be set: ``engine.settings`` says the
    rest.
    """
    broker = cloud_settings.broker_settings(config)
    own = dict(config["engine.settings"])
    told: dict[str, Any] = {"host": _SOCKET}
    if broker is not None:
        from vetro.agent.broker_accounts import told_to_servers

        told = told_to_servers(broker, environment)
        if broker.get("management"):
            theirs = {**told, **own.pop("rabbitmq", {})}
            told = {**theirs, **{name: told[name] for name in told if name in _LOGINS}}
    names = ("router_name", "create_router", "external_network", "default_dns", "env_ip_template",
             "max_environments", "max_hosts", "driver")  # fmt: skip
    if config["cloud.settings"].get("regions") and isinstance(cloud_settings.kind(config), DriverKind):
        own = {"regions": list(config["cloud.settings"]["regions"]), **own}
    return {
        "rabbitmq": told,
        "home_region": config["engine.home_region"],
        "networking": {name: config[f"networking.{name}"] for name in names} | _network_extensions(config, cloud),
        **own,
    }


def _network_extensions(config: Config, cloud: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the network service offers, where that is ours and always the same: each deployment begins with this
    question, and many ask for nothing else outside."""
    try:
        found = cloud_settings.kind(config, cloud)
    except CloudError:  # the task says so, where it needs a cloud
        return {}
    return {"extensions": list(EXTENSIONS)} if isinstance(found, DriverKind) else {}


def class_configs(config: Config) -> list[dict[str, Any]]:
    """Rows of class configurations. Raises `vetro.packages.configs.ConfigError`."""
    given = config["engine.class_configs"]
    if not given:
        return []
    from vetro.engine.class_configs import rows_of

    return rows_of(given, config.data)


def identities(caller: Caller, environment: Any = None) -> dict[str, Any]:
    """Who asks and whose environment it is, as packages see it."""
    user = {"id": caller.user_id, "name": caller.user_name, "domain": "Default"}
    project = {"id": caller.project_id, "name": caller.project_name, "domain": "Default"}
    theirs = project
    if environment is not None and environment.project_id != caller.project_id:
        theirs = {"id": environment.project_id, "name": environment.project_id, "domain": "Default"}
    return {"caller": {"user": user, "project": project}, "environment": {"user": user, "project": theirs}}


def forget_environment(config: Config, task: Task) -> None:
    """After an environment was deleted: its login at the broker goes. A broker that does not answer keeps it until
    `vetro.server.retention.broker_logins` finds it."""
    accounts = cloud_settings.broker_accounts(config)
    if accounts is None:
        return
    try:
        accounts.remove(Owner(task.project_id, str(task.environment_id)))
    except AgentError as error:
        _log.warning("the login of environment %s stays at the broker for now: %s", task.environment_id, error.message)


def plugins(config: Config) -> list[str] | None:
    """Distributions whose plug-ins may be used; None: all."""
    names = config["engine.plugins"]
    return None if "*" in names else list(names)


def secret_keys(config: Config) -> list[str]:
    """Keys for `vetro.engine.host.encryption.SecretCipher`: the same on each machine with the keys of the
    installation, and the one that a workspace of an earlier version sealed with."""
    return [*derived(read_keys(config.path("secrets.key_file"))), *key_in(config.data / "secrets", make=False)]


def _plan_seed(model: Mapping[str, Any], packages: Sequence[Any], resolution: Sequence[ChosenVersion]) -> str:
    """The same for the same model and packages: so is what a plan tells, wherever it is made. Nothing of it is used."""
    used = sorted((row.fqn, row.version, row.digest) for row in packages)
    text = canonical({"model": model, "packages": used, "choices": sorted(map(astuple, resolution))})
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def host_config(config: Config, task: Task) -> dict[str, Any]:
    """What the effects host of a task gets."""
    owner = Owner(task.project_id, task.environment_id or task.id, task.user_id or "system")
    settings = host_settings(config, owner, task.spec.get("cloud"), task.spec.get("identities"))
    return {**settings, "snapshots": True} if task.kind == "snapshot" else settings


def host_settings(
    config: Config, owner: Owner, cloud: Mapping[str, Any] | None, identities: Mapping[str, Any] | None
) -> dict[str, Any]:
    """What an effects host gets for an owner whose servers are in this cloud; none: what the settings say."""
    settings = cloud_settings.cloud(config, cloud)
    found = cloud_settings.capabilities(config, cloud)
    if found is not None and found.quota:
        allowed = limits(owner.project, fresh=True)  # an administrator may just have raised one for this
        settings["quotas"] = {name: allowed[name] for name in OF_CLOUD}
    recorded = found is not None and not found.executes
    return {
        "cloud": settings,
        "owner": {"project": owner.project, "environment": owner.environment, "user": owner.user},
        # A recorder checks no signatures: a key would only cost time.
        "signing_key": None if recorded else str(config.path("engine.signing_key")),
        # What is only written down has no agents that a broker could reach.
        "broker": None if recorded else cloud_settings.broker_settings(config),
        "secrets": secret_keys(config),
        "plugins": plugins(config),
        "identities": identities,
        "files": None if recorded else host_setting(config, owner),
    }
