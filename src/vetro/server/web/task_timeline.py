"""What a task did, for people: its lines, and its steps component by component along a time axis."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from vetro.diagnostics import TEXTS, decode_messages
from vetro.model.environment import applications_of
from vetro.model.header import class_of, id_of, label_of, label_of_type, type_of
from vetro.model.tree import objects
from vetro.server.tasks import log
from vetro.server.tasks.models import JournalEntry, Report, Task
from vetro.server.tasks.script_output import KIND

#: Width of the drawing of one row.
WIDTH = 1000
#: Lines that a page begins with, lines of one look afterwards, steps of a component that are told in words.
LINES, MORE, STEPS = 500, 500, 60
#: Pieces of output of scripts that are looked at for steps, and lines that are shown of a step.
PIECES, OUTPUT = 100, 20
#: Characters of a step.
STEP = 500
LEVELS = ("info", "warning", "error")
#: How stacks are called that nobody has named, and what their effects are for people.
_MADE = "murano-"
_RESOURCES = {
    "stack.push": gettext_noop("Make or change servers and networks"),
    "stack.delete": gettext_noop("Delete servers and networks"),
}
_EFFECTS = ("stack.push", "stack.delete", "server.power", "agent.call", "agent.send", "sleep", "workflow")


class Story:
    """The components that a task was about, and whose each object is."""

    def __init__(self, task: Task) -> None:
        self.task = task
        model = (task.spec or {}).get("model") or {}
        #: Id of a component -> (name, class), in the order of the model; those to be removed last.
        self.components: dict[str, tuple[str, str]] = {}
        self._top: dict[str, str] = {}
        #: Id of an object -> what people call it.
        self._names: dict[str, str] = {}
        self._classes: dict[str, str] = {}
        for root in (model.get("Objects"), model.get("ObjectsCopy")):
            for service in applications_of(root if isinstance(root, dict) else None):
                own = id_of(service)
                if own is None:
                    continue
                self.components.setdefault(str(own), (label_of(service), label_of_type(type_of(service))))
                self._classes.setdefault(str(own), class_of(service))
                for obj in objects(service):
                    self._top.setdefault(str(id_of(obj)), str(own))
                    self._names.setdefault(str(id_of(obj)).lower(), label_of(obj))

    def top(self, entity: str) -> str:
        """Id of the component that an object belongs to; '' for the environment itself."""
        return self._top.get(entity, "")

    def family(self, component: str) -> list[str]:
        """Ids of a component's objects."""
        return [own for own, top in self._top.items() if top == component]

    def lines(
        self, *, after: int = 0, component: str = "", levels: Iterable[str] = (), newest: bool = False
    ) -> list[dict[str, Any]]:
        """Lines that fit, oldest first; with ``newest`` the last ones. ``component`` "-": of the environment only."""
        rows = log.lines(self.task.id).filter(seq__gt=after)
        if component == "-":
            rows = rows.exclude(entity_id__in=list(self._top))
        elif component:
            rows = rows.filter(entity_id__in=self.family(component))
        wanted = [level for level in levels if level in LEVELS]
        if wanted:
            rows = rows.filter(level__in=wanted)
        found = log.within(rows.reverse(), LINES)[0][::-1] if newest else log.within(rows, MORE)[0]
        return [self.line(row) for row in found]

    def line(self, row: Report) -> dict[str, Any]:
        """One line as templates show it."""
        top = self.top(row.entity_id)
        return {
            "seq": row.seq,
            "at": row.created,
            "level": row.level,
            "kind": row.kind,
            "component": top,
            "label": self.components[top][0] if top else "",
            "text": text_of(row),
            "details": _details(row.details),
            "script": str(row.details.get("script") or "") if row.kind == KIND and row.details else "",
            "cut": row.cut,
        }

    def timeline(self) -> list[dict[str, Any]]:
        """[{id, label, type, state, steps: [{text, level, at, seconds, x, width, output}]}]: what each component did
        and when; ``output``: the end of what its scripts wrote meanwhile.

        A step lasts until the next one of its component; the last until the end of the task. Row '' is what the task
        did outside: stacks, servers.
        """
        begin = self.task.started or self.task.created
        end = self.task.finished or datetime.now(UTC)
        span = max((end - begin).total_seconds(), 0.001)
        told: dict[str, list[tuple[datetime, str, str]]] = {}
        rows = log.lines(self.task.id).filter(kind="report").only("created", "text", "level", "entity_id")
        for row in rows[:5000].iterator(chunk_size=100):
            top = self.top(row.entity_id)
            if top:
                told.setdefault(top, []).append((row.created, str(row.text)[:STEP], row.level))
        listed = [self._outside(begin, end, span)]
        written = self._written()
        failed = "" if any(level == "error" for marks in told.values() for _, _, level in marks) else self._failed()
        for own, (label, type_label) in self.components.items():
            marks = told.get(own, [])
            if own == failed and marks:
                marks[-1] = (*marks[-1][:2], "error")
            steps = []
            for place, (at, text, level) in enumerate(marks[-STEPS:]):
                rest = marks[-STEPS:][place + 1 :]
                until = rest[0][0] if rest else end
                step = _step(text, level, at, until, begin, span, running=not rest and self.running)
                meant = [said for when, said in written.get(own, ()) if at <= when and (not rest or when < until)]
                steps.append({**step, "output": "\n".join("\n".join(meant).splitlines()[-OUTPUT:])})
            state = "error" if own == failed else self._state(marks)
            listed.append({"id": own, "label": label, "type": type_label, "state": state, "steps": steps})
        return [item for item in listed if item["id"] or item["steps"]]

    def _failed(self) -> str:
        """Id of the component whose code ended the task, where nobody reported an error: the innermost of its class."""
        error = self.task.error if self.task.state == "failed" and isinstance(self.task.error, Mapping) else {}
        for frame in reversed(error.get("frames") or ()):
            name = frame.get("class") if isinstance(frame, Mapping) else None
            found = [own for own, class_name in self._classes.items() if class_name == name]
            if found:
                return found[0] if len(found) == 1 else ""
        return ""

    def _written(self) -> dict[str, list[tuple[datetime, str]]]:
        """What scripts wrote last, by component, oldest first."""
        found: dict[str, list[tuple[datetime, str]]] = {}
        rows = log.lines(self.task.id).filter(kind=KIND).only("created", "text", "entity_id").reverse()
        for row in log.within(rows, PIECES)[0][::-1]:
            if top := self.top(row.entity_id):
                found.setdefault(top, []).append((row.created, str(row.text)))
        return found

    @property
    def running(self) -> bool:
        """Whether something may still happen."""
        return self.task.state not in Task.FINAL

    def _state(self, marks: list[tuple[datetime, str, str]]) -> str:
        levels = {level for _, _, level in marks}
        if "error" in levels:
            return "error"
        if self.running:
            return "running" if marks else "queued"
        # When a task fails, what it had in hand elsewhere ends, too: only who reported an error failed.
        return "warning" if "warning" in levels else "done" if self.task.state == "done" else "stopped"

    def _outside(self, begin: datetime, end: datetime, span: float) -> dict[str, Any]:
        rows = JournalEntry.objects.filter(task=self.task, kind__in=_EFFECTS).order_by("-id")[:STEPS]
        steps = []
        for row in reversed(list(rows)):
            if row.kind == "sleep" and _blink(row.about):
                continue
            at = datetime.fromtimestamp(row.begun, UTC)
            until = datetime.fromtimestamp(row.ended, UTC) if row.ended is not None else end
            failed = isinstance(row.result, Mapping) and bool(row.result.get("error"))
            going = row.ended is None and self.running
            level = "error" if failed else "info"
            steps.append(_step(self._effect(row.kind, row.about), level, at, until, begin, span, running=going))
        levels = {step["level"] for step in steps}
        state = "running" if any(step["running"] for step in steps) else "error" if "error" in levels else "done"
        return {"id": "", "label": _("Cloud and servers"), "type": "", "state": state, "steps": steps}

    def _effect(self, kind: str, about: Any) -> str:
        given: Mapping[str, Any] = about if isinstance(about, Mapping) else {}
        name = str(given.get("name") or "")
        if kind == "sleep":
            return _("Pause of %s seconds") % str(given.get("seconds", "?"))
        if kind == "server.power":
            return _("Start servers that do not run") if given.get("off") else _("Switch servers")
        # The queue of an agent ends with the id of its server (AGENT 2).
        server = self._names.get(str(given.get("queue") or "").rpartition("-h")[2])
        if kind.startswith("agent.") and server:
            words = {
                "agent.call": _("Run %(plan)s on server %(server)s"),
                "agent.send": _("Send %(plan)s to server %(server)s"),
            }
            return str(words[kind] % {"plan": name, "server": server})
        if name.startswith(_MADE) and kind in _RESOURCES:
            return _(_RESOURCES[kind])
        words = {
            "stack.push": _("Make or change stack %s"), "stack.delete": _("Delete stack %s"),
            "agent.call": _("Run %s on a server"), "agent.send": _("Send %s to a server"), "workflow": _("Workflow %s"),
        }  # fmt: skip
        return str(words[kind] % name)


