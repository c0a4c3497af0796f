"""What programs that use the language as a library ask of it."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from vetro.muranopl import Engine
from vetro.muranopl.errors import PropertyReadError, Thrown
from vetro.muranopl.tools.render import format_trace
from vetro.packages import memory_package
from vetro.yaql.values import thaw

TEXT = """\
Name: s.Main
Properties:
  items: {Contract: [$.int()], Default: [1, 2]}
Methods:
  run:
    Scope: Public
    Body:
      - Return: {me: [$this, 1], next: yield(3)}
  fail:
    Scope: Public
    Body:
      - $.inner()
  inner:
    Body:
      - Throw: Bad
        Message: it is broken
---
Name: s.Other
"""


@pytest.fixture(params=["compiled", "closure"])
def session(request: pytest.FixtureRequest) -> Any:
    tier: Literal["compiled", "closure"] = request.param
    classes = {"s.Main": "All.yaml", "s.Other": "All.yaml"}
    package = memory_package({"name": "s", "format": "1.4", "files": {"All.yaml": TEXT}, "classes": classes})
    made = Engine([package], functions={"yield": lambda x: x + 1}, tier=tier).session()
    made.load({"Objects": {"?": {"type": "s.Main", "id": "m"}}})
    return made


def test_results_thaw_and_keep_live_objects(session: Any) -> None:
    result = thaw(session.call("run"))
    assert result == {"me": [session.root, 1], "next": 4}
    assert result["me"][0] is session.root


def test_properties_are_read(session: Any) -> None:
    assert session.read(session.root, "items") == (1, 2)
    with pytest.raises(PropertyReadError, match="nothing"):
        session.read(session.root, "nothing")


def test_several_classes_of_one_named_file(session: Any) -> None:
    assert session.type_by_name("s.Other", "*").package.read_class("s.Other")[1].endswith("All.yaml")


def test_an_error_is_drawn_with_its_calls(session: Any) -> None:
    with pytest.raises(Thrown) as caught:
        session.call("fail")
    lines = format_trace(caught.value).splitlines()
    assert lines[0].endswith("[Bad]: it is broken")
    assert [line.split(" (")[0] for line in lines[-2:]] == ["  at s.Main::inner", "  at s.Main::fail"]
    assert lines[-1].endswith("All.yaml:12)")
