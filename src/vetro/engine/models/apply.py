"""`apply_answers`: an application of an environment from a person's answers, a new one or the one that is there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.engine.models.presets import preset_of, unanswered, under
from vetro.engine.models.suggest import Suggester, Suggestions
from vetro.engine.models.unknown_properties import unknown_property
from vetro.engine.models.usual_values import server_names
from vetro.model.edit import overwrite
from vetro.model.environment import Environment
from vetro.model.header import class_of, id_of, name_of, parse_type_text, type_of
from vetro.muranopl.errors import MuranoError


class UnclearApplication(MuranoError):
    """Several applications of an environment could be meant, or the one named is of another class."""

    kind = "bad-argument"
    code = "ENG122"


@dataclass(frozen=True, slots=True)
class Applied:
    """An application as it is to be, and what Vetro had to choose for it."""

    object: dict[str, Any]
    #: Whether the environment did not have it.
    new: bool
    #: Further applications that it refers to by id: new ones, and those of the environment that the answers change.
    applications: list[dict[str, Any]] = field(default_factory=list)
    #: ``instance.flavor`` -> value.
    chosen: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """A mapping that `put` reads."""
        return {
            "object": self.object,
            "new": self.new,
            "applications": self.applications,
            "chosen": self.chosen,
        }


def put(environment: Environment, applied: Mapping[str, Any]) -> None:
    """Puts what `Applied.as_json` holds into an environment: in place of the application with that id, or behind."""
    for application in [*applied["applications"], applied["object"]]:
        same = environment.application(str(id_of(application)))
        if same is None:
            environment.add(application)
        else:
            overwrite(same, application)


def apply_answers(
    session: Any,
    packages: Iterable[Any],
    environment: Environment,
    type_: Any,
    answers: Mapping[str, Any],
    named: str | None,
    new_id: Callable[[], str],
    preset: str | None = None,
    **options: Any,
) -> Applied:
    """The application of class ``type_`` that the answers describe; the environment is not changed.

    ``named``: which one, by name or id; an unknown name gives a new application that name. ``preset``: whose values
    count where the answers say nothing; a new application begins with one of its class anyway. ``options`` are those
    of `Suggester`. Raises `UnclearApplication`, `NoSuchPreset`, and what `Suggester.suggest` raises.
    """
    existing = _existing(environment, type_.name, named)
    chosen, values = preset_of(session, type_, preset, existing)
    options |= {"server_name": _server_names(environment), "environment": environment}
    suggester = Suggester(session, packages, new_id, preset=set(unanswered(values, answers)), **options)
    answers = under(answers, values)
    if existing is not None:
        made = Suggestions(existing, chosen={"preset": chosen} if chosen else {})
        _merge(session, suggester, type_, existing, answers, "", environment, made)
        existing["?"]["type"] = f"{type_.name}/{type_.version}@{type_.package.name}"
        return Applied(existing, False, made.applications, made.chosen)
    made = suggester.suggest(type_, answers)
    if chosen:
        made.chosen = {"preset": chosen, **made.chosen}
    if named is not None:
        made.object["?"]["name"] = named
    return Applied(made.object, True, made.applications, made.chosen)


def _server_names(environment: Environment) -> Callable[[], str]:
    around = str((environment.root or {}).get("name") or "")
    return server_names(around, {str(obj.get("name")) for obj in environment.objects()})


def _existing(environment: Environment, class_name: str, named: str | None) -> dict[str, Any] | None:
    if named is not None:
        found = environment.application(named)
        if found is not None and class_of(found) != class_name:
            raise UnclearApplication(
                f"'{named}' is of class {class_of(found)}, not {class_name}", hint="give another --app"
            )
        return found
    same = [app for app in environment.applications if class_of(app) == class_name]
    if len(same) > 1:
        names = ", ".join(name_of(app) or str(id_of(app)) for app in same)
        raise UnclearApplication(
            f"the environment has {len(same)} applications of class {class_name}",
            hint=f"say which with --app: {names}; another name adds one",
        )
    return same[0] if same else None


def _merge(
    session: Any,
    suggester: Suggester,
    type_: Any,
    obj: dict[str, Any],
    answers: Mapping[str, Any],
    path: str,
    environment: Environment,
    made: Suggestions,
) -> None:
    """Answers over what is there: mappings for objects are merged into them, anything else is replaced.

    An application that ``obj`` refers to by its id is changed where it is, and noted in ``made``, as are new ones.
    Raises `UnknownProperty` for names that a class does not have, and what `Suggester.suggest` raises.
    """
    properties = session.schema(type_.name, f"=={type_.version}", type_.package.name)[""].get("properties", {})
    for name, value in answers.items():
        if name not in properties:
            raise unknown_property(type_.name, path + name, name, properties)
        old = obj.get(name)
        if isinstance(value, Mapping) and isinstance(old, str) and "?" not in value:
            same = next((app for app in environment.applications if id_of(app) == old), None)
            if same is not None:
                made.applications.append(same)
                old = same
        if isinstance(value, Mapping) and isinstance(old, dict) and "?" in old and "?" not in value:
            kind = session.type_for(*parse_type_text(type_of(old)))
            _merge(session, suggester, kind, old, value, f"{path}{name}.", environment, made)
        elif isinstance(value, Mapping) and "?" in value:
            obj[name] = value
        else:
            obj[name] = suggester.given(type_, name, value, properties[name], path + name, made)
