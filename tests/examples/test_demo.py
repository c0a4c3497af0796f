"""The demos as script/demo runs them: another process, no terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.servers import real_servers

ROOT = Path(__file__).parents[2]


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    """The demo in an environment of its own."""
    environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "CLICOLOR_FORCE", "COLUMNS")}
    environment |= {"HOME": str(home), "TMPDIR": str(home), "PYTHONPATH": str(ROOT / "src"), **more}
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo.py"), *arguments],
        cwd=home,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


def parts(text: str, *titles: str) -> list[str]:
    """The text of each step; they come in this order."""
    places = [text.index(title) for title in titles]
    assert places == sorted(places)
    return [text[a:b] for a, b in zip(places, [*places[1:], None])]


STEPS = ("1. Deploy", "2. Change", "3. Run an action", "4. What", "5. Destroy")


@pytest.mark.campaign  # tests/examples/test_deploy_examples.py deploys examples on recorded servers
@pytest.mark.timeout(300)
def test_the_demo_without_servers_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "--record")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "recorded only" in done.stdout and "\x1b" not in done.stdout
    one, two, three, four, five = parts(done.stdout, *STEPS)
    assert "not asked, nothing runs there: http://10." in one and "shop-2" in one
    assert "not asked" in two
    assert "visits: 0" in three
    assert "servers by record" in four
    assert "0 servers" in five and "Done in" in five
    assert "says 'Good morning'" in done.stderr and "says 'Good night'" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.campaign
@pytest.mark.timeout(300)
def test_the_demo_on_real_servers(tmp_path: Path) -> None:
    done = run(tmp_path, VETRO_IMAGES=str(real_servers().folder))
    assert done.returncode == 0, done.stdout + done.stderr
    one, two, three, _, five = parts(done.stdout, *STEPS)
    assert "→ 200" in one and "Good morning" in one
    assert "→ 200" in two and "Good night" in two
    assert "greeting: Good night" in three and "visits: 2" in three
    assert "0 mounts, 0 bridges and links, 0 control groups, 0 processes, 0 servers" in five
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("argument", ["--help", "--what"])
@pytest.mark.timeout(300)
def test_an_unknown_argument_shows_what_there_is(tmp_path: Path, argument: str) -> None:
    done = run(tmp_path, argument)
    assert done.returncode == (0 if argument == "--help" else 2)
    assert "--record" in done.stdout and "--language" in done.stdout


@pytest.mark.timeout(300)
def test_the_demo_of_the_language_tells_its_story(tmp_path: Path) -> None:
    done = run(tmp_path, "--language")
    assert (done.returncode, done.stderr) == (0, "")
    text = done.stdout
    assert "\x1b" not in text
    steps = ("1. Deploy", "2. Run actions", "3. Change the model", "4. A model that breaks", "5. Remove")
    one, two, three, four, five = parts(text, *steps)
    assert "1 of 2 backends are healthy" in one and "1.0.0 and 1.1.0" in one
    assert "→ 1" in two and "Ada wants 2 seats, 1 are free" in two
    assert "2 of 2 backends are healthy" in three and "accounts of Greetings are revoked" in three
    assert "hour: 2" in three and "hour: 4" in three
    assert "com.example.Backup.schedule['hour']" in four
    assert "Water Cooler is closed" in five and text.endswith("0 objects left.\n")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.timeout(300)
def test_script_demo_starts_it() -> None:
    script = ROOT / "script" / "demo"
    assert os.access(script, os.X_OK)
    assert "examples/demo.py" in script.read_text(encoding="utf-8")
