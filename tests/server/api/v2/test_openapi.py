"""What /v2 promises against what it answers: schemathesis sends what the description allows, and what it does not.

No answer is a 5xx, and each is one that the description has: status, type, headers, shape. Half of the requests are
about things that are there. Every request is taken back afterwards, so that the order does not matter.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import schemathesis
from django.core import signals
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.support.fuzzing import EVERYTHING, every
from vetro.server.http.application import Application

EXAMPLES = int(os.environ.get("VETRO_TEST_EXAMPLES", "4" if EVERYTHING else "2"))
GROUPS = 4
#: Watching never ends, and has tests of its own; static methods wait for a worker (`test_tasks`).
APART = {"watchEvents", "callStaticMethod"}
CHECKS: Any = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


@cache
def operations() -> list[Any]:
    schema = schemathesis.openapi.from_wsgi("/v2/openapi.json", Application())
    found = [result.ok() for result in schema.get_all_operations()]
    # By method: each group gets as many of those that read, and do something most of the time, as the others.
    found.sort(key=lambda one: str(one.method))
    return [one for one in found if one.definition.raw["operationId"] not in APART]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Waiting for a task that nobody runs would take its time, and logging in with many wrong passwords ends in 429."""
    from vetro.server.tasks import wait as waiting

    real = waiting.wait
    monkeypatch.setattr(waiting, "wait", lambda task_id, seconds: real(task_id, min(seconds, 0.01)))
    yield


@pytest.fixture(autouse=True)
def _one_connection(real: dict[str, str]) -> Iterator[None]:
    """The end of a request closes connections that stand in a transaction, and here each does: the test's own.

    After ``real``, since Django's test client puts the signal back in its place.
    """
    signals.request_finished.disconnect(close_old_connections)
    yield
    signals.request_finished.connect(close_old_connections)


@pytest.mark.parametrize("group", every(4, range(GROUPS)))
def test_what_is_described_is_what_is_answered(ann: Any, root: Any, real: dict[str, str], group: int) -> None:
    known = operations()
    assert len(known) > 75
    problems: list[str] = []
    answered: dict[str, set[int]] = {}
    for number, operation in enumerate(known[group::GROUPS]):
        id = operation.definition.raw["operationId"]
        person = root if "administration" in operation.tags or "categories" in operation.tags else ann
        named = {p.name: real[p.name] for p in operation.path_parameters if p.name in real}
        modes = (GenerationMode.POSITIVE, GenerationMode.NEGATIVE)
        for mode in modes if EVERYTHING or number % 2 else modes[:1]:
            try:
                strategy = operation.as_strategy(generation_mode=mode)
                if named:
                    strategy = st.one_of(strategy, operation.as_strategy(generation_mode=mode, path_parameters=named))
                statuses = drive(strategy, person.token)
            except Unsatisfiable:
                assert mode is GenerationMode.NEGATIVE  # there is nothing to send wrongly
            except (AssertionError, FailureGroup) as error:
                problems.append(f"{id} ({mode.value}): {error}")
                for one in getattr(error, "exceptions", ()):
                    problems.append(f"    {one}")
            else:
                answered.setdefault(id, set()).update(statuses)
    assert not problems, "\n".join(problems)
    # It was no monologue: most operations did something.
    assert sum(any(status < 300 for status in found) for found in answered.values()) > len(answered) / 2


def drive(strategy: Any, token: str) -> set[int]:
    """Sends examples; their statuses. Raises what a check raises."""
    statuses: set[int] = set()

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=strategy)
    def send(case: Any) -> None:
        with transaction.atomic():
            response = case.call(headers={"X-Auth-Token": token})
            transaction.set_rollback(True)
        statuses.add(response.status_code)
        case.validate_response(response, checks=CHECKS)

    send()
    return statuses
