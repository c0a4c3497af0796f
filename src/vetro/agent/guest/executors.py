"""Runs the scripts of a plan: Application, Puppet, Chef with and without Berkshelf (AGENT.md 4)."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .errors import SCRIPT, PlanError
from .files import Files, make_executable
from .plan import Script
from .process import run_program
from .values import AttributeMap, is_on


class ScriptCall:
    """What a plan's body calls: ``name(...)`` runs the script, ``name.function(...)`` names a function, too."""

    def __init__(self, script: Script, files: Files) -> None:
        self._script = script
        self._files = files

    def __call__(self, *args: Any, **kwargs: Any) -> AttributeMap:
        return _RUN[self._script.type](self._script, self._files, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__call__  # no type of script has functions; the name is informative


def _run_application(script: Script, files: Files, commandline: Any = "", input: Any = None) -> AttributeMap:
    folder = files.script_folder(script)
    entry = next(file for file in script.files if file.id == script.entry_point)
    content = files.content(entry)
    if os.path.isfile(content):
        make_executable(content)
    arguments = "" if commandline is None else str(commandline)
    if input is not None and not isinstance(input, (str, bytes)):
        input = str(input)
    return _run(script, f"{shlex.quote('./' + entry.name)} {arguments}", folder, input=input)


def _run(
    script: Script, command: str | Sequence[str], folder: str, *, input: Any = None, move_errors: bool = False
) -> AttributeMap:
    """Runs the program of a script and judges its end by the options of the script."""
    options = script.options
    stdout, stderr = (is_on(options, name, True) for name in ("captureStdout", "captureStderr"))
    try:
        code, out, err = run_program(command, folder, input=input, stdout=stdout, stderr=stderr, script=script.name)
    except FileNotFoundError:
        raise PlanError(
            SCRIPT, f"Script {script.name} cannot run: the program {command[0]} is not installed here"
        ) from None
    if move_errors and out:
        lines = [line for line in out.splitlines() if "ERROR" in line]
        err = "\n".join(([err] if err else []) + lines) or None
    result = AttributeMap(exitCode=code, stdout=out, stderr=err)
    if code != 0 and is_on(options, "verifyExitcode", True):
        raise PlanError(SCRIPT, f"Script {script.name} returned error code", result)
    return result


def _entry(script: Script) -> tuple[str, str]:
    module, _, name = script.entry_point.partition("::")
    if not re.fullmatch(r"[A-Za-z0-9_-]+", module) or not re.fullmatch(r"[A-Za-z0-9_:-]*", name):
        raise PlanError(SCRIPT, f"the EntryPoint '{script.entry_point}' of script {script.name} is malformed")
    return module, name


def _attributes(script: Script, args: Any, more: Mapping[str, Any]) -> Mapping[str, Any]:
    if args is None:
        args = {}
    if not isinstance(args, Mapping):
        raise PlanError(SCRIPT, f"Script {script.name} is called with a map of attributes, not {args!r}")
    return {**args, **more}


def _write(folder: str, name: str, text: str) -> None:
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


# -- Puppet ------------------------------------------------------------------------------------------------------------

#: For Puppet 4.9 and later, and for those before.
_HIERA = "---\nversion: 5\ndefaults:\n  datadir: .\n  data_hash: yaml_data\nhierarchy:\n  - name: default\n    path: default.yaml\n"  # noqa: E501
_OLD_HIERA = "---\n:backends: [yaml]\n:yaml:\n  :datadir: .\n:hierarchy: [default]\n"


def _run_puppet(script: Script, files: Files, args: Any = None, **more: Any) -> AttributeMap:
    folder = files.script_folder(script)
    module, name = _entry(script)
    attributes = _attributes(script, args, more)
    if not os.path.exists(os.path.join(folder, "hiera.yaml")):
        _write(folder, "hiera.yaml", _OLD_HIERA if _old_puppet(folder) else _HIERA)
    _write(folder, "manifest.pp", f"include {module}::{name}\n" if name else f"include {module}\n")
    # JSON texts and values are YAML as well.
    lines = [f"{json.dumps(f'{module}::{key}')}: {json.dumps(value)}\n" for key, value in attributes.items()]
    _write(folder, "default.yaml", "---\n" + ("".join(lines) or "{}\n"))
    command = ["puppet", "apply", "--hiera_config=hiera.yaml", f"--modulepath={folder}", "manifest.pp"]
    return _run(script, command, folder, move_errors=True)


def _old_puppet(folder: str) -> bool:
    try:
        _, out, _ = run_program(["puppet", "--version"], folder)
    except OSError:
        return False  # the run itself will say so
    found = re.match(r"(\d+)\.(\d+)", out or "")
    return found is not None and (int(found.group(1)), int(found.group(2))) < (4, 9)


# -- Chef --------------------------------------------------------------------------------------------------------------


def _run_chef(script: Script, files: Files, args: Any = None, **more: Any) -> AttributeMap:
    folder = files.script_folder(script)
    cookbook, recipe = _entry(script)
    attributes = _attributes(script, args, more)
    cookbooks = _berkshelf(script, folder, cookbook) if is_on(script.options, "useBerkshelf", False) else folder
    quoted = cookbooks.replace("\\", "\\\\").replace("'", "\\'")
    _write(folder, "solo.rb", f"cookbook_path '{quoted}'\n")
    run_list = f"recipe[{cookbook}::{recipe}]" if recipe else f"recipe[{cookbook}]"
    _write(folder, "node.json", json.dumps({"run_list": [run_list], cookbook: attributes}))
    return _run(script, ["chef-solo", "-j", "node.json", "-c", "solo.rb"], folder, move_errors=True)


def _berkshelf(script: Script, folder: str, cookbook: str) -> str:
    """Folder of the cookbooks that Berkshelf has collected."""
    place = os.path.join(folder, str(script.options.get("berksfilePath") or f"{cookbook}/Berksfile"))
    if not os.path.isfile(place):
        raise PlanError(SCRIPT, f"Script {script.name} uses Berkshelf and there is no Berksfile at {place}")
    vendored = os.path.join(folder, "berks-cookbooks")
    shutil.rmtree(vendored, ignore_errors=True)  # berks refuses a folder that is there
    try:
        code, out, err = run_program(["berks", "vendor", f"--berksfile={place}", vendored], folder, script=script.name)
    except FileNotFoundError:
        raise PlanError(SCRIPT, f"Script {script.name} uses Berkshelf, which is not installed here") from None
    if code:
        result = AttributeMap(exitCode=code, stdout=out, stderr=err)
        raise PlanError(SCRIPT, f"Berkshelf of script {script.name} returned error code", result)
    return vendored


_RUN: Mapping[str, Callable[..., AttributeMap]] = {
    "Application": _run_application,
    "Puppet": _run_puppet,
    "Chef": _run_chef,
}
