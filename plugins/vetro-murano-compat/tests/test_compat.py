"""The tests of the compatibility names. Install it beside Vetro first: ``pip install -e .``"""

from __future__ import annotations

from murano.packages import package
from vetro.packages import plugin


def test_the_names_are_those_of_vetro() -> None:
    assert package.Package is plugin.Package
    assert package.PackageBase is plugin.PackageBase
