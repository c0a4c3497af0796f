"""HeatStack: what is sent to a cloud, when, and what comes of failures (CORE_LIBRARY.md 3; stackdata)."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.library.simulator import Simulator
from tests.support.host import Host
from vetro.library.stackdata import digest_of, parts_of
from vetro.muranopl.runtime.effects import EffectError
from vetro.muranopl.runtime.exceptions import names_of
from vetro.muranopl.runtime.execution import RealClock

NEW = '- $s: !yaql "new(sys:HeatStack, name => s, description => d, regionName => r)"\n'
FIXED = {"heat_template_version": "2013-05-23", "description": "d"}


def simulated() -> tuple[Host, Simulator]:
    host = Host()
    return host, Simulator().install(host)


def steps(*texts: str) -> str:
    return NEW + "".join(f'- !yaql "{text}"\n' for text in texts)


UPDATE = "$s.updateTemplate({{resources => {{{0} => {{x => {1}}}}}}})"


def test_templates_merge_and_only_changes_are_pushed() -> None:
    host, cloud = simulated()
    result = host.run(
        steps(
            "$s.push()",
            "$s.updateTemplate({resources => {a => {x => [1]}, b => {y => 1}}, outputs => {o => {value => 7}}})",
            "$s.updateTemplate({resources => {a => {x => [1, 2], y => 3}}})",
            "$s.push()",
            "$s.push()",
            "$s.updateTemplate({resources => {a => {y => 3}}})",
            "$s.push()",
            "$s.updateTemplate({resources => {a => {y => 4}}, outputs => {p => {value => 8}}})",
            "$s.push()",
        )
        + "- Return: [$s.current(), $s.output()]"
    )
    a, b = {"x": [1, 2], "y": 3}, {"y": 1}
    assert result == [
        {"resources": {"a": {**a, "y": 4}, "b": b}, "outputs": {"o": {"value": 7}, "p": {"value": 8}}},
        {"o": 7, "p": 8},
    ]
    first, second = cloud.pushes
    whole = {**FIXED, "resources": {"a": a, "b": b}, "outputs": {"o": {"value": 7}}}
    assert (first["name"], first["region"], first["base"], first["known"], first["drop"]) == ("s", "r", None, None, [])
    assert sorted(map(str, first["put"])) == sorted(str([*part, value]) for part, value in parts_of(whole).items())
    assert first["digest"] == digest_of(parts_of(whole))
    assert second["put"] == [["outputs", "p", {"value": 8}], ["resources", "a", {**a, "y": 4}]]
    assert (second["base"], second["known"], second["drop"]) == (first["digest"], first["digest"], [])


def test_keys_that_go_are_dropped() -> None:
    host, cloud = simulated()
    host.run(
        steps(
            "$s.updateTemplate({resources => {a => 1, b => 2}, conditions => {c => 1}})",
            "$s.updateTemplate({outputs => {o => {value => 1}}})",
            "$s.push()",
            "$s.setTemplate($s.current().set(resources, {b => 2}).delete(outputs, conditions))",
            "$s.push()",
        )
    )
    last = cloud.pushes[-1]
    assert (last["put"], last["drop"]) == ([], [["conditions", "c"], ["outputs", "o"], ["resources", "a"]])
    assert cloud.template() == {**FIXED, "resources": {"b": 2}}


def test_outputs_follow_the_changes() -> None:
    host, _ = simulated()
    assert host.run(
        steps(
            "$s.updateTemplate({resources => {a => 1}, outputs => {o => {value => 1}, p => {value => 2}}})",
            "$s.push()",
            "$s.setTemplate($s.current().set(outputs, {p => {value => 3}, q => {value => 4}}))",
            "$s.push()",
        )
        + "- Return: $s.output()"
    ) == {"p": 3, "q": 4}
    assert len(host.performed("stack.read")) == 1


def seeded(cloud: Simulator, template: dict[str, Any], **values: Any) -> None:
    """A stack that is in the cloud already."""
    parts = parts_of({**FIXED, **template}, values)
    cloud.stack_push(
        {"name": "s", "base": None, "digest": digest_of(parts), "put": [[*p, v] for p, v in parts.items()],
         "drop": [], "known": None}
    )  # fmt: skip
    cloud.pushes.clear()


def test_the_first_look_reads_the_stack_and_pushes_change_it() -> None:
    host, cloud = simulated()
    seeded(cloud, {"resources": {"a": 1}, "outputs": {"o": {"value": 5}}})
    result = host.run(
        steps("$s.updateTemplate({resources => {b => 2}})", "$s.push()") + "- Return: [$s.current(), $s.output()]"
    )
    template = {**FIXED, "resources": {"a": 1, "b": 2}, "outputs": {"o": {"value": 5}}}
    assert result == [template, {"o": 5}]
    (pushed,) = cloud.pushes
    assert (pushed["put"], pushed["drop"]) == ([["resources", "b", 2]], [])
    assert pushed["base"] == pushed["known"] == digest_of(parts_of({**template, "resources": {"a": 1}}))
    assert len(host.performed("stack.read")) == 1


def test_what_is_merged_alike_is_not_pushed() -> None:
    host, cloud = simulated()
    seeded(cloud, {"resources": {"a": {"l": [1, 2]}}})
    host.run(steps("$s.updateTemplate({resources => {a => {l => [2]}}})", "$s.push()"))
    assert cloud.pushes == []


def test_nothing_is_read_before_it_is_needed() -> None:
    host, _ = simulated()
    host.run(steps("$s.updateTemplate({resources => {a => 1}})"))
    assert host.performed("stack.read") == []


def test_parameters_of_a_stack_that_was_read() -> None:
    host, cloud = simulated()
    seeded(cloud, {"resources": {"a": 1}}, p=1, **{"OS::stack_id": "x"})
    assert host.run(steps() + "- Return: $s.parameters()") == {"p": 1}
    host.run(steps("$s.setParameters({p => 2})", "$s.push()"))
    (pushed,) = cloud.pushes
    # Not everything of the old stack is known: the whole is sent.
    assert pushed["base"] is None and ["parameter values", "p", 2] in pushed["put"]


def test_parameters_files_and_environment() -> None:
    host, cloud = simulated()
    texts = ("$s.setParameters({p => 1})", "$s.setFiles({f => text})", "$s.setHotEnvironment(env)", "$s.push()")
    host.run(
        steps("$s.setTemplate({resources => {a => 1}})", *texts)
        + '- !yaql "$s.setFiles({g => text})"\n- $s.setHotEnvironment(null)\n- $s.push()'
    )
    first, second = cloud.pushes
    for part in (["parameter values", "p", 1], ["stack files", "f", "text"], ["stack environment", "", "env"]):
        assert part in first["put"]
    assert second["put"] == [["stack files", "g", "text"]]
    assert second["drop"] == [["stack environment", ""], ["stack files", "f"]]


def test_reload_forgets_what_nobody_pushed() -> None:
    host, cloud = simulated()
    seeded(cloud, {"resources": {"a": 1}})
    text = steps("$s.updateTemplate({resources => {b => 2}})") + "- Return: [$s.current(), $s.reload()]"
    current, reloaded = host.run(text)
    assert (current["resources"], reloaded["resources"]) == ({"a": 1, "b": 2}, {"a": 1})


def test_a_stack_in_another_state_gets_the_whole() -> None:
    host, cloud = simulated()
    seeded(cloud, {"resources": {"a": 1}})
    read = cloud.stack_read

    def outdated(args: dict[str, Any]) -> Any:
        found = read(args)
        seeded(cloud, {"resources": {"a": 9, "z": 9}})
        return found

    host.inner.register("stack.read", outdated)
    host.run(steps("$s.updateTemplate({resources => {b => 2}})", "$s.push()"))
    assert [pushed["base"] is None for pushed in cloud.pushes] == [False, True]
    assert cloud.template()["resources"] == {"a": 1, "b": 2}


def test_an_empty_template_deletes_the_stack() -> None:
    host, cloud = simulated()
    result = host.run(
        steps(
            "$s.updateTemplate({resources => {a => 1}, outputs => {o => {value => 1}}})",
            "$s.push()",
            "$s.setTemplate({outputs => {o => {value => 1}}})",
            "$s.push()",
        )
        + "- Return: $s.output()"
    )
    assert (result, cloud.stacks, len(cloud.pushes)) == ({}, {}, 1)
    assert [args["name"] for args in host.performed("stack.delete")] == ["s"]


def test_a_deleted_stack_is_empty_and_can_be_made_again() -> None:
    host, cloud = simulated()
    result = host.run(
        steps("$s.updateTemplate({resources => {a => 1}})", "$s.push()", "$s.delete()")
        + '- $empty: $s.current()\n- !yaql "$s.updateTemplate({resources => {b => 2}})"\n- $s.push()\n'
        "- Return: [$empty, $s.current()]"
    )
    assert result == [{}, {"resources": {"b": 2}}]
    assert cloud.pushes[-1]["base"] is None and cloud.template()["resources"] == {"b": 2}


def test_keys_that_are_numbers_become_text() -> None:
    host, cloud = simulated()
    host.run(steps("$s.updateTemplate({resources => {1 => {2 => x}}})", "$s.push()"))
    assert cloud.template()["resources"] == {"1": {"2": "x"}}


def test_other_template_versions_are_refused() -> None:
    with pytest.raises(Exception, match="version 2099-01-01 cannot be merged") as caught:
        Host().run(NEW + "- !yaql \"$s.updateTemplate({heat_template_version => '2099-01-01'})\"")
    assert "heat_stack.HeatStackError" in caught.value.aliases[0]  # type: ignore[attr-defined]


def test_objects_have_no_place_in_templates() -> None:
    host, _ = simulated()
    with pytest.raises(Exception, match="a template cannot hold"):
        host.run(steps("$s.updateTemplate({resources => {a => $s}})", "$s.push()"))


def test_without_a_cloud_pushing_resources_says_so() -> None:
    with pytest.raises(EffectError, match="no cloud is configured, stack 's'"):
        Host().run(NEW + '- !yaql "$s.setTemplate({resources => {a => 1}})"\n- $s.push()')


# -- pushes that are put off -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["isAsync", "async"])
def test_asynchronous_pushes_are_made_at_the_end(name: str) -> None:
    host, cloud = simulated()
    host.run(
        steps("$s.updateTemplate({resources => {a => 1}})", f"$s.push({name} => true)", f"$s.push({name} => true)")
    )
    assert cloud.pushes == []
    host.session.finish()
    assert len(cloud.pushes) == 1
    host.session.finish()
    assert len(cloud.pushes) == 1


@pytest.mark.parametrize("ending", ["$s.output()", "$s.reload()", "$s.push()"])
def test_asynchronous_pushes_come_before_what_needs_them(ending: str) -> None:
    host, cloud = simulated()
    host.run(
        steps(
            "$s.updateTemplate({resources => {a => 1}})",
            "$s.push(isAsync => true)",
            "$s.updateTemplate({resources => {b => 1}})",
            ending,
        )
    )
    assert [sorted(key for section, key, _ in p["put"] if section == "resources") for p in cloud.pushes] == [["a", "b"]]
    host.session.finalize()
    assert len(cloud.pushes) == 1


def test_a_stack_that_is_deleted_has_nothing_left_to_push() -> None:
    host, cloud = simulated()
    host.run(steps("$s.updateTemplate({resources => {a => 1}})", "$s.push(isAsync => true)", "$s.delete()"))
    host.session.finish()
    assert cloud.pushes == []


def test_failures_of_asynchronous_pushes_are_raised_at_the_end() -> None:
    host, cloud = simulated()
    cloud.failures.append("CREATE_FAILED: no host")
    host.run(steps("$s.updateTemplate({resources => {a => 1}})", "$s.push(isAsync => true)"))
    with pytest.raises(Exception, match="CREATE_FAILED: no host"):
        host.session.finalize()
    host.session.finalize()  # the failure was told once; what is left is the model


# -- failures ----------------------------------------------------------------------------------------------------------


NAMES = ["murano.engine.system.heat_stack.HeatStackError", "EnvironmentError", "StackFailure"]


def test_a_failed_push_has_the_names_it_always_had() -> None:
    host, cloud = simulated()
    cloud.failures.append("UPDATE_FAILED: no host")
    with pytest.raises(Exception, match="UPDATE_FAILED: no host") as caught:
        host.run(steps("$s.updateTemplate({resources => {a => 1}})", "$s.push()"))
    assert set(NAMES) <= set(names_of(caught.value))


def test_a_failed_push_can_be_caught_and_repeated() -> None:
    host, cloud = simulated()
    cloud.failures.append("UPDATE_FAILED: no host")
    found = host.run(
        steps("$s.updateTemplate({resources => {a => 1}})")
        + f"- Try: $s.push()\n  Catch:\n    With: {NAMES[0]}\n    As: e\n    Do: {{$text: $e.message}}\n"
        + "- $s.push()\n- Return: $text"
    )
    assert found == "UPDATE_FAILED: no host"
    assert [p["base"] for p in cloud.pushes] == [None, None]
    assert cloud.template()["resources"] == {"a": 1}


def test_after_a_failure_the_whole_is_sent() -> None:
    host, cloud = simulated()
    body = steps(
        "$s.updateTemplate({resources => {a => 1}})", "$s.push()", "$s.updateTemplate({resources => {b => 2}})"
    )
    fails = "- Try: $s.push()\n  Catch: {}\n".replace("Catch: {}", "Catch:\n    Do: []")
    cloud_push, count = cloud.stack_push, []

    def push(args: dict[str, Any]) -> Any:
        count.append(1)
        if len(count) == 2:
            cloud.failures.append("UPDATE_FAILED")
        return cloud_push(args)

    host.inner.register("stack.push", push)
    host.run(body + fails + "- $s.push()")
    assert [p["base"] is None for p in cloud.pushes] == [True, False, True]


def test_a_stack_that_had_failed_before_is_pushed_without_changes() -> None:
    host, cloud = simulated()
    seeded(cloud, {"resources": {"a": 1}})
    host.inner.register("stack.read", lambda args: {**cloud.stack_read(args), "status": "UPDATE_FAILED"})
    host.run(steps("$s.updateTemplate({resources => {a => 1}})", "$s.push()"))
    (pushed,) = cloud.pushes
    assert (pushed["put"], pushed["drop"], pushed["base"]) == ([], [], pushed["digest"])


# -- many branches -----------------------------------------------------------------------------------------------------

MANY = (
    '- $s.current()\n- $all: !yaql "range(40).pselect($this.one($s, $))"\n- Return: !yaql "$all.toList()"',
    "  one:\n    Meta: {io.murano.metadata.engine.Synchronize: {onThis: false}}\n"
    "    Arguments: [{s: {Contract: $}}, {n: {Contract: $}}]\n    Body:\n"
    "      - !yaql \"$s.updateTemplate({resources => {format('r{0}', $n) => $n}, outputs => {$n => {value => $n}}})\"\n"
    "      - $s.push()\n"
    "      - Return: $s.output().get(str($n))\n",
)


def test_branches_push_together() -> None:
    host, cloud = simulated()
    assert host.run(NEW + MANY[0], rest=MANY[1]) == list(range(40))
    assert len(cloud.pushes) == 2
    assert len(cloud.template()["resources"]) == 40


def test_branches_push_together_on_a_real_clock() -> None:
    host = Host()
    host.clock = RealClock()  # type: ignore[assignment]
    cloud = Simulator().install(host)
    first = threading.Event()

    def push(args: dict[str, Any]) -> Any:
        first.set()
        return cloud.stack_push(args)

    host.inner.register("stack.push", push)
    assert host.run(NEW + MANY[0], rest=MANY[1]) == list(range(40))
    assert first.is_set() and len(cloud.pushes) < 10


def test_a_failure_reaches_all_branches_whose_changes_it_held() -> None:
    host, cloud = simulated()
    cloud.failures.extend(["CREATE_FAILED: first", "CREATE_FAILED: second"])
    caught = MANY[1].replace(
        "      - $s.push()\n", "      - Try: $s.push()\n        Catch: {As: e, Do: {Return: $e.message}}\n"
    )
    found = host.run(NEW + MANY[0], rest=caught)
    assert found == ["CREATE_FAILED: first"] + ["CREATE_FAILED: second"] * 39
    assert len(cloud.pushes) == 2
