"""Task processes for `vetro form`: one question each, or a conversation about a UI definition.

Expressions of packages and definitions run in these processes and nowhere else.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vetro.cli.package_queries import TIMEOUT, Given, PackageQueries
from vetro.engine.query.query import AskFailed, Conversation
from vetro.engine.task.launcher import Launcher
from vetro.engine.task.task import Task
from vetro.forms.queries import EFFECT
from vetro.forms.sessions import FormFailed


class FormTasks(PackageQueries):
    """A context manager. `question` raises `AskFailed`."""

    def __init__(self, processes: Launcher, packages: Iterable[Any], given: Given) -> None:
        super().__init__(processes, packages, given)
        self._definitions: list[DefinitionTask] = []

    def __exit__(self, *error: object) -> None:
        for definition in self._definitions:
            definition.close()
        super().__exit__(*error)

    def question(self, kind: str, model: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """The result of a task of this kind (`vetro.engine.task.task.Kind`)."""
        return self._ask(kind, dict(model or {}), **more)

    def definition(self, text: str, origin: str, outside: Callable[[Any], Any]) -> DefinitionTask:
        """What answers questions about a definition; ``outside`` performs what it wants to know of the world
        (`vetro.forms.external_queries`)."""
        made = DefinitionTask(self._conversation, text, origin, outside)
        self._definitions.append(made)
        return made

    def _conversation(self) -> Conversation:
        given = self._given
        task = Task(
            id=secrets.token_hex(8),
            kind="questions",
            packages=tuple(self._paths),
            model={},
            seed=secrets.token_hex(16),
            method="form",
            settings=given.settings,
            configs=tuple(given.configs),
            plugins=given.plugins,
            budget=given.budget,
        )
        return Conversation(task, launcher=self._processes, timeout=TIMEOUT)


class DefinitionTask:
    """One definition in a task process; a process that died or took too long is replaced by the next question.

    Called with a question it gives the answer. Raises `FormFailed`: an expression that does not end costs its question
    and nothing else, what was answered before is in the caller's hands.
    """

    def __init__(
        self, start: Callable[[], Conversation], text: str, origin: str, outside: Callable[[Any], Any]
    ) -> None:
        self._start = start
        self._load = {"do": "load", "text": text, "origin": origin}
        self._outside = outside
        self._process: Conversation | None = None

    def __call__(self, question: Mapping[str, Any]) -> Any:
        try:
            if self._process is None or not self._process.alive:
                self._process = self._start()
                loaded = self._process.ask(self._load, timeout=TIMEOUT)
                if loaded.get("failed") is not None:
                    self.close()
                    return loaded
            return self._process.ask(question, timeout=TIMEOUT, handlers={EFFECT: self._outside})
        except AskFailed as error:
            raise FormFailed(f"the definition does not answer: {error.message}", dict(error.error)) from None

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._process.close()
            self._process = None
