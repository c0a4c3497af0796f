"""Filters and tags of the pages: `icon`, `avatar`, `badge`, `health`, `moment`, `said`, `linked`."""

from __future__ import annotations

import itertools
import re
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from django import template
from django.template.defaultfilters import filesizeformat
from django.templatetags.static import static
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString
from django.utils.text import Truncator
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from vetro.server.catalog.package_texts import worded
from vetro.server.language import translated

register = template.Library()
#: Characters and lines of a description that is shown without folding.
_LONG, _LINES = 300, 4

#: State of an environment, session, task or component -> (colour, icon, words).
_STATES = {
    "ready": ("success", "check-circle", _("Ready")),
    "pending": ("info", "pencil", _("Ready to deploy")),
    "new": ("secondary", "circle", _("Ready to configure")),
    "empty": ("secondary", "circle", _("Not deployed yet")),
    "deploying": ("primary", "arrow-clockwise", _("Deploying")),
    "acting": ("primary", "arrow-clockwise", _("Action under way")),
    "switching": ("primary", "arrow-clockwise", _("Servers are switched")),
    "repairing": ("primary", "arrow-clockwise", _("Repair under way")),
    "deploy failure": ("danger", "x-circle", _("Deploy failure")),
    "deleting": ("warning", "hourglass-split", _("Deleting")),
    "delete failure": ("danger", "x-circle", _("Delete failure")),
    "opened": ("info", "pencil", _("Draft")),
    "deployed": ("success", "check-circle", _("Deployed")),
    "queued": ("secondary", "hourglass-split", _("Waiting")),
    "running": ("primary", "arrow-clockwise", _("Running")),
    "done": ("success", "check-circle", _("Done")),
    "failed": ("danger", "x-circle", _("Failed")),
    "cancelled": ("warning", "slash-circle", _("Cancelled")),
    "killed": ("danger", "slash-circle", _("Killed")),
    "diverged": ("danger", "exclamation-triangle", _("Diverged")),
    "needs_person": ("warning", "question-circle", _("Needs a decision")),
    "info": ("info", "info-circle", _("Info")),
    "warning": ("warning", "exclamation-triangle", _("Warning")),
    "error": ("danger", "x-circle", _("Error")),
    "errors": ("danger", "x-circle", _("Ended with errors")),
}
#: How something that was deployed is -> the same.
_HEALTH = {
    "running": ("success", "check-circle", _("Running")),
    "degraded": ("warning", "exclamation-triangle", _("Degraded")),
    "down": ("danger", "x-circle", _("Down")),
    "unknown": ("secondary", "question-circle", _("Unknown")),
    "stopped": ("secondary", "stop-fill", _("Stopped")),
    "simulated": ("info", "circle-half", _("Simulated")),
}

#: What clouds call the states of servers -> words; others are shown as they are called.
_SERVERS = {
    "ACTIVE": _("Running"),
    "SHUTOFF": _("Stopped"),
    "STOPPED": _("Stopped"),
    "BUILD": _("Being made"),
    "ERROR": _("Failed"),
    "DELETED": _("Deleted"),
    "UNKNOWN": _("Unknown"),
}


@register.simple_tag
def icon(name: str, label: str = "") -> SafeString:
    """An icon of the sprite (assets/icons.txt); with a label it speaks, without it is hidden from readers."""
    if label:
        path = static("vendor/icons.svg")
        return format_html(
            '<svg class="icon" role="img" aria-label="{}"><use href="{}#{}"></use></svg>', label, path, name
        )
    return _plain_icon(name)


# Lists hold hundreds of them.
@lru_cache(maxsize=200)
def _plain_icon(name: str) -> SafeString:
    path = static("vendor/icons.svg")
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"></use></svg>', path, name)


@register.filter
def badge(state: str) -> SafeString:
    """A state as a coloured word with an icon."""
    colour, name, words = _STATES.get(state, ("secondary", "circle", state))
    spin = " spin" if name == "arrow-clockwise" else ""
    return format_html(
        '<span class="state text-{}-emphasis bg-{}-subtle{}" data-state="{}">{} {}</span>',
        colour,
        colour,
        spin,
        state,
        icon(name),
        gettext(words),
    )


@register.filter
def task_badge(task: Any) -> SafeString:
    """The state of a task, of which a row or its fields are given, as `badge`: one that reported errors did not just
    end."""
    given = task if isinstance(task, Mapping) else vars(task)
    return badge("errors" if given["state"] == "done" and given.get("errors") else given["state"])


@register.filter
def server_state(status: str) -> str:
    """The state of a server, as its cloud calls it, in words."""
    return gettext(_SERVERS[status]) if status in _SERVERS else status


