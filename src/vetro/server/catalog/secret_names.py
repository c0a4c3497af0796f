"""What the classes of packages say of their members: which properties and arguments are secret, by the meta
``io.murano.metadata.forms.Secret`` (`vetro.muranopl.secrecy`), and which methods are model builders.

Classes are only read, nothing of them runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Final

from vetro import muranopl, packages
from vetro.model.secrets import Secret, SecretNames
from vetro.muranopl.tools.inspect import builder_names, secret_names
from vetro.server.cache import RecentCache
from vetro.server.errors import ServiceError
from vetro.yaql.errors import VetroError

#: (type, packages, method) -> names. What could not be read is not kept: it may be read the next time.
_found = RecentCache(4096)
#: In place of a method: the model builders of the class.
_BUILDERS: Final = "?builders"


def secrets_of(digests: Iterable[str]) -> SecretNames:
    """The secret properties of classes, among packages with these digests.

    What it gives raises `Unavailable` while packages cannot be read: nobody knows then what is secret.
    """
    known = tuple(sorted(set(digests)))
    # Read once for all types of a model: there may be thousands of them in a package.
    engine = cache(lambda: engine_of(known))
    return lambda type_text: _names(type_text, known, engine)


def secret_arguments(type_text: str, method: str, digests: Iterable[str]) -> frozenset[str]:
    """The secret arguments of a method, among packages with these digests."""
    known = tuple(sorted(set(digests)))
    return _names(type_text, known, lambda: engine_of(known), method)


def builders_of(digests: Iterable[str]) -> SecretNames:
    """The model builders of classes, among packages with these digests. What it gives raises `Unavailable`."""
    known = tuple(sorted(set(digests)))
    engine = cache(lambda: engine_of(known))
    return lambda type_text: _names(type_text, known, engine, _BUILDERS)


def as_diff(names: SecretNames) -> Secret:
    """The same as `vetro.model.differences` asks."""
    return lambda class_name, name: name in names(class_name)


def _names(type_text: str, digests: tuple[str, ...], engine: Callable[[], Any], method: str = "") -> frozenset[str]:
    """Names of secret properties of a class, of secret arguments of its method, or its builders. Raises
    `Unavailable`."""
    if not type_text or not digests:
        return frozenset()

    def read() -> frozenset[str]:
        linked = engine()
        try:
            if method == _BUILDERS:
                return builder_names(linked, type_text)
            return secret_names(linked, type_text, method)
        except VetroError:  # there is no such class
            return frozenset()

    try:
        return _found.get((type_text, digests, method), read)
    except ServiceError:
        raise
    except VetroError:  # a package is gone for good, or damaged: what is left of the environment is shown
        return frozenset()


def engine_of(digests: tuple[str, ...]) -> Any:
    """What links the classes of these packages, to read them. Raises `Unavailable`, `BlobMissing`, `PackageError`."""
    from vetro.server.catalog.blobs import local_path

    return muranopl.Engine([item for digest in digests for item in packages.load_path(local_path(digest))], seed=0)
