"""`Suggester`: an object of a class from some answers, with everything else chosen so that it can be deployed.

What a person leaves out gets the class's own default; where the class has none and needs a value, something that fits
the contract: a server for a property that wants one, a text that matches the pattern. Each choice is listed in
`Suggestions.chosen`, so that a command can show what it decided. Nothing is chosen for properties that may be empty,
except servers, networks and other parts that applications in practice do not live without (``eager``).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.engine.models.unknown_properties import unknown_property
from vetro.engine.models.usual_values import (
    APPLICATION,
    FLAVOR,
    IMAGE,
    SERVER,
    application_name,
    fits,
    flavor,
)
from vetro.model.environment import ENVIRONMENT, Environment
from vetro.model.header import class_of, id_of, label_of, name_of, parse_type_text, type_of
from vetro.model.secrets import sounds_secret
from vetro.model.tree import find
from vetro.muranopl.declarations.tree import NO_DEFAULT
from vetro.muranopl.errors import MuranoError
from vetro.muranopl.secrecy import is_secret_property
from vetro.packages.package import STANDARD
from vetro.yaql.didyoumean import suggest
from vetro.yaql.errors import VetroError
from vetro.yaql.redact import MASK

#: Abstract classes of the standard library and what stands in for them.
USUAL: Mapping[str, str] = {
    "io.murano.resources.Instance": "io.murano.resources.LinuxMuranoInstance",
    "io.murano.resources.LinuxInstance": "io.murano.resources.LinuxMuranoInstance",
    "io.murano.resources.Network": "io.murano.resources.NeutronNetwork",
    "io.murano.resources.Volume": "io.murano.resources.CinderVolume",
    "io.murano.applications.ServerGroup": "io.murano.applications.ServerReplicationGroup",
    "io.murano.applications.ReplicaProvider": "io.murano.applications.TemplateServerProvider",
}
#: Values of properties that contracts cannot describe, by class and name.
KNOWN: Mapping[tuple[str, str], Any] = {
    (SERVER, "flavor"): FLAVOR,
    (SERVER, "image"): IMAGE,
    ("io.murano.applications.TemplateServerProvider", "serverNamePattern"): "server-{0}",
}
#: The same for `Suggester` with ``eager``: what people usually switch on.
EAGER: Mapping[tuple[str, str], Any] = {(SERVER, "assignFloatingIp"): True}
#: How deep objects are made that could be left out.
EAGER_DEPTH = 6
#: Tried in this order for texts with a pattern or another constraint.
TEXTS = (
    *("sample", "sample-1", "Sample1", "Passw0rd!", "8080", "10.0.0.10", "10.0.0.0/24", "example.com", "a@example.com"),
    *("a", "http://example.com/", "/srv/sample", "1.0.0", "SAMPLE", "0", "yes", "Sample text"),
)
#: First tries by a word in the property's name.
HINTS: Mapping[str, str] = {
    "flavor": FLAVOR,
    "image": IMAGE,
    "keyname": "default",
    "keypair": "default",
    "availabilityzone": "nova",
    "pass": "Passw0rd!1",
    "email": "admin@example.com",
    "port": "8080",
    "domain": "example.com",
    "url": "http://example.com/",
    "host": "example-host",
    "user": "sample",
    "path": "/srv/sample",
}
DEEPEST = 12
#: Lengths of secrets that are made, the first that fits; what is shorter can be guessed.
SECRET_LENGTHS = (32, 24, 20, 16, 12, 10, 8)


class CannotSuggest(MuranoError):
    """No value fits; the message names the property. Answer it."""

    kind = "bad-argument"
    code = "ENG120"


@dataclass
class Suggestions:
    """An object and what was chosen for it."""

    object: dict[str, Any]
    #: Further applications that it refers to by id.
    applications: list[dict[str, Any]] = field(default_factory=list)
    #: ``instance.flavor`` -> value.
    chosen: dict[str, Any] = field(default_factory=dict)


class Suggester:
    """Makes objects of the classes of ``packages`` with the types of ``session``.

    ``new_id`` gives ids; ``server_name`` names servers; ``eager`` also fills object properties that may be empty, and
    ``hints`` gives values by property name that are tried first, with ``switches`` all switches of packages
    are on. A required part of a class that an object around it has already is that object.

    ``environment``: where the object comes to. Its objects can be named in answers, and no other application is made
    unasked beside those that it has: a required one is the only one that fits. Secrets are random then.

    ``flavors`` and ``image``: what the cloud has, as its lists say, and what servers start from there.
    ``preset``: where answers are that nobody has given but a preset (``server.flavor``).
    """

    def __init__(
        self,
        session: Any,
        packages: Iterable[Any],
        new_id: Callable[[], str],
        *,
        eager: bool = False,
        hints: Mapping[str, Any] | None = None,
        server_name: Callable[[], str] | None = None,
        switches: bool = False,
        environment: Environment | None = None,
        flavors: Sequence[Mapping[str, Any]] = (),
        image: str | None = None,
        preset: Collection[str] = (),
    ) -> None:
        self._session = session
        self._packages = sorted(packages, key=lambda p: (p.type != "Application", p.name, p.version))
        self._new_id = new_id
        self._eager = eager
        self._hints = dict(hints or {})
        self._switches = switches
        self._environment = environment
        self._flavors = flavors
        size, start = flavor(flavors), image or IMAGE
        self._known = {**KNOWN, (SERVER, "flavor"): size, (SERVER, "image"): start}
        self._words = {**HINTS, "flavor": size, "image": start}
        self._preset = preset
        #: Class and id of the objects that are being made, outermost first.
        self._within: list[tuple[str, str]] = []
        self._count = 0
        self._server_name = server_name or self._numbered

    def suggest(self, type_: Any, answers: Mapping[str, Any] | None = None) -> Suggestions:
        """An object of class ``type_``. Raises `CannotSuggest`, `UnknownProperty` for answers the class lacks."""
        made = Suggestions({})
        made.object = self._object(type_, dict(answers or {}), "", made, 0)
        return made

    # -- objects -------------------------------------------------------------------------------------------------

    def _object(self, type_: Any, answers: dict[str, Any], path: str, made: Suggestions, depth: int) -> dict[str, Any]:
        if depth > DEEPEST:
            raise CannotSuggest(f"{path.rstrip('.')}: objects are nested too deeply to choose them")
        schema = self._session.schema(type_.name, f"=={type_.version}", type_.package.name)[""]
        properties = schema.get("properties", {})
        for name in answers:
            if name != "?" and name not in properties:
                raise unknown_property(type_.name, path + name, name, properties)
        header = dict(answers.get("?") or {})
        header.setdefault("type", f"{type_.name}/{type_.version}@{type_.package.name}")
        header.setdefault("id", self._new_id())
        obj: dict[str, Any] = {"?": header}
        self._within.append((type_.name, header["id"]))
        try:
            for name, item in properties.items():
                value = self._property(type_, name, item, answers, path + name, made, depth)
                if value is not _LEAVE:
                    obj[name] = value
        finally:
            self._within.pop()
        return obj

    def _property(
        self, type_: Any, name: str, schema: Any, answers: dict[str, Any], path: str, made: Suggestions, depth: int
    ) -> Any:
        if name in answers:
            return self.given(type_, name, answers[name], schema, path, made, depth)
        for owner in type_.ancestors:
            if (owner.name, name) in self._known:
                return self._chosen(made, path, self._known[owner.name, name])
            if self._eager and (owner.name, name) in EAGER:
                return self._chosen(made, path, EAGER[owner.name, name])
        if name == "name" and any(a.name == SERVER for a in type_.ancestors):
            return self._chosen(made, path, self._server_name())
        named = name == "name" and any(a.name == APPLICATION for a in type_.ancestors)
        if named and not self._has_default(type_, name):
            free = application_name(type_.name, self._taken(made), schema)
            if free is not None:
                return self._chosen(made, path, free)
        own = type_.properties[name].declaring.package.name not in STANDARD
        if self._switches and own and schema.get("type") in ("boolean", ["boolean", "null"]):
            return self._chosen(made, path, True)
        if "default" in schema or self._has_default(type_, name):
            return _LEAVE
        if self._environment is not None and schema.get("type") == "string" and _is_secret(type_, name, schema):
            made.chosen[path] = f"{MASK} (made at random)"
            return self._secret(schema, path)
        eager = self._eager
        # Parts of the standard library's own classes do without what may be empty.
        self._eager = eager and own
        try:
            return self._value(schema, name, path, made, depth)
        finally:
            self._eager = eager

    def given(
        self, type_: Any, name: str, answer: Any, schema: Any, path: str, made: Suggestions, depth: int = 0
    ) -> Any:
        """What an answer for a property of a class is: `answered`; a size that a preset names is one of this cloud."""
        if path not in self._preset or not isinstance(answer, str):
            return self.answered(answer, schema, path, made, depth)
        fields = self._session.schema(type_.name, f"=={type_.version}", type_.package.name, form=True)[""]["properties"]
        size = fields.get(name, {}).get("widget") == "flavor"
        return self._chosen(made, path, flavor(self._flavors, answer) if size else answer)

    @staticmethod
    def _has_default(type_: Any, name: str) -> bool:
        return any(p.decl.default is not NO_DEFAULT for p in type_.property_chain(name))

    def answered(self, answer: Any, schema: Any, path: str, made: Suggestions, depth: int = 0) -> Any:
        """Completes objects inside an answer, and finds those that it names; everything else is taken as given."""
        if not isinstance(schema, Mapping):
            return answer
        if isinstance(answer, str) and schema.get("muranoType"):
            return self._named(answer, schema, path)
        if isinstance(answer, Mapping) and schema.get("muranoType"):
            written = type_of(answer)
            wanted = self._session.type_for(*parse_type_text(written)) if written else self._concrete(schema)
            if wanted is None or schema.get("owned") is False:
                return answer
            obj = self._object(wanted, dict(answer), path + ".", made, depth + 1)
            _leave_excluded(obj, schema, path, made, answer)
            return self._placed(obj, wanted, schema, path, made)
        if isinstance(answer, list) and isinstance(schema.get("items"), Mapping):
            items = schema["items"]
            return [self.answered(v, items, f"{path}[{i}]", made, depth) for i, v in enumerate(answer)]
        if isinstance(answer, Mapping) and isinstance(schema.get("properties"), Mapping):
            known, rest = schema["properties"], schema.get("additionalProperties")
            return {k: self.answered(v, known.get(k, rest), f"{path}.{k}", made, depth) for k, v in answer.items()}
        return answer

    def _concrete(self, schema: Mapping[str, Any]) -> Any:
        """The class to make an object of where a contract wants ``schema['muranoType']``."""
        wanted = str(schema["muranoType"])
        if wanted in USUAL:
            return self._session.type_by_name(USUAL[wanted])
        for package in self._packages:
            for name in sorted(package.classes):
                try:
                    type_ = self._session.types.in_package(package, name)
                except VetroError:
                    continue
                if package.type == "Application" and any(a.name == wanted for a in type_.ancestors):
                    return type_
        return self._session.type_by_name(wanted, schema.get("version"))

    # -- plain values --------------------------------------------------------------------------------------------

    def _value(self, schema: Mapping[str, Any], name: str, path: str, made: Suggestions, depth: int) -> Any:
        kind = schema.get("type")
        if schema.get("muranoType"):
            if not self._wants_object(schema, kind, depth):
                return _LEAVE
            return self._part(schema, path, made, depth)
        if name in self._hints and _accepts(schema, self._hints[name]):
            return self._chosen(made, path, self._hints[name])
        if "enum" in schema:
            return self._chosen(made, path, schema["enum"][0]) if not _nullable(kind) else _LEAVE
        if kind == "array":
            return self._list(schema, name, path, made, depth)
        if kind == "object":
            return self._map(schema, path, made, depth)
        if self._eager and isinstance(kind, list) and "string" in kind and any(w in name.lower() for w in HINTS):
            return self._chosen(made, path, self._text(schema, name, path))
        if kind is None or _nullable(kind):
            return _LEAVE
        if kind == "boolean":
            return self._chosen(made, path, False)
        if kind == "integer":
            return self._chosen(made, path, _number(schema))
        if kind == "string":
            return self._chosen(made, path, self._text(schema, name, path))
        return _LEAVE

    def _wants_object(self, schema: Mapping[str, Any], kind: Any, depth: int) -> bool:
        """Whether an object is made: where it must be, or eagerly where it does not lead in circles."""
        if not _nullable(kind):
            return True
        if not self._eager or depth >= EAGER_DEPTH or schema.get("owned") is False:
            return False
        try:
            return self._concrete(schema).name not in (name for name, _ in self._within)
        except VetroError:
            return False

    def _part(self, schema: Mapping[str, Any], path: str, made: Suggestions, depth: int) -> Any:
        type_ = self._concrete(schema)
        if type_.name == ENVIRONMENT:
            raise CannotSuggest(f"{path}: an environment cannot be chosen")
        if schema.get("owned") is not True:
            for name, id in reversed(self._within):
                if name == type_.name:
                    return self._chosen(made, path, id)
        if _stands_alone(type_, schema) and self._environment is not None and self._environment.applications:
            return self._there(self._environment, schema, path, made)
        obj = self._object(type_, {}, path + ".", made, depth + 1)
        _leave_excluded(obj, schema, path, made, {})
        if schema.get("owned") is False and not _stands_alone(type_, schema):
            raise CannotSuggest(f"{path}: name an object of class {type_.name} that belongs to something else")
        return self._placed(obj, type_, schema, path, made)

    def _placed(self, obj: dict[str, Any], type_: Any, schema: Mapping[str, Any], path: str, made: Suggestions) -> Any:
        """A new object: where it is an application, one of its own, to which its id refers."""
        if not _stands_alone(type_, schema):
            return obj
        made.applications.append(obj)
        made.chosen[path] = f"{label_of(obj)} (a new application)"
        return id_of(obj)

    # -- what the environment has --------------------------------------------------------------------------------

    def _there(self, environment: Environment, schema: Mapping[str, Any], path: str, made: Suggestions) -> Any:
        """The only application that fits. Raises `CannotSuggest` where there is none, or more than one."""
        wanted = str(schema["muranoType"])
        fitting = [app for app in environment.applications if self._is(app, wanted)]
        if len(fitting) == 1:
            made.chosen[path] = f"{label_of(fitting[0])} (which is there)"
            return id_of(fitting[0])
        if fitting:
            names = ", ".join(label_of(app) for app in fitting)
            fault, hint = f"the environment has several of class {wanted}: {names}", f"--set {path}=NAME says which"
        else:
            fault, hint = f"the environment has no application of class {wanted}", "deploy one before"
        raise CannotSuggest(f"{path}: {fault}", hint=f"{hint}; --set {path}={{}} makes a new one")

    def _named(self, text: str, schema: Mapping[str, Any], path: str) -> str:
        """The id of the object of this name. Raises `CannotSuggest` where there is none, or more than one."""
        if self._environment is None or find(self._environment.root, text) is not None:
            return text
        every = list(self._environment.objects())
        called = [obj for obj in every if name_of(obj) == text] or [obj for obj in every if label_of(obj) == text]
        wanted = str(schema["muranoType"])
        found = [obj for obj in called if self._is(obj, wanted)] or called
        if len(found) == 1:
            return str(id_of(found[0]))
        if found:
            ids = ", ".join(str(id_of(obj)) for obj in found)
            raise CannotSuggest(f"{path}: {len(found)} objects are called '{text}'", hint=f"give an id: {ids}")
        names = sorted({label_of(obj) for obj in every if self._is(obj, wanted)})
        close = suggest(text, names)
        hint = f"did you mean '{close}'?" if close else f"there are {', '.join(names)}" if names else None
        raise CannotSuggest(f"{path}: the environment has no {wanted} called '{text}'", hint=hint)

    def _is(self, obj: dict[str, Any], wanted: str) -> bool:
        """Whether an object is of a class; of classes that nobody has here, names decide."""
        if class_of(obj) == wanted:
            return True
        try:
            type_ = self._session.type_for(*parse_type_text(type_of(obj)))
        except VetroError:
            return False
        return any(ancestor.name == wanted for ancestor in type_.ancestors)

    def _taken(self, made: Suggestions) -> set[str]:
        """What applications are called that are there, or made."""
        there = self._environment.applications if self._environment is not None else ()
        return {label_of(app) for app in (*there, *made.applications)}

    def _secret(self, schema: Mapping[str, Any], path: str) -> str:
        """Raises `CannotSuggest` where nothing fits that cannot be guessed."""
        drawn = self._new_id()
        for form in (drawn, f"Aa1-{drawn}", f"Aa1!{drawn}", drawn.upper(), str(int(drawn, 16))):
            for length in SECRET_LENGTHS:
                if fits(form[:length], schema):
                    return form[:length]
        raise CannotSuggest(f"{path}: no secret can be made that fits", hint=f"give one: --secret {path}")

    def _list(self, schema: Mapping[str, Any], name: str, path: str, made: Suggestions, depth: int) -> Any:
        count = int(schema.get("minItems", 0))
        items = schema.get("items")
        if self._eager and not count and isinstance(items, Mapping) and items.get("muranoType"):
            count = int(self._wants_object({**items, "type": ["muranoObject", "null"]}, [None, "null"], depth))
        made_items = []
        for index in range(count):
            item = items[min(index, len(items) - 1)] if isinstance(items, list) else items
            value = self._value(item or {}, name, f"{path}[{index}]", made, depth + 1)
            if value is not _LEAVE:
                made_items.append(value)
        return made_items

    def _map(self, schema: Mapping[str, Any], path: str, made: Suggestions, depth: int) -> Any:
        values = {}
        for key, item in (schema.get("properties") or {}).items():
            value = self._value(item, key, f"{path}.{key}", made, depth + 1)
            if value is not _LEAVE:
                values[key] = value
        return values

    def _text(self, schema: Mapping[str, Any], name: str, path: str) -> str:
        hints = [text for word, text in self._words.items() if word in name.lower()]
        for text in (*hints, *TEXTS, "x" * int(schema.get("minLength", 1))):
            if fits(text, schema):
                return text
        raise CannotSuggest(f"{path}: no text fits {schema.get('pattern') or 'the constraints'}", hint="give a value")

    def _chosen(self, made: Suggestions, path: str, value: Any) -> Any:
        made.chosen[path] = value
        return value

    def _numbered(self) -> str:
        self._count += 1
        return f"server-{self._count}"


def _leave_excluded(
    obj: dict[str, Any], schema: Mapping[str, Any], path: str, made: Suggestions, answer: Mapping[str, Any]
) -> None:
    """What a template is to leave to its class was not chosen, unless somebody said it."""
    for name in schema.get("excludedProperties", ()):
        if name not in answer:
            obj.pop(name, None)
            made.chosen.pop(f"{path}.{name}", None)


def _is_secret(type_: Any, name: str, schema: Mapping[str, Any]) -> bool:
    return "enum" not in schema and (is_secret_property(type_, name) or sounds_secret(name))


def _stands_alone(type_: Any, schema: Mapping[str, Any]) -> bool:
    """Whether an object of the class is a component of the environment rather than a part of who refers to it."""
    return schema.get("owned") is not True and any(ancestor.name == APPLICATION for ancestor in type_.ancestors)


_LEAVE = object()


def _nullable(kind: Any) -> bool:
    return isinstance(kind, list) and "null" in kind


def _accepts(schema: Mapping[str, Any], value: Any) -> bool:
    """Whether a hint is of the right kind."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "enum" in schema:
        return value in schema["enum"]
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, int):
        return "integer" in kinds
    return isinstance(value, str) and "string" in kinds and fits(value, schema)


def _number(schema: Mapping[str, Any]) -> int:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None:
        return int(low) + (1 if schema.get("exclusiveMinimum") is True else 0)
    if high is not None:
        return min(1, int(high) - (1 if schema.get("exclusiveMaximum") is True else 0))
    return 1
