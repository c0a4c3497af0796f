"""Where a form of `vetro form` stands: packages, perhaps an environment of the workspace, and the cloud of that.

`LocalTarget` gives the form session (`vetro.forms.sessions`), and puts what it made into the environment.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vetro.cli.environments.models import newest, own_draft, present
from vetro.cli.forms.catalog import LocalCatalog
from vetro.cli.task_run import chosen_cloud
from vetro.clouds import kinds
from vetro.clouds.interface import Owner
from vetro.clouds.kind_protocols import Place
from vetro.clouds.stacks.kind import DriverKind
from vetro.diagnostics import Diagnostic, Text, decode_messages
from vetro.engine.host.encryption import SecretCipher
from vetro.engine.query.query import AskFailed
from vetro.forms.catalog import DescribedClass, Describer
from vetro.forms.cloud_choices import CloudChoices
from vetro.forms.cloud_lists import rows
from vetro.forms.contracts import problems_of_whole
from vetro.forms.objects import Objects
from vetro.forms.sessions import ClassFormSession, DefinitionFormSession, FormFailed, MethodFormSession
from vetro.model.edit import overwrite
from vetro.model.environment import Environment
from vetro.model.header import id_of, type_of
from vetro.model.tree import by_id, copied, find
from vetro.server.config import cloud_settings
from vetro.server.local.workspace import PROJECT
from vetro.yaql.errors import VetroError

if TYPE_CHECKING:
    from vetro.cli.client.local import LocalClient


class NotAsked(VetroError):
    """A definition wants to know something that the command line cannot tell."""

    kind = "not-available"
    code = "CLI150"


class LocalTarget:
    """``row``: the environment, None for none; ``tasks``: a `FormTasks` with all packages."""

    def __init__(
        self, tasks: Any, packages: Sequence[Any], client: LocalClient, row: Mapping[str, Any] | None = None
    ) -> None:
        self.packages = list(packages)
        self.row = row
        self._tasks = tasks
        self._client = client
        self._listing: Any = None
        self.catalog = LocalCatalog(tasks, packages)
        self.describer = Describer(self.catalog)
        #: What is deployed.
        self.deployed = newest(client, row) if row is not None else Environment({"Objects": None})
        #: The model as it is now, before anything is added.
        self.environment = present(client, row) if row is not None else Environment.new("environment", "0" * 32)

    def renew(self) -> None:
        """Looks at the environment as it is now: something was put into it."""
        assert self.row is not None
        self.environment = present(self._client, self.row)
        self.__dict__.pop("objects", None)

    def close(self) -> None:
        """Lets the cloud's file go."""
        if self._listing is not None:
            self._listing.close()

    @cached_property
    def objects(self) -> Objects:
        """The objects of the environment, for references."""
        return Objects(self.environment.root, self.describer)

    def class_form_session(self, described: DescribedClass) -> ClassFormSession:
        """The form of a class. Properties that a deployment fixed stay."""
        root = self.deployed.root if self.row is not None and self.row["version"] else None
        deployed = by_id(root)
        return ClassFormSession(
            self.describer,
            described,
            self.objects,
            new_id=lambda: uuid.uuid4().hex,
            check=self.errors_of,
            fixed=deployed.__contains__,
            cloud=self.cloud_choices,
            around=str(self.row["name"]) if self.row is not None else "",
        )

    def method_form_session(self, schema: Mapping[str, Any]) -> MethodFormSession:
        """The form of the arguments of a method."""
        return MethodFormSession(
            self.describer, schema, self.objects, new_id=lambda: uuid.uuid4().hex, cloud=self.cloud_choices
        )

    @cached_property
    def cloud_choices(self) -> CloudChoices:
        """What there is to choose of the environment's cloud."""
        region = (self.environment.root or {}).get("region")
        return CloudChoices(lambda source: self._cloud(source, region if isinstance(region, str) else None))

    def definition_form_session(
        self, text: str, origin: str, package: Mapping[str, str], *, check: bool = True
    ) -> DefinitionFormSession:
        """The form of a definition. ``check``: whether the contracts of the classes are asked in the end."""
        region = (self.environment.root or {}).get("region")
        # The box that asks whether to go on adding applications means nothing here: 'quick' leaves it out.
        about = {
            "package": dict(package),
            "quick": True,
            "referred": False,
            "region": region if isinstance(region, str) else None,
            "encrypts": True,
        }
        ask = self._tasks.definition(text, origin, self.answer)
        if not check:
            return DefinitionFormSession(ask, about)
        return DefinitionFormSession(ask, about, check=self.problems_of)

    def build(
        self, class_name: str, version: str | None, package: str | None, builder: str, args: Mapping[str, Any]
    ) -> Any:
        """What a model builder returns. Raises `FormFailed`."""
        on_class = {"name": class_name, "version": version, "package": package}
        try:
            return self._tasks.question("builder", on_class=on_class, method=builder, args=dict(args))
        except AskFailed as error:
            raise FormFailed(
                Text("This could not be started from: {message}", message=error.message), dict(error.error)
            ) from None

    # -- what definitions ask ------------------------------------------------------------------------------------------

    def answer(self, request: Any) -> Any:
        """Effects of kind `vetro.forms.queries.EFFECT`."""
        what = request.text("what")
        if what == "cloud":
            return self._cloud(request.text("source"), request.text("region", optional=True) or None)
        if what == "packages":
            return self.catalog.packages_of(request.text("class_name"))
        if what == "services":
            return [
                {"id": own, "name": self.objects.label(own), "type": type_of(app)}
                for app in self.environment.applications
                if (own := id_of(app)) is not None
            ]
        if what == "environment_names":
            return [row["name"] for row in self._client.items("/environments", limit=1000)]
        if what == "encrypt":
            from vetro.server.tasks.spec import secret_keys

            self._client.workspace.keep()  # with the key that opens it again
            return SecretCipher(secret_keys(self._client.workspace.config), PROJECT).encrypt(request.text("text"))
        raise NotAsked(Text("nobody knows what '{what}' is", what=what))

    def _cloud(self, source: str, region: str | None) -> list[Any]:
        if self._listing is None:
            self._listing = self._lists()
        owner = Owner(PROJECT, self.row["id"] if self.row is not None else "forms", "forms")
        return rows(self._listing, owner, source, region)

    def _lists(self) -> Any:
        """What there is to choose from: of the cloud in which the environment is, or would be."""
        config = self._client.workspace.config
        wanted = self.row["driver"] if self.row is not None else ""
        kind = kinds.find(wanted or chosen_cloud(self._client, "auto", None, quiet=True)["kind"])
        settings, place = cloud_settings.kind_settings(config, kind), Place(directory=config.path("cloud.directory"))
        return kind.listing(settings, place) if isinstance(kind, DriverKind) else kind.open(settings, place)

    # -- the real contracts --------------------------------------------------------------------------------------------

    def errors_of(self, made: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """What the contracts say of an object at its place: a new application, or in the place of the one with its id.

        Only of the object itself and what is in it: other errors were there before.
        """
        after = with_object(self.environment, made)
        mine = by_id(made)
        try:
            found = self._tasks.question("check_model", after.model)["errors"]
        except AskFailed as error:
            return [{**error.error, "objectId": id_of(made), "property": None, "path": []}]
        return [error for error in found if error.get("objectId") is None or str(error["objectId"]) in mine]

    def problems_of(self, made: Mapping[str, Any]) -> Sequence[Diagnostic]:
        """The same as problems of a form as a whole."""
        return problems_of_whole(decode_messages(self.errors_of(made)))

    # -- the end -------------------------------------------------------------------------------------------------------

    def put(self, made: Mapping[str, Any], packages: Sequence[Any]) -> list[str]:
        """Puts the object into the draft of the environment; ``packages`` come along. What changed, as text."""
        assert self.row is not None
        changes = self._client.pin(self.row["id"], packages)
        session = own_draft(self._client, self.row)
        if session is None:
            session = self._client.post(f"/environments/{self.row['id']}/sessions")
        place = f"/sessions/{session['id']}/components"
        if find(self.environment.root, str(id_of(made))) is not None:
            self._client.put(f"{place}/{id_of(made)}", made)
        else:
            self._client.post(place, made)
        return changes


def with_object(environment: Environment, made: Mapping[str, Any]) -> Environment:
    """A copy of the model with an object in the place of the one with its id; a new one is an application."""
    after = Environment(environment.model)
    own = id_of(made)
    stored = None if own is None else find(after.root, own)
    if stored is None:
        after.add(made)
    else:
        overwrite(stored, copied(made))
    return after
