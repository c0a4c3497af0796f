"""What an action returned: a table, text, JSON, or a file to download; before that, that it is still running."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.utils.http import content_disposition_header
from django.utils.translation import gettext as _

from vetro.data_classes import dataclass
from vetro.diagnostics import decode_messages
from vetro.model.files import as_file, file_in, stored_in
from vetro.model.header import label_of_type
from vetro.server.caller import Caller
from vetro.server.environments.models import Environment
from vetro.server.requests.streams import file_stream
from vetro.server.servers import files
from vetro.server.tasks import queue
from vetro.server.tasks.models import Task
from vetro.server.web.model_texts import text_of
from vetro.server.web.page import missing, page, render

#: Rows and columns of a table; what is larger is shown as JSON.
_ROWS, _COLUMNS = 1000, 12
#: Characters that are shown; the rest is for the download.
_SHOWN = 200_000


@dataclass(frozen=True, slots=True)
class Shape:
    """How a result is shown: ``kind`` is nothing, text, table, facts, json or file."""

    kind: str
    text: str = ""
    heads: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    size: int = 0
    cut: bool = False


@page(rule="execute_action")
def show(request: HttpRequest, caller: Caller, task: str) -> HttpResponse:
    """The page; of a task that runs it comes again by itself."""
    row = _task(caller, task)
    final = row.state in Task.FINAL
    environment = Environment.objects.filter(id=row.environment_id).values_list("id", "name").first()
    context = {
        "task": row,
        "final": final,
        "title": _title(row),
        "error": decode_messages(row.error) if final else None,
        "shape": shape_of(row.result) if row.state == "done" else None,
        "environment": environment,
    }
    part = request.headers.get("HX-Target") == "result"
    return render(request, "actions/result_part.html" if part else "actions/result.html", context)


@page(rule="execute_action")
def download(request: HttpRequest, caller: Caller, task: str) -> HttpResponseBase:
    """The result as a file: what the action made one of, text as text, anything else as JSON."""
    row = _task(caller, task)
    if row.state != "done":
        raise missing(_("result"))
    answer: HttpResponseBase
    if (stored := stored_in(row.result)) is not None:
        name, kind, file, _size = stored
        answer = file_stream(files.open_file(caller, str(row.environment_id), file), caller.project_id, kind)
    else:
        name, kind, data = as_file(row.result)
        answer = HttpResponse(data, content_type=kind)
    answer["Content-Disposition"] = content_disposition_header(True, name) or "attachment"
    # Whatever it claims to be: opened by itself it runs nothing and loads nothing.
    answer["Content-Security-Policy"] = "sandbox; default-src 'none'"
    answer["X-Content-Type-Options"] = "nosniff"
    return answer


def shape_of(result: Any) -> Shape:
    """How a result is shown."""
    if result is None:
        return Shape("nothing")
    stored = stored_in(result)
    if stored is not None:
        return Shape("file", stored[0], size=stored[3])
    found = file_in(result)
    if found is not None:
        return Shape("file", found[0], size=len(found[2]))
    if isinstance(result, (str, int, float)):
        text = text_of(result) if not isinstance(result, bool) else _("Yes") if result else _("No")
        return Shape("text", text[:_SHOWN], cut=len(text) > _SHOWN)
    if isinstance(result, Mapping) and result and "?" not in result and all(map(_plain, result.values())):
        return Shape("facts", rows=[(str(key), _cell(value)) for key, value in list(result.items())[:_ROWS]])
    if isinstance(result, list) and 0 < len(result) <= _ROWS:
        table = _table(result)
        if table is not None:
            return table
    text = json.dumps(result, ensure_ascii=False, indent=2)
    return Shape("json", text[:_SHOWN], cut=len(text) > _SHOWN)


def _table(items: Sequence[Any]) -> Shape | None:
    """Rows of things that have the same few members; or one column of plain values."""
    if all(map(_plain, items)):
        return Shape("table", heads=[_("Value")], rows=[[_cell(item)] for item in items])
    heads: dict[str, None] = {}
    for item in items:
        if not isinstance(item, Mapping) or not all(_plain(value) for key, value in item.items() if key != "?"):
            return None
        heads |= dict.fromkeys(str(key) for key in item if key != "?")
    if not 0 < len(heads) <= _COLUMNS:
        return None
    return Shape("table", heads=list(heads), rows=[[_cell(item.get(head, "")) for head in heads] for item in items])


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    return "" if value is None else str(value)


def _task(caller: Caller, task: str) -> Task:
    row = queue.get(caller, task)
    if row.kind not in ("action", "static"):
        raise missing(_("result"))
    return row


def _title(row: Task) -> str:
    about = row.action or {}
    spec = row.spec or {}
    method = str(about.get("method") or spec.get("method") or "")
    type_text = spec.get("class") or spec.get("on_class") or {}
    name = type_text.get("name") if isinstance(type_text, Mapping) else type_text
    return f"{label_of_type(name)}.{method}" if name and row.kind == "static" else method or _("Action")
