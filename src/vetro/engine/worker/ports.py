"""What a worker drives: task processes, an effects host, and whoever wants to see what happens."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from vetro.engine.effect_kinds import KINDS, Policy
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:  # the effects host imports this module and has no use for task processes: they need the language
    from vetro.engine.task.launcher import Exit


class WorkerError(VetroError):
    """A worker cannot go on with a task. The journal is as of its last commit; the task can be continued later."""

    code = "ENG310"


class LeaseLost(WorkerError):
    """Another worker has this task now: this one has stopped and wrote nothing more."""

    code = "ENG311"


class HostUnavailable(WorkerError):
    """The effects host died again and again, or could not be started."""

    code = "ENG312"
    hint = "look at its messages above; the task can be continued when the cause is mended"


class Process(Protocol):
    """A task process (`vetro.engine.task.launcher.TaskProcess`): one end of its socket pair, and its life."""

    @property
    def pid(self) -> int | None:
        """Its process id; None for one that runs in this process (tests)."""
        ...  # pragma: no cover - protocol

    def fileno(self) -> int:
        """Our end of its socket pair."""
        ...  # pragma: no cover - protocol

    def kill(self) -> None:
        """Ends it at once (SIGKILL); nothing when it has ended."""
        ...  # pragma: no cover - protocol

    def wait(self, timeout: float | None = None) -> Exit | None:
        """How it ended; None when it did not within ``timeout`` seconds."""
        ...  # pragma: no cover - protocol

    def close(self) -> None:
        """Kills it unless it has ended, and lets our end go."""
        ...  # pragma: no cover - protocol


class ProcessLauncher(Protocol):
    """`vetro.engine.task.launcher.Launcher`."""

    def start(self) -> Process:
        """A new task process that waits for its ``task`` frame."""
        ...  # pragma: no cover - protocol


class HostPort(Protocol):
    """An effects host: `vetro.engine.host.process.HostProcess`, or one that a test makes."""

    def start(self) -> None:
        """Starts it (again, when it died). Raises `HostUnavailable`."""
        ...  # pragma: no cover - protocol

    def fileno(self) -> int:
        """Our end of its socket pair."""
        ...  # pragma: no cover - protocol

    def kill(self) -> None:
        """Ends it in the middle of what it does, as if the worker had died. Nothing when it does not run."""
        ...  # pragma: no cover - protocol

    def stop(self) -> None:
        """Ends it; what it is doing in a cloud may take some seconds to end well. Nothing when it does not run."""
        ...  # pragma: no cover - protocol


#: Called with ``{event, key, kind, ...}`` after the thing is durable. Events: ``note`` (args: reports, log lines),
#: ``begun``, ``ended`` (error: None or {kind, message, names}), ``progress`` (what the host says of an effect),
#: ``checkpoint``, ``restarted`` (what: task or host), ``replayed``.
Events = Callable[[Mapping[str, Any]], None]

#: Called with the name of a step and the key of the effect, on both sides of every step: see `STEPS`. For tests.
Step = Callable[[str, str], None]


class Policies:
    """Policies of effect kinds: the standard ones, ``more``, and what installed extensions declare of theirs.

    ``plugins`` limits the extensions to these distributions. What nobody declares is unsafe.
    """

    def __init__(self, more: Mapping[str, Policy] | None = None, plugins: Collection[str] | None = None) -> None:
        self._more = dict(more or {})
        self._plugins = plugins

    def __call__(self, kind: str) -> Policy:
        """The policy of a kind; nobody can change that of a standard kind."""
        if kind in KINDS:
            return KINDS[kind][0]
        if kind not in self._more:
            self._more[kind] = self._declared(kind) if kind.startswith("plugin:") else Policy.UNSAFE
        return self._more[kind]

    def _declared(self, kind: str) -> Policy:
        from vetro.packages.extensions.plugins import resolve_effect

        try:
            return Policy(resolve_effect(kind, self._plugins).policy)
        except VetroError:
            return Policy.UNSAFE
