"""`change`: an environment's name and description, as /v2 changes them. What is deployed knows nothing of either."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from vetro.diagnostics import Text
from vetro.server.audit.record import record
from vetro.server.caller import Caller
from vetro.server.environments import limits, queries
from vetro.server.environments.models import Environment
from vetro.server.environments.service import announce
from vetro.server.errors import Conflict, NotFound


def change(caller: Caller, environment_id: str, *, name: str | None = None, description: str | None = None) -> None:
    """Changes what is not None. Raises `Invalid`, `Conflict` for a name that the project has, `NotFound`."""
    found = queries.get(caller, environment_id)
    fields = {}
    if name is not None:
        fields["name"] = limits.name_of(
            name, Text("The name of an environment must not be blank."), Text("Environment")
        )
    if description is not None:
        fields["description_text"] = limits.text_of(description, "description")
    if not fields:
        return
    try:
        with transaction.atomic():
            row = Environment.objects.select_for_update().get(id=found.id)
            before = row.name
            for field, value in fields.items():
                setattr(row, field, value)
            row.save(update_fields=[*fields, "updated"])
            told = {"before": before} if "name" in fields else {}
            record(caller, "environment.change", row.id, row.name, fields=sorted(fields), **told)
            announce(row.project_id, row.id, "renamed" if "name" in fields else "described")
    except IntegrityError:
        raise Conflict(Text("There is an environment of this name already.")) from None
    except Environment.DoesNotExist:
        raise NotFound(Text("There is no environment '{environment_id}'.", environment_id=environment_id)) from None
