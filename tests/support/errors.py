"""All error classes of the project, for tests that must not miss a new one."""

from __future__ import annotations

import importlib
from pkgutil import walk_packages

import vetro
import vetro_openstack
from vetro.yaql.errors import Stop, VetroError


def error_classes() -> list[type[BaseException]]:
    """Every class derived from `VetroError` or `Stop` in `vetro` and `vetro_openstack`, these two included, by code.

    A class that takes over its parent's code is the same error to everybody and is left out.
    """
    modules = (
        module for root in (vetro, vetro_openstack) for module in walk_packages(root.__path__, f"{root.__name__}.")
    )
    for module in modules:
        # These do something as they are imported: `vetro.server.http.wsgi` begins to serve.
        if not module.name.endswith((".__main__", ".wsgi")):
            importlib.import_module(module.name)
    found: dict[type[BaseException], None] = {VetroError: None, Stop: None}
    work: list[type[BaseException]] = [VetroError, Stop]
    while work:
        for cls in work.pop().__subclasses__():
            if cls.__module__.startswith(("vetro.", "vetro_openstack.")) and cls not in found:
                found[cls] = None
                work.append(cls)
    own = [cls for cls in found if "code" in vars(cls)]
    return sorted(own, key=lambda cls: cls.code)  # type: ignore[attr-defined]
