"""What the end of a run tells: of scripts that failed on a server, and of what a package threw."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vetro.diagnostics import AuthorText, decode_messages
from vetro.engine.failure import LONGEST_OUTPUT, describe
from vetro.library.natives.agent import AgentException
from vetro.muranopl.api import Engine
from vetro.muranopl.errors import Thrown
from vetro.packages import load_path
from vetro.server.tasks.completion import text_of

MANIFEST = "Format: 1.4\nType: Application\nFullName: t\nName: t\nClasses: {t.Board: Board.yaml}\n"
BOARD = """\
Namespaces: {=: t, std: io.murano}
Name: Board
Extends: std:Application
Properties:
  name: {Contract: $.string().notNull()}
Methods:
  full:
    Scope: Public
    Body:
      - Throw: Full
        Message: format('{0} has no seat', $.name)
  outer:
    Scope: Public
    Body:
      - $.full()
  again:
    Scope: Public
    Body:
      - Try:
          - $.full()
        Catch:
          - As: e
            Do:
              - If: $e.message = 'b has no seat'
                Then:
                  - Rethrow:
  other:
    Scope: Public
    Body:
      - Try:
          - $.full()
        Catch:
          - As: e
            Do:
              - Throw: Other
                Message: $e.message
"""


def told(details: Any) -> dict[str, Any]:
    return describe(AgentException("Script s returned error code", {"message": "m", "details": details}))


def test_exit_code_and_output_of_the_script() -> None:
    error = told({"exitCode": 3, "stdout": "out", "stderr": "no such box", "more": 1})
    assert error["message"] == "Script s returned error code"
    assert error["output"] == {"exitCode": 3, "stdout": "out", "stderr": "no such box"}


def test_of_long_output_the_end_is_kept() -> None:
    text = told({"exitCode": 1, "stdout": " \n", "stderr": "x" * 50_000 + "the reason"})["output"]
    assert set(text) == {"exitCode", "stderr"}
    assert len(text["stderr"]) == LONGEST_OUTPUT + 1 and text["stderr"].endswith("the reason")


@pytest.mark.parametrize("details", [None, "text", {}, {"exitCode": "x", "stderr": 7}, ["a"]])
def test_other_details_are_no_output(details: Any) -> None:
    assert "output" not in told(details)


@pytest.mark.parametrize(
    ("method", "german"),
    [("full", "b hat keinen Platz"), ("outer", "b hat keinen Platz"), ("again", None), ("other", None)],
)
def test_what_a_package_threw_is_told_in_its_languages(tmp_path: Path, method: str, german: str | None) -> None:
    """Code that catches it has a text; whoever is told of it in the end has what the package says in other languages,
    unless other code caught it: the place of the Throw is forgotten then."""
    for name, text in {
        "manifest.yaml": MANIFEST,
        "Classes/Board.yaml": BOARD,
        "locale/de.yaml": "'{0} has no seat': '{0} hat keinen Platz'\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    session = Engine(load_path(tmp_path)).session()
    session.load({"Objects": {"?": {"id": "1", "type": "t.Board"}, "name": "b"}})
    with pytest.raises(Thrown) as thrown:
        session.call(method)
    error = json.loads(json.dumps(describe(thrown.value)))  # as it goes to the service
    assert error["message"] == "b has no seat"
    message = decode_messages(error)["message"]
    assert (message.translations if isinstance(message, AuthorText) else None) == (german and {"de": german})
    assert text_of(error) == f"[t.{'Other' if method == 'other' else 'Full'}]: b has no seat"
