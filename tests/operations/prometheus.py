"""A Prometheus that runs the files of deploy/prometheus: other targets, and it looks often."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.operations.proxy import DEPLOY, free_port
from tests.support.waiting import until

FILES = DEPLOY / "prometheus"


@dataclass(frozen=True)
class Prometheus:
    port: int

    def ask(self, path: str, **query: str) -> Any:
        """``data`` of an answer of its API."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            found = json.load(answer)
        assert found["status"] == "success", found
        return found["data"]

    def value(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """(labels, value) of each series that the expression gives now."""
        found = self.ask("query", query=expression)
        assert found["resultType"] == "vector", (expression, found["resultType"])
        return [(one["metric"], float(one["value"][1])) for one in found["result"]]

    def number(self, expression: str) -> float:
        """The only value; NaN where there is none, or more."""
        found = self.value(expression)
        return found[0][1] if len(found) == 1 else float("nan")


@contextmanager
def watching(servers: Sequence[str], folder: Path) -> Iterator[Prometheus]:
    """A Prometheus that asks the servers (host:port) each second; gone at the end."""
    program = shutil.which("prometheus")
    assert program is not None, "prometheus is not installed"
    text = yaml.safe_load((FILES / "prometheus.yml").read_text())
    (job,) = text["scrape_configs"]
    assert job.pop("dns_sd_configs")
    job["static_configs"] = [{"targets": list(servers)}]
    text["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    text["rule_files"] = [str(FILES / name) for name in text["rule_files"]]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(text))
    found = Prometheus(free_port())
    with open(folder / "prometheus.log", "wb") as log:
        process = subprocess.Popen(
            [program, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/series",
             f"--web.listen-address=127.0.0.1:{found.port}"],
            stdout=log, stderr=log,
        )  # fmt: skip
    try:
        until(lambda: process.poll() is not None or _answers(found), 120)
        assert process.poll() is None, (folder / "prometheus.log").read_text()
        yield found
    finally:
        process.terminate()
        process.wait(60)


def _answers(prometheus: Prometheus) -> bool:
    try:
        prometheus.ask("rules")
    except (OSError, urllib.error.HTTPError):
        return False
    return True
