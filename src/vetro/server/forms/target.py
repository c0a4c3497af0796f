"""Where a form stands: the environment and draft it adds to, what it may refer to, what the real contracts say there.

A draft that cannot be used any more, because the environment went on, is replaced by the person's newest that can; the
answers of the form stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from vetro.diagnostics import AuthorText, Diagnostic, Text, decode_messages
from vetro.engine.host.answer import Request
from vetro.engine.host.encryption import SecretCipher
from vetro.engine.query.query import AskFailed
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.contracts import bare, problems_of_whole
from vetro.forms.form_source import Kept
from vetro.forms.objects import Objects
from vetro.model.edit import overwrite
from vetro.model.environment import applications_of, deployed_objects
from vetro.model.header import id_of, type_of
from vetro.model.tree import by_id, copied, find
from vetro.packages.texts import authored
from vetro.server.caller import Caller
from vetro.server.catalog.classes import implementations
from vetro.server.catalog.dependencies import Pinned, packages_for_model
from vetro.server.catalog.models import Package
from vetro.server.catalog.package_texts import texts_of
from vetro.server.catalog.resolver import scope_of
from vetro.server.environments import drafts, packages, queries, service, sessions, templates
from vetro.server.environments.models import Session, State
from vetro.server.errors import Invalid, NotFound
from vetro.server.forms import cloud_lists
from vetro.server.forms.class_catalog import ServiceCatalog, catalog_of, describer_for
from vetro.server.ids import new_id
from vetro.server.setup import config
from vetro.server.tasks.package_queries import ask
from vetro.server.tasks.spec import secret_keys

#: Packages of one class that a field of a definition offers.
_MOST = 500


class FormTarget:
    """An environment, with a session's draft or as it is; without an environment: one that is still to be made.

    ``draft`` False: as it is deployed, whatever drafts there are. ``template_id``: a template instead of an
    environment. ``beside``: what stands in one that is still to be made.
    Raises `NotFound`, `Forbidden` for a session of somebody else.
    """

    def __init__(
        self,
        caller: Caller,
        environment_id: str | None,
        session_id: str | None,
        *,
        draft: bool = True,
        template_id: str = "",
        beside: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.caller = caller
        self.beside = beside
        self.template_id = template_id
        self.environment_id = environment_id
        self.session_id = session_id
        self.found: queries.ListedEnvironment | None = None
        self.session: Session | None = None
        if environment_id is not None:
            self.found = queries.get(caller, environment_id, model=True)
            if session_id is not None and draft:
                self.session = sessions.readable(caller, self.found, session_id)
            if self.session is None and draft:
                self.session = sessions.newest_draft(caller, self.found)
            self.session_id = None if self.session is None else self.session.id

    @cached_property
    def root(self) -> dict[str, Any]:
        """The root object of the draft."""
        if self.found is None:
            made = service.model_of(new_id(), "quick", {})
            if self.template_id:
                made["applications"] = templates.services(self.caller, self.template_id, [])
            elif self.beside:
                made["applications"] = [copied(one) for one in self.beside]
            return made
        root = drafts.root_of(self.session, self.found)
        if root is None:
            raise NotFound(Text("The environment has no model any more."))
        return root

    @cached_property
    def project_id(self) -> str:
        """The project that the environment belongs to."""
        return self.found.project_id if self.found is not None else self.caller.project_id

    @cached_property
    def pinned(self) -> Pinned:
        """The packages that the environment is tied to."""
        return packages.pinned(self.environment_id) if self.environment_id is not None else ()

    @cached_property
    def describer(self) -> Describer:
        """What knows the classes here."""
        name = self.caller.project_name if self.project_id == self.caller.project_id else ""
        return describer_for(self.project_id, name, self.pinned)

    @property
    def catalog(self) -> ServiceCatalog:
        """The classes that there are."""
        return catalog_of(self.describer)

    @cached_property
    def objects(self) -> Objects:
        """The objects of the draft; none where the environment is still to be made: its id is not known yet."""
        empty = self.found is None and not self.template_id and not self.beside
        return Objects([] if empty else self.root, self.describer)

    @cached_property
    def _deployed(self) -> frozenset[str]:
        model = (self.found.model or {}) if self.found is not None and self.found.version else {}
        return frozenset(by_id(deployed_objects(model)))

    def fixed(self, id: str) -> bool:
        """Whether an object took part in a deployment."""
        return id in self._deployed

    @cached_property
    def kept_answers(self) -> dict[str, Any]:
        """What the definitions of the draft's objects were answered with, by object."""
        if self.session is not None and self.session.answers is not None:
            return dict(self.session.answers)
        if self.found is None:
            return {}
        return answers_of(self.found.id)

    def kept_for(self, object_id: str) -> tuple[Kept | None, Package | None]:
        """The answers that one object was made of, and the package whose definition asked for them."""
        row = self.kept_answers.get(object_id)
        if not isinstance(row, Mapping) or "fingerprint" not in row:
            return None, None
        made = Package.objects.filter(scope_of(self.project_id), ui=row["definition"], fqn=row["package"]).first()
        return Kept(row["answers"], row["fingerprint"], row["salt"], row["definition"]), made

    def row_of(self, described: DescribedClass) -> Package | None:
        """The package of a class; None for those of the installation."""
        try:
            rows = self.catalog.packages_of(described.name, described.version, described.package)
        except Invalid:
            return None
        return next((row for row in rows if described.name in row.class_names), None)

    @cached_property
    def cloud_choices(self) -> CloudChoices:
        """What there is to choose of the environment's cloud, and what the project's quota leaves."""
        region = self.root.get("region") if self.found is not None else None
        patience = cloud_lists.Patience()

        def read(source: str) -> list[Any]:
            where = region if isinstance(region, str) else None
            return cloud_lists.choices(self.project_id, self.environment_id or "", source, where, patience=patience)

        return CloudChoices(read, lambda: cloud_lists.left(self.project_id))

    # -- what definitions ask ------------------------------------------------------------------------------------------

    def answer(self, request: Request) -> Any:
        """Effects of kind `vetro.forms.queries.EFFECT`."""
        what = request.text("what")
        if what == "cloud":
            region = request.text("region", optional=True) or None
            return cloud_lists.choices(self.project_id, self.environment_id or "", request.text("source"), region)
        if what == "packages":
            return self._packages(request.text("class_name"))
        if what == "services":
            return self._services()
        if what == "environment_names":
            return queries.names_of(self.project_id)
        if what == "encrypt":
            return SecretCipher(secret_keys(config()), self.project_id).encrypt(request.text("text"))
        raise Invalid(Text("nobody knows what '{what}' is", what=what))

    def _packages(self, class_name: str) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for item in implementations(self.catalog.caller, class_name, limit=_MOST):
            row = found.setdefault(item.fqn, {"fqn": item.fqn, "name": item.name, "classes": []})
            row["classes"].append(item.class_name)
        return list(found.values())

    def _services(self) -> list[dict[str, Any]]:
        rows = []
        for obj in applications_of(self.root):
            id = id_of(obj)
            if id is not None:
                rows.append({"id": id, "name": self.objects.label(id), "type": type_of(obj)})
        return rows

    # -- the real contracts --------------------------------------------------------------------------------------------

    def errors_of(self, made: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """What the contracts of the classes say of an object at its place: new, or in the place of the one with its id.

        Errors that the draft has without it are not told.
        """
        before, after = self.root, copied(self.root)
        own = id_of(made)
        stored = None if own is None else find(after, own)
        if stored is None:
            after["applications"] = [*applications_of(after), dict(made)]
        else:
            overwrite(stored, made)
        mine = by_id(made).keys()
        found = self._check(after, own)
        others = [error for error in found if str(error.get("objectId")) not in mine]
        if others:
            known = {_mark(error) for error in self._check(before, None)}
            found = [error for error in found if error not in others or _mark(error) not in known]
        return found

    def problems_of(self, made: Mapping[str, Any]) -> Sequence[Diagnostic]:
        """The same as problems of a form as a whole."""
        return problems_of_whole(decode_messages(self.errors_of(made)))

    def _check(self, root: dict[str, Any], own: Any) -> list[Mapping[str, Any]]:
        try:
            rows = self._chosen(root)
        except Invalid:
            # A class of another application is gone: that is no reason to refuse this one.
            root, rows = self._without_lost(root, own)
        try:
            errors = ask(self.catalog.caller, "check_model", packages=rows, model={"Objects": root})["errors"]
            return _worded(errors, rows) if errors else []
        except AskFailed as error:
            return [{**error.error, "objectId": own, "property": None, "path": []}]

    def _without_lost(self, root: dict[str, Any], own: Any) -> tuple[dict[str, Any], list[Package]]:
        kept = []
        for obj in applications_of(root):
            mine = own is not None and find(obj, own) is not None
            try:
                self._chosen(obj)
            except Invalid:
                if mine:
                    raise
                continue
            kept.append(obj)
        left = {**root, "applications": kept}
        return left, self._chosen(left)

    def _chosen(self, model: Any) -> list[Package]:
        return packages_for_model(self.catalog.caller, model, self.pinned)


def answers_of(environment_id: str) -> dict[str, Any]:
    """What the definitions of a deployed environment's objects were answered with, by object."""
    newest: Any = State.objects.filter(environment_id=environment_id).order_by("-number")
    return dict(newest.values_list("answers", flat=True).first() or {})


def _worded(errors: Sequence[Mapping[str, Any]], rows: Sequence[Package]) -> list[Mapping[str, Any]]:
    """Errors with what their packages say of them in other languages."""
    texts = texts_of(rows)
    made = []
    for error in decode_messages(errors):
        own = authored(bare(str(error.get("message") or "")), texts)
        made.append({**error, "message": own} if isinstance(own, AuthorText) else error)
    return made


def _mark(error: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(error.get(name)) for name in ("objectId", "property", "path", "message"))