def _blink(about: Any) -> bool:
    """Whether a pause is one that nobody notices: code looks once more whether something has happened."""
    seconds = about.get("seconds") if isinstance(about, Mapping) else None
    return isinstance(seconds, (int, float)) and seconds < 1


def text_of(row: Report) -> Any:
    """What a line says; a message where the service said it."""
    told = row.details if isinstance(row.details, Mapping) else {}
    return decode_messages({"text": row.text, TEXTS: told.get(TEXTS)})["text"]


def _step(
    text: str, level: str, at: datetime, until: datetime, begin: datetime, span: float, *, running: bool
) -> dict[str, Any]:
    start = min(max((at - begin).total_seconds() / span, 0.0), 1.0)
    stop = min(max((until - begin).total_seconds() / span, start), 1.0)
    return {
        "text": text,
        "level": level,
        "at": at,
        "seconds": round(max((until - at).total_seconds(), 0.0), 1),
        "running": running,
        # Text: a template would write numbers as the viewer's language does, which a drawing does not understand.
        "x": f"{start * WIDTH:.1f}",
        "width": f"{max((stop - start) * WIDTH, 3.0):.1f}",
    }


def _details(details: Any) -> str:
    """What goes with a line: the hint, where it happened, the frames."""
    if not isinstance(details, Mapping):
        return "" if details is None else str(details)
    lines = [str(details["hint"])] if details.get("hint") else []
    for frame in details.get("frames") or ():
        if isinstance(frame, Mapping):
            lines.append(f"{frame.get('file')}:{frame.get('line')}  {frame.get('class')}.{frame.get('method')}")
    lines += [f"{key}: {details[key]}" for key in ("code", "logger", "file") if details.get(key) and not lines]
    return "\n".join(lines)
