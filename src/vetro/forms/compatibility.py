"""`compare_versions`: two versions of a package as everybody compares them: what classes declare and forms ask."""

from __future__ import annotations

from collections.abc import Iterable

from vetro.forms.dynamic.comparison import form_findings
from vetro.packages.compat.comparison import SECONDS, compare
from vetro.packages.compat.findings import Comparison
from vetro.packages.package import LoadedPackage


def compare_versions(
    old: LoadedPackage, new: LoadedPackage, others: Iterable[LoadedPackage] = (), *, seconds: float = SECONDS
) -> Comparison:
    """Every difference of two versions, of classes and of form definitions. Raises as `compare`."""
    return compare(old, new, others, seconds=seconds, more=lambda limits: form_findings(old, new, limits))
