"""What a run says holds no value of a secret property or argument; what it computes does."""

from __future__ import annotations

from typing import Any

import pytest

from vetro.muranopl import Engine
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.muranopl.secrecy import secret_arguments, secret_properties
from vetro.packages import memory_package
from vetro.yaql.errors import VetroError
from vetro.yaql.redact import MASK

CANARY = "canary-0123456789-" * 9
HEAD = "Namespaces: {=: t, forms: io.murano.metadata.forms, std: io.murano, sys: io.murano.system}\n"
BASE = """
Name: Base
Properties:
  inherited: {Contract: $.string(), Usage: InOut, Meta: {forms:Secret: {}}}
  opened: {Contract: $.string(), Usage: InOut, Meta: {forms:Secret: {}}}
"""
MAIN = """
Name: Main
Extends: Base
Properties:
  password: {Contract: $.string().notNull(), Usage: InOut, Default: none, Meta: {forms:Secret: {}}}
  port: {Contract: $.int(), Usage: InOut, Meta: {forms:Secret: {}}}
  short: {Contract: $.string().check(len($) > 9), Usage: InOut, Default: '0123456789', Meta: {forms:Secret: {}}}
  users: {Contract: [{name: $.string(), age: $.int()}], Usage: InOut, Default: [], Meta: {forms:Secret: {}}}
  opened: {Contract: $.string(), Usage: InOut, Meta: {forms:Secret: {secret: false}}}
  plain: {Contract: $.int(), Usage: InOut}
Methods:
  setPort: {Body: {$.port: $.password}}
  setShort: {Arguments: [{x: {Contract: $.string()}}], Body: {$.short: $x}}
  setPlain: {Body: [{$.plain: !yaql "'connect as {0}'.format($.password)"}]}
  throw: {Body: {Throw: Broken, Message: $.password + '!', Extra: {details: {stderr: !yaql "'login ' + $.password"}}}}
  named: {Body: {Return: $.password.nothing()}}
  number: {Body: {Return: int($.password)}}
  key: {Body: [$.nested().get(1), {Return: $.password.nothing($.password)}]}
  encoded: {Body: {Throw: Broken, Message: "base64encode('u:' + $.password)"}}
  nested:
    Body:
      Try: {$.port: $.password}
      Catch: {As: e, Do: {Throw: Broken, Message: $e.message + ' for ' + $.password}}
  report:
    Body:
      - $r: new(sys:StatusReporter)
      - $r.report($this, 'password ' + $.password)
  take:
    Scope: Public
    Arguments:
      - word: {Contract: $.string().check(len($) < 5), Meta: {forms:Secret: {}}}
      - rest: {Usage: VarArgs, Contract: $.int(), Meta: {forms:Secret: {}}}
      - named: {Usage: KwArgs, Contract: $.int(), Meta: {forms:Secret: {}}}
    Body: {Return: $word}
  give:
    Usage: Static
    Scope: Public
    Arguments: [{word: {Contract: $.string(), Meta: {forms:Secret: {}}}}]
    Body: {Throw: Broken, Message: !yaql "'not ' + $word"}
  use:
    Body:
      - Return: list($.password.len(), $.password + x, '{0}'.format($.password), $.password = $.password)
  open: {Body: {Throw: Broken, Message: decryptData(ref)}}
"""


def session(**options: Any) -> Any:
    texts = {"t.Main": HEAD + MAIN, "t.Base": HEAD + BASE}
    package = memory_package({"name": "t", "version": "1.0.0", "format": "1.4", "classes": texts})
    return Engine([package], **options).session()


def loaded(**values: Any) -> Any:
    made = session(secrets=lambda ref: CANARY + str(ref))
    made.load({"Objects": {"?": {"type": "t.Main", "id": "m"}, "password": CANARY, **values}})
    return made


