"""Performs one `Task` in a session: what each kind of task means, how failures end, checkpoints on the way.

Input: a task, its effects, what the installation has. Output: one frame, ``done`` or ``failed`` (`frames`). Nothing in
here knows of processes; the task process calls `perform` and sends what it returns.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from vetro.clouds.errors import CloudError
from vetro.diagnostics import Text
from vetro.engine.failure import describe
from vetro.engine.installation import Installation
from vetro.engine.models import apply_answers, examine, undeclared, warning_text
from vetro.engine.task.lifecycle_meta import declared_health, declared_updates
from vetro.engine.task.pipe_effects import Disconnected, PipeEffects
from vetro.engine.task.power_methods import PowerMethods
from vetro.engine.task.sessions import Sessions, fixed_in
from vetro.engine.task.task import Task
from vetro.engine.upgrading.migration import NoEffects
from vetro.engine.upgrading.upgrade import Table, UpgradeRequest, upgraded
from vetro.engine.warning_notes import WarningNotes
from vetro.model.environment import Environment
from vetro.muranopl.objects.results import plain_result
from vetro.muranopl.session import Session
from vetro.yaql.errors import Cancelled, VetroError
from vetro.yaql.values import freeze

#: What chance begins with in migrations, always.
MIGRATION_SEED = "migration"


#: What is reported of a server for which something was done, and of one for which there was nothing to do.
_SWITCHED = {
    "start": "Server {} was started",
    "stop": "Server {} was stopped",
    "restart": "Server {} was restarted",
}
_AS_IT_WAS = {"start": "Server {} runs already", "stop": "Server {} is stopped already"}


class BadTask(VetroError):
    """A task that lacks what its kind needs."""

    kind = "bad-argument"
    code = "ENG301"


class Performance:
    """One run of a task. `start` gives its end; ``on_session`` is called as soon as there is a session."""

    def __init__(
        self, task: Task, effects: PipeEffects, installation: Installation, sessions: Sessions | None = None
    ) -> None:
        self.task = task
        self.effects = effects
        self.installation = installation
        self.sessions = sessions or Sessions()
        self.session: Session | None = None
        self.packages: list[Any] = []
        self._loaded = False

    def run(
        self,
        on_session: Callable[[Session], None] = lambda session: None,
        on_failure: Callable[[BaseException], None] = lambda error: None,
    ) -> dict[str, Any]:
        """The frame that ends the task. ``on_failure`` is called first when the run failed, to make room."""
        try:
            if self.task.kind == "questions":
                self._answer_questions()
                return {"t": "done", "model": None, "result": None}
            if self.task.kind == "snapshot":
                return {"t": "done", "model": None, "result": self._snapshot()}
            with WarningNotes(self.effects) as warnings:
                self.packages = self.sessions.packages(self.task)
                warnings.loaded(self.packages)
                session = self.sessions.open(
                    self.task, self.packages, self.effects, self.installation, fixed_in(self.task.model)
                )
                self.session = session
                on_session(session)
                self.effects.redaction = session.redaction
                self.effects.on_cancel = session.rt.cancel
                self.effects.on_checkpoint = self._checkpoint
                session.rt.look = self.effects.look
                if self.effects.cancelled is not None:
                    session.rt.cancel(self.effects.cancelled)
                self._switch(session)
                model, result = KINDS[self.task.kind](self, session)
            return {"t": "done", "model": model, "result": result}
        except (Disconnected, SystemExit):
            raise
        except BaseException as error:
            on_failure(error)
            told = describe(error)
            error.__traceback__ = error.__context__ = error.__cause__ = None
        return {"t": "failed", "error": told, "model": self._rest()}

    # -- kinds ---------------------------------------------------------------------------------------------------------

    def deploy(self, session: Session) -> tuple[Any, Any]:
        """Loads, cleans up, calls ``deploy`` of the root, finalises. An empty model: everything is destroyed."""
        return self._deployment(session, "deploy", None, public_only=False)

    def action(self, session: Session) -> tuple[Any, Any]:
        """The same with a public method of an object."""
        return self._deployment(session, self._method(), self.task.object_id, public_only=True)

    def _deployment(self, session: Session, method: str, object_id: str | None, public_only: bool) -> tuple[Any, Any]:
        root = session.load(self.task.model)
        self._loaded = True
        self._tell_undeclared(session)
        session.cleanup()
        result = None
        if root is not None:
            value = session.call(method, (), self.task.args, object_id=object_id, public_only=public_only)
            result = session.run(lambda: plain_result(session, value))
        elif self.task.kind == "action":
            raise BadTask(Text("the model is empty: there is no object for action '{method}'", method=method))
        return session.finalize(), result

    def _tell_undeclared(self, session: Session) -> None:
        """Values that nobody reads, as log lines of the task: logger ``model``, and what `undeclared` says of each."""
        for number, one in enumerate(undeclared(session, self.task.model)):
            line = {"logger": "model", "level": "warning", "text": str(warning_text(one)), **one}
            with suppress(Cancelled):  # nobody is told of anything any more
                self.effects.begin(f"undeclared/{number}", "log", line)

    def static(self, session: Session) -> tuple[Any, Any]:
        """A public static method of a class; model builders are such methods, too."""
        value = session.call(self._method(), (), self.task.args, on_class=self._class())
        return None, self._finished(session, value)

    def call(self, session: Session) -> tuple[Any, Any]:
        """One method, public or not, of an object of the model or of a class."""
        on_class = self.task.on_class
        if on_class is None:
            session.load(self.task.model)
        value = session.call(
            self._method(), (), self.task.args, object_id=self.task.object_id, on_class=on_class, public_only=False
        )
        return None, self._finished(session, value)

    def schema(self, session: Session) -> tuple[Any, Any]:
        """JSON Schemas of a class. ``args.methods`` (or ``method``) names the methods; none: class and builders.

        ``args.form``: those that forms are made from.
        """
        on_class, form = self._class(), bool(self.task.args.get("form"))
        methods = self.task.args.get("methods")
        if methods is None and self.task.method is not None:
            methods = [self.task.method]
        version, package = on_class.get("version"), on_class.get("package")
        return None, session.schema(on_class["name"], version, package, methods, form=form)

    def suggest(self, session: Session) -> tuple[Any, Any]:
        """An application from answers; see `vetro.engine.task.task.Kind`."""
        on_class, args = self._class(), self.task.args
        answers, named = args.get("answers") or {}, args.get("application")
        if not isinstance(answers, Mapping) or not (named is None or isinstance(named, str)):
            raise BadTask("'answers' of a task of kind 'suggest' is a mapping, 'application' text or null")
        taken = ("eager", "hints", "switches", "preset", "flavors", "image")
        options = {name: args[name] for name in taken if name in args}
        type_ = session.types.find(on_class["name"], on_class.get("version"), on_class.get("package"))
        environment = Environment(self.task.model)
        applied = apply_answers(session, self.packages, environment, type_, answers, named, session.new_id, **options)
        return None, applied.as_json()

    def check_model(self, session: Session) -> tuple[Any, Any]:
        """The errors of the model, and its values that nobody reads; see `vetro.engine.models`."""
        errors, unused = examine(session, self.task.model)
        return None, {"errors": errors, **({"warnings": unused} if unused else {})}

    def migrate(self, session: Session) -> tuple[Any, Any]:
        """The model with its objects in other versions; see `vetro.engine.upgrading.upgrade.upgraded`."""
        task = replace(self.task, seed=MIGRATION_SEED)  # what comes of it must not depend on who asks

        def opened(table: Table) -> Session:
            chosen = [p for p in self.packages if p.name not in table or str(p.version) in table[p.name]]
            made = self.sessions.open(task, chosen, NoEffects(), self.installation, table)
            made.resolver.load_fixations(table)
            return made

        try:
            wanted = UpgradeRequest(**self.task.args)
        except TypeError as error:
            raise BadTask(Text("the arguments of a task of kind 'migrate': {error}", error=error)) from None
        return None, upgraded(self.task.model, wanted, opened)

    def lifecycle(self, session: Session) -> tuple[Any, Any]:
        """What classes declare about the health of their objects, or updates of them; see
        `vetro.engine.task.task.Kind`."""
        found: dict[str, Any] = {}
        declared = declared_updates if self.task.args.get("updates") else declared_health
        for item in self.task.args.get("classes") or ():
            type_ = session.types.find(item["name"], item.get("version"), item.get("package"))
            told = declared(session, type_)
            if any(told.values()):
                found[item["text"]] = plain_result(
                    session, freeze({key: value for key, value in told.items() if value})
                )
        return None, found

    def power(self, session: Session) -> tuple[Any, Any]:
        """Nothing besides `_switch`."""
        return None, None

    def _switch(self, session: Session) -> None:
        """Starts and stops servers, step by step; what fails keeps no others from being tried. Raises `CloudError`.

        The key of each effect says which step it is: ``power0``, ``power1``… Before a deployment only servers that do
        not run are started, and what fails is a warning only: it may take the server away, or make it anew. What
        authors want done before servers stop comes first, and where that fails they are not stopped.
        """
        failed: list[str] = []
        methods = self._power_methods(session)
        for number, step in enumerate(self.task.power):
            key, action = f"power{number}", str(step["action"])
            if methods is not None and action != "start":
                users = [server["component"] for server in step["servers"]]
                if told := self._call_methods(methods, f"{key}/before", users, step["of"]):
                    raise CloudError(Text("{why}; its servers were not stopped: force it to do without", why=told[0]))
            names = {str(server["id"]): str(server["name"]) for server in step["servers"]}
            only_off = {"off": True} if step.get("off") else {}
            answer = self.effects.perform(key, "server.power", {"action": action, "servers": list(names), **only_off})
            left, off = frozenset(answer.get("left") or ()), set()  # journals of earlier versions have none
            for server in step["servers"]:
                if (why := answer["failed"].get(server["id"])) is None:
                    if server["id"] not in left or not only_off:
                        said = (_AS_IT_WAS if server["id"] in left else _SWITCHED)[action].format(server["name"])
                        about = {"id": server["component"], "level": "info", "text": said}
                        self.effects.begin(f"{key}/{server['id']}", "report", about)
                    continue
                off.add(server["component"])
                failed.append(_failed(action, names[server["id"]], why))
                if self.task.kind != "power":
                    about = {"id": server["component"], "level": "warning", "text": failed[-1]}
                    self.effects.begin(f"{key}/{server['id']}/failed", "report", about)
            if methods is not None and action != "stop":
                there = [s["component"] for s in step["servers"] if s["component"] not in off]
                failed += self._call_methods(methods, f"{key}/after", there, "start")
        if methods is not None:
            session.finish()
        if failed and self.task.kind == "power":
            raise CloudError(failed[0] if len(failed) == 1 else "; ".join(failed))

    def _power_methods(self, session: Session) -> PowerMethods | None:
        """What is to be called around the steps; None: nothing. Raises `CloudError`."""
        if all("of" not in step for step in self.task.power):
            return None
        try:
            return PowerMethods(session, self.task.model)
        except VetroError as error:
            why = Text("methods of applications cannot be called: {why}; force it to do without", why=error.message)
            raise CloudError(why) from error

    def _call_methods(self, methods: PowerMethods, key: str, components: list[str], event: str) -> list[Text]:
        """Calls what is to be called on ``event``; what failed. Nothing follows what failed before servers stop."""
        failed: list[Text] = []
        for component in dict.fromkeys(components):
            for id, method in methods.methods(component, event):
                about = {"id": component, "level": "info", "text": f"Calling method {method}"}
                self.effects.begin(f"{key}/{id}/{method}", "report", about)
                if (why := methods.call(component, id, method)) is not None:
                    failed.append(why)
                    if event != "start":
                        return failed
        return failed

    def _snapshot(self) -> Any:
        """Kind ``snapshot``; the host refuses these effects to tasks that run packages."""
        do, name = self.task.args.get("do"), self.task.args.get("name")
        if do not in ("make", "restore", "drop"):
            raise BadTask("'do' of a task of kind 'snapshot' is make, restore or drop")
        still = {"still": True} if do == "make" and self.task.args.get("still") else {}
        return self.effects.perform("snapshot", f"snapshot.{do}", {"name": name, **still})

    def _answer_questions(self) -> None:
        """Kind ``questions``: every answer is the argument of the effect that gets the next question, until none comes.

        Who answers opens sessions himself, if he needs any. A question that fails is answered with its failure.
        """
        known = self.installation.answering.get(self._method())
        if known is None:
            raise BadTask(Text("this installation answers no questions of kind '{kind}'", kind=self.task.method))
        answer, number = known(self), 0
        told: dict[str, Any] = {}
        while (question := self.effects.perform(f"question{number}", "question", told)) is not None:
            try:
                told = {"answer": answer(question)}
            except (Disconnected, SystemExit, MemoryError):
                raise
            except BaseException as error:
                told = {"error": describe(error)}
                error.__traceback__ = error.__context__ = error.__cause__ = None
            number += 1

    def _method(self) -> str:
        if self.task.method is None:
            raise BadTask(Text("a task of kind '{kind}' needs the name of a method", kind=self.task.kind))
        return self.task.method

    def _class(self) -> Any:
        if self.task.on_class is None or not self.task.on_class.get("name"):
            raise BadTask(Text("a task of kind '{kind}' needs a class", kind=self.task.kind))
        return self.task.on_class

    def _finished(self, session: Session, value: Any) -> Any:
        result = session.run(lambda: plain_result(session, value))
        session.finish()
        return result

    # -- models on the way and after a failure -------------------------------------------------------------------------

    def _checkpoint(self) -> None:
        """Sends the model as it is. Called by the effects while all branches wait; leaves the run as it was."""
        session, rt = self.session, self.session.rt if self.session is not None else None
        if session is None or rt is None or not self._loaded:
            self.effects.send({"t": "checkpoint", "model": None})
            return
        branch, concurrent = session.scheduler.current, rt.concurrent
        effects = branch.effects
        self.effects.refuse("a checkpoint performs no effects")
        rt.set_concurrent(False)
        message: dict[str, Any] = {"t": "checkpoint", "model": None}
        try:
            message["model"] = session.serialize()
        except Disconnected:
            raise
        except BaseException as error:  # the end of the run will say more; it goes on as if nobody had asked
            message["error"] = describe(error)
        finally:
            rt.set_concurrent(concurrent)
            branch.effects = effects
            self.effects.allow()
        self.effects.send(message)

    def _rest(self) -> Any:
        """The model that a failed run leaves, after what was put off to its end was done; None when there is none."""
        session = self.session
        if session is None:
            return None
        gc.collect()
        try:
            session.rt.pardon()
            session.finish()
        except Disconnected:
            raise
        except BaseException:  # it failed already: the first error is the one that counts
            pass
        if not self._loaded:
            return None
        self.effects.refuse("the task has ended")
        try:
            session.rt.pardon()
            return session.serialize()
        except Disconnected:
            raise
        except BaseException:
            return None


def _failed(action: str, name: str, why: str) -> Text:
    if action == "start":
        return Text("server '{name}' did not start: {why}", name=name, why=why)
    if action == "stop":
        return Text("server '{name}' did not stop: {why}", name=name, why=why)
    return Text("server '{name}' did not restart: {why}", name=name, why=why)


KINDS: dict[str, Callable[[Performance, Session], tuple[Any, Any]]] = {
    "deploy": Performance.deploy,
    "action": Performance.action,
    "static": Performance.static,
    "builder": Performance.static,
    "schema": Performance.schema,
    "call": Performance.call,
    "suggest": Performance.suggest,
    "check_model": Performance.check_model,
    "lifecycle": Performance.lifecycle,
    "migrate": Performance.migrate,
    "power": Performance.power,
}
