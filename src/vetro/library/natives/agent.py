"""``io.murano.system.Agent`` and ``AgentListener``: plans for servers (CORE_LIBRARY.md 3, AGENT.md 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.library.natives.agent_logins import account, has_login
from vetro.library.natives.common import perform, private, whole
from vetro.library.natives.plans import build_plan, empty_plan
from vetro.library.natives.resources import is_resources, package_of
from vetro.muranopl.errors import MuranoError, Thrown
from vetro.muranopl.types.native import method, state
from vetro.yaql.resolve.signature import Param, Type
from vetro.yaql.values import check_depth, freeze, thaw

AGENT = "io.murano.system.Agent"
LISTENER = "io.murano.system.AgentListener"

#: Seconds to wait for the answer to a plan when nobody says how long: a server may have to boot first.
DEFAULT_TIMEOUT = 3600
#: Seconds that `waitReady` and `isReady` wait.
READY_TIMEOUT = 100
#: Lines of the output of a script that failed in the error, and characters of one.
_LINES, _LONGEST = 10, 1000
#: Stamps of plans count ten-thousandths of seconds.
STAMPS = 10_000


class AgentException(Thrown):
    """A plan failed on the server. ``extra`` holds what the agent said about it."""

    code = "LIB211"
    kind = "error"

    def __init__(self, message: str, extra: Mapping[str, Any]) -> None:
        names = ("murano.engine.system.agent.AgentException", "murano.common.exceptions.AgentException")
        super().__init__((*names, "AgentException", "Exception"), message, freeze(dict(extra)))

    @property
    def message(self) -> str:
        """What the agent said, with the end of what a script that failed has written."""
        return f"the execution plan failed: {self.value}{_tail(self.extra.get('details'))}"


def _tail(details: Any) -> str:
    """The last lines of the error output of a script, or of its output where it has none."""
    for name in ("stderr", "stdout") if isinstance(details, Mapping) else ():
        text = details.get(name)
        if isinstance(text, str) and text.strip():
            # Whole lines: whoever masks secrets has to see them.
            lines = [line if len(line) <= _LONGEST else "…" for line in text.strip().splitlines()[-_LINES:]]
            return f"; its {name} ends with:\n" + "\n".join(lines)
    return ""


class AgentTimeout(MuranoError):
    """An agent did not answer in time."""

    code = "LIB212"
    kind = "error"
    aliases = (
        "murano.common.exceptions.TimeoutException",
        "murano.engine.system.agent.TimeoutException",
        "TimeoutException",
    )


class AgentDisabled(MuranoError):
    """Packages may not use agents here."""

    code = "LIB213"
    kind = "invalid-operation"
    aliases = ("murano.common.exceptions.PolicyViolationException", "PolicyViolationException")


# -- answers -----------------------------------------------------------------------------------------------------------


def result_of(message: Any) -> Any:
    """The value that the answer of an agent carries. Raises `AgentException` for a failure."""
    if not isinstance(message, dict):
        raise AgentException("the agent's answer is no mapping", {"message": None, "details": message})
    version = str(message.get("FormatVersion") or "1.0.0")
    return _result_1(message) if version.startswith("1.") else _result_2(message)


_KNOWN = frozenset({"FormatVersion", "ID", "SourceID", "Action", "ErrorCode", "Body", "Time"})


def _result_2(message: Mapping[str, Any]) -> Any:
    body = message.get("Body")
    if message.get("ErrorCode", 0) in (0, None):
        return body
    told = body if isinstance(body, dict) else {"Message": body}
    text = told.get("Message")
    raise AgentException(
        "no message" if text is None else str(text),
        {
            "message": text,
            "details": told.get("AdditionalInfo"),
            "errorCode": message.get("ErrorCode"),
            "time": message.get("Time"),
            "extra": {key: value for key, value in message.items() if key not in _KNOWN},
        },
    )


def _result_1(message: Mapping[str, Any]) -> Any:
    result = message.get("Result")
    if message.get("IsException"):
        raise _failure_1(result, message, "execution_plan")
    rows = result if isinstance(result, tuple) else ()
    for row in rows:
        if isinstance(row, dict) and row.get("IsException"):
            raise _failure_1(row.get("Result"), message, "command")
    return rows[-1].get("Result") if rows and isinstance(rows[-1], dict) else None


def _failure_1(result: Any, message: Mapping[str, Any], source: str) -> AgentException:
    told = result if isinstance(result, tuple) else (None, result)
    kind, text, command, details = (*told, None, None, None, None)[:4]
    extra = {
        "type": kind,
        "message": text,
        "command": command,
        "details": details,
        "timestamp": message.get("Time"),
        "source": source,
    }
    return AgentException("no message" if text is None else str(text), extra)


# -- sending -----------------------------------------------------------------------------------------------------------


def next_stamp(cx: Any) -> int:
    """A stamp for a plan: later than all before in this session, which began with the host's time.

    The time is asked for once: agents compare stamps with each other, not with a clock.
    """
    shared = cx.session.native
    last = shared.get("agent stamp")
    stamp = shared["agent stamp"] = int(float(perform(cx, "clock")) * STAMPS) if last is None else last + 1
    return int(stamp)


def _refuse_if_disabled(cx: Any) -> None:
    if (cx.session.settings.get("engine") or {}).get("disable_murano_agent"):
        raise AgentDisabled(
            "agents are switched off by the settings of this server",
            hint="use a server class without agent, or have an administrator change engine.disable_murano_agent",
        )


def queue_of(this: Any) -> str:
    """The input queue of the server's agent."""
    agent = whole(this)
    host = whole(private(agent, AGENT, "_host"))
    return f"e{private(agent, AGENT, '_environmentId')}-h{host._id}".lower()


