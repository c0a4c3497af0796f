"""Secrets of object models: marked where clients read, kept where they send the mark back.

Which properties are secret is what their classes say, by the meta ``io.murano.metadata.forms.Secret`` (vetro.forms).
The mark is that of forms, ``{"secret": "kept"}``. Classes are only read here, nothing of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from vetro.diagnostics import Text
from vetro.engine.models.differences import sounds_secret
from vetro.muranopl.tools.inspect import secret_names
from vetro.server.accounts.policy import allows
from vetro.server.cache import Remembered
from vetro.server.caller import Caller
from vetro.server.environments import content, packages, queries
from vetro.server.errors import Invalid, ServiceError
from vetro.yaql.errors import VetroError

#: The header's ``type`` -> names of secret properties.
Secrets = Callable[[str], frozenset[str]]
MARK: Mapping[str, str] = {"secret": "kept"}
#: (type, packages, method) -> names. What could not be read is not kept: it may be read the next time.
_found = Remembered(4096)


def may_know(caller: Caller) -> bool:
    """Whether /v1, whose clients send whole applications back, tells the caller secrets: as they are, or marked."""
    return allows(caller, "update_environment")


def secrets_for(caller: Caller, found: queries.Found, root: Any) -> Secrets:
    """The secret properties of the classes that a model uses; none where no package fits.

    What it gives raises `Unavailable` while packages cannot be read: nobody knows then what is secret.
    """
    return secrets_of(row.digest for row in _packages(lambda model: packages.chosen(caller, found, model), root))


def secrets_in_project(caller: Caller, project_id: str, root: Any) -> Secrets:
    """The same for a model that is no environment's, as a project's catalog has its classes.

    Of a class that no package has, properties are secret whose names say so: it may be another project that knows it.
    """
    from vetro.server.catalog.dependencies import packages_for_model

    rows = _packages(lambda model: packages_for_model(caller, model, project_id=project_id), root)
    known = {name for row in rows for name in row.class_names}
    declared = secrets_of(row.digest for row in rows)

    def secrets(type_text: str) -> frozenset[str]:
        name = type_text.partition("@")[0].partition("/")[0]
        return declared(type_text) if name in known or name.startswith("io.murano.") else _CALLED_SO

    return secrets


def secrets_of(digests: Iterable[str]) -> Secrets:
    """The same among packages with these digests."""
    known = tuple(sorted(set(digests)))
    # Read once for all types of a model: there may be thousands of them in a package.
    engine = cache(lambda: _engine(known))
    return lambda type_text: _secrets(type_text, known, engine)


def of_roots(caller: Caller, found: queries.Found, *roots: Any) -> Secrets:
    """The secret properties of the classes that any of these models uses."""
    # A draft mostly has the classes of what is deployed.
    unlike = {frozenset(str(obj["?"].get("type")) for obj in content.objects_in(root)): root for root in roots if root}
    asked = [secrets_for(caller, found, root) for root in unlike.values()]
    return lambda type_text: frozenset().union(*(secrets(type_text) for secrets in asked))


def as_diff(secrets: Secrets) -> Callable[[str, str], bool]:
    """The same as `vetro.engine.models.differences` asks."""
    return lambda class_name, name: name in secrets(class_name)


def is_mark(value: Any) -> bool:
    """Whether a client means "as it was"."""
    return isinstance(value, Mapping) and value.get("secret") == "kept" and value.keys() <= {"secret", "at"}


def conceal(value: Any, secrets: Secrets) -> Any:
    """A copy with marks in place of secrets that are set."""
    if isinstance(value, list):
        return [conceal(item, secrets) for item in value]
    if not isinstance(value, dict):
        return value
    names: frozenset[str] = frozenset()
    header = value.get("?")
    if isinstance(header, dict):
        names = secrets(str(header.get("type") or ""))
    return {
        key: dict(MARK) if key in names and item not in (None, "") else conceal(item, secrets)
        for key, item in value.items()
    }


def without(value: Any, secrets: Secrets = lambda type_text: frozenset()) -> Any:
    """A copy without secrets, and without marks."""
    if isinstance(value, list):
        return [without(item, secrets) for item in value]
    if not isinstance(value, dict):
        return value
    header = value.get("?")
    names = secrets(str(header.get("type") or "")) if isinstance(header, dict) else frozenset[str]()
    return {key: without(item, secrets) for key, item in value.items() if key not in names and not is_mark(item)}


def unset(value: Any, secrets: Secrets) -> list[dict[str, str]]:
    """The secret properties that have no value: {object, type, property}."""
    return [
        {"object": str(content.id_of(obj) or ""), "type": str(obj["?"].get("type") or ""), "property": name}
        for obj in content.objects_in(value)
        for name in sorted(secrets(str(obj["?"].get("type") or "")))
        if obj.get(name) in (None, "")
    ]


def conceal_arguments(action: Mapping[str, Any], model: Any, digests: Iterable[str]) -> dict[str, Any]:
    """A copy of an action ({object_id, method, args}) with marks in place of arguments that its method calls secret.

    ``model``: what it was called on; ``digests``: of the packages that its task uses.
    """
    args = action.get("args")
    if not isinstance(args, Mapping) or not args:
        return dict(action)
    called = next((obj for obj in content.objects_in(model) if content.id_of(obj) == action.get("object_id")), None)
    type_text = "" if called is None else str(called["?"].get("type") or "")
    known = tuple(sorted(set(digests)))
    names = _secrets(type_text, known, lambda: _engine(known), str(action.get("method") or ""))
    return {**action, "args": {key: dict(MARK) if key in names else item for key, item in args.items()}}


def restore(value: Any, stored: Any) -> Any:
    """A copy with the stored values in place of marks, object by object. Raises `Invalid` for a mark without one."""
    known = {content.id_of(obj): obj for obj in content.objects_in(stored)}
    known.pop(None, None)
    return _restored(value, known)


def _restored(value: Any, known: Mapping[Any, Mapping[str, Any]]) -> Any:
    if isinstance(value, list):
        return [_restored(item, known) for item in value]
    if not isinstance(value, dict):
        return value
    before = known.get(content.id_of(value))
    made = {}
    for key, item in value.items():
        if not is_mark(item):
            made[key] = _restored(item, known)
            continue
        if before is None or before.get(key) is None:
            whose = content.id_of(value) or "a new object"
            raise Invalid(
                Text(
                    "'{key}' of {whose} is marked as a secret that is kept, but none is stored.", key=key, whose=whose
                ),
                hint=Text("give its value, or leave it out"),
            )
        made[key] = before[key]
    return made


class _CalledSo(frozenset[str]):
    """Every name that sounds secret."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and sounds_secret(name)


