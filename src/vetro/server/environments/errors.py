"""Refusals that callers of the rules tell apart from others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vetro.diagnostics import Text
from vetro.model.paths import NoSuchPart, NotReplaceable
from vetro.server.errors import Conflict, Forbidden, Invalid, NotFound


class NotYours(Forbidden):
    """It belongs to another project. /v1 answers 403 as recorded, everything newer as if it did not exist."""

    code = "SRV431"


class SessionInvalid(Forbidden):
    """The environment was changed, or is being changed, since the session was opened."""

    code = "SRV432"
    hint = Text("open a new session and make the changes there")


class Busy(Forbidden):
    """A task works on the environment."""

    code = "SRV433"
    hint = Text("wait until it has ended, or cancel it")


class Reserved(Busy):
    """The environment is a procedure's until that has ended; ``details.procedure_id`` says whose."""

    code = "SRV439"
    hint = Text("wait until it has ended, or take it back: vetro env undo")


class DraftChanged(Conflict):
    """Somebody changed the draft since it was read; ``details.revision`` is its present revision."""

    code = "SRV434"


class ResourcesElsewhere(Conflict):
    """An archive would make an environment that counts as deployed while its resources are another's."""

    code = "SRV435"
    hint: str | None = Text("import it as a draft in which nothing counts as deployed: send fresh=true")


class LockIncomplete(Conflict):
    """Archives that a lock names are gone; ``details.missing`` lists them."""

    code = "SRV438"
    hint: str | None = Text("import exactly these archives again, or deploy without the lock")


class UpgradeIncomplete(Conflict):
    """An upgrade asks something, would lose something, or does not work; ``details.report`` says what."""

    code = "SRV610"
    hint: str | None = Text("answer what is asked, and confirm what may be lost")


class UpgradeRefused(Conflict):
    """A migration of a package fails, or its classes cannot be read."""

    code = "SRV611"


@contextmanager
def refusing() -> Iterator[None]:
    """Answers for `vetro.model.paths`: `NotFound` where a path leads to nothing, `Invalid` for what stays as it is."""
    try:
        yield
    except NoSuchPart as error:
        raise NotFound(Text("There is nothing at '{path}'.", path="/".join(error.path))) from None
    except NotReplaceable:
        raise Invalid(
            Text("an object cannot be replaced as a whole by its id"), hint=Text("change its properties")
        ) from None
