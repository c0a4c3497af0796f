"""``/health``, ``/ready`` and ``/metrics``: what load balancers and Prometheus ask for. Nothing is told but numbers and
words, and numbers to this machine only, or for a token."""

from __future__ import annotations

import hmac
import json

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse

from vetro.server.api.v1.discovery import discovery
from vetro.server.observe import metrics
from vetro.server.requests.host_names import is_loopback
from vetro.server.setup import config
from vetro.server.tasks import clock
from vetro.server.tasks.models import WorkerProcess
from vetro.server.tasks.telemetry import TaskCollector
from vetro.server.watch.telemetry import MetricsCollector

#: How old the newest sign of life of a worker may be, in leases.
_LEASES = 3


def health(request: HttpRequest) -> HttpResponse:
    """200 as long as the process answers."""
    return HttpResponse('{"status": "ok"}', content_type="application/json")


def ready(request: HttpRequest) -> HttpResponse:
    """200 when requests and tasks would be served, else 503 and what is missing."""
    found = {"database": _database(), "workers": "unknown"}
    if found["database"] == "ok":
        found["workers"] = _workers()
    well = all(word == "ok" for word in found.values())
    body = json.dumps({"status": "ok" if well else "not ready", **found})
    return HttpResponse(body, content_type="application/json", status=200 if well else 503)


def prometheus(request: HttpRequest) -> HttpResponse:
    """Metrics as text; like any unknown address where setting ``observe.metrics`` says no."""
    if not config()["observe.metrics"]:
        return discovery(request)
    if not _may_measure(request):
        text = "Metrics are for this machine, or for who brings observe.metrics_token as Authorization: Bearer.\n"
        headers = {"WWW-Authenticate": "Bearer"}
        return HttpResponse(text, content_type="text/plain", status=401, headers=headers)
    return HttpResponse(metrics.exposition(TaskCollector(), MetricsCollector()), content_type=metrics.CONTENT_TYPE)


def _may_measure(request: HttpRequest) -> bool:
    token = str(config()["observe.metrics_token"])
    if token:
        given = str(request.META.get("HTTP_AUTHORIZATION", "")).removeprefix("Bearer ").strip()
        return hmac.compare_digest(given.encode("utf-8", "replace"), token.encode())
    # What a proxy on this machine passes on does not come from here.
    return not request.META.get("vetro.forwarded") and is_loopback(str(request.META.get("REMOTE_ADDR", "")))


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM dispatch_workerprocess")
            cursor.fetchone()
    except DatabaseError:
        return "does not answer"
    return "ok"


def _workers() -> str:
    since = clock.after(-_LEASES * float(config()["worker.lease_seconds"]))
    return "ok" if WorkerProcess.objects.filter(seen__gte=since, draining=False).exists() else "none"
