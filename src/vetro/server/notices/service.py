"""What others call of notices: targets, rules and deliveries of the caller's project. Rule ``manage_notices``.

What an address hides is shown to nobody again: of a chat only its host, of a secret nothing but that there is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.db.models import Count, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from vetro.diagnostics import Text, decode_messages
from vetro.server.accounts.policy import enforce
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import lookup
from vetro.server.environments.limits import known_id
from vetro.server.environments.models import Environment
from vetro.server.errors import Conflict, Invalid, NotFound
from vetro.server.notices import channels, chat, mail, outbox, signatures
from vetro.server.notices.kinds import KINDS, LEVELS
from vetro.server.notices.message import title_of
from vetro.server.notices.models import Delivery, Rule, Target
from vetro.server.quotas import enforcement
from vetro.server.setup import config
from vetro.server.tasks import clock

_RULE = "manage_notices"
#: Hours for which the secret before works on after a rotation, at most, and usually.
MOST_HOURS, HOURS = 168, 24
#: Days for which deliveries are kept.
DAYS = 30
LANGUAGES = ("en", "de")
_AT_ONCE = 500


# -- targets -----------------------------------------------------------------------------------------------------------


def targets(caller: Caller) -> list[dict[str, Any]]:
    """The targets of the project by name: see `target_json`."""
    enforce(caller, _RULE)
    return [target_json(row) for row in _shown_targets(caller).order_by("name")]


def target(caller: Caller, target_id: str) -> dict[str, Any]:
    """One target. Raises `NotFound`."""
    enforce(caller, _RULE)
    return target_json(_shown_targets(caller).get(id=_target(caller, target_id).id))


def add_target(
    caller: Caller, name: str, kind: str, settings: Mapping[str, Any], language: str = ""
) -> tuple[dict[str, Any], str | None]:
    """A new target, and the secret of a webhook, which is told now and never again.

    Raises `Invalid`, `Conflict`, `QuotaExceeded`, `AddressRefused`.
    """
    enforce(caller, _RULE)
    name = _name(name)
    kept = _settings(kind, settings)
    secret = signatures.new_secret() if kind == Target.WEBHOOK else None
    row = Target(
        project_id=caller.project_id,
        name=name,
        kind=kind,
        settings=kept,
        keys=None if secret is None else [{"key": secret, "until": None}],
        language=_language(language),
    )
    try:
        with transaction.atomic():
            enforcement.check(caller.project_id, "notice_targets")
            row.save(force_insert=True)
            record(caller, "notice.target.added", row.id, name, kind=kind)
    except IntegrityError:
        raise _taken(name) from None
    return target(caller, row.id), secret


def change_target(caller: Caller, target_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Changes ``name``, ``enabled``, ``language`` or ``settings``. Raises as `add_target`, and `NotFound`."""
    enforce(caller, _RULE)
    changed: dict[str, Any] = {}
    if "name" in given:
        changed["name"] = _name(given["name"])
    if "language" in given:
        changed["language"] = _language(given["language"])
    if "settings" in given:
        changed["settings"] = _settings(_target(caller, target_id).kind, given["settings"])
    if "enabled" in given:
        changed["enabled"] = bool(given["enabled"])
    try:
        with transaction.atomic():
            row = _target(caller, target_id)
            # Nothing but that: its secret may be exchanged meanwhile. Somebody looks after it: it is tried at once.
            Target.objects.filter(id=row.id).update(**changed, failures=0, quiet_until=None)
            if changed.get("enabled", row.enabled):
                Delivery.objects.filter(target=row, state=Delivery.WAITING, attempts__gt=0).update(due=clock.after())
            record(caller, "notice.target.changed", row.id, changed.get("name", row.name), changed=sorted(given))
    except IntegrityError:
        raise _taken(changed.get("name", "")) from None
    return target(caller, row.id)


