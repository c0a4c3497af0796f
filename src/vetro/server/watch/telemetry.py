"""What servers use, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from vetro.server.watch import metrics

#: Servers that are told, those that were measured last: each is a label.
MOST = 1000
_LABELS = ("project", "environment", "server")


class MetricsCollector(Collector):
    """The newest sample of each server that was measured in the last ten minutes."""

    def collect(self) -> Iterator[Metric]:
        """Called for each question."""
        families = [
            GaugeMetricFamily("vetro_server_processors", "Processors that a server keeps busy", labels=_LABELS),
            GaugeMetricFamily("vetro_server_memory_bytes", "Memory that a server has", labels=_LABELS),
            GaugeMetricFamily("vetro_server_memory_limit_bytes", "Memory that it may have", labels=_LABELS),
            GaugeMetricFamily("vetro_server_disk_bytes", "What a server takes on the disk", labels=_LABELS),
        ]
        for project, environment, server, sample in metrics.newest(MOST):
            for family, value in zip(families, sample[1:], strict=True):
                if value is not None:
                    family.add_metric((project, environment, server), value)
        yield from families