class AgentLine:
    """The way to one agent and back."""

    def __init__(self, cx: Any, this: Any) -> None:
        _refuse_if_disabled(cx)
        self.cx = cx
        self.queue = queue_of(this)
        host = whole(private(whole(this), AGENT, "_host"))
        self.login = has_login(cx, host)
        region = host.yaql_method("getRegion", cx)()
        self.listener = region.yaql_attribute("agentListener", cx)

    def send(self, plan: Mapping[str, Any]) -> None:
        perform(self.cx, "agent.send", **self._message(plan))

    def call(self, plan: Mapping[str, Any], timeout: float | None, part: Mapping[str, Any] | None = None) -> Any:
        """``part``: of a file that goes with the plan or comes with its answer (`vetro.engine.host.file_parts`)."""
        if timeout is None:
            given = (self.cx.session.settings.get("engine") or {}).get("agent_timeout")
            timeout = DEFAULT_TIMEOUT if given is None else given
        listen(self.cx, self.listener)
        more = {} if part is None else {"part": part}
        answer = perform(self.cx, "agent.call", **self._message(plan), timeout=timeout, **more)
        if isinstance(answer, dict) and answer.get("why"):
            raise AgentTimeout(f"the plan cannot be executed: {answer['why']}")
        if not isinstance(answer, dict) or "result" not in answer:
            raise AgentTimeout(f"the agent did not respond within {timeout:g} seconds (queue {self.queue})")
        return result_of(answer["result"])

    def _message(self, plan: Mapping[str, Any]) -> dict[str, Any]:
        plan_id = plan.get("ID") or self.cx.session.new_id()
        found = {"queue": self.queue, "listener": queue_name(self.listener), "id": str(plan_id), "plan": plan}
        return {**found, "login": True} if self.login else found


_PLAN = Param("template", Type.DICT)
_RESOURCES = Param("resources", Type.HOST, nullable=True, check=is_resources)
_TIMEOUT = Param("timeout", Type.NUM, None, nullable=True)


def _built(cx: Any, template: Any, resources: Any) -> dict[str, Any]:
    return build_plan(template, package_of(cx, resources, None), cx.session.new_id, next_stamp(cx))


