"""`examples/demo.py` as script/demo runs it: another process, no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_demo_tells_its_story(tmp_path: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    environment |= {"HOME": str(tmp_path), "PYTHONPATH": str(ROOT / "src")}
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert time.monotonic() - started < 30
    text = done.stdout
    assert "\x1b" not in text
    steps = ["1. Deploy", "2. Run actions", "3. Change the model", "4. A model that breaks", "5. Remove"]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)
    one, two, three, four, five = (text[a:b] for a, b in zip(places, [*places[1:], None]))
    assert "1 of 2 backends are healthy" in one and "1.0.0 and 1.1.0" in one
    assert "→ 1" in two and "Ada wants 2 seats, 1 are free" in two
    assert "2 of 2 backends are healthy" in three and "accounts of Greetings are revoked" in three
    assert "hour: 2" in three and "hour: 4" in three
    assert "com.example.Backup.schedule['hour']" in four
    assert "Water Cooler is closed" in five and text.endswith("0 objects left.\n")
    assert list(tmp_path.iterdir()) == []


def test_script_demo_starts_it() -> None:
    script = ROOT / "script" / "demo"
    assert os.access(script, os.X_OK)
    assert "examples/demo.py" in script.read_text(encoding="utf-8")
