"""Plans of format 1, which were made for Windows: PowerShell files and commands (AGENT.md 5)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from typing import Any

from .errors import malformed
from .process import run_program

#: Marks the line of the answer in the output.
_MARK = "muranoagent-answer:"

_RUN = r"""
$ErrorActionPreference = 'Stop'
$plan = Get-Content -Raw -Encoding UTF8 plan.json | ConvertFrom-Json
$answers = @()
$failed = $false
try {
  foreach ($file in $plan.files) { . (Join-Path (Get-Location) $file) }
  foreach ($command in $plan.commands) {
    $named = @{}
    if ($command.Arguments) { foreach ($p in $command.Arguments.PSObject.Properties) { $named[$p.Name] = $p.Value } }
    try {
      $answers += @{ IsException = $false; Result = @(& $command.Name @named) }
    } catch {
      $failed = $true
      $answers += @{ IsException = $true; Result = @($_.Exception.GetType().FullName, $_.Exception.Message,
        $command.Name, ($_ | Out-String)) }
      break
    }
  }
  $answer = @{ IsException = $false; Result = $answers }
} catch {
  $answer = @{ IsException = $true; Result = @($_.Exception.GetType().FullName, $_.Exception.Message, '',
    ($_ | Out-String)) }
}
'MARK' + ($answer | ConvertTo-Json -Depth 20 -Compress)
"""


def failure(kind: str, message: str, details: str = "") -> dict[str, Any]:
    """The answer to a plan that could not be run."""
    return {"IsException": True, "Result": [kind, message, None, details]}


def run_commands(data: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a plan of format 1. Raises `PlanError` when it breaks the rules."""
    scripts, commands = data.get("Scripts") or [], data.get("Commands") or []
    if not isinstance(scripts, list) or not all(isinstance(item, str) for item in scripts):
        raise malformed("Scripts of a plan of format 1 must be a list of texts in Base64")
    if not isinstance(commands, list) or not all(
        isinstance(item, Mapping) and isinstance(item.get("Name"), str) for item in commands
    ):
        raise malformed("Commands of a plan of format 1 must be a list of maps with Name and Arguments")
    program = shutil.which("pwsh")
    if program is None:
        message = "this server cannot run plans of format 1: PowerShell (pwsh) is not installed"
        return failure("muranoagent.NotSupported", message)
    with tempfile.TemporaryDirectory(prefix="muranoagent-") as folder:
        names = []
        for number, script in enumerate(scripts):
            try:
                content = base64.b64decode("".join(script.split()), validate=True)
            except ValueError:
                raise malformed(f"script number {number + 1} is no Base64") from None
            names.append(f"script{number}.ps1")
            with open(os.path.join(folder, names[-1]), "wb") as file:
                file.write(content)
        with open(os.path.join(folder, "plan.json"), "w", encoding="utf-8") as text:
            json.dump({"files": names, "commands": commands}, text)
        with open(os.path.join(folder, "run.ps1"), "w", encoding="utf-8") as text:
            text.write(_RUN.replace("MARK", _MARK))
        code, out, err = run_program([program, "-NoProfile", "-NonInteractive", "-File", "run.ps1"], folder)
    for line in reversed((out or "").splitlines()):
        if line.startswith(_MARK):
            answer = json.loads(line[len(_MARK) :])
            if isinstance(answer, dict):
                return answer
    return failure("muranoagent.NoAnswer", f"PowerShell ended with code {code} and no answer", err or "")
