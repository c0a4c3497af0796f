"""Search over applications, environments, components, pages, actions and help: a page, or the list of Ctrl-K."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from urllib.parse import quote

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from vetro.data_classes import dataclass
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog import fuzzy_search
from vetro.server.catalog.search_query import Query
from vetro.server.catalog.search_terms import terms_of
from vetro.server.environments import component_names
from vetro.server.environments import search as environments
from vetro.server.web import manual
from vetro.server.web.page import page, render

#: Hits of a kind.
_EACH = 5


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that one may want to go to."""

    name: str
    url: str
    #: What tells it from others of its name.
    about: str = ""


#: (name, address, rule that lets somebody see it, other words for it). Empty rule: everybody.
_PAGES = (
    (gettext_noop("Home"), "/app/", "", "start overview übersicht"),
    (gettext_noop("Catalog"), "/app/catalog/", "get_package", "applications apps store anwendungen"),
    (gettext_noop("Environments"), "/app/environments/", "list_environments", "deployed umgebungen"),
    (gettext_noop("Deployments"), "/app/environments/deployments", "list_deployments_all_environments", "tasks log"),
    (gettext_noop("Templates"), "/app/templates/", "list_env_templates", "vorlagen"),
    (gettext_noop("Packages"), "/app/packages/", "get_package", "authors pakete"),
    (gettext_noop("Images"), "/app/packages/images", "list_images", "servers abbilder"),
    (gettext_noop("Categories"), "/app/packages/categories", "get_category", "kategorien"),
    (gettext_noop("Unfinished forms"), "/app/forms/", "use_forms", "drafts formulare"),
    (gettext_noop("Notices"), "/app/notices/", "manage_notices", "webhook mail chat alerts"),
    (gettext_noop("Quotas"), "/app/people/quotas", "", "limits usage kontingente"),
    (gettext_noop("Profile"), "/app/people/me", "", "password language token settings einstellungen"),
    (gettext_noop("People and projects"), "/app/people/", "context_is_admin", "users accounts roles"),
    (gettext_noop("Audit"), "/app/people/audit", "list_audit", "who did what"),
    (gettext_noop("Operation"), "/app/operation/", "operate", "admin checklist betrieb"),
    (gettext_noop("Doctor"), "/app/operation/doctor", "operate", "check findings health befunde"),
    (gettext_noop("Workers"), "/app/operation/workers", "operate", "drain arbeiter"),
    (gettext_noop("Queue"), "/app/operation/queue", "operate", "waiting running tasks warteschlange"),
    (gettext_noop("Cloud"), "/app/operation/cloud", "operate", "servers driver treiber"),
    (gettext_noop("Disk"), "/app/operation/disk", "operate", "space clean speicher platz"),
    (gettext_noop("Backups"), "/app/operation/backups", "operate", "restore sicherung"),
    (gettext_noop("Settings"), "/app/operation/settings", "operate", "configuration einstellungen"),
    (gettext_noop("Help"), "/app/help/", "", "manual documentation handbuch hilfe"),
    (gettext_noop("Glossary"), "/app/help/glossary/", "", "words begriffe"),
    (gettext_noop("The API"), "/app/help/api/", "", "openapi rest programs"),
)
_ACTIONS = (
    (gettext_noop("New environment"), "/app/environments/new", "create_environment", "create make anlegen"),
    (gettext_noop("Import packages"), "/app/packages/import", "upload_package", "upload publish hochladen"),
    (gettext_noop("Import an environment"), "/app/environments/import", "create_environment", "restore archive"),
    (gettext_noop("New template"), "/app/templates/new", "create_env_template", "create"),
    (gettext_noop("Build the image for servers"), "/app/packages/images/build", "build_images", "real make"),
    (gettext_noop("Make a token"), "/app/people/me#tokens", "", "api ci password"),
    (gettext_noop("New account"), "/app/people/new", "context_is_admin", "user account invite"),
)


@page()
def search(request: HttpRequest, caller: Caller) -> HttpResponse:
    """What is found, kind by kind."""
    words = request.GET.get("q", "").strip()[:200]
    context = {"q": words, "groups": groups(caller, words)}
    part = request.headers.get("HX-Target") == "palette-list"
    return render(request, "palette_list.html" if part else "palette.html", context)


def groups(caller: Caller, words: str) -> list[tuple[str, str, list[Hit]]]:
    """(key, title, hits) of each kind that has any. Without words: pages and actions."""
    kinds: list[tuple[str, str, Callable[[], list[Hit]]]] = [
        ("applications", _("Applications"), lambda: _applications(caller, words)),
        ("environments", _("Environments"), lambda: _environments(caller, words)),
        ("components", _("In environments"), lambda: _components(caller, words)),
        ("actions", _("Actions"), lambda: _fixed(caller, _ACTIONS, words)),
        ("pages", _("Pages"), lambda: _fixed(caller, _PAGES, words)),
        ("help", _("Help"), lambda: _help(words)),
    ]
    found = [(key, title, hits()) for key, title, hits in kinds]
    return [group for group in found if group[2]]


def _applications(caller: Caller, words: str) -> list[Hit]:
    if not words or not allows(caller, "get_package"):
        return []
    query = Query(search=words, type="Application", catalog=True, order_by=(), limit=_EACH)
    rows = fuzzy_search.find(caller, query).rows
    return [Hit(str(row[3]), f"/app/catalog/{quote(str(row[1]))}/", str(row[2])) for row in rows]


def _environments(caller: Caller, words: str) -> list[Hit]:
    if not words or not allows(caller, "list_environments"):
        return []
    rows = environments.part(caller.project_id, search=words, in_text=True, sort="-changed", most=_EACH)
    return [Hit(row.name, f"/app/environments/{row.id}/") for row in rows]


def _components(caller: Caller, words: str) -> list[Hit]:
    if not words or not allows(caller, "show_environment"):
        return []
    found = component_names.find(caller.project_id, words, _EACH)
    return [Hit(one.name, f"/app/environments/{one.environment_id}/components/{quote(one.id)}/", one.environment)
            for one in found]  # fmt: skip


def _fixed(caller: Caller, entries: Sequence[tuple[str, str, str, str]], words: str) -> list[Hit]:
    terms = [term.texts for term in terms_of(words)]
    found = []
    for name, url, rule, others in entries:
        text = f"{name} {_(name)} {others}".lower()
        fits = all(any(word in text for word in texts) for texts in terms) and (not words or terms)
        if fits and (not rule or (caller.is_admin if rule == "context_is_admin" else allows(caller, rule))):
            found.append(Hit(_(name), url))
    return found[: _EACH if words else len(found)]


def _help(words: str) -> list[Hit]:
    found = [(one.section, one.page) for one in manual.search(words, _EACH)]
    return [Hit(one.title, one.url, page if page != one.title else "") for one, page in found]
