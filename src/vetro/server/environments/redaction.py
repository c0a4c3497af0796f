"""Secrets of object models: marked where clients read, kept where they send the mark back.

Which properties are secret is what their classes say, by the meta ``io.murano.metadata.forms.Secret``
(`vetro.muranopl.secrecy`, through `vetro.server.catalog.secret_names`); of classes that no package has, names decide.
The mark is that of forms, ``{"secret": "kept"}``. Classes are only read here, nothing of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vetro.diagnostics import Text
from vetro.model import secrets
from vetro.model.header import class_name, type_of
from vetro.model.secrets import MarkWithoutSecret, SecretNames, mark, sounds_secret
from vetro.model.tree import find, objects
from vetro.server.accounts.policy import allows
from vetro.server.caller import Caller
from vetro.server.catalog.secret_names import secret_arguments, secrets_of
from vetro.server.environments import packages, queries
from vetro.server.errors import Invalid


def may_know(caller: Caller) -> bool:
    """Whether /v1, whose clients send whole applications back, tells the caller secrets: as they are, or marked."""
    return allows(caller, "update_environment")


def secrets_for(caller: Caller, found: queries.ListedEnvironment, root: Any) -> SecretNames:
    """The secret properties of the classes that a model uses; none where no package fits.

    What it gives raises `Unavailable` while packages cannot be read: nobody knows then what is secret.
    """
    return secrets_of(
        row.digest for row in packages_that_fit(lambda model: packages.chosen(caller, found, model), root)
    )


def secrets_in_project(project_id: str, root: Any) -> SecretNames:
    """The same for a model that is no environment's, as a project's catalog has its classes.

    Of a class that no package has, properties are secret whose names say so: it may be another project that knows it.
    """
    rows = packages_that_fit(lambda model: packages.of_project(project_id, model), root)
    known = {name for row in rows for name in row.class_names}
    declared = secrets_of(row.digest for row in rows)

    def names(type_text: str) -> frozenset[str]:
        name = class_name(type_text)
        return declared(type_text) if name in known or name.startswith("io.murano.") else _CALLED_SO

    return names


def of_roots(caller: Caller, found: queries.ListedEnvironment, *roots: Any) -> SecretNames:
    """The secret properties of the classes that any of these models uses."""
    # A draft mostly has the classes of what is deployed.
    unlike = {frozenset(map(type_of, objects(root))): root for root in roots if root}
    asked = [secrets_for(caller, found, root) for root in unlike.values()]
    return lambda type_text: frozenset().union(*(names(type_text) for names in asked))


def conceal_arguments(action: Mapping[str, Any], model: Any, digests: Iterable[str]) -> dict[str, Any]:
    """A copy of an action ({object_id, method, args}) with marks in place of arguments that its method calls secret.

    ``model``: what it was called on; ``digests``: of the packages that its task uses.
    """
    args = action.get("args")
    if not isinstance(args, Mapping) or not args:
        return dict(action)
    type_text = type_of(find(model, str(action.get("object_id") or "")))
    names = secret_arguments(type_text, str(action.get("method") or ""), digests)
    return {**action, "args": {key: mark() if key in names else item for key, item in args.items()}}


def restore(value: Any, stored: Any) -> Any:
    """A copy with the stored values in place of marks, object by object. Raises `Invalid` for a mark without one."""
    try:
        return secrets.restore(value, stored)
    except MarkWithoutSecret as error:
        key, whose = error.name, error.object_id or "a new object"
        raise Invalid(
            Text("'{key}' of {whose} is marked as a secret that is kept, but none is stored.", key=key, whose=whose),
            hint=Text("give its value, or leave it out"),
        ) from None


class _CalledSo(frozenset[str]):
    """Every name that sounds secret."""

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and sounds_secret(name)


_CALLED_SO = _CalledSo()


def packages_that_fit(choose: Callable[[Any], Iterable[Any]], root: Any) -> list[Any]:
    """Packages of those objects that have one: a class that is missing must not show the secrets of the others."""
    try:
        return list(choose({"Objects": root}))
    except Invalid:
        pass
    rows: dict[str, Any] = {}
    for type_text in sorted({*map(type_of, objects(root))} - {""}):
        try:
            for row in choose({"Objects": {"?": {"type": type_text, "id": "x"}}}):
                rows[row.digest] = row
        except Invalid:
            continue
    return list(rows.values())
