"""The base classes of package-type plug-ins under the name that plug-ins of Murano import."""

from vetro.packages.plugin import Package, PackageBase

__all__ = ["Package", "PackageBase"]