def everything(error: BaseException) -> str:
    """All that anybody could print of an error."""
    from vetro.engine.failure import describe
    from vetro.muranopl.tools.render import render

    behind = [error.__cause__, error.__context__]
    return f"{error} {error!r} {vars(error)} {describe(error)} {render(error)} {behind}"


def test_which_members_are_secret() -> None:
    kind = session().types.find("t.Main", ">=0")
    assert secret_properties(kind) == {"inherited", "password", "port", "short", "users"}
    assert secret_arguments(kind, "take") == {"word", "rest", "named"}
    assert secret_arguments(kind, "setShort") == frozenset()


@pytest.mark.attack("secrets", "M1")
@pytest.mark.parametrize(
    ("values", "place"),
    [
        ({"port": CANARY}, "t.Main.port"),
        ({"port": "q_z7"}, "t.Main.port"),
        ({"short": "abc"}, "t.Main.short"),
        ({"password": {"a": CANARY}}, "t.Main.password"),
        ({"inherited": [CANARY]}, "t.Base.inherited"),
        ({"users": [{"name": "n", "age": CANARY}]}, "t.Main.users"),
    ],
)
def test_a_failed_contract_names_the_property_and_not_the_value(values: dict[str, Any], place: str) -> None:
    with pytest.raises(VetroError) as caught:
        loaded(**values)
    said = everything(caught.value)
    assert place in caught.value.message
    for word in ("canary", "q_z7", "'abc'"):
        assert word not in said


@pytest.mark.attack("secrets", "M1")
@pytest.mark.parametrize(
    "method", ["setPort", "setPlain", "throw", "named", "number", "key", "encoded", "nested", "open"]
)
def test_no_error_of_a_method_holds_a_secret(method: str) -> None:
    made = loaded()
    with pytest.raises(Exception) as caught:  # of any class
        made.call(method, public_only=False)
    assert caught.value.__class__.__name__ not in ("SourceError", "MethodNotFound")
    said = everything(caught.value)
    assert "canary" not in said and "Y2FuYXJ5" not in said


@pytest.mark.attack("secrets", "M1")
@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [((CANARY,), {}, ["canary"]), (("1234567",), {}, ["1234567"]), ((), {"word": CANARY}, ["canary"]),
     (("a", CANARY), {}, ["canary"]), (("a",), {"else": CANARY}, ["canary"]), (("a", "xyzzy"), {}, ["xyzzy"])],
)  # fmt: skip
def test_a_failed_argument_is_named_and_not_quoted(args: Any, kwargs: Any, words: list[str]) -> None:
    with pytest.raises(VetroError) as caught:
        loaded().call("take", args, kwargs)
    said = everything(caught.value)
    assert "t.Main::take" in said
    assert not [word for word in words if word in said]


@pytest.mark.attack("secrets", "M1")
def test_arguments_of_static_methods_are_secret_too() -> None:
    with pytest.raises(VetroError, match=f"not {MASK}"):
        session().call("give", [CANARY], on_class={"name": "t.Main", "version": ">=0"})


def test_wrong_calls_of_methods_with_secret_arguments_say_what_they_take() -> None:
    with pytest.raises(VetroError, match="takes 0 to 1 arguments, 2 given; it takes: word"):
        session().call("give", ["a", "b"], on_class={"name": "t.Main", "version": ">=0"})


@pytest.mark.attack("secrets", "M1")
def test_reports_hold_no_secret_and_packages_compute_with_it() -> None:
    effects = InProcessEffects()
    made = session(effects=effects)
    made.load({"Objects": {"?": {"type": "t.Main", "id": "m"}, "password": CANARY}})
    made.call("report", public_only=False)
    assert effects.reports[0]["text"] == f"password {MASK}"
    assert made.call("use", public_only=False) == (len(CANARY), CANARY + "x", CANARY, True)
    assert made.serialize()["Objects"]["password"] == CANARY


def test_the_nearest_class_may_open_what_another_one_hides() -> None:
    made = loaded(opened="an open word")
    assert made.redaction.text("an open word") == "an open word"
