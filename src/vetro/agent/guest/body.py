"""Runs the body of a plan: Python text that becomes the body of a function (AGENT.md 4, Body)."""

from __future__ import annotations

import ast
import builtins
import os
import shutil
import textwrap
from types import CodeType, FunctionType
from typing import Any

from .errors import malformed
from .executors import ScriptCall
from .files import Files
from .plan import Plan
from .values import with_attributes


def compile_body(text: str) -> CodeType:
    """The code of a function with this body. Raises SyntaxError, and `PlanError` when it holds no statement."""
    source = textwrap.dedent(text.expandtabs(4))
    # Statements are moved into a function as a tree: indenting the text would change texts of several lines in it.
    statements = ast.parse(source, "<plan>").body
    if not statements:
        raise malformed("Body has no statement; the shortest is 'return'")
    module = ast.parse("def plan(): pass", "<plan>")
    function = module.body[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = statements
    code = compile(module, "<plan>", "exec")
    return next(item for item in code.co_consts if isinstance(item, CodeType))


def run_body(plan: Plan, folder: str) -> Any:
    """What the body returns. ``folder`` is made for the files and removed. Raises whatever the body raises."""
    code = compile_body(plan.body)
    shutil.rmtree(folder, ignore_errors=True)
    try:
        files = Files(folder)
        names: dict[str, Any] = {"__builtins__": builtins, "__name__": "__plan__"}
        names.update((name, ScriptCall(script, files)) for name, script in plan.scripts.items())
        names["args"] = with_attributes(plan.parameters)
        os.chdir(folder)
        return FunctionType(code, names)()
    finally:
        os.chdir("/")
        shutil.rmtree(folder, ignore_errors=True)
