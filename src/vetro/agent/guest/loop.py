"""The agent: takes plans, runs them one after another, and answers each once (AGENT.md 3)."""

from __future__ import annotations

import json
import logging
import selectors
import socket
import time
from collections.abc import Callable
from typing import Any

from . import output, result, run
from .config import Config
from .errors import ANY, PlanError, malformed
from .messages import Delivered, Event, Kept, NotKept, Transport, TransportDown
from .storage import Storage, StoredPlan, boot_clock

log = logging.getLogger("muranoagent")

#: Longest id of a plan in characters.
LONGEST_ID = 400
#: Plans that parallel branches send at the same time may overtake each other: a new plan may be as much older than the
#: newest. What was accepted before is known by its id, so nothing can be replayed in this time either. In stamps.
OVERTAKING = 60 * 10_000
#: Seconds between two attempts to keep room on the disk.
_PAUSE = 5.0


class Delay:
    """Growing pauses between attempts, in seconds."""

    def __init__(self, first: float, factor: float, longest: float) -> None:
        self._first, self._factor, self._longest = first, factor, longest
        self._next = first

    def next(self) -> float:
        """The pause before the next attempt."""
        pause, self._next = self._next, min(self._next * self._factor, self._longest)
        return pause

    def reset(self) -> None:
        """An attempt succeeded."""
        self._next = self._first


