"""`check_model`: everything that keeps an object model from being deployed, each with its object and property.

A deployment stops at the first value that does not fit its contract. Here all of them are wanted, so the load goes on:
what does not fit leaves its property without value, and complaints that only follow from that are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from vetro.clouds.interface import NotAvailable
from vetro.engine.failure import describe
from vetro.engine.models.unknown_properties import undeclared
from vetro.muranopl.errors import ContractViolation, DeclarationError
from vetro.muranopl.objects.forward_references import NOT_YET, ForwardReference
from vetro.muranopl.objects.loader import Loader
from vetro.yaql.errors import VetroError

#: Errors listed at most.
MOST = 200


def check_model(session: Any, model: Mapping[str, Any]) -> list[dict[str, Any]]:
    """See `examine`: only the errors."""
    return examine(session, model)[0]


def examine(session: Any, model: Mapping[str, Any]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What is wrong in a model, and values of it that nobody reads (`undeclared`).

    The errors of ``model`` (its ``Objects``; what was deployed before is left out), at most `MOST`.

    Each is what `vetro.engine.failure.describe` gives, with ``objectId`` (null where no single object is at fault),
    ``class`` of that object, ``property`` and ``path``: the keys and indexes that lead to the value inside of it.
    ``.init`` of the objects runs only when all values fit. The session is of no further use.
    """
    loader = Checking(session.store)
    try:
        session.run(partial(_load, session, loader, model))
    except VetroError as error:
        # Effects are refused while a model is only looked at: an `.init` that wants one may still be right.
        if getattr(error, "code", None) != NotAvailable.code:
            loader.note(error, None, None, ())
    except Exception as error:
        if not getattr(error, "murano_frames", None):  # a defect of ours, not of a package
            raise
        loader.note(error, None, None, ())
    return loader.found, undeclared(session, model, loader.local.get)


def _load(session: Any, loader: Checking, model: Mapping[str, Any]) -> None:
    system, rows, objects = model.get("SystemData"), model.get("Attributes"), model.get("Objects")
    if objects is None:
        return
    if not isinstance(objects, Mapping):
        raise DeclarationError("the root of an object model must be a mapping")
    session.resolver.load_fixations((system or {}).get("Packages"))
    session.attributes.load(rows or ())
    session.root = session.store.root = loader.define(objects, None, None, None)
    loader.fill()
    if not loader.found:
        loader.publish()
        loader.initialise()


class Checking(Loader):
    """A load that notes what does not fit, in `found`, and goes on."""

    def __init__(self, store: Any) -> None:
        super().__init__(store, keep_ids=True)
        self.found: list[dict[str, Any]] = []
        #: What is behind violations that stand for a definition that no object can be made of.
        self._causes: dict[ContractViolation, VetroError] = {}

    def note(self, error: BaseException, obj: Any, name: str | None, path: Any) -> None:
        """Adds an error."""
        if len(self.found) >= MOST:
            return
        told = describe(error)
        told["objectId"] = None if obj is None else obj._id
        told["class"] = None if obj is None else obj._type.name
        told["property"] = name
        told["path"] = [step if isinstance(step, (str, int)) else str(step) for step in path]
        self.found.append(told)

    def place(self, mapping: Any, owner: Any, default: Any, context: Any) -> Any:
        """See `Loader.place`; a definition that is none concerns only the property it stands in."""
        try:
            return super().place(mapping, owner, default, context)
        except (ContractViolation, *NOT_YET):
            raise
        except VetroError as error:
            violation = ContractViolation(error.message)
            self._causes[violation] = error
            raise violation from None

    def _violated(self, error: ContractViolation, obj: Any, plan: Any) -> None:
        if plan is not None:
            error.located(plan.prop.location)
        where = (error.location or "").partition("[")[0]
        name = plan.name if plan is not None else where.rpartition(".")[2] or None
        self.note(self._causes.pop(error, error), obj, name, error.path)

    def _give_up(self) -> None:
        first = not self.found
        for entry in self.blocked:
            for pending in entry.pending:
                if isinstance(pending.error, ForwardReference):
                    self.note(pending.error, entry.obj, pending.plan.name, ())
        if first and not self.found:
            entry = self.blocked[0]
            self.note(self._stuck(), entry.obj, entry.pending[0].plan.name if entry.pending else None, ())
        blocked, self.blocked = self.blocked, []
        for entry in blocked:
            entry.pending.clear()
            self._wait(entry)