class Agent:
    """Execution plans for one server."""

    @method("queueName")
    def queue_name(this: Any) -> str:
        """The queue from which the server's agent takes plans."""
        return queue_of(this)

    @method("signingKey", params=(Param("linePrefix", Type.STR, ""),))
    def signing_key(cx: Any, this: Any, line_prefix: str = "") -> str:
        """The public key with which the agent checks plans (PEM), each line with the prefix; '' when none is set."""
        shared = cx.session.native
        if "signing key" not in shared:
            shared["signing key"] = perform(cx, "agent.key") or ""
        lines: list[str] = shared["signing key"].strip().splitlines()
        return "\n".join(line_prefix + line for line in lines)

    @method("brokerAccount", params=(Param("broker", Type.DICT),))
    def broker_account(cx: Any, this: Any, broker: Any) -> Any:
        """The settings of a broker with the login of this server, where servers have logins of their own."""
        agent = whole(this)
        return freeze(account(cx, private(agent, AGENT, "_host"), queue_of(agent), broker))

    @method("buildExecutionPlan", params=(_PLAN, _RESOURCES))
    def build_execution_plan(cx: Any, this: Any, template: Any, resources: Any) -> Any:
        """The plan of a template with the files of the package that the resources are bound to."""
        return freeze(_built(cx, template, resources))

    @method("call", params=(_PLAN, _RESOURCES, _TIMEOUT))
    def call(cx: Any, this: Any, template: Any, resources: Any, timeout: float | None = None) -> Any:
        """Runs the plan and gives its result. Raises `AgentException`, `AgentTimeout`, `AgentDisabled`."""
        line = AgentLine(cx, this)
        return line.call(_built(cx, template, resources), timeout)

    @method("send", params=(_PLAN, _RESOURCES))
    def send(cx: Any, this: Any, template: Any, resources: Any) -> None:
        """Has the plan run and does not wait."""
        line = AgentLine(cx, this)
        line.send(_built(cx, template, resources))

    @method("callRaw", params=(Param("plan", Type.DICT), _TIMEOUT))
    def call_raw(cx: Any, this: Any, plan: Any, timeout: float | None = None) -> Any:
        """Runs a plan that is built already."""
        check_depth(plan)
        return AgentLine(cx, this).call(thaw(plan), timeout)

    @method("sendRaw", params=(Param("plan", Type.DICT),))
    def send_raw(cx: Any, this: Any, plan: Any) -> None:
        """Has a plan run that is built already, and does not wait."""
        check_depth(plan)
        AgentLine(cx, this).send(thaw(plan))

    @method("waitReady", params=(Param("timeout", Type.NUM, READY_TIMEOUT),))
    def wait_ready(cx: Any, this: Any, timeout: float = READY_TIMEOUT) -> None:
        """Waits until the agent answers. Raises `AgentTimeout`."""
        line = AgentLine(cx, this)
        line.call(empty_plan(cx.session.new_id, next_stamp(cx)), timeout)

    @method("isReady", params=(Param("timeout", Type.NUM, READY_TIMEOUT),))
    def is_ready(cx: Any, this: Any, timeout: float = READY_TIMEOUT) -> bool:
        """Whether the agent answers within that time."""
        line = AgentLine(cx, this)
        try:
            line.call(empty_plan(cx.session.new_id, next_stamp(cx)), timeout)
        except AgentTimeout:
            return False
        return True


# -- AgentListener -----------------------------------------------------------------------------------------------------


def queue_name(this: Any) -> str:
    """The result queue of a listener; those of an environment begin as its effects host wants it."""
    listener = whole(this)
    environment = private(listener, LISTENER, "_environmentId")
    own = f"e{environment}-" if environment else ""
    return f"-execution-results-{own}{private(listener, LISTENER, '_name')}".lower()


def listen(cx: Any, listener: Any) -> None:
    """Begins to listen until the end of the run; nothing when it does already."""
    values = state(whole(listener))
    if not values.get("listening"):
        values["listening"] = True
        queue = queue_name(listener)
        perform(cx, "agent.listen", queue=queue, on=True)
        if not values.get("ends with the run"):
            values["ends with the run"] = True
            cx.session.at_end(lambda: _end(cx, values, queue))


def _end(cx: Any, values: dict[str, Any], queue: str) -> None:
    values["ends with the run"] = False
    if values.get("listening"):
        perform(cx, "agent.listen", queue=queue, on=False)
        values["listening"] = False


class AgentListener:
    """Started with the first plan that is waited for; ends with the run."""

    @method("queueName")
    def queue_name(this: Any) -> str:
        """The name of the result queue."""
        return queue_name(this)

    @method("start")
    def start(cx: Any, this: Any) -> None:
        """Begins to listen; nothing when it already does."""
        listen(cx, this)

    @method("stop")
    def stop(cx: Any, this: Any) -> None:
        """Stops listening; nothing when it does not."""
        values = state(whole(this))
        if values.get("listening"):
            perform(cx, "agent.listen", queue=queue_name(this), on=False)
            values["listening"] = False
