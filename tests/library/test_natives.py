"""Native classes of the core library through a real engine: what packages call and what leaves the engine."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.host import Host
from vetro.muranopl.errors import MethodNotFound, SourceError
from vetro.muranopl.package_resolver import ResourceNotFound
from vetro.yaql.errors import NestingTooDeep, NoMatchingMethod, UnresolvedCall
from vetro.yaql.values import thaw

REPORTER = "- $r: new(sys:StatusReporter, environment => 'env-1')\n"


# -- Object ------------------------------------------------------------------------------------------------------------


BASE = """
Methods:
  other: {Body: [!yaql "$.setAttr(x, 2)"]}
  otherValue: {Body: [{Return: $.getAttr(x)}]}
"""


def test_attributes_belong_to_the_class_of_the_code() -> None:
    host = Host()
    body = (
        "- $.setAttr(x, 1)\n- $.other()\n"
        '- Return: !yaql "[$.getAttr(x), $.getAttr(x, 0, Base), $.getAttr(y, dflt), $.otherValue()]"'
    )
    assert host.run(body, rest="Extends: Base\n", classes={"Base": BASE}) == [1, 2, "dflt", 2]
    rows = sorted(host.session.serialize()["Attributes"])
    assert rows == [["root", "t.Base", "x", 2], ["root", "t.Main", "x", 1]]


def test_null_deletes_an_attribute_and_objects_are_stored_as_ids() -> None:
    body = "- $.setAttr(x, $this)\n- $a: $.getAttr(x)\n- $.setAttr(x, null)\n- Return: [$a, $.getAttr(x)]"
    assert Host().run(body) == ["root", None]


def test_attribute_arguments_are_checked() -> None:
    with pytest.raises(NoMatchingMethod, match="does not accept a value of type int as 'name'"):
        Host().run("- $.setAttr(1, 2)")


# -- StatusReporter, InstanceNotifier ----------------------------------------------------------------------------------


def test_reports_carry_source_and_level_and_the_host_notes_the_time() -> None:
    host = Host()
    host.run(REPORTER + "- $r.report($this, 'all well')\n- $r.report_error(null, bad)\n- $r.reportError($this, worse)")
    noted = [{k: v for k, v in report.items() if k != "timestamp"} for report in host.inner.reports]
    assert noted == host.performed("report")
    assert all(isinstance(report["timestamp"], float) for report in host.inner.reports)
    first, second, third = host.performed("report")
    assert first == {
        "id": "root",
        "text": "all well",
        "details": None,
        "level": "info",
        "environment_id": "env-1",
    }
    assert (second["id"], second["text"], second["level"]) == ("env-1", "bad", "error")
    assert (third["text"], third["level"]) == ("worse", "error")


def test_effect_keys_count_up() -> None:
    host = Host()
    host.run(REPORTER + "- $r.report(null, a)\n- $r.report(null, b)")
    assert [record.key for record in host.effects.records] == ["0/1", "0/2"]


def test_reports_want_an_object() -> None:
    with pytest.raises(NoMatchingMethod, match="as 'instance'"):
        Host().run(REPORTER + "- $r.report(5, text)")


ENVIRONMENT = {"?": {"type": "io.murano.Environment", "id": "env"}, "name": "e"}


def test_applications_report_themselves_to_statistics() -> None:
    host = Host()
    host.run(
        "- $.environment.applications[0].deploy()",
        rest="Properties: {environment: {Contract: $.class(std:Environment)}}\n",
        classes={
            "App": "Extends: std:Application\nMethods:\n  deploy:\n    Body:\n"
            "    - $.reportDeployed(title => shop, unitCount => 3)\n    - $.reportDestroyed()\n"
        },
        model={"environment": {**ENVIRONMENT, "applications": [{"?": {"type": "t.App", "id": "app"}}]}},
    )
    on, off = host.performed("track")
    assert on == {
        "event": "murano.track_instance",
        "instance": "app",
        "environment": "env",
        "instance_type": 100,
        "type_name": "t.App",
        "type_title": "shop",
        "unit_count": 3,
    }
    assert (off["event"], off["instance"], off["instance_type"]) == ("murano.untrack_instance", "app", 100)


# -- Logger ------------------------------------------------------------------------------------------------------------


def test_log_lines_are_formatted() -> None:
    host = Host()
    host.run(
        "- $l: logger('my.app')\n- $l.info('{0} of {n}', 1, n => 2)\n- $l.warning('100 % {}', done)\n- $l.trace(plain)"
    )
    assert host.performed("log") == [
        {"logger": "my.app", "level": "info", "text": "1 of 2"},
        {"logger": "my.app", "level": "warning", "text": "100 % done"},
        {"logger": "my.app", "level": "trace", "text": "plain"},
    ]


def test_a_bad_format_is_logged_as_it_is_with_a_warning() -> None:
    host = Host()
    host.run("- logger(x).error('{0} {1}', 1)")
    warning, line = host.performed("log")
    assert warning["level"] == "warning" and "bad format" in warning["text"]
    assert line == {"logger": "x", "level": "error", "text": "{0} {1}"}


def test_exceptions_are_logged_with_their_stack() -> None:
    host = Host()
    host.run(
        "- Try: $.fail()\n  Catch:\n    As: e\n    Do: !yaql \"logger(x).exception($e, 'went wrong')\"",
        rest="  fail: {Body: [{Throw: boom, Message: too hot}]}\n",
    )
    (line,) = host.performed("log")
    assert line["level"] == "error"
    head, *rest = line["text"].split("\n")
    assert head == "went wrong"
    assert rest[0] == "t.boom: too hot"
    assert any("in method fail of type t.Main" in text for text in rest)


def test_endless_messages_are_refused() -> None:
    body = "- $v: [1]\n- Repeat: 60\n  Do: {$v: [$v, $v]}\n"
    for call in (
        "$.setAttr(x, $v)",
        "logger(x).info($v)",
        "new(sys:StatusReporter, environment => e).report(null, $v)",
    ):
        with pytest.raises(NestingTooDeep):
            Host().run(body + f'- !yaql "{call}"')


# -- Resources ---------------------------------------------------------------------------------------------------------

FILES = {
    "a.txt": "hello\r\nworld\n",
    "d.json": '{"x": [1, 2]}',
    "d.yaml": "k: v\nd: 2013-05-23\nn: 5\nf: 1.5\nl: [~, yes]\n",
}


def resource(expression: str, **more: Any) -> Any:
    return Host().evaluate(expression, resources=FILES, **more)


def test_text_resources_have_universal_newlines() -> None:
    assert resource("new(sys:Resources).string('a.txt')") == "hello\nworld\n"
    assert resource("sys:Resources.string('a.txt')") == "hello\nworld\n"


def test_binary_resources_are_bytes_that_base64_takes() -> None:
    assert resource("base64encode(sys:Resources.string('a.txt', binary => true))") == "aGVsbG8NCndvcmxkCg=="


def test_structured_resources() -> None:
    assert resource("sys:Resources.json('d.json').x") == [1, 2]
    wanted = {"k": "v", "d": "2013-05-23", "n": 5, "f": 1.5, "l": [None, True]}
    assert resource("new(sys:Resources).yaml('d.yaml')") == wanted


@pytest.mark.parametrize("name", ["nope.txt", "../manifest.yaml", "/etc/hostname", "a/../../manifest.yaml"])
def test_resources_stay_in_their_folder(name: str) -> None:
    with pytest.raises(ResourceNotFound):
        resource(f"sys:Resources.string('{name}')")


def test_malformed_resources() -> None:
    with pytest.raises(ValueError, match=r"'a\.txt' is no JSON"):
        resource("sys:Resources.json('a.txt')")
    with pytest.raises(SourceError, match="not valid YAML"):
        Host().evaluate("sys:Resources.yaml('x')", resources={"x": "a: [b"})


def test_an_object_stays_bound_to_the_package_that_made_it() -> None:
    from vetro.packages import memory_package

    text = (
        "Name: other.Lib\nNamespaces: {sys: io.murano.system}\nMethods:\n"
        "  make: {Usage: Static, Body: [{Return: new(sys:Resources)}]}\n"
        '  here: {Usage: Static, Body: [{Return: !yaql "sys:Resources.string(f)"}]}\n'
    )
    other = memory_package(
        {"name": "other", "classes": {"other.Lib": text}, "format": "1.4", "resources": {"f": "theirs"}}
    )
    expression = (
        "[type('other.Lib').make().string(f), type('other.Lib').here(), sys:Resources.string(f), "
        "sys:Resources.string(f, owner => type('other.Lib'))]"
    )
    result = Host().evaluate(expression, resources={"f": "ours"}, require={"other": 0}, packages=(other,))
    assert result == ["theirs", "theirs", "ours", "theirs"]


# -- GC ----------------------------------------------------------------------------------------------------------------


def test_subscribers_are_told_before_the_publisher_goes() -> None:
    host = Host()
    result = host.run(
        "- $o: new(Item)\n- sys:GC.subscribeDestruction($o, $this, told)\n- $before: sys:GC.isDestroyed($o)\n"
        "- $o: null\n- sys:GC.collect()\n- Return: [$before, $.seen]",
        rest="  told:\n    Arguments: [{o: {Contract: $}}]\n"
        '    Body: [!yaql "$.seen": !yaql "[sys:GC.isDoomed($o), sys:GC.isDestroyed($o)]"]\n'
        "Properties: {seen: {Contract: $, Usage: Runtime, Default: null}}\n",
        classes={"Item": "Methods:\n  .destroy: {Body: }\n"},
    )
    assert result == [False, [True, False]]


def test_subscriptions_need_an_existing_method() -> None:
    with pytest.raises(MethodNotFound, match="'nope'"):
        Host().run("- sys:GC.subscribeDestruction(new(Main), $this, nope)")


# -- Exception, StackTrace ---------------------------------------------------------------------------------------------


def test_a_new_stack_trace_holds_the_calls_that_led_there() -> None:
    host = Host()
    frames = host.run(
        "- Return: $.inner().frames.select([$.typeName, $.methodName])",
        rest="  inner: {Body: [{Return: new(std:StackTrace)}]}\n",
    )
    assert frames == [["t.Main", "run"], ["t.Main", "inner"]]


def test_stack_traces_as_text() -> None:
    text = Host().run(
        "- Try: {Throw: boom}\n  Catch:\n    As: e\n    Do: {Return: !yaql \"$e.stackTrace.toString('> ')\"}"
    )
    place, instruction = text.split("\n")
    assert place.startswith('> File "') and ", line " in place and place.endswith("in method run of type t.Main")
    assert instruction.startswith("> ")


def test_exception_objects_show_name_message_and_causes() -> None:
    host = Host()
    session = host.load("Methods: {}")
    kind = session.types.core("io.murano.Exception")
    inner, outer = session.store.create(kind, {}), session.store.create(kind, {})
    inner.p_name, inner.p_message, inner.p_cause, inner.p_stackTrace = "a.inner", "first", None, None
    outer.p_name, outer.p_message, outer.p_cause, outer.p_stackTrace = "a.outer", "second", inner, None
    assert kind.find_method("toString").invoke(outer) == "a.outer: second\ncaused by a.inner: first"


def test_caught_exceptions_as_text() -> None:
    host = Host()
    text = host.run(
        "- Try: $.outer()\n  Catch:\n    As: e\n    Do: {Return: $e.toString()}",
        rest="  inner: {Body: [{Throw: first, Message: why}]}\n"
        "  outer:\n    Body:\n      Try: $.inner()\n"
        "      Catch: {As: e, Do: [{Throw: second, Message: because, Cause: $e}]}\n",
    )
    lines = text.split("\n")
    assert lines[0] == "t.second: because"
    assert lines[-1] == "caused by t.first: why"
    assert any("in method outer of type t.Main" in line for line in lines)


def test_exceptions_have_no_attributes_of_objects() -> None:
    with pytest.raises(UnresolvedCall):
        Host().run("- Try: {Throw: x}\n  Catch: {As: e, Do: [!yaql '$e.setAttr(a, 1)']}")


# -- User, Project -----------------------------------------------------------------------------------------------------


def test_identity_records_become_objects() -> None:
    host = Host()
    host.inner.register(
        "identity",
        lambda args: {"id": f"{args['of']}-id", "name": "n", "enabled": True, "links": {}, "shoe": 42, "email": "a@b"},
    )
    session = host.load(
        'Methods:\n  run: {Scope: Public, Body: [{Return: !yaql "[std:User.getCurrent(), '
        'std:Project.getEnvironmentOwner()]"}]}'
    )
    user, project = session.call("run")
    assert (user.p_id, user.p_name, user.p_domain, user.p_email) == ("caller-id", "n", "Default", "a@b")
    assert thaw(user.p_extra) == {"shoe": 42}
    assert (project.p_id, thaw(project.p_extra)) == ("environment-id", {"email": "a@b", "shoe": 42})
    assert host.performed("identity") == [{"what": "user", "of": "caller"}, {"what": "project", "of": "environment"}]


# -- TestFixture -------------------------------------------------------------------------------------------------------


def fixture(body: str, **more: Any) -> Any:
    return Host().run(body, rest="Extends: test:TestFixture\n", **more)


@pytest.mark.parametrize(
    "assertion",
    [
        "assertEqual(1, 2)",
        "assertEqual([1], [1, 2])",
        "assertTrue(false)",
        "assertFalse(1)",
        "assertIn(5, [1])",
        "assertNotIn(1, [1])",
        "assertIn(a, {b => 1})",
        "assertIn(z, abc)",
    ],
)
def test_assertions_fail(assertion: str) -> None:
    with pytest.raises(AssertionError):
        fixture(f'- !yaql "$.{assertion}"')
    message = assertion[:-1] + ", 'my message')"
    with pytest.raises(AssertionError, match=r"^my message: "):
        fixture(f'- !yaql "$.{message}"')


def test_assertions_hold() -> None:
    body = "\n".join(
        f'- !yaql "$.{a}"'
        for a in (
            "assertEqual({a => [1]}, {a => [1]})",
            "assertTrue(1)",
            "assertFalse([])",
            "assertIn(a, {a => 1})",
            "assertNotIn(z, abc)",
        )
    )
    assert fixture(body) is None


def test_fixtures_load_models_with_their_namespaces_and_ids() -> None:
    model = "{':Item' => {n => 4, child => {'?' => {type => 't.Item', id => kid}}}, id => top}"
    result = fixture(
        f'- $o: !yaql "$.load({model})"\n- Return: [id($o), $o.n, id($o.child), $o.child.find(Item) = $o]',
        classes={"Item": "Properties:\n  n: {Contract: $.int(), Default: 1}\n  child: {Contract: $.class(Item)}\n"},
    )
    assert result == ["top", 4, "kid", True]


def test_execution_sessions_are_effects() -> None:
    host = Host()
    host.run("- $.finishEnv()\n- $.startEnv()", rest="Extends: test:TestFixture\n")
    assert host.performed("execution") == [{"event": "finish"}, {"event": "start"}]


def test_fixture_methods_exist_on_fixtures_only() -> None:
    with pytest.raises(UnresolvedCall):
        Host().run("- $.assertTrue(true)")


# -- the environment of the tests --------------------------------------------------------------------------------------


def test_the_fixture_with_environment_has_a_dummy_network() -> None:
    body = (
        "- $.setUp()\n"
        "- $network: $.environment.regions.get('').defaultNetworks.environment\n"
        "- Return: [typeinfo($network).name, $network.joinInstance($network), $network.describe(), "
        "typeinfo($.environment.securityGroupManager).name]"
    ).replace("- Return: [", '- Return: !yaql "[') + '"'
    result = Host().run(body, rest="Extends: test:TestFixtureWithEnvironment\n")
    joined = {"template": {}, "portRef": None, "instanceFipOutput": None}
    assert result == ["io.murano.test.DummyNetwork", joined, {}, "io.murano.system.DummySecurityGroupManager"]
