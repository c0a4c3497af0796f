"""What the packages of the Python API promise is there, wherever it is defined."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.mark.parametrize("name", ["vetro.muranopl", "vetro.packages", "vetro.yaql"])
def test_all_names_can_be_imported(name: str) -> None:
    package = import_module(name)
    missing = [one for one in package.__all__ if getattr(package, one, None) is None]
    assert package.__all__ and not missing
