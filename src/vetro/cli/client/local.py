"""`LocalClient`: requests of /v2 answered in this process, about a workspace of this machine.

Commands ask it as they ask a server. What answers are the functions that answer a server's clients
(`vetro.server.api.answers`), without HTTP, a token or the schemas of /v2, which take too long to load.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from vetro.cli.client.contexts import LOCAL, Context
from vetro.cli.client.requests import Client, Refused
from vetro.cli.task_run import interruptible, shown
from vetro.engine.worker.ports import HostUnavailable
from vetro.server import sandboxed_workers
from vetro.server.api.answers.environments import export_environment
from vetro.server.api.answers.files import open_file
from vetro.server.environments.models import Environment
from vetro.server.errors import ServiceError
from vetro.server.local.answers import import_environment
from vetro.server.local.environments import forget_resources, pin, stored
from vetro.server.local.procedures import let_go, resume_procedure, run_snapshots
from vetro.server.local.tasks import check_free, held, run
from vetro.server.local.workspace import Workspace
from vetro.server.tasks import effect_hosts
from vetro.server.tasks.spec import local_paths


class _Route(NamedTuple):
    """An address. ``takes``: how the function gets the body: not at all, by names, or as it is."""

    method: str
    path: str
    #: ``module:function`` below `vetro.server.api.answers`; those of ``local`` are in `vetro.server.local.answers`.
    answer: str
    takes: str = ""


_ROUTES: Final = tuple(
    _Route(*row)
    for row in (
        ("GET", "/clouds", "clouds:list_clouds"),
        ("GET", "/environments", "local:list_environments"),
        ("POST", "/environments", "local:create_environment", "names"),
        ("GET", "/environments/{}", "local:show_environment"),
        ("DELETE", "/environments/{}", "environments:delete_environment"),
        ("GET", "/environments/{}/health", "local:show_health"),
        ("GET", "/environments/{}/addresses", "environments:list_addresses"),
        ("GET", "/environments/{}/drift", "local:show_drift"),
        ("POST", "/environments/{}/repair", "environments:repair_environment", "names"),
        ("POST", "/environments/{}/empty", "local:empty_environment"),
        ("POST", "/environments/{}/start", "environments:start_servers", "names"),
        ("POST", "/environments/{}/stop", "environments:stop_servers", "names"),
        ("POST", "/environments/{}/restart", "environments:restart_servers", "names"),
        ("POST", "/environments/{}/realize", "environments:realize_environment", "names"),
        ("GET", "/environments/{}/servers", "servers:list_servers"),
        ("GET", "/environments/{}/servers/{}/log", "servers:read_server_log"),
        ("POST", "/environments/{}/servers/{}/commands", "servers:run_command", "names"),
        ("POST", "/environments/{}/commands/{}/input", "servers:send_input", "names"),
        ("POST", "/environments/{}/files", "files:begin_file"),
        ("PUT", "/environments/{}/files/{}", "files:put_part", "names"),
        ("GET", "/environments/{}/packages", "local:list_packages"),
        ("GET", "/environments/{}/states", "local:list_states"),
        ("GET", "/environments/{}/states/{int}", "local:show_state"),
        ("GET", "/environments/{}/diff", "local:compare_states"),
        ("GET", "/environments/{}/lock", "history:show_lock"),
        ("GET", "/environments/{}/why", "history:explain_packages"),
        ("POST", "/environments/{}/states/{int}/restore", "history:restore_state"),
        ("GET", "/environments/{}/upgrades", "upgrades:list_upgrades"),
        ("POST", "/environments/{}/upgrades", "upgrades:upgrade_environment", "names"),
        ("POST", "/environments/{}/upgrades/one-by-one", "local:upgrade_one_by_one", "names"),
        ("POST", "/packages/impact", "impact:begin_impact", "names"),
        ("GET", "/packages/impact/{}", "impact:show_impact"),
        ("GET", "/packages/impact/{}/environments/{}", "impact:show_impact_plan"),
        ("GET", "/environments/{}/actions", "actions:list_actions"),
        ("POST", "/environments/{}/actions/{}", "actions:call_action", "names"),
        ("GET", "/environments/{}/sessions", "sessions:list_sessions"),
        ("POST", "/environments/{}/sessions", "sessions:open_session"),
        ("GET", "/sessions/{}", "sessions:show_session"),
        ("DELETE", "/sessions/{}", "sessions:close_session"),
        ("GET", "/sessions/{}/changes", "sessions:show_changes"),
        ("POST", "/sessions/{}/undo", "sessions:undo_changes", "names"),
        ("POST", "/sessions/{}/deploy", "local:deploy_session", "names"),
        ("GET", "/sessions/{}/way-back", "procedures:show_way_back"),
        ("GET", "/procedures/{}", "procedures:show_procedure"),
        ("GET", "/environments/{}/procedures", "procedures:list_procedures"),
        ("GET", "/environments/{}/undo", "procedures:explain_undo"),
        ("POST", "/environments/{}/undo", "procedures:undo_environment"),
        ("POST", "/environments/{}/keep", "procedures:keep_environment"),
        ("POST", "/sessions/{}/plan", "sessions:plan_session"),
        ("GET", "/sessions/{}/model", "local:read_model"),
        ("PUT", "/sessions/{}/model", "sessions:write_model", "whole"),
        ("POST", "/sessions/{}/components", "sessions:add_component", "whole"),
        ("PUT", "/sessions/{}/components/{}", "sessions:change_component", "whole"),
        ("DELETE", "/sessions/{}/components/{}", "sessions:remove_component"),
        ("GET", "/tasks", "local:list_tasks"),
        ("GET", "/tasks/{}", "local:show_task"),
        ("GET", "/tasks/{}/log", "local:read_log"),
        ("GET", "/tasks/{}/effects", "local:list_effects"),
        ("POST", "/tasks/{}/cancel", "local:cancel_task", "names"),
        ("POST", "/tasks/{}/abandon", "local:abandon_task"),
        ("POST", "/tasks/{}/retry", "tasks:retry_task"),
        ("POST", "/tasks/{}/resolve", "tasks:resolve_task", "names"),
    )
)
#: Answers that come with a revision, for an ETag.
_REVISED: Final = frozenset({"sessions:write_model", "sessions:add_component", "sessions:change_component"})
#: Sections of an environment that change it, or begin to.
_CHANGES: Final = re.compile(
    r"/environments/([^/]+)(?:/(?:empty|start|stop|restart|realize|repair|sessions|upgrades(?:/one-by-one)?|actions/[^/]+|states/\d+/restore))?"
)


class LocalClient(Client):
    """``workspace`` is open.

    What the service refuses is raised as `Refused`, as with a server.
    """

    local = True

    def __init__(self, workspace: Workspace) -> None:
        self.context = Context(LOCAL, str(workspace.root), "")
        self.workspace = workspace

    def ask(self, method: str, path: str, body: Any = None, **params: Any) -> Any:
        """What the service answers, as plain data."""
        route, values = _found(method, path)
        named = {name.rstrip("_"): value for name, value in params.items() if value not in (None, (), [])}
        if route.takes == "names":
            named |= body or {}
        elif route.takes == "whole":
            values.append(body)
        whose, _, name = route.answer.partition(":")
        with refusals():
            changed = _CHANGES.fullmatch(path) if method in ("POST", "DELETE") else None
            if changed is not None:
                self.let_go(changed[1])
                self.check_free(changed[1], abandon=bool(named.get("abandon")))
            if whose == "local":
                answer = _function("vetro.server.local.answers", name)(self.workspace, *values, **named)
            else:
                module = f"vetro.server.api.answers.{whose}"
                answer = _function(module, name)(self.workspace.caller, *values, **named)
            if changed is not None and named.get("abandon"):  # what is held of what is gone now
                run_snapshots(self.workspace, changed[1], changed[1])
        if route.answer in _REVISED:
            answer, _ = answer
        return json.loads(json.dumps(answer, default=_text))

    def let_go(self, environment_id: str) -> None:
        """Lets go of what is held of an environment and whose time is over: on this machine nobody else does."""
        let_go(self.workspace, environment_id)

    def resume_procedure(self, procedure_id: str) -> None:
        """Goes on with an update with a way back that waits."""
        with refusals():
            resume_procedure(self.workspace, procedure_id)

    def check_free(self, environment_id: str, *, abandon: bool = False) -> None:
        """Raises `vetro.server.errors.Conflict` while a task of an environment runs, or waits to be continued;
        who wants to ``abandon`` it does so while one waits, too."""
        name = Environment.objects.filter(id=environment_id).values_list("name", flat=True).first()
        if name is not None:
            check_free(self.workspace, environment_id, name, abandon=abandon)

    def require_free(self, environment_id: str) -> None:
        """The same, as `Refused`."""
        with refusals():
            self.check_free(environment_id)

    @contextmanager
    def all_held(self) -> Iterator[list[dict[str, Any]]]:
        """The environments; nobody works on one of them during the block. Raises `Refused`."""
        rows = list(self.items("/environments", limit=1000))
        with ExitStack() as stack:
            with refusals():
                for row in rows:
                    stack.enter_context(held(self.workspace, row["id"], row["name"]))
            yield rows

    def forget_resources(self, environment_id: str) -> bool:
        """See `vetro.server.local.environments.forget_resources`."""
        return forget_resources(self.workspace, environment_id)

    def expect_task(self, kind: str) -> None:
        """A task about servers in a cloud of this kind will run: what its effects hosts are forked from gets ready."""
        with suppress(HostUnavailable):  # whoever runs the task says why
            effect_hosts.forker(kind).begin()

    def run(self, task_id: str, environment: str, watch: Any, timeout: float | None, second: str) -> None:
        """Runs a task until it has ended or needs a person. Ctrl-C cancels it; a second one ends the command:
        ``second`` says what becomes of the task then."""
        with refusals(), interruptible(second) as on_runner:
            launcher = sandboxed_workers.launcher(questions=False)
            events = partial(shown, watch)
            run(self.workspace, task_id, environment, launcher, events=events, on_runner=on_runner, timeout=timeout)

    def content(self, path: str) -> bytes:
        """The archive of an environment, or the report about it."""
        environment_id = path.split("/")[2]
        with refusals():
            if path.endswith("/report"):
                report = _function("vetro.server.api.answers.servers", "report_environment")
                with report(self.workspace.caller, environment_id) as file:
                    data: bytes = file.read()
                    return data
            self.check_free(environment_id)
            with export_environment(self.workspace.caller, environment_id) as file:
                return file.read()

    def put_part(self, path: str, data: bytes, **params: Any) -> Any:
        """Adds a part to a file."""
        return self.ask("PUT", path, {"source": io.BytesIO(data), "size": len(data)}, **params)

    @contextmanager
    def parts(self, path: str) -> Iterator[Iterator[bytes]]:
        """The bytes of a file."""
        _, _, environment_id, _, id = path.split("/")
        with refusals():
            file = open_file(self.workspace.caller, environment_id, id)
        with file:
            yield iter(partial(file.read, 1 << 20), b"")

    def import_environment(
        self, data: bytes | memoryview, name: str | None, fresh: bool, keep_ids: bool, choose: Callable[[], Any]
    ) -> Any:
        """See `vetro.server.local.answers.import_environment`."""
        with refusals():
            return import_environment(self.workspace, data, name=name, fresh=fresh, keep_ids=keep_ids, choose=choose)

    def package_paths(self, environment_id: str) -> list[str]:
        """The packages that an environment uses, as they can be loaded."""
        with refusals():
            return local_paths([row["digest"] for row in self.get(f"/environments/{environment_id}/packages")])

    def archive(self, environment_id: str, name: str, version: str) -> str:
        """A package that an environment uses, as it can be loaded."""
        rows = self.get(f"/environments/{environment_id}/packages")
        with refusals():
            return local_paths([one["digest"] for one in rows if (one["name"], one["version"]) == (name, version)])[0]

    def stored(self, packages: Iterable[Any]) -> list[Any]:
        """Keeps the archives of loaded packages, for an upgrade to them (`beside`)."""
        with refusals():
            return stored(packages)

    def pin(self, environment_id: str, packages: Iterable[Any]) -> list[str]:
        """Has an environment use these loaded packages from its next task on; what changed, as text."""
        with refusals():
            return pin(environment_id, packages)

    def get(self, path: str, **params: Any) -> Any:
        """See `Client.get`."""
        return self.ask("GET", path, **params)

    def post(self, path: str, body: Any = None, **params: Any) -> Any:
        """See `Client.post`."""
        return self.ask("POST", path, body, **params)

    def post_long(self, path: str, body: Any) -> Any:
        """See `Client.post_long`."""
        return self.ask("POST", path, body)

    def events(self, path: str, body: Any) -> Generator[tuple[str, dict[str, Any]], None, None]:
        """See `Client.events`."""
        route, values = _found("POST", path)
        whose, _, name = route.answer.partition(":")
        with refusals():
            yield from _function(f"vetro.server.api.answers.{whose}", name)(self.workspace.caller, *values, **body)

    def put(self, path: str, body: Any, **params: Any) -> Any:
        """See `Client.put`."""
        return self.ask("PUT", path, body, **params)

    def delete(self, path: str, **params: Any) -> Any:
        """See `Client.delete`."""
        return self.ask("DELETE", path, **params)


def _found(method: str, path: str) -> tuple[_Route, list[Any]]:
    for route in _ROUTES:
        if route.method == method:
            pattern = re.escape(route.path).replace(r"\{int\}", r"(\d+)").replace(r"\{\}", "([^/]+)")
            match = re.fullmatch(pattern, path)
            if match:
                numbers = [part == "{int}" for part in route.path.split("/") if part.startswith("{")]
                texts = [unquote(text) for text in match.groups()]
                return route, [int(text) if number else text for text, number in zip(texts, numbers, strict=True)]
    raise Refused(404, f"{path} is not answered on this machine", "use a server: vetro login URL", "SRV404")


@contextmanager
def refusals() -> Iterator[None]:
    """Raises what the service refuses as `Refused`."""
    try:
        yield
    except ServiceError as error:
        refused = Refused(error.status, error.message, error.hint, error.code, error.details)
        refused.code = error.code  # type: ignore[misc]
        raise refused from None


def _function(module: str, name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def _text(value: Any) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no plain data")
