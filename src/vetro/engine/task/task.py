"""`Task`: everything a run is a function of, as plain data. What is not in here comes as answers of effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field, fields
from typing import Any, Literal

from vetro.data_classes import dataclass

#: ``deploy``: load, clean up, call ``deploy`` of the root (unless the model is empty: then everything is destroyed),
#: finalise. ``action``: the same with a public method of an object. ``static``: a public static method of a class.
#: ``builder``: a model builder. ``schema``: JSON Schemas of a class. ``call``: one method, for tools; nothing is
#: destroyed or serialised.
#:
#: ``suggest``: an application of class ``on_class`` for the environment in ``model`` (which may be empty), from
#: ``args``: ``answers`` {property: value}; ``application``, the name or id of the one to change, or the name of a new
#: one; ``preset``, ``flavors``, ``image``, ``eager``, ``hints``, ``switches`` as in `apply_answers`. The result is
#: `vetro.engine.models.Applied.as_json`. Ids follow from ``seed``: give a random one. ``check_model``: loads ``model``
#: and lists what does not fit; the result is ``{"errors": [...]}``, with ``warnings`` where there are some, as
#: `vetro.engine.models.examine` gives them.
#:
#: ``lifecycle``: what classes declare with the metadata of ``io.vetro.lifecycle``; ``args.classes`` is a list of
#: ``{text, name, version, package}``. The result is ``{text: {"health": [{property: value}], "methods": [{"name",
#: property: value}]}}`` of those that declare something. With ``args.updates`` it is ``{text: {"update": [{property:
#: value}], "lost": [{"what", "method"}]}}``: how they are updated, and what does not come back, or not after a method.
#:
#: ``migrate``: the draft that takes ``model`` to other versions of its packages; ``args`` are the fields of
#: `vetro.engine.upgrading.upgrade.UpgradeRequest`, ``packages`` those before and after. Migrations of packages run,
#: without effects, and chance and time are always the same. The result is that of
#: `vetro.engine.upgrading.upgrade.upgraded`.
#:
#: ``power``: starts and stops servers, as ``power`` says. Where its steps say what they are ``of`` (the action that was
#: asked for), methods of the objects of ``model`` are called before and after them.
#:
#: ``snapshot``: the environment as a whole is kept, brought back, or let go of: ``args`` are ``do`` (make, restore,
#: drop), ``name``, and of make ``still``: servers are stopped first. No package is loaded, and the model stays as it
#: is. The result is the answer of the effect.
#:
#: ``questions``: ``method`` names a function of the installation (`vetro.engine.installation.Installation.answering`)
#: that answers one question after another; see `vetro.engine.query.query.Conversation`.
Kind = Literal[
    "deploy",
    "action",
    "static",
    "builder",
    "schema",
    "call",
    "suggest",
    "check_model",
    "lifecycle",
    "migrate",
    "power",
    "snapshot",
    "questions",
]
#: Kinds that leave a model or effects outside. Without a journal they cannot be run; see `vetro.engine.query.query`.
LASTING = frozenset({"deploy", "action", "power", "snapshot"})


@dataclass(frozen=True, slots=True)
class Budget:
    """What a task may use. None means no limit."""

    steps: int | None = None
    #: CPU seconds of the task process.
    cpu_seconds: float | None = 600.0
    memory_mib: int | None = 1024
    #: Seconds a cancelled task may take for its Finally blocks before it is killed.
    grace_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class Task:
    """One run over one model. JSON both ways with `as_json` and `from_json`."""

    id: str
    kind: Kind
    #: Folders and archives, absolute paths; the standard packages are added by the task process.
    packages: Sequence[str] = ()
    #: The start model: {Objects, ObjectsCopy, Attributes, SystemData}.
    model: Mapping[str, Any] = field(default_factory=dict)
    method: str | None = None
    args: Mapping[str, Any] = field(default_factory=dict)
    object_id: str | None = None
    #: {name, version, package} for static methods, builders and schemas.
    on_class: Mapping[str, Any] | None = None
    seed: str = "0"
    #: What is done with servers before anything else, step by step: [{action, servers: [{id, name, component}]}].
    power: Sequence[Mapping[str, Any]] = ()
    #: Engine settings that packages see through ``config`` (CORE_LIBRARY.md); no secrets.
    settings: Mapping[str, Any] = field(default_factory=dict)
    #: Rows of class configurations (`Usage: Config`).
    configs: Sequence[Mapping[str, Any]] = ()
    budget: Budget = field(default_factory=Budget)
    #: Distributions whose plug-ins may be used; None: all that are installed.
    plugins: Sequence[str] | None = None
    #: Which of its packages a package gets for what it requires, where that is decided: `PackageResolver.bind`.
    requirements: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: The engine that began the task: only the same one may continue it.
    engine: str = ""

    def as_json(self) -> dict[str, Any]:
        """A mapping that `from_json` reads back; it shares the model with the task."""
        data = {f.name: getattr(self, f.name) for f in fields(self)}  # asdict would walk the model, however deep it is
        data["budget"] = asdict(self.budget)
        for name in ("packages", "configs", "power"):
            data[name] = list(data[name])
        if self.plugins is None:
            del data["plugins"]
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Task:
        """The task written by `as_json`."""
        values = dict(data)
        values["budget"] = Budget(**values.get("budget", {}))
        for name in ("packages", "configs", "power"):
            values[name] = tuple(values.get(name, ()))
        if values.get("plugins") is not None:
            values["plugins"] = tuple(values["plugins"])
        return cls(**values)
