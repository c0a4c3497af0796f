"""The standard packages: MuranoPL classes shipped as data, and the Python side of their native classes."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from vetro import packages

if TYPE_CHECKING:
    from vetro.muranopl.types.native import NativeRegistry
    from vetro.packages.package import LoadedPackage

_ROOT = Path(__file__).parent


@cache
def core_package() -> LoadedPackage:
    """The package ``io.murano`` that comes with the engine."""
    return packages.open_package(_ROOT / "io.murano")


@cache
def applications_package() -> LoadedPackage:
    """The package ``io.murano.applications``: the framework for applications on many servers."""
    return packages.open_package(_ROOT / "io.murano.applications")


@cache
def vetro_package() -> LoadedPackage:
    """The package ``io.vetro``: metadata about health and power, which no other implementation of the language has."""
    return packages.open_package(_ROOT / "io.vetro")


@cache
def std_package() -> LoadedPackage:
    """The package ``io.vetro.std``: building blocks for applications, written in MuranoPL."""
    return packages.open_package(_ROOT / "io.vetro.std")


def core_packages() -> list[LoadedPackage]:
    """The standard packages in the order in which sessions see them."""
    return [core_package(), applications_package(), vetro_package(), std_package()]


def core_natives() -> NativeRegistry:
    """A fresh registry of the native classes of the standard packages; hosts put their own on top as its child."""
    from vetro.library.natives.registry import registry

    return registry()
