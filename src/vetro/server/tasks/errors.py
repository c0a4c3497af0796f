"""Ends of tasks that are no fault of a package."""

from __future__ import annotations

from vetro.yaql.errors import VetroError


class BegunTooOften(VetroError):
    """A task was begun again and again: whatever runs it dies."""

    kind = "error"
    code = "SRV570"
    hint = "the logs of the workers say why they ended; 'retry' begins where the task came to"


class InternalFailure(VetroError):
    """Something around a task failed that should not: a defect of the service, not of the package."""

    kind = "error"
    code = "SRV571"
    hint = "the log of the worker says more; 'retry' begins where the task came to"
