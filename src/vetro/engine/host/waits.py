"""`WaitTeller`: tells the worker what the effects of its task wait for, when that takes long (docs/waiting.md).

A thread looks while effects are under way. What it tells is the whole list: so there is never more than one message,
and one write of the worker, in `PERIOD` seconds, however many effects wait and end; and none while nobody waits.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from vetro.clouds.interface import CloudWait
from vetro.diagnostics import Text, encode_messages
from vetro.engine.host.answer import Request

_log = logging.getLogger(__name__)

#: Seconds after which an effect that has not ended is told of, so that it is known everywhere when it takes 5.
LONG: Final = 3.0
#: Seconds between two messages.
PERIOD: Final = 5.0
#: Seconds after which it is told once more, for those who show lines.
AGAIN: Final = 30.0
#: Seconds between two looks.
_LOOK: Final = 0.5
#: Characters of each name in what is told to a worker.
LONGEST: Final = 2000
#: Most that is told of at once, the longest first.
MOST: Final = 20

#: Kinds of effects that a cloud performs.
CLOUD_EFFECTS: Final = frozenset(
    {"stack.read", "stack.push", "stack.delete", "server.power", "snapshot.make", "snapshot.restore", "snapshot.drop",
     "network", "metadef"}
)  # fmt: skip

Found = list[dict[str, Any]]


def waits_of(requests: Iterable[Request], cloud: Sequence[CloudWait], name: str) -> Found:
    """What effects wait for, as plain data; ``cloud``: what the cloud of this name tells of its operations."""
    found: Found = [{"kind": one.kind, "text": one.text, "id": "", "since": one.since} for one in cloud]
    for request in requests:
        if request.waits is None and cloud and request.kind in CLOUD_EFFECTS:
            continue  # the cloud said it better
        kind, text, id = request.waits or wait_of(request, name)
        found.append({"kind": kind, "text": text, "id": id, "since": request.begun})
    return [encode_messages({**one, "text": cut(one["text"], LONGEST)}) for one in found]


def cut(text: str, most: int) -> str:
    """A text whose values have so many characters at most: packages call plans and stacks what they like."""
    if isinstance(text, Text):
        return text.filled(**{name: cut(value, most) for name, value in text.values.items() if isinstance(value, str)})
    return text if len(text) <= most else f"{text[:most]}…"


def turn_text(stack: str) -> Text:
    """A stack that another effect of the task has to do with."""
    return Text("its turn: another part of the task works on stack '{stack}'", stack=stack)


def conflict_text(message: str) -> Text:
    """What a cloud refuses for now."""
    return Text("another operation: {message}", message=message)


def wait_of(request: Request, cloud: str) -> tuple[str, Text, str]:
    """What an effect waits for, as far as its arguments tell: kind, noun, id of the object that it is about. ``cloud``:
    the name of its cloud."""
    args, name = request.args, str(request.args.get("name") or "")
    match request.kind:
        case "agent.call" | "agent.send":
            plan = args.get("plan")
            queue, title = str(args.get("queue")), str((plan if isinstance(plan, dict) else {}).get("Name") or "")
            return "agent", agent_text(queue, title), queue.rpartition("-h")[2]
        case "sleep":
            return "pause", Text("the end of a pause of {seconds} s that a package makes", seconds=args["seconds"]), ""
        case "stack.read":
            return "cloud", Text("the cloud {cloud}, which reads stack '{stack}'", cloud=cloud, stack=name), ""
        case "stack.push":
            return "cloud", Text("the cloud {cloud}, which changes stack '{stack}'", cloud=cloud, stack=name), ""
        case "stack.delete":
            return "cloud", Text("the cloud {cloud}, which removes stack '{stack}'", cloud=cloud, stack=name), ""
        case "server.power":
            return "cloud", Text("the cloud {cloud}, which starts or stops servers", cloud=cloud), ""
        case "snapshot.make":
            return "cloud", Text("the cloud {cloud}, which keeps the environment as it is", cloud=cloud), ""
        case "snapshot.restore":
            return "cloud", Text("the cloud {cloud}, which brings the environment back as it was", cloud=cloud), ""
        case "snapshot.drop":
            return "cloud", Text("the cloud {cloud}, which removes what was kept for the way back", cloud=cloud), ""
        case "network" | "metadef":
            return "cloud", Text("the cloud {cloud}, which tells what it has", cloud=cloud), ""
    return "effect", Text("the end of '{effect}'", effect=request.kind.removeprefix("plugin:")), ""


def agent_text(server: str, plan: str, *, absent: bool = False) -> Text:
    """The agent of a server, and what it was asked to do; ``absent``: it was never seen."""
    if absent:
        return Text("the agent of server '{server}', which has not come yet, to run '{plan}'", server=server, plan=plan)
    return Text("the agent of server '{server}', which was asked to run '{plan}'", server=server, plan=plan)


class WaitTeller:
    """``find`` gives what is waited for; ``tell`` is called with it when it has changed, on a thread of its own."""

    def __init__(self, find: Callable[[], Sequence[Mapping[str, Any]]], tell: Callable[[Found], None]) -> None:
        self._find = find
        self._tell = tell
        self._lock = threading.Condition()
        self._open = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    def began(self) -> None:
        """One more effect is under way."""
        with self._lock:
            self._open += 1
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._run, name="vetro waits", daemon=True)
                self._thread.start()
            elif self._open == 1:
                self._lock.notify_all()

    def ended(self) -> None:
        """One less."""
        with self._lock:
            self._open -= 1

    def close(self) -> None:
        """Ends the thread."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()

    def _run(self) -> None:
        told: Found = []
        at = float("-inf")
        while True:
            with self._lock:
                # Nothing is looked at while nothing is under way, and all that was told has been taken back.
                self._lock.wait_for(lambda: self._closed or self._open > 0, None if not told else _LOOK)
                if self._closed:
                    return
            found: Found = []
            try:
                found = [dict(one) for one in self._find()][:MOST]
            except Exception as error:  # whoever is waited for may be in any state
                _log.debug("what is waited for cannot be told: %s", error)
            now = time.monotonic()
            if (found != told and now - at >= PERIOD) or (found and now - at >= AGAIN):
                self._tell(found)
                told, at = found, now
            with self._lock:
                if self._lock.wait_for(lambda: self._closed, _LOOK):
                    return
