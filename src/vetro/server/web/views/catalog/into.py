"""Where somebody is adding something while she chooses it: ``?into=`` of the catalog's addresses, so tabs differ."""

from __future__ import annotations

from urllib.parse import urlencode

from django.http import HttpRequest

from vetro.data_classes import dataclass
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment, Template


@dataclass(frozen=True, slots=True)
class Into:
    """An environment or a template of the caller's project."""

    id: str
    name: str
    template: bool = False

    @property
    def query(self) -> str:
        """What addresses have that keep it."""
        return query_of(self.id, self.template)

    @property
    def url(self) -> str:
        """Its page."""
        return f"/app/{'templates' if self.template else 'environments'}/{self.id}/"

    def add(self, package_id: str) -> str:
        """Where a package is added to it."""
        return f"{self.url}add/{package_id}"


def query_of(id: str, template: bool = False) -> str:
    """The part of an address that says so."""
    return urlencode({"template" if template else "into": id})


def of(request: HttpRequest, caller: Caller) -> Into | None:
    """What the address of the page says; None for what the caller cannot add to."""
    for key, table, rule in (
        ("into", Environment, "update_environment"),
        ("template", Template, "update_service_env_template"),
    ):
        id = request.GET.get(key, "")
        if id and known_id(id) and allows(caller, rule):
            name = table.objects.filter(id=id, project_id=caller.project_id).values_list("name", flat=True).first()
            if name is not None:
                return Into(id, name, key == "template")
    return None
