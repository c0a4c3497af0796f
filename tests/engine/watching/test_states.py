"""What servers and checks make of a component."""

from __future__ import annotations

import pytest

from vetro.engine.watching.states import (
    SETTLED,
    CheckReport,
    Observation,
    ProbeState,
    State,
    component_report,
    server_finding,
    worst,
)

RUNNING = Observation(State.RUNNING)


@pytest.mark.parametrize(
    ("status", "stopped", "state"),
    [
        ("ACTIVE", None, State.RUNNING),
        ("ACTIVE", "ada", State.RUNNING),
        (None, None, State.DOWN),
        (None, "ada", State.DOWN),
        ("SHUTOFF", None, State.DOWN),
        ("SHUTOFF", "ada", State.STOPPED),
        ("ERROR", None, State.DOWN),
        ("ERROR", "ada", State.STOPPED),
        ("BUILD", None, State.DEGRADED),
        ("UNKNOWN", None, State.UNKNOWN),
    ],
)
def test_servers(status: str | None, stopped: str | None, state: State) -> None:
    found = server_finding("web", status, stopped)
    assert found.state is state and ("web" in found.text) is (state is not State.RUNNING)


def test_the_worst_counts() -> None:
    order = [State.RUNNING, State.STOPPED, State.UNKNOWN, State.DEGRADED, State.DOWN]
    for place, state in enumerate(order):
        found = worst(Observation(one) for one in order[: place + 1])
        assert found is not None and found.state is state
    assert worst([]) is None


def results(probe: ProbeState, *said: str | None, graced: bool = True) -> list[State | None]:
    found = []
    for text in said:
        probe.result(text, 1.0, graced)
        finding = probe.finding()
        found.append(None if finding is None else finding.state)
    return found


def test_what_an_author_declared_is_down_after_three_failures_and_well_after_two_successes() -> None:
    probe = ProbeState(declared=True)
    assert probe.finding() is None
    run, not_yet, down = State.RUNNING, State.DEGRADED, State.DOWN
    assert results(probe, None, "a", "b", None, "a", "b", "c") == [run] * 6 + [down]
    assert results(probe, None, "a", None, None) == [down, down, down, run]
    assert results(ProbeState(declared=True), "a", "b", "c") == [not_yet, not_yet, down]


def test_while_it_starts_a_failure_is_no_end_but_nothing_is_well_either() -> None:
    probe = ProbeState(declared=True)
    assert results(probe, "a", "b", "c", "d", graced=False) == [State.DEGRADED] * 4
    assert results(probe, "e") == [State.DOWN]


def test_a_guess_says_nothing_before_it_was_right_once_and_never_that_something_is_down() -> None:
    probe = ProbeState(declared=False)
    assert results(probe, *"abcdef") == [None] * 6
    assert results(probe, None, *"abc") == [State.RUNNING] * 3 + [State.DEGRADED]


def test_who_watches_next_goes_on_with_what_was_told() -> None:
    assert results(ProbeState(True, was="down"), None, None) == [State.DOWN, State.RUNNING]
    assert results(ProbeState(True, was="running"), "a", "b", "c") == [State.RUNNING, State.RUNNING, State.DOWN]
    assert results(ProbeState(False, was="degraded", reached=True), "a") == [State.DEGRADED]
    before = ProbeState(False, was="degraded", reached=True, text="it is gone")
    assert before.finding() == Observation(State.DEGRADED, "it is gone"), "with the reason, until there is another one"
    assert ProbeState(True, was="running", text="it was gone").text == ""


def test_a_place_that_was_guessed_is_named_once() -> None:
    refused = Observation(State.DEGRADED, "no connection to 10.0.0.5:80: refused")
    for guessed, said in ((True, refused.text), (False, f"http://10.0.0.5:80: {refused.text}")):
        check = CheckReport("k", "http://10.0.0.5:80", refused, True, guessed)
        report = component_report({}, [(check, "")])
        assert report.finding == Observation(State.DEGRADED, said)
    port = CheckReport("k", "tcp 80", refused, True, True)
    assert component_report({}, [(port, "")]).finding == Observation(State.DEGRADED, f"tcp 80: {refused.text}")


def test_pauses() -> None:
    probe = ProbeState(declared=True)
    results(probe, None)
    assert probe.pause(30, 10.0) == 30 and probe.pause(30, SETTLED + 2.0) == 60
    pauses = []
    for _ in range(7):
        results(probe, "a")
        pauses.append(probe.pause(30, 10.0))
    assert pauses == [10, 10, 10, 20, 30, 30, 30]
    guess = ProbeState(declared=False)
    pauses = []
    for _ in range(11):
        results(guess, "a")
        pauses.append(guess.pause(30, 10.0))
    assert pauses[-4:] == [320, 600, 600, 600]


def test_of_a_server_that_does_not_run_its_checks_say_nothing() -> None:
    failing = CheckReport("k", "http 80", Observation(State.DOWN, "no answer"))
    both = component_report({"a": RUNNING, "b": RUNNING}, [(failing, "a")])
    assert both.finding == Observation(State.DOWN, "http 80: no answer")
    dead = component_report({"a": Observation(State.STOPPED, "it was stopped"), "b": RUNNING}, [(failing, "a")])
    assert dead.finding == Observation(State.STOPPED, "it was stopped") and dead.checks[0].finding is None
    assert component_report({}, []).finding is None
