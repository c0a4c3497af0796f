"""`topic_of`: the section of the manual that explains a page, by the address of the page."""

from __future__ import annotations

from typing import Final

#: The page of the manual that has them.
PAGE: Final = "pages"
#: Beginning of an address, as its pattern is written (``<str:environment>`` is ``*``) -> section; longer ones count
#: before shorter ones.
TOPICS: Final[dict[str, str]] = {
    "": "home",
    "catalog/": "the-catalog",
    "catalog/*/": "an-application",
    "catalog/*/add": "adding-an-application",
    "catalog/*/actions/": "a-form",
    "quick/": "a-form",
    "try/": "a-form",
    "forms/": "unfinished-forms",
    "forms/*/": "a-form",
    "results/": "a-deployment",
    "environments/": "environments",
    "environments/new": "a-new-environment",
    "environments/import": "a-new-environment",
    "environments/deployments": "deployments",
    "environments/delete": "deleting-an-environment",
    "environments/*/": "an-environment",
    "environments/*/components/": "an-application-of-an-environment",
    "environments/*/edit/": "a-form",
    "environments/*/add": "the-catalog",
    "environments/*/add/": "a-form",
    "environments/*/actions/": "a-form",
    "environments/*/changes": "changes",
    "environments/*/plans/": "the-plan",
    "environments/*/tasks/": "deployments",
    "environments/*/tasks/*/": "a-deployment",
    "environments/*/history": "history",
    "environments/*/compare": "history",
    "environments/*/restore/": "history",
    "environments/*/lock": "the-lockfile",
    "environments/*/upgrade": "upgrade",
    "environments/*/topology": "topology",
    "environments/*/health": "health-of-an-environment",
    "environments/*/servers": "servers",
    "environments/*/metadata": "metadata",
    "environments/*/delete": "deleting-an-environment",
    "templates/": "templates",
    "templates/*/add": "the-catalog",
    "templates/*/add/": "a-form",
    "templates/*/edit/": "a-form",
    "packages/": "packages",
    "packages/import": "importing-packages",
    "packages/images": "images",
    "packages/*/": "a-package",
    "packages/class/": "a-package",
    "notices/": "notices",
    "operation/": "operation",
    "operation/doctor": "operation",
    "operation/workers": "workers",
    "operation/queue": "the-queue",
    "operation/cloud": "the-cloud",
    "operation/disk": "disk",
    "operation/backups": "backups",
    "operation/quotas": "quotas-of-a-project",
    "operation/settings": "settings",
    "people/": "people-and-projects",
    "people/me": "you",
    "people/quotas": "quotas-of-a-project",
    "people/projects/*/quotas": "quotas-of-a-project",
    "people/audit": "audit",
}
_BY_LENGTH: Final = sorted(TOPICS, key=len, reverse=True)


def topic_of(route: str) -> str:
    """The slug of the section; ``route``: the pattern of an address below ``/app/``, as Django has it."""
    parts = ["*" if part.startswith("<") else part for part in route.removeprefix("app/").split("/")]
    path = "/".join(parts)
    return next((TOPICS[known] for known in _BY_LENGTH if _begins(path, known)), TOPICS[""])


def _begins(path: str, known: str) -> bool:
    return path == known or (known.endswith("/") and path.startswith(known))