def remove_target(caller: Caller, target_id: str) -> None:
    """Removes it, with its rules and deliveries. Raises `NotFound`."""
    enforce(caller, _RULE)
    row = _target(caller, target_id)
    with transaction.atomic():
        Delivery.objects.filter(target=row).delete()
        row.delete()
        record(caller, "notice.target.removed", target_id, row.name)


def rotate_secret(caller: Caller, target_id: str, hours: int = HOURS) -> str:
    """A new secret of a webhook. The one before signs, too, for so many hours. Raises `Invalid`, `NotFound`."""
    enforce(caller, _RULE)
    secret = signatures.new_secret()
    with transaction.atomic():
        row = Target.objects.select_for_update().get(id=_target(caller, target_id).id)
        if row.kind != Target.WEBHOOK:
            raise Invalid(Text("only webhooks have a secret"))
        row.keys = signatures.rotated(row.keys or (), secret, clock.read(), timedelta(hours=hours))
        row.save(update_fields=["keys"])
        record(caller, "notice.target.rotated", row.id, row.name)
    return secret


def test_target(caller: Caller, target_id: str) -> dict[str, Any]:
    """A delivery that a worker sends at once: a test. Raises `NotFound`, `Conflict`, `QuotaExceeded`."""
    enforce(caller, _RULE)
    row = _target(caller, target_id)
    if not row.enabled:
        raise Conflict(Text("target '{name}' is switched off", name=row.name))
    with transaction.atomic():
        enforcement.check(caller.project_id, "notices")
        Target.objects.filter(id=row.id).update(failures=0, quiet_until=None)
        made = outbox.test(row)
    return delivery_json(_deliveries(caller).get(id=made.id))


def target_json(row: Any) -> dict[str, Any]:
    """A target as clients see it. ``failing``: why the newest notice that was tried did not arrive."""
    settings = row.settings
    problem = row.last_problem if row.last_state in (Delivery.WAITING, Delivery.DEAD) else None
    return {
        "id": row.id,
        "name": row.name,
        "kind": row.kind,
        "url": _shown_url(row.kind, settings.get("url")),
        "to": settings.get("to"),
        "form": settings.get("form"),
        "template": settings.get("template"),
        "language": row.language or "en",
        "enabled": row.enabled,
        "rules": row.rule_count,
        "dead": row.dead_count,
        "failing": _problem(problem),
        "secrets": len(signatures.valid(row.keys or (), clock.read().timestamp())),
        "created": row.created,
    }


def _shown_targets(caller: Caller) -> QuerySet[Any]:
    mine = Delivery.objects.filter(target=OuterRef("id"))
    tried = mine.filter(attempts__gt=0).order_by("-created", "-id")
    dead = mine.filter(state=Delivery.DEAD).order_by().values("target").annotate(n=Count("id")).values("n")
    rules = Rule.objects.filter(target=OuterRef("id")).order_by().values("target").annotate(n=Count("id")).values("n")
    return Target.objects.filter(project_id=caller.project_id).annotate(
        last_state=Subquery(tried.values("state")[:1]),
        last_problem=Subquery(tried.values("problem")[:1]),
        dead_count=_number(dead),
        rule_count=_number(rules),
    )


# -- rules -------------------------------------------------------------------------------------------------------------


def rules(caller: Caller) -> list[dict[str, Any]]:
    """The rules of the project, the oldest first: see `rule_json`."""
    enforce(caller, _RULE)
    rows = list(Rule.objects.filter(project_id=caller.project_id).select_related("target").order_by("created", "id"))
    names = dict(
        Environment.objects.filter(id__in={row.environment_id for row in rows} - {""}).values_list("id", "name")
    )
    return [rule_json(row, names) for row in rows]


def rule(caller: Caller, rule_id: str) -> dict[str, Any]:
    """One rule. Raises `NotFound`."""
    enforce(caller, _RULE)
    return _rule_json(_rule(caller, rule_id))


