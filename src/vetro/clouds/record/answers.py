"""What an agent would have answered to a plan that nobody ran (AGENT.md 4-5).

Nothing of a plan is executed. The value of a version 2 plan follows from the shape of its Body alone:
``return script(...)`` gives the exit-code map ``{exitCode, stdout, stderr}``, ``return script(...).stdout`` (and
.stderr, .exitCode) that member, a bare ``return`` null, a constant itself; every other Body gives an empty text. A rule
of the table may say the value (``body``), output and exit code of all scripts, or an error.
"""

from __future__ import annotations

import ast
import base64
import binascii
import hashlib
import json
import textwrap
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

_VERSION = "2.0.0"
#: Bodies up to this length are remembered with what they do.
_REMEMBERED = 10_000


def texts_of(plan: Mapping[str, Any]) -> list[str]:
    """The texts of a plan that patterns may look at: files, scripts of version 1, commands."""
    made: list[str] = []
    files = plan.get("Files")
    for item in files.values() if isinstance(files, Mapping) else ():
        if isinstance(item, Mapping) and isinstance(item.get("Body"), str):
            made.append(_decoded(item["Body"]) if item.get("BodyType") == "Base64" else item["Body"])
    scripts = plan.get("Scripts")
    if isinstance(scripts, list):
        made += [_decoded(script) for script in scripts if isinstance(script, str)]
        for command in plan.get("Commands") or ():
            if isinstance(command, Mapping):
                made.append(str(command.get("Name")))
    if isinstance(plan.get("Body"), str):
        made.append(plan["Body"])
    return made or [""]


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text


def is_first_format(plan: Mapping[str, Any]) -> bool:
    """Whether a plan is of format 1."""
    version = plan.get("FormatVersion")
    return version is None or str(version).startswith("1")


def result_of(plan: Mapping[str, Any], effects: Mapping[str, Any], id: str, stamp: str) -> dict[str, Any]:
    """The result message of a plan; ``effects`` are those of the rule that fits, ``id`` is the plan's."""
    if is_first_format(plan):
        return _first(plan, effects)
    failure = effects.get("failure")
    if failure is not None:
        said = failure if isinstance(failure, Mapping) else {"message": failure}
        return _error(id, stamp, int(said.get("code", 1)), str(said.get("message", "")), said.get("info"))
    failed = _failed_script(plan, effects)
    if failed is not None and "body" not in effects:
        name, info = failed
        return _error(id, stamp, 100, f"Script {name} returned error code", info)
    body = effects["body"] if "body" in effects else _value(plan, effects)
    return {**_head(id, stamp), "ErrorCode": 0, "Body": body}


def _head(id: str, stamp: str) -> dict[str, Any]:
    # Made of the plan's id, so that the same plan has the same answer again.
    own = hashlib.sha256(f"result of {id}".encode()).hexdigest()[:32]
    return {"FormatVersion": _VERSION, "ID": own, "SourceID": id, "Action": "Execution:Result", "Time": stamp}


def _error(id: str, stamp: str, code: int, message: str, info: Any) -> dict[str, Any]:
    body = {"Message": message, "AdditionalInfo": info}
    return {**_head(id, stamp), "ErrorCode": code, "Body": body}


def _first(plan: Mapping[str, Any], effects: Mapping[str, Any]) -> dict[str, Any]:
    failure = effects.get("failure")
    if failure is None and effects.get("exitCode"):
        failure = f"a command ended with exit code {effects['exitCode']}"
    commands = plan.get("Commands")
    names = [item.get("Name") for item in commands if isinstance(item, Mapping)] if isinstance(commands, list) else []
    if failure is not None:
        said = failure if isinstance(failure, Mapping) else {"message": failure}
        exception = ["RecordedFailure", said.get("message", ""), names[-1] if names else None, said.get("info")]
        if not names:
            return {"IsException": True, "Result": exception}
        ended = [{"IsException": False, "Result": ""} for _ in names[:-1]]
        return {"IsException": False, "Result": [*ended, {"IsException": True, "Result": exception}]}
    value = effects.get("body", [effects.get("stdout", "")])  # what a command of PowerShell gives is a list
    return {"IsException": False, "Result": [{"IsException": False, "Result": value} for _ in names]}


def _scripts(plan: Mapping[str, Any]) -> Mapping[str, Any]:
    found = plan.get("Scripts")
    return found if isinstance(found, Mapping) else {}


def _options(plan: Mapping[str, Any], script: str) -> Mapping[str, Any]:
    found = _scripts(plan).get(script)
    options = found.get("Options") if isinstance(found, Mapping) else None
    return options if isinstance(options, Mapping) else {}


def _output(plan: Mapping[str, Any], effects: Mapping[str, Any], script: str) -> dict[str, Any]:
    """The exit-code map of one script."""
    options = _options(plan, script)
    return {
        "exitCode": effects.get("exitCode", 0),
        "stdout": effects.get("stdout", "") if options.get("captureStdout", True) else None,
        "stderr": effects.get("stderr", "") if options.get("captureStderr", True) else None,
    }


def _failed_script(plan: Mapping[str, Any], effects: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """The first script whose exit code is verified, when the rule says another one than 0."""
    if not effects.get("exitCode"):
        return None
    for name in _scripts(plan):
        if _options(plan, name).get("verifyExitcode", True):
            return name, _output(plan, effects, name)
    return None


def _value(plan: Mapping[str, Any], effects: Mapping[str, Any]) -> Any:
    """What the Body would return, as far as its shape tells."""
    body = str(plan.get("Body") or "")
    statements = _statements(body) if len(body) <= _REMEMBERED else _statements.__wrapped__(body)
    if statements is None:
        return ""
    names: dict[str, ast.expr] = {}
    returned: ast.expr | None = None
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            names[statement.targets[0].id] = statement.value
        elif isinstance(statement, ast.Return):
            returned = statement.value
            break
    else:
        return None if all(isinstance(s, (ast.Expr, ast.Assign, ast.Pass)) for s in statements) else ""
    return None if returned is None else _expression(returned, names, plan, effects)


@lru_cache(maxsize=16)
def _statements(body: str) -> Sequence[ast.stmt] | None:
    """What a Body does, which the plans of all servers of a kind have in common; None for what is no Python."""
    text = textwrap.dedent(body.expandtabs(4)).strip("\n")
    try:
        tree = ast.parse("def body():\n" + textwrap.indent(text or "return", "    "))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    return function.body


def _expression(
    node: ast.expr, names: Mapping[str, ast.expr], plan: Mapping[str, Any], effects: Mapping[str, Any]
) -> Any:
    for _ in range(20):
        if not isinstance(node, ast.Name) or node.id not in names:
            break
        node = names[node.id]
    if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, (str, int, float, bool))):
        return node.value
    if isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr", "exitCode"):
        inner = _expression(node.value, names, plan, effects)
        return inner.get(node.attr) if isinstance(inner, dict) else ""
    if isinstance(node, ast.Call):
        called = node.func
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id in _scripts(plan)
        ):
            called = called.value  # name.func(...) runs the script, too
        if isinstance(called, ast.Name) and called.id in _scripts(plan):
            return _output(plan, effects, called.id)
        if isinstance(called, ast.Attribute) and called.attr in ("strip", "rstrip", "lstrip"):
            inner = _expression(called.value, names, plan, effects)
            return inner.strip() if isinstance(inner, str) else ""
    return ""


def as_text(result: Mapping[str, Any]) -> str:
    """The body of the result's message."""
    return json.dumps(result, separators=(",", ":"))