_CALLED_SO = _CalledSo()


def _packages(choose: Callable[[Any], Iterable[Any]], root: Any) -> list[Any]:
    """Packages of those objects that have one: a class that is missing must not show the secrets of the others."""
    try:
        return list(choose({"Objects": root}))
    except Invalid:
        pass
    rows: dict[str, Any] = {}
    types = {str(obj["?"].get("type") or "") for obj in content.objects_in(root)}
    for type_text in sorted(types - {""}):
        try:
            for row in choose({"Objects": {"?": {"type": type_text, "id": "x"}}}):
                rows[row.digest] = row
        except Invalid:
            continue
    return list(rows.values())


def _secrets(type_text: str, digests: tuple[str, ...], engine: Callable[[], Any], method: str = "") -> frozenset[str]:
    """Names of secret properties of a class, or of secret arguments of its method. Raises `Unavailable`."""
    if not type_text or not digests:
        return frozenset()

    def find() -> frozenset[str]:
        linked = engine()
        try:
            return secret_names(linked, type_text, method)
        except VetroError:  # there is no such class
            return frozenset()

    try:
        return _found.get((type_text, digests, method), find)
    except ServiceError:
        raise
    except VetroError:  # a package is gone for good, or damaged: what is left of the environment is shown
        return frozenset()


def _engine(digests: tuple[str, ...]) -> Any:
    """What links the classes of these packages. Raises `Unavailable`, `BlobMissing`, `PackageError`."""
    from vetro.muranopl.api import Engine
    from vetro.packages import load_path
    from vetro.server.catalog.blobs import local_path

    return Engine([item for digest in digests for item in load_path(local_path(digest))], seed=0)