class Agent:
    """One agent on its storage. ``connect`` makes a new connection or raises `TransportDown`."""

    def __init__(self, config: Config, storage: Storage, connect: Callable[[], Transport], delay: Delay) -> None:
        self._config = config
        self._storage = storage
        self._connect = connect
        self._delay = delay
        self._transport: Transport | None = None
        self._next_try = 0.0
        self._running: tuple[StoredPlan, run.Running] | None = None
        #: What the plan that runs writes.
        self._pieces: output.Pieces | None = None
        #: Answers on their way: token -> what to do when the other side has it.
        self._in_flight: dict[str, Callable[[], None]] = {}
        #: Answers that cannot be delivered yet: token -> when to try again.
        self._later: dict[str, float] = {}
        #: Answers of plans that could not be kept on disk: folder name or '' -> text.
        self._unwritten: dict[str, str] = {}
        #: Plans of which the host was told that it refused their answer.
        self._refused: set[str] = set()
        self._answered = 0
        self._stop = False
        self._wake_in, self._wake_out = socket.socketpair()
        for end in (self._wake_in, self._wake_out):
            end.setblocking(False)

    @property
    def wake_fd(self) -> int:
        """For `signal.set_wakeup_fd`."""
        return self._wake_out.fileno()

    def stop(self, *_: Any) -> None:
        """Ends `serve` soon; a plan that runs is answered with an error by the next agent. For signal handlers."""
        self._stop = True

    def serve(self, once: bool = False) -> None:
        """Works until `stop`, or with ``once`` until one plan was answered."""
        try:
            self._answer_interrupted()
            while not self._stop and not (once and self._answered):
                try:
                    self._reconnect()
                    self._start_plan()
                    self._publish_answers()
                    self._wait()
                except TransportDown as error:
                    self._down(error)
        finally:
            if self._running is not None:
                self._running[1].stop()
            if self._transport is not None:
                self._transport.close()
            self._wake_in.close()
            self._wake_out.close()

    # -- connection ----------------------------------------------------------------------------------------------------

    def _reconnect(self) -> None:
        if self._transport is None and time.monotonic() >= self._next_try:
            self._transport = self._connect()
            self._delay.reset()
            log.info("connected, waiting for plans on %s", self._config.input_queue)

    def _down(self, error: TransportDown) -> None:
        pause = self._delay.next()
        log.log(logging.WARNING if self._transport else logging.INFO, "%s; next attempt in %.1f s", error, pause)
        if self._transport is not None:
            self._transport.close()
        self._transport = None
        self._in_flight.clear()
        self._next_try = time.monotonic() + pause

    def _wait(self) -> None:
        """Waits for a message, the end of the plan, or the time of the next duty, and deals with it."""
        timeout = 3600.0
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake_in, selectors.EVENT_READ)
            if self._transport is not None:
                selector.register(self._transport.fileno(), selectors.EVENT_READ)
                timeout = min(timeout, self._transport.tick())
            else:
                timeout = min(timeout, max(0.0, self._next_try - time.monotonic()))
            if self._running is not None:
                selector.register(self._running[1].fileno(), selectors.EVENT_READ)
                if self._pieces is not None:
                    selector.register(self._pieces.fileno(), selectors.EVENT_READ)
                remaining = self._running[1].remaining()
                # A body may leave processes that hold the pipe, so its end is looked for as well.
                timeout = min(timeout, 1.0 if remaining is None else min(remaining, 1.0))
            if self._later and self._transport is not None:
                timeout = min(timeout, max(0.0, min(self._later.values()) - time.monotonic()))
            if lacking := self._running is None and self._storage.reserve.lacking:
                timeout = min(timeout, _PAUSE)
            selector.select(timeout)
        if lacking:
            self._storage.reserve.fill()
        try:
            self._wake_in.recv(4096)
        except BlockingIOError:
            pass
        ended = self._running is not None and self._running[1].check()
        self._tell()
        if ended:
            self._finish_plan()
        if self._transport is not None:
            for event in self._transport.read():
                self._event(event)

    def _event(self, event: Event) -> None:
        if isinstance(event, Delivered):
            self._accept(event)
        elif isinstance(event, Kept):
            self._in_flight.pop(event.token, _nothing)()
        elif isinstance(event, NotKept):
            done = self._in_flight.pop(event.token, _nothing)
            if event.final:
                log.error("the answer %s was refused for good: %s", event.token, event.reason)
                if not self._say_refused(event.token, event.reason):
                    done()
            else:
                log.warning("the answer %s cannot be delivered yet: %s", event.token, event.reason)
                self._later[event.token] = time.monotonic() + self._config.retry_delay

    # -- taking plans --------------------------------------------------------------------------------------------------

    def _accept(self, message: Delivered) -> None:
        """Stores a message that keeps the rules and acknowledges it; answers it at once where it cannot run."""
        assert self._transport is not None
        key = self._config.engine_key
        if key is not None and not (
            message.signature and key.verifies(message.signature, self._config.input_queue.encode() + message.body)
        ):
            log.error("a plan without a valid signature was dropped (message %s)", message.id)
            self._transport.acknowledge(message.tag)
            return
        if self._storage.knows(message.body):
            log.info("the plan of message %s came again; it is not run twice", message.id)
            self._later.clear()
            self._transport.acknowledge(message.tag)
            return
        id = message.id or ""
        reply_to = message.reply_to
        try:
            data = _read(message.body)
            id = data.get("ID") or id
            reply_to = data.get("ReplyTo") or reply_to
            if not isinstance(id, str) or not 0 < len(id) <= LONGEST_ID:
                id = message.id or ""
                raise malformed(f"the ID of a plan must be text of 1 to {LONGEST_ID} characters")
            if reply_to is not None and not isinstance(reply_to, str):
                reply_to = message.reply_to
                raise malformed("ReplyTo must be text")
            stamp = self._check_stamp(id, data.get("Stamp"))
            self._storage.add(id, message.body, message.signature, reply_to, stamp, message.patience, message.output)
        except (PlanError, OSError) as error:
            log.error("plan %s is not run: %s", id, error)
            text = result.failure(
                id,
                error if isinstance(error, PlanError) else PlanError(ANY, f"the server cannot keep the plan: {error}"),
            )
            self._answer(f"!{id}", id, reply_to, text, lambda: self._acknowledge(message.tag))
            return
        self._transport.acknowledge(message.tag)

    def _check_stamp(self, id: str, stamp: Any) -> int | None:
        if stamp is None:
            return None
        if isinstance(stamp, bool) or not isinstance(stamp, int):
            raise malformed("Stamp must be a whole number")
        last = self._storage.last_stamp
        if last is not None and (stamp == last or stamp < last - OVERTAKING):
            # Either a replay, or the clock of the engine was set back: in both cases somebody has to know.
            reason = f"the stamp {stamp} of plan {id} is not newer than {last}, the last one"
            raise PlanError(ANY, f"{reason}: is the engine's clock right?")
        return stamp

    def _acknowledge(self, tag: object) -> None:
        self._answered += 1
        if self._transport is not None:
            self._transport.acknowledge(tag)

    # -- running plans -------------------------------------------------------------------------------------------------

    def _answer_interrupted(self) -> None:
        for plan in self._storage.plans():
            if plan.started and plan.result is None:
                plan.end_leftovers()
                log.error("plan %s was interrupted by a restart of the agent", plan.id)
                self._fail(plan, "agent restarted during execution")

    def _start_plan(self) -> None:
        if self._running is not None:
            return
        for plan in self._storage.plans():
            if not plan.started and plan.result is None and plan.path not in self._unwritten:
                self._run(plan)
                return

    def _run(self, plan: StoredPlan) -> None:
        folder = self._storage.work_folder(plan.id)
        patience = None if plan.until is None else plan.until - boot_clock()
        if patience is not None and patience <= 0:
            log.error("plan %s is not run: nobody waits for its answer any more", plan.id)
            self._fail(plan, "the plan was not begun: the time for which its sender waits was over before")
            return

        def work() -> None:
            if self._pieces is not None:
                output.use(self._pieces.theirs)
            text = run.answer_plan(plan.id, plan.body, folder)
            plan.write_result(text)

        try:
            self._storage.reserve.prepare()
            plan.mark_started()
            self._pieces = output.Pieces(plan.id) if plan.output else None
            running = run.start(work, self._config.plan_timeout, self._let_go, patience)
            self._running = (plan, running)
            log.info("plan %s runs as process %d", plan.id, running.pid)
            plan.note_process(running.pid)
        except OSError as error:
            if self._running is None:
                self._close_pieces()
                self._fail(plan, f"the server cannot run the plan: {error}")
            else:
                log.warning("cannot note the process of plan %s: %s", plan.id, error)

    def _tell(self) -> None:
        """Sends on what the plan has written. Raises `TransportDown`."""
        if self._pieces is None or self._running is None:
            return
        plan = self._running[0]
        queue = (plan.reply_to if self._config.dynamic_result_queue else None) or self._config.result_routing_key
        for number, body in self._pieces.read():
            if self._transport is not None and queue:
                self._transport.tell(queue, plan.id, number, body)

    def _finish_plan(self) -> None:
        assert self._running is not None
        (plan, running), self._running = self._running, None
        self._close_pieces()
        if plan.result is None:
            log.error("plan %s: %s", plan.id, running.describe())
            self._fail(plan, running.describe())
        else:
            log.info("plan %s has ended", plan.id)

    def _close_pieces(self) -> None:
        if self._pieces is not None:
            self._pieces.close()
            self._pieces = None

    def _fail(self, plan: StoredPlan, message: str) -> None:
        text = result.failure(plan.id, PlanError(ANY, message))
        try:
            plan.write_result(text)
        except OSError as error:
            log.error("the answer to plan %s cannot be kept: %s", plan.id, error)
            self._unwritten[plan.path] = text

    def _say_refused(self, token: str, reason: str) -> bool:
        """Answers once that the answer to a plan could not be taken: nobody shall wait in vain. Whether it does so."""
        plan = next((plan for plan in self._storage.plans() if plan.path == token), None)
        if plan is None or token in self._refused:
            self._refused.discard(token)
            return False
        self._refused.add(token)
        self._fail(plan, f"the answer was refused: {reason}")
        return True

    def _let_go(self) -> None:
        """In the process of a plan: what belongs to the agent."""
        self._wake_in.close()
        self._wake_out.close()
        self._storage.release()
        if self._transport is not None:
            self._transport.close()

    # -- answering -----------------------------------------------------------------------------------------------------

    def _publish_answers(self) -> None:
        if self._transport is None:
            return
        now = time.monotonic()
        for plan in self._storage.plans():
            if plan.path in self._in_flight or self._later.get(plan.path, 0.0) > now:
                continue
            text = plan.result or self._unwritten.get(plan.path)
            if text is not None:
                self._later.pop(plan.path, None)
                self._answer(plan.path, plan.id, plan.reply_to, text, lambda plan=plan: self._forget(plan))  # type: ignore[misc]

    def _forget(self, plan: StoredPlan) -> None:
        self._unwritten.pop(plan.path, None)
        self._refused.discard(plan.path)
        self._storage.remove(plan)
        self._answered += 1

    def _answer(self, token: str, id: str, reply_to: str | None, text: str, done: Callable[[], None]) -> None:
        assert self._transport is not None
        queue = self._config.result_routing_key
        if self._config.dynamic_result_queue:
            queue = reply_to or queue
        if not id or not queue:
            log.error("plan %s says not where its answer shall go; it is dropped", id or "without ID")
            done()
            return
        self._in_flight[token] = done
        self._transport.publish(token, queue, id, text)


def _read(body: bytes) -> dict[str, Any]:
    try:
        data = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise malformed(f"the plan is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise malformed("a plan must be a JSON object")
    return data


def _nothing() -> None:
    pass
