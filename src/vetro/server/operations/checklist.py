"""`steps`: what somebody who begins to run an installation has to think of, and whether it is done."""

from __future__ import annotations

from typing import Literal
from urllib.parse import urlsplit

from vetro.clouds.errors import CloudError
from vetro.data_classes import dataclass
from vetro.server.accounts.models import User
from vetro.server.audit.models import AuditRecord
from vetro.server.catalog.models import Package
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.operations.database.backup_file import ACTION
from vetro.server.requests.host_names import is_loopback
from vetro.server.tasks import clock
from vetro.server.tasks.claim import LEASES
from vetro.server.tasks.models import WorkerProcess

Name = Literal["worker", "image", "catalog", "account", "address", "backup"]


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    """Something to think of."""

    name: Name
    done: bool


def steps(config: Config) -> list[ChecklistItem]:
    """Each of them, in the order in which one does them. A handful of statements, whatever there is."""
    heard = clock.after(-LEASES * float(config["worker.lease_seconds"]))
    worker = WorkerProcess.objects.filter(seen__gte=heard, draining=False).exists()
    accounts = bool(config["keystone.url"]) or len(User.objects.filter(is_active=True).values_list("id")[:2]) > 1
    return [
        ChecklistItem("worker", worker),
        ChecklistItem("image", _real(config)),
        ChecklistItem("catalog", Package.objects.exclude(project_id="").exists()),
        ChecklistItem("account", accounts),
        ChecklistItem("address", _reachable(config)),
        ChecklistItem("backup", AuditRecord.objects.filter(action=ACTION).exists()),
    ]


def _real(config: Config) -> bool:
    """Whether the cloud runs servers."""
    try:
        return cloud_settings.selection(config).executes
    except CloudError:
        return False


def _reachable(config: Config) -> bool:
    """Whether others than this machine reach the service, by an address that does not give passwords away."""
    public = urlsplit(str(config["server.public_url"]))
    return public.scheme == "https" and bool(public.hostname) and not is_loopback(str(public.hostname))
