"""Operators that change a package, each with what the change is to whoever uses it.

They work on the syntax tree of YAML, so everything else is written as it was. A `Mutant` that is `Level.MAJOR` fails
somebody; one that is `Level.MINOR` can be noticed, one that is `Level.PATCH` cannot.
"""

from __future__ import annotations

from tests.packages.compat.mutations import of_methods, of_packages, of_properties
from tests.packages.compat.mutations.sites import OPERATORS, Mutant, files_of, loaded, mutants

__all__ = ["OPERATORS", "Mutant", "files_of", "loaded", "mutants", "of_methods", "of_packages", "of_properties"]