def add_rule(
    caller: Caller, target_id: str, environment_id: str = "", kinds: Sequence[str] = (), least: str = "info"
) -> dict[str, Any]:
    """A new rule. Raises `Invalid`, `NotFound`, `QuotaExceeded`."""
    enforce(caller, _RULE)
    row = Rule(project_id=caller.project_id, target=_target(caller, target_id))
    _fill(caller, row, {"environment_id": environment_id, "kinds": kinds, "least": least})
    with transaction.atomic():
        enforcement.check(caller.project_id, "notice_rules")
        row.save(force_insert=True)
        record(caller, "notice.rule.added", row.id, row.target.name)
    return _rule_json(row)


def change_rule(caller: Caller, rule_id: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Changes ``environment_id``, ``kinds`` or ``least``. Raises `Invalid`, `NotFound`."""
    enforce(caller, _RULE)
    row = _rule(caller, rule_id)
    _fill(caller, row, given)
    with transaction.atomic():
        if not Rule.objects.filter(id=row.id).update(
            environment_id=row.environment_id, kinds=row.kinds, least=row.least
        ):
            _rule(caller, rule_id)  # it went meanwhile
        record(caller, "notice.rule.changed", row.id, row.target.name, changed=sorted(given))
    return _rule_json(row)


def remove_rule(caller: Caller, rule_id: str) -> None:
    """Removes it; what waits to be sent is sent. Raises `NotFound`."""
    enforce(caller, _RULE)
    row = _rule(caller, rule_id)
    with transaction.atomic():
        row.delete()
        record(caller, "notice.rule.removed", rule_id, row.target.name)


def rule_json(row: Rule, names: Mapping[str, str]) -> dict[str, Any]:
    """A rule as clients see it. ``environment`` is null where it is gone."""
    return {
        "id": row.id,
        "target_id": row.target_id,
        "target": row.target.name,
        "environment_id": row.environment_id or None,
        "environment": names.get(row.environment_id),
        "kinds": row.kinds,
        "least": row.least,
        "created": row.created,
    }


def _rule_json(row: Rule) -> dict[str, Any]:
    return rule_json(row, dict(Environment.objects.filter(id=row.environment_id).values_list("id", "name")))


def _fill(caller: Caller, row: Rule, given: Mapping[str, Any]) -> None:
    if "environment_id" in given:
        id = str(given["environment_id"] or "")
        if id and not Environment.objects.filter(id=lookup.environment(caller, id), project_id=row.project_id).exists():
            raise NotFound(Text("There is no environment '{environment_id}'.", environment_id=id))
        row.environment_id = id
    if "kinds" in given:
        for kind in given["kinds"]:
            if kind not in KINDS:
                known = ", ".join(KINDS)
                raise Invalid(Text("There is no kind '{kind}' of notices; there are {known}.", kind=kind, known=known))
        row.kinds = list(dict.fromkeys(given["kinds"]))
    if "least" in given:
        if given["least"] not in LEVELS:
            raise Invalid(Text("'{least}' is none of {levels}.", least=given["least"], levels=", ".join(LEVELS)))
        row.least = given["least"]


# -- deliveries --------------------------------------------------------------------------------------------------------


def deliveries(
    caller: Caller,
    *,
    target_id: str | None = None,
    state: Sequence[str] = (),
    before: tuple[datetime, str] | None = None,
    most: int = 50,
) -> list[dict[str, Any]]:
    """Deliveries of the project, the newest first; ``before``: those after this one, by its time and id."""
    enforce(caller, _RULE)
    rows = _deliveries(caller)
    if target_id is not None:
        rows = rows.filter(target_id=target_id) if known_id(target_id) else rows.none()
    if state:
        rows = rows.filter(state__in=state)
    if before is not None:
        rows = rows.filter(Q(created__lt=before[0]) | Q(created=before[0], id__lt=before[1]))
    return [delivery_json(row) for row in rows.order_by("-created", "-id")[:most]]


def delivery(caller: Caller, delivery_id: str) -> dict[str, Any]:
    """One of them. Raises `NotFound`."""
    enforce(caller, _RULE)
    row = _deliveries(caller).filter(id=delivery_id).first()
    if row is None:
        raise NotFound(Text("There is no notice '{id}'.", id=delivery_id[:80]))
    return delivery_json(row)


def delivery_json(row: Any) -> dict[str, Any]:
    """A delivery as clients see it."""
    return {
        "id": row.id,
        "target_id": row.target_id,
        "target": row.target_name,
        "environment_id": row.environment_id or None,
        "kind": row.kind,
        "level": row.level,
        "title": title_of(row.kind, row.body),
        "state": row.state,
        "changes": row.folded + 1,
        "attempts": row.attempts,
        "problem": _problem(row.problem),
        "created": row.created,
        "due": row.due if row.state == Delivery.WAITING else None,
        "ended": row.ended,
    }


def _deliveries(caller: Caller) -> QuerySet[Any]:
    return Delivery.objects.filter(project_id=caller.project_id).annotate(target_name=F("target__name"))


def forget(now: datetime) -> int:
    """Drops deliveries of long ago, and rules of environments that are gone; how many."""
    count, old = 0, Delivery.objects.filter(created__lt=now - timedelta(days=DAYS)).order_by()
    while ids := list(old.values_list("id", flat=True)[:_AT_ONCE]):
        count += Delivery.objects.filter(id__in=ids).delete()[0]
    there = Environment.objects.filter(id=OuterRef("environment_id"))
    gone = Rule.objects.exclude(environment_id="").annotate(there=Subquery(there.values("id")[:1]))
    return count + gone.filter(there=None).delete()[0]


# -- what was given ----------------------------------------------------------------------------------------------------


def _target(caller: Caller, target_id: str) -> Target:
    rows = Target.objects.filter(project_id=caller.project_id)
    found = rows.filter(id=target_id).first() if known_id(target_id) else None
    if found is None:
        raise NotFound(Text("There is no target '{id}' of notices.", id=target_id[:80]))
    return found


def _rule(caller: Caller, rule_id: str) -> Rule:
    rows = Rule.objects.filter(project_id=caller.project_id).select_related("target")
    found = rows.filter(id=rule_id).first() if known_id(rule_id) else None
    if found is None:
        raise NotFound(Text("There is no rule '{id}' of notices.", id=rule_id[:80]))
    return found


def _settings(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of where notices go. Raises `Invalid`, `AddressRefused`."""
    if kind == Target.MAIL:
        return {"to": mail.check_receivers(list(given.get("to") or ()), config())}
    if kind not in Target.KINDS:
        raise Invalid(Text("'{kind}' is none of {kinds}.", kind=kind, kinds=", ".join(Target.KINDS)))
    url = str(given.get("url") or "")
    channels.check_url(url, config())
    if kind == Target.WEBHOOK:
        return {"url": url}
    form = str(given.get("form") or chat.SLACK)
    if form not in chat.FORMS:
        raise Invalid(Text("'{form}' is none of {forms}.", form=form, forms=", ".join(chat.FORMS)))
    kept = {"url": url, "form": form}
    if form == chat.TEMPLATE:
        kept["template"] = chat.check_template(str(given.get("template") or ""))
    return kept


def _name(text: str) -> str:
    name = " ".join(text.split())
    if not name or len(name) > 255:
        raise Invalid(Text("A target needs a name of at most 255 characters."))
    return name


def _language(text: str) -> str:
    if text not in ("", *LANGUAGES):
        raise Invalid(Text("'{language}' is none of {languages}.", language=text, languages=", ".join(LANGUAGES)))
    return text


def _taken(name: str) -> Conflict:
    return Conflict(Text("There is a target '{name}' already.", name=name))


def _problem(problem: Mapping[str, Any] | None) -> str | None:
    return None if problem is None else decode_messages(problem).get("text")


def _shown_url(kind: str, url: str | None) -> str | None:
    if url is None or kind == Target.WEBHOOK:
        return url
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/…"


def _number(rows: QuerySet[Any, Any]) -> Any:
    return Coalesce(Subquery(rows, output_field=IntegerField()), 0)
