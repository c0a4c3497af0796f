"""A data directory as the first start of a service leaves it: made once for all processes of a run, and copied.

``python -m tests.support.installation`` makes one, by the settings of the environment.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: The variable with the folder that the processes of a run share (tests/conftest.py).
SHARED = "TESTS_FOLDER"


def prepared(data: Path) -> None:
    """Fills the folder: database, keys, packages, compiled code. Outside of a run of tests it stays as it is."""
    shared = os.environ.get(SHARED)
    if shared is None:
        return
    kept = Path(shared, "installation")
    with open(Path(shared, "installation.lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            draft = Path(shared, "installation.draft")
            environment = {name: value for name, value in os.environ.items() if not name.startswith("VETRO_")}
            environment |= {"VETRO_DATA": str(draft), "VETRO_CLOUD__DRIVER": "record"}
            subprocess.run([sys.executable, "-m", __name__], cwd=ROOT, env=environment, check=True, timeout=300)
            draft.rename(kept)
    shutil.copytree(kept, data, dirs_exist_ok=True)


def compiled() -> Path | None:
    """A folder for compiled standard packages that all processes of a run share; None outside of a run.

    Zygotes of tests that are given it load them in a third of the time.
    """
    shared = os.environ.get(SHARED)
    if shared is None:
        return None
    folder = Path(shared, "zygotes")
    folder.mkdir(exist_ok=True)
    return folder


def main() -> None:
    """Prepares the installation, and compiles the packages that each zygote loads."""
    from vetro.engine.task.launcher import Launcher
    from vetro.server.config.config import Config
    from vetro.server.http.startup import prepare
    from vetro.server.sandboxed_workers import compiled_folder

    settings = Config.load()
    prepare(settings)
    launcher = Launcher(cache=compiled_folder(settings))
    launcher.start().close()
    launcher.close()


if __name__ == "__main__":
    main()
