"""Messages to rooms of a chat, by its incoming webhooks: forms of Slack and Mattermost, and templates of one's own."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from vetro.diagnostics import Text
from vetro.server.errors import Invalid
from vetro.server.notices.message import Message

#: Forms that need no template.
SLACK, MATTERMOST, TEMPLATE = "slack", "mattermost", "template"
FORMS: Final = (SLACK, MATTERMOST, TEMPLATE)
#: What templates may name.
PLACES: Final = ("title", "text", "link", "level", "kind", "project", "environment", "at")
_PLACE = re.compile(r"\{\{\s*(\w+)\s*\}\}")
#: What is more than itself in Markdown: a name that somebody gave is no link, picture or heading.
_MARKS = re.compile(r"[\\\[\]()!*_`~<>#|]")
_COLOURS = {"info": "#2e7d32", "warning": "#ed8b00", "error": "#c62828"}
#: Characters of a template, and levels of its lists and objects.
_MOST, _DEEPEST = 8000, 50


def check_template(text: str) -> str:
    """A template as it is kept: JSON whose texts have places like ``{{title}}``. Raises `Invalid`."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, dict) or len(text) > _MOST or _depth(parsed) > _DEEPEST:
        raise Invalid(
            Text("the template must be a JSON object of at most {most} characters", most=_MOST),
            hint=Text('for example {{"text": "{{{{title}}}}"}}'),
        )
    try:
        _filled(parsed, dict.fromkeys(PLACES, ""))  # not looked for in the text: JSON spells braces in several ways
    except KeyError as error:
        name, places = str(error.args[0]), ", ".join(PLACES)
        raise Invalid(Text("a template has no place '{name}'; there are {places}", name=name, places=places)) from None
    return text


def body(message: Message) -> bytes:
    """What is sent to the address of the chat."""
    form = message.settings.get("form")
    if form == SLACK:
        told: Any = _slack(message)
    elif form == MATTERMOST:
        told = _mattermost(message)
    else:
        told = _filled(json.loads(str(message.settings["template"])), _values(message))
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace")


def _slack(message: Message) -> dict[str, Any]:
    title = _slack_text(message.title)
    head = f"*<{message.link}|{title}>*" if message.link else f"*{title}*"
    lines = "\n".join([head, *(_slack_text(line) for line in message.lines)])
    block = {"type": "section", "text": {"type": "mrkdwn", "text": lines[:2900]}}
    return {"text": title, "attachments": [{"color": _colour(message), "blocks": [block]}]}


def _mattermost(message: Message) -> dict[str, Any]:
    text = "\n".join(_MARKS.sub(r"\\\g<0>", _quiet(line)) for line in message.lines)
    found = {"fallback": _quiet(message.title), "color": _colour(message), "title": _quiet(message.title), "text": text}
    if message.link:
        found["title_link"] = message.link
    return {"username": "Vetro", "attachments": [found]}


def _colour(message: Message) -> str:
    return _COLOURS[message.level]


def _slack_text(text: str) -> str:
    """Text that stays one: no link, and nobody is called (``<!channel>``)."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _quiet(text: str) -> str:
    """Text that calls nobody: after each @ stands a sign that takes no room."""
    return text.replace("@", "@\N{ZERO WIDTH SPACE}")


def _values(message: Message) -> dict[str, str]:
    return {
        "title": message.title,
        "text": "\n".join(message.lines),
        "link": message.link,
        "level": message.level,
        "kind": message.kind,
        "project": str(message.data["project"]["name"]),
        "environment": str((message.data.get("environment") or {}).get("name", "")),
        "at": message.at,
    }


def _depth(data: Any) -> int:
    depth, level = 0, [data]
    while level:
        depth += 1
        held = [item.values() if isinstance(item, dict) else item for item in level if isinstance(item, (dict, list))]
        level = [item for items in held for item in items]
    return depth


def _filled(data: Any, values: dict[str, str]) -> Any:
    if isinstance(data, str):
        return _PLACE.sub(lambda found: values[found[1]], data)
    if isinstance(data, dict):
        return {key: _filled(value, values) for key, value in data.items()}
    return [_filled(item, values) for item in data] if isinstance(data, list) else data
