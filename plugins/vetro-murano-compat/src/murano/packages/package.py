"""The base classes of package-type plug-ins under the name that seed 003 gives them."""

from vetro.packages.plugin import Package, PackageBase

__all__ = ["Package", "PackageBase"]
