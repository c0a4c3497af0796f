"""The table of settings. docs/settings.md is made from it (`vetro config show --markdown`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vetro.clouds.quotas import QUOTAS, UNLIMITED, Quota
from vetro.data_classes import dataclass
from vetro.diagnostics import Text


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: ``section.name``. ``murano``: what it was called there."""

    name: str
    type: type
    default: Any
    meaning: str
    murano: str = ""
    choices: Sequence[str] = ()
    least: float | None = None
    secret: bool = False
    #: Another type that the value may have: text that names a file, or what would stand in it.
    other: Any = None


def _of_quota(quota: Quota) -> Text:
    if not quota.unit:
        return Text("most of a project, -1 for no limit: {meaning}", meaning=quota.meaning)
    return Text("most of a project in {unit}, -1 for no limit: {meaning}", unit=quota.unit, meaning=quota.meaning)


SETTINGS: Final[Sequence[Setting]] = (
    Setting("server.host", str, "127.0.0.1", Text("address to listen on"), "[DEFAULT] bind_host"),
    Setting("server.port", int, 8082, Text("port; 0 takes a free one"), "[DEFAULT] bind_port", least=0),
    Setting(
        "server.processes",
        int,
        0,
        Text("processes that answer requests; 0: two, one on a machine with a single processor"),
        "[murano] api_workers",
        least=0,
    ),
    Setting("server.threads", int, 16, Text("requests that a process answers at once"), least=2),
    Setting(
        "server.public_url", str, "", Text("address under which users reach the service, where it is not the one above")
    ),
    Setting(
        "server.allowed_hosts",
        list,
        [],
        Text(
            "names by which the service may be called, .NAME for all below it, * for any; empty: localhost, server.host"
            " and the name in server.public_url"
        ),
    ),
    Setting("server.streams", int, 32, Text("event streams that a process sends at once, besides"), least=1),
    Setting("server.trusted_proxies", list, [], Text("addresses or networks of proxies whose X-Forwarded-* counts")),
    Setting("server.max_body_mib", int, 64, Text("largest body of a request, in MiB"), least=1),
    Setting("server.body_seconds", float, 300.0, Text("how long a body may take to arrive"), least=1),
    Setting("server.body_rate_kib", int, 8, Text("KiB of a body that have to arrive in a second, on average"), least=1),
    Setting(
        "server.body_places",
        int,
        8,
        Text("bodies that a process receives at once while they arrive slowly; at most half of its threads"),
        least=1,
    ),
    Setting(
        "server.body_places_each",
        int,
        4,
        Text("how many of these are for one address from which nobody is signed in; for projects: quotas.bodies"),
        least=1,
    ),
    Setting(
        "database.url",
        str,
        "",
        Text("sqlite:///PATH or postgresql://USER:PASSWORD@HOST/NAME; empty: SQLite in the data directory"),
        "[database] connection",
        secret=True,
    ),
    Setting(
        "database.pool",
        int,
        20,
        Text("connections to PostgreSQL of a process that answers requests, at most; 0: one for each of its threads"),
        least=0,
    ),
    Setting("storage.blobs", str, "blobs", Text("folder of package archives, or s3://BUCKET/PREFIX")),
    Setting("secrets.key_file", str, "keys", Text("keys that encrypt models, drafts and journals; newest first")),
    Setting("worker.embedded", int, 1, Text("workers that `vetro serve` starts"), "[engine] engine_workers", least=0),
    Setting("worker.tasks", int, 4, Text("tasks that a worker runs at once"), least=1),
    Setting("worker.lease_seconds", float, 15.0, Text("how long a worker that says nothing keeps its tasks"), least=1),
    Setting(
        "worker.timeout",
        int,
        7200,
        Text("seconds after which a task is cancelled; 0: never"),
        "[engine] deployment timeout",
        least=0,
    ),
    Setting("worker.labels", list, [], Text("which clouds or regions this worker may serve; empty: all")),
    Setting(
        "worker.drain_seconds",
        float,
        5.0,
        Text("time that running tasks get to end on SIGTERM, before they are left to other workers"),
        least=0,
    ),
    Setting(
        "worker.version_wait",
        float,
        120.0,
        Text("seconds that a task waits for a worker of the version that began it, when none is there any more"),
        least=0,
    ),
    Setting(
        "dispatch.backend",
        str,
        "embedded",
        Text("what carries tasks to workers: embedded, or a plug-in: procrastinate (PostgreSQL only)"),
    ),
    Setting(
        "dispatch.labels", dict, {}, Text("labels that tasks need, by region of their environment; others: the region")
    ),
    Setting("task.cpu_seconds", int, 600, Text("processor time of a task"), least=1),
    Setting("task.memory_mib", int, 1024, Text("memory of a task"), least=64),
    Setting("task.steps", int, 0, Text("instructions of a task; 0: as many as it has time for"), least=0),
    Setting("task.reports", int, 100_000, Text("reports and log lines of a task"), least=1),
    Setting("task.report_mib", int, 64, Text("size of its reports and log lines, in MiB"), least=1),
    Setting("task.effects", int, 100_000, Text("effects (stacks, plans, queries) that a task may ask for"), least=1),
    Setting("task.grace_seconds", int, 10, Text("time for Finally blocks of a cancelled task"), least=0),
    Setting(
        "ask.seconds",
        float,
        10.0,
        Text("how long a schema, form or static action may take"),
        "[engine] static action timeout",
        least=0.1,
    ),
    Setting(
        "ask.children",
        int,
        4,
        Text("task processes that answer such questions at once, at most one a project if others wait"),
        least=1,
    ),
    Setting(
        "commands.each_person", int, 8, Text("commands and terminals in servers that a person has at once"), least=1
    ),
    Setting("commands.each_environment", int, 24, Text("how many there are at once in an environment"), least=1),
    Setting("commands.seconds", float, 28800.0, Text("how long such a command may run"), least=1),
    Setting(
        "commands.idle_seconds",
        float,
        1800.0,
        Text("how long a terminal may stay without anything typed or written"),
        least=1,
    ),
    Setting(
        "files.each_project_mib",
        int,
        4096,
        Text("MiB that files of all actions of a project have at most, while they are kept"),
        least=1,
    ),
    Setting("files.hours", float, 24.0, Text("how long files that actions are given or return are kept"), least=0.1),
    Setting(
        "cloud.kind",
        str,
        "auto",
        Text(
            "kind of cloud where servers are made: nspawn, proot, record, openstack, that of a plug-in, or"
            " module:function; auto: the best one here"
        ),
    ),
    Setting("cloud.driver", str, "", Text("older name of `cloud.kind`, beside the kind local")),
    Setting("cloud.directory", str, "cloud", Text("state of the cloud")),
    Setting("cloud.script", str, "", Text("what servers of the kind record answer (file)")),
    Setting("cloud.settings", dict, {}, Text("settings of the cloud itself")),
    Setting(
        "cloud.openstack",
        dict,
        {},
        Text("where the OpenStack is and how the worker signs in (docs/openstack.md)"),
        "[keystone_authtoken], [heat] and others",
        secret=True,
    ),
    Setting(
        "engine.class_configs",
        str,
        "",
        Text("class configurations (Usage: Config): a folder of files, or rows {{class, version, values}}"),
        "[engine] class_configs",
        other=list,
    ),
    Setting("engine.home_region", str, "", Text("region of environments that name none"), "home_region"),
    Setting(
        "engine.signing_key",
        str,
        "signing-key.pem",
        Text("private key that signs execution plans"),
        "[engine] signing_key",
    ),
    Setting("engine.settings", dict, {}, Text("settings that packages see, by section (docs/settings.md, The engine)")),
    Setting("engine.plugins", list, ["*"], Text("plug-ins that may be used"), "[murano] enabled_plugins"),
    Setting("engine.broker", dict, {}, Text("AMQP broker of agents; empty: sockets of servers here"), "[rabbitmq]"),
    Setting("packages.max_upload_mib", int, 5, Text("largest archive, in MiB"), "[murano] package_size_limit", least=1),
    Setting("packages.max_unpacked_mib", int, 100, Text("largest unpacked archive, in MiB"), least=1),
    Setting(
        "packages.page_size",
        int,
        20,
        Text("packages on a page where nobody says how many"),
        "[murano] limit_param_default",
        least=1,
    ),
    Setting("packages.max_page_size", int, 100, Text("packages on a page at most"), "[murano] api_limit_max", least=1),
    Setting(
        "notices.hosts",
        list,
        ["*"],
        Text(
            "hosts that notices may be sent to; * for all public ones, by https; private ones and http have to be named"
        ),
    ),
    Setting(
        "notices.mail_host", str, "", Text("relay that takes notices by e-mail (SMTP); empty: there are none by e-mail")
    ),
    Setting("notices.mail_port", int, 587, Text("its port"), least=1),
    Setting(
        "notices.mail_security", str, "starttls", Text("how it is spoken with"), choices=("starttls", "tls", "none")
    ),
    Setting("notices.mail_user", str, "", Text("account of the service at the relay; empty: it needs none")),
    Setting("notices.mail_password", str, "", Text("password of this account"), secret=True),
    Setting("notices.mail_from", str, "vetro@localhost", Text("sender of notices by e-mail")),
    Setting("notices.mail_domains", list, ["*"], Text("domains of e-mail that notices may be sent to; * for all")),
    Setting(
        "packages.versioning",
        str,
        "warn",
        Text("what happens when a package is imported whose version number is too low for what it breaks"),
        choices=("off", "warn", "refuse"),
    ),
    Setting(
        "packages.versioning_public",
        str,
        "refuse",
        Text("the same for packages that are public, or become it"),
        choices=("off", "warn", "refuse"),
    ),
    Setting(
        "packages.unknown",
        str,
        "allow",
        Text("whether what cannot be compared counts as broken: then only another major version is high enough"),
        choices=("allow", "refuse"),
    ),
    Setting("packages.import_hosts", list, [], Text("hosts that packages may be imported from by address; * for all")),
    Setting("packages.import_seconds", float, 30.0, Text("how long such a download may take"), least=1),
    Setting(
        "networking.driver",
        str,
        "",
        Text("network class of new environments; empty: neutron"),
        "[networking] driver",
        choices=("", "neutron", "nova"),
    ),
    Setting(
        "networking.config_file",
        str,
        "",
        Text("default networks of new environments"),
        "[networking] network_config_file",
    ),
    Setting(
        "networking.router_name",
        str,
        "murano-default-router",
        Text("router that networks join"),
        "[networking] router_name",
    ),
    Setting("networking.create_router", bool, True, Text("make it when it is missing"), "[networking] create_router"),
    Setting(
        "networking.external_network",
        str,
        "ext-net",
        Text("network of floating addresses"),
        "[networking] external_network",
    ),
    Setting(
        "networking.default_dns",
        list,
        [],
        Text("name servers; empty: those of the network"),
        "[networking] default_dns",
    ),
    Setting(
        "networking.env_ip_template",
        str,
        "10.0.0.0",
        Text("where new networks are cut from"),
        "[networking] env_ip_template",
    ),
    Setting(
        "networking.max_environments",
        int,
        250,
        Text("networks to be cut at most"),
        "[networking] max_environments",
        least=1,
    ),
    Setting("networking.max_hosts", int, 250, Text("addresses in each"), "[networking] max_hosts", least=1),
    Setting(
        "forms.max_implementations",
        int,
        100,
        Text("classes that a picker offers before one has to search"),
        "[murano] max class implementations",
        least=1,
    ),
    Setting("forms.media_folders", list, [], Text("folders with files that UI definitions name in widgetMedia")),
    Setting("accounts.token_days", int, 365, Text("days until a new token expires; 0: never"), least=0),
    Setting(
        "accounts.login_attempts",
        int,
        10,
        Text("wrong passwords for one name from one address, before each further one has to wait twice as long"),
        least=1,
    ),
    Setting("accounts.address_attempts", int, 100, Text("wrong passwords from one address in five minutes"), least=1),
    Setting("accounts.policy_file", str, "", Text("rules that replace the default ones"), "[oslo_policy] policy_file"),
    Setting("accounts.admin_role", str, "admin", Text("role that may do everything"), "[murano] admin_role"),
    Setting(
        "keystone.url",
        str,
        "",
        Text("Keystone v3 that checks tokens; empty: local accounts only"),
        "[keystone_authtoken] auth_url",
    ),
    Setting(
        "keystone.options", dict, {}, Text("how the service itself signs in there"), "[keystone_authtoken]", secret=True
    ),
    *(
        Setting(
            f"quotas.{quota.name}",
            int,
            quota.default,
            _of_quota(quota),
            least=UNLIMITED,
        )
        for quota in QUOTAS.values()
    ),
    Setting(
        "retention.journal_days",
        int,
        7,
        Text("days after which journals of finished tasks are dropped, and finished tasks of no environment"),
        least=0,
    ),
    Setting("retention.states", int, 100, Text("states of an environment that are kept; 0: all"), least=0),
    Setting(
        "retention.statistics",
        int,
        10_000,
        Text("statistics of instances of an environment that are kept, the newest; 0: all"),
        least=0,
    ),
    Setting("retention.audit_days", int, 365, Text("days after which audit records are dropped; 0: never"), least=0),
    Setting("observe.log_format", str, "text", Text("how log lines look"), choices=("text", "json")),
    Setting("observe.log_level", str, "info", Text("what is logged"), choices=("debug", "info", "warning", "error")),
    Setting("observe.access", bool, True, Text("log a line for each request")),
    Setting("observe.metrics", bool, True, Text("offer /metrics")),
    Setting(
        "observe.metrics_token",
        str,
        "",
        Text(
            "what a request for /metrics has to bring as Authorization: Bearer; empty: it has to come from this machine"
        ),
        secret=True,
    ),
    Setting("observe.traces", str, "", Text("where OpenTelemetry spans go (OTLP address); empty: nowhere")),
)