@register.filter
def health(state: str) -> SafeString:
    """How something is (`vetro.engine.watching.states.State`) as a coloured word; empty for what nobody watches."""
    if not state:
        return SafeString("")
    colour, name, words = _HEALTH[state]
    return format_html(
        '<span class="state text-{}-emphasis bg-{}-subtle" data-health="{}">{} {}</span>',
        colour,
        colour,
        state,
        icon(name),
        gettext(words),
    )


@register.filter
def moment(at: datetime | None, how: str = "") -> SafeString | str:
    """A time in the viewer's zone, UTC where none is chosen; in the browser's zone once the page's script has run.

    The script also says "2 minutes ago", unless ``how`` is "exact".
    """
    if at is None:
        return ""
    words = timezone.localtime(at).strftime("%Y-%m-%d %H:%M %Z")
    exact = SafeString(" data-exact") if how == "exact" else ""
    return format_html('<time datetime="{}" title="{}"{}>{}</time>', at.astimezone(UTC).isoformat(), at, exact, words)


@register.simple_tag
def chart(samples: Sequence[Mapping[str, Any]], name: str) -> SafeString:
    """The newest of these values, and a line of them all from nothing to the largest; a dash where nobody told any."""
    points = [(one["at"].timestamp(), one[name]) for one in samples if one[name] is not None]
    if not points:
        return format_html('<span class="text-body-secondary">{}</span>', gettext("not told"))
    values = [value for _, value in points]
    limit = next((one["memory_limit"] for one in reversed(samples) if one["memory_limit"]), None)
    top = max(*values, limit if name == "memory" and limit else 0) or 1
    begin, over = points[0][0], max(points[-1][0] - points[0][0], 1)
    line = " ".join(f"{118 * (at - begin) / over + 1:.1f},{27 - 26 * value / top:.1f}" for at, value in points)
    newest, most = _amount(values[-1], name), _amount(max(values), name)
    words = gettext("now %(newest)s, at most %(most)s") % {"newest": newest, "most": most}
    if name == "memory" and limit:
        words += " " + gettext("of %(limit)s") % {"limit": _amount(limit, name)}
    return format_html(
        '<svg class="chart" role="img" aria-label="{}" width="120" height="28" viewBox="0 0 120 28">'
        '<polyline fill="none" stroke="currentColor" stroke-width="1.5" points="{}"></polyline></svg>'
        '<div class="small" aria-hidden="true">{}</div>',
        words,
        line,
        words,
    )


def _amount(value: float, name: str) -> str:
    return str(number_format(value, 2) if name == "processors" else filesizeformat(value))


@register.filter
def said(text: Any) -> str:
    """What a rule says, in the language of the page."""
    return translated(str(text)) if text else ""


@register.filter
def local(text: Any, package: Any) -> str:
    """What the author of a package wrote, in the language of the page where the package has it."""
    return translated(worded(package, str(text))) if text else ""


#: Where a browser goes, in the middle of a text; what ends a sentence is none of it.
_LINK = re.compile(r"""https?://[^\s<>"'`(){}\[\]|\\^]+(?<![.,;:!?])""")
#: Links of a text; more of them are text.
_LINKS = 20


@register.filter
def linked(text: Any, simulated: bool = False) -> str | SafeString:
    """A text of packages and servers with its addresses as links; none where what it tells of is ``simulated``."""
    found = str(text)
    if simulated or "://" not in found:
        return found
    made, at = [], 0
    for match in itertools.islice(_LINK.finditer(found), _LINKS):
        link = format_html('<a href="{}" target="_blank" rel="noopener noreferrer nofollow">{}</a>', match[0], match[0])
        made += [conditional_escape(found[at : match.start()]), link]
        at = match.end()
    return SafeString("".join([*made, conditional_escape(found[at:])]))


@register.filter
def beginning(text: str) -> str:
    """The first lines of a description that takes up much of a page; empty for one that does not."""
    lines = text.splitlines()
    if len(text) <= _LONG and len(lines) <= _LINES:
        return ""
    return Truncator("\n".join(lines[: _LINES - 1])).chars(_LONG * 2 // 3, truncate=" …").removesuffix(" …") + " …"


@register.inclusion_tag("web/parts/avatar.html")
def avatar(name: str, picture: str = "", size: str = "") -> dict[str, Any]:
    """A package's logo, or its initials on a colour that follows from its name."""
    words = [word for word in name.replace(".", " ").replace("-", " ").split() if word]
    letters = "".join(word[0] for word in words[:2]).upper() or "?"
    return {"picture": picture, "letters": letters, "hue": zlib.crc32(name.encode()) % 8, "size": size}
