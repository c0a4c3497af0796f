"""Dashboards and alerts ask for metrics and labels that /metrics has."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families

from vetro.server.environments.models import Environment
from vetro.server.observe import metrics
from vetro.server.tasks import clock
from vetro.server.tasks.models import Task
from vetro.server.watch.metrics import Pending

DEPLOY = Path(__file__).parents[2] / "deploy"
_BOARD = json.loads((DEPLOY / "grafana/dashboards/vetro.json").read_text())
_NAME = re.compile(r"\b(vetro_\w+|up)\b(?:\{([^}]*)\})?")
_BY = re.compile(r"\bby \(([^)]*)\)")


def expressions() -> list[tuple[str, str]]:
    """(where, PromQL) of everything that is asked."""
    found = [(p["title"], t["expr"]) for p in _BOARD["panels"] for t in p["targets"]]
    for group in yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"]:
        found += [(rule["alert"], rule["expr"]) for rule in group["rules"]]
    return found


@pytest.fixture
def exposed(db: None) -> dict[str, set[str]]:
    """Name of a series -> its labels, as a running service has them."""
    Task.objects.create(project_id="p", user_id="u", kind="deploy", spec={}, state="queued")
    environment = Environment.objects.create(project_id="p", name="measured", version=1)
    measured = Pending()
    measured.add(environment.id, int(clock.read().timestamp()), {"server": [0.5, 1, 2, 3]})
    measured.write()
    metrics.request_answered("v2", "GET", "/v2/environments", 200, 0.1)
    metrics.task_ended("deploy", "done", 1.0)
    found: dict[str, set[str]] = {"up": {"job", "instance"}}
    for family in text_string_to_metric_families(Client().get("/metrics").content.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.django_db
@pytest.mark.parametrize(("where", "expression"), expressions(), ids=lambda value: str(value)[:40])
def test_what_is_asked_is_there(exposed: dict[str, set[str]], where: str, expression: str) -> None:
    named = _NAME.findall(expression)
    assert named, where
    labels: set[str] = set()
    for name, matchers in named:
        assert name in exposed, f"{where}: there is no metric {name}"
        labels |= exposed[name]
        for label in re.findall(r"(\w+)\s*[=!]~?", matchers):
            assert label in exposed[name], f"{where}: {name} has no label {label}"
    for group in _BY.findall(expression):
        assert {label.strip() for label in group.split(",")} <= labels, where


def test_legends_name_labels_that_are_left() -> None:
    for panel in _BOARD["panels"]:
        for target in panel["targets"]:
            kept = {label.strip() for group in _BY.findall(target["expr"]) for label in group.split(",")}
            assert set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])) <= kept, panel["title"]


def test_panels_do_not_lie_on_each_other() -> None:
    taken: dict[tuple[int, int], str] = {}
    for panel in _BOARD["panels"]:
        place: dict[str, Any] = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
    ids = [panel["id"] for panel in _BOARD["panels"]]
    assert len(ids) == len(set(ids))


def test_alerts_say_what_to_do() -> None:
    (group,) = yaml.safe_load((DEPLOY / "prometheus/alerts.yml").read_text())["groups"]
    for rule in group["rules"]:
        assert rule["annotations"]["summary"] and rule["annotations"]["action"] and rule["for"]
    jobs = yaml.safe_load((DEPLOY / "prometheus/prometheus.yml").read_text())
    assert [job["job_name"] for job in jobs["scrape_configs"]] == ["vetro"]
    assert all((DEPLOY / "prometheus" / name).exists() for name in jobs["rule_files"])


def test_documented_metrics_are_those_there_are(exposed: dict[str, set[str]]) -> None:
    page = (DEPLOY.parent / "docs/operations/monitoring.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(vetro_\w+)`", page))
    plain = {re.sub(r"_(bucket|count|sum|created)$", "", name) for name in exposed if name.startswith("vetro_")}
    assert listed == {name for name in plain if f"{name}_total" not in plain}
