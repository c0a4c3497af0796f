"""Sends recorded requests to a service, in their order, and compares the answers."""

from __future__ import annotations

import copy
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.acceptance.golden import deviations
from tests.acceptance.golden.bodies import BOUNDARY, multipart_of
from tests.acceptance.golden.compare import Allowed, Answer, differences
from tests.acceptance.golden.names import Names
from tests.acceptance.golden.people import Site
from tests.acceptance.golden.recording import Exchange

#: Requests that start a task of an environment.
_STARTS: Final = re.compile(r"/v1/environments/(?P<id>[^/]+)(?:|/sessions/[^/]+/deploy|/actions/[^/]+)")
#: What steps are called that happen while a task runs.
_DURING: Final = re.compile(r"^(?!final|reports of).*(right after|during|while|running|not ready|immediately)")
#: 24: everything between the deployment and the end of its sleep.
_ASLEEP: Final = range(6, 23)
#: From the request that starts a task to the last one whose recorded answer is that of a task that has not reported.
_HELD: Final = {"24-deploy-conflicts": range(5, 23), "25-env-delete": range(11, 13), "30-actions": range(55, 59)}
_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Outcome:
    """One exchange as it went."""

    exchange: Exchange
    #: In words; empty: as recorded.
    differences: list[str]


class Replay:
    """Sends exchanges one after the other; ``names`` holds the ids that turned up."""

    def __init__(self, site: Site, exchanges: Iterable[Exchange]) -> None:
        self.site = site
        self.names = Names(site.known)
        self._exchanges = list(exchanges)
        #: Environment whose task has not been waited for, and the note of the step that started it.
        self._busy: tuple[str, str] | None = None

    def run(self, seen: Callable[[Exchange, Answer], None] | None = None) -> Iterator[Outcome]:
        """Each exchange's outcome, as they happen."""
        for position, exchange in enumerate(self._exchanges):
            during, held = self._during(exchange), _held(exchange)
            if not held:
                self.site.hold(False)
            if not during:
                self._await_end()
            if held:
                self.site.hold(True)
            answer = self._send(exchange)
            if seen is not None:
                seen(exchange, answer)
            candidates = [exchange.response]
            if during and not held:
                candidates += list(_finished(exchange, self._exchanges[position + 1 :]))
            yield Outcome(exchange, self._compare(exchange, candidates, answer))
            self._started(exchange, answer)
            for deviation in deviations.of(exchange):
                for then in deviation.then:
                    self._also(exchange, then)

    def _also(self, exchange: Exchange, then: deviations.Then) -> None:
        """Sends what the recording lacks; it has to succeed."""
        if then.method:
            request: dict[str, Any] = {"method": then.method, "path": then.path, "headers": {}}
            response: dict[str, Any] = {}
        else:
            request, response = {**exchange.request, "alone": True}, exchange.response["body"]["json"]
        answer = self._send(replace(exchange, actor=then.actor, request=request))
        assert answer.status == 200, f"after {exchange}: {answer.body!r}"
        placeholder = then.binds or response.get("id")
        if placeholder:
            self.names.values[placeholder] = answer.json()["id"]

    def _during(self, exchange: Exchange) -> bool:
        if self._busy is None:
            return False
        if exchange.file == "24-deploy-conflicts":
            return exchange.index in _ASLEEP
        if exchange.file == "40-cli":
            # After an action the recording program waited.
            return exchange.note == self._busy[1] and not exchange.note.startswith("action")
        return _DURING.search(exchange.note) is not None

    def _started(self, exchange: Exchange, answer: Answer) -> None:
        method, path = exchange.request["method"], exchange.request["path"]
        found = _STARTS.fullmatch(path)
        starts = (
            found and answer.status == 200 and (method == "DELETE" or (method == "POST" and found[0].count("/") > 3))
        )
        if starts and found:
            self._busy = (self.names.fill(found["id"]), exchange.note)

    def _await_end(self) -> None:
        """Asks for the environment until its task is over, as the recording program did."""
        if self._busy is None:
            return
        path, end = f"/v1/environments/{self._busy[0]}", time.monotonic() + _SECONDS
        self._busy = None
        while True:
            answer = self.site.send("admin", "GET", path, {}, None)
            if answer.status != 200 or answer.json()["status"] not in ("deploying", "deleting"):
                return
            assert time.monotonic() < end, f"{path} is still {answer.json()['status']} after {_SECONDS:.0f} s"
            time.sleep(0.03)

    def _send(self, exchange: Exchange) -> Answer:
        request = exchange.request
        path = self.names.fill(request["path"])
        if "query" in request:
            path += "?" + self.names.fill(request["query"])
        headers = {name: self.names.fill(value) for name, value in request["headers"].items()}
        body = multipart_of(exchange)
        if body is not None:
            headers["content-type"] = f"multipart/form-data; boundary={BOUNDARY}"
        elif "json" in request.get("body", {}):
            body = json.dumps(self.names.fill(request["body"]["json"])).encode()
        elif "text" in request.get("body", {}):
            body = request["body"]["text"].encode()
        return self.site.send(_actor(exchange), request["method"], path.encode().decode("latin-1"), headers, body)

    def _compare(self, exchange: Exchange, candidates: list[dict[str, Any]], answer: Answer) -> list[str]:
        allowed = deviations.EVERYWHERE
        for deviation in deviations.of(exchange):
            if deviation.change is not None:
                candidates = [deviation.change(exchange, one) for one in candidates]
            allowed = _joined(allowed, deviation.allowed)
        first: list[str] = []
        for number, recorded in enumerate(candidates):
            trial = self.names.copy()
            found = differences(recorded, answer, trial, allowed)
            if number == 0:
                first, kept = found, trial
            if not found:
                self.names.learn(trial)
                return []
        # Ids of an answer that differs elsewhere are good all the same.
        self.names.learn(kept)
        return first


def _actor(exchange: Exchange) -> str:
    if exchange.actor != "<cli-user>":
        return exchange.actor
    setup = exchange.file == "00-setup" and exchange.index < 4
    return "admin" if setup or exchange.note in ("category-create", "category-show", "category-delete") else "demo"


def _held(exchange: Exchange) -> bool:
    """Whether the task waits meanwhile, so that the recorded answer is the only one however fast the machine is."""
    return exchange.index in _HELD.get(exchange.file, ())


def _finished(exchange: Exchange, later: list[Exchange]) -> Iterator[dict[str, Any]]:
    """What the same request is answered when the task is over."""
    for other in later:
        if other.target == exchange.target:
            yield other.response
            break
    body = exchange.response.get("body", {}).get("json")
    if isinstance(body, dict) and body.get("status") == "deploying":
        for status in ("ready", "deploy failure"):
            done = copy.deepcopy(body)
            done.update(status=status, version=body["version"] + 1, acquired_by=None)
            for service in done["services"]:
                service["?"]["status"] = status
            yield {**exchange.response, "body": {"json": done}}


def _joined(one: Allowed, other: Allowed) -> Allowed:
    return replace(
        one,
        more=one.more + other.more,
        free=one.free + other.free,
        kinds=one.kinds + other.kinds,
        contains=one.contains + other.contains,
        unordered=one.unordered + other.unordered,
        whole=one.whole or other.whole,
    )
