"""The invented cloud and catalog of `cloud.yaml`, as the form library wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

CLOUD = yaml.safe_load((Path(__file__).parent / "cloud.yaml").read_text())
Row = Mapping[str, Any]


class FakeCloud:
    """Lists out of a mapping with the keys of `cloud.yaml`; the same ones in every region."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self._data = data

    def flavors(self, region: str | None) -> Sequence[Row]:
        return self._data["flavors"]

    def images(self, region: str | None) -> Sequence[Row]:
        return self._data["images"]

    def keypairs(self, region: str | None) -> Sequence[str]:
        return self._data["keypairs"]

    def availability_zones(self, region: str | None) -> Sequence[Row]:
        return self._data["availability_zones"]

    def networks(self, region: str | None) -> Sequence[Row]:
        return self._data["networks"]

    def security_groups(self, region: str | None) -> Sequence[str]:
        return self._data["security_groups"]

    def volumes(self, region: str | None) -> Sequence[Row]:
        return self._data["volumes"]

    def snapshots(self, region: str | None) -> Sequence[Row]:
        return self._data["snapshots"]

    def zones(self, region: str | None) -> Sequence[str]:
        return self._data["zones"]


class FakeCatalog:
    """Packages and applications out of the same mapping. Applications are in the environment ``env-1``."""

    def __init__(self, data: Mapping[str, Any], environment: str | None = "env-1", own: Sequence[Row] = ()) -> None:
        self._data = data
        self._environment = environment
        self._own = own

    def packages(self, class_name: str) -> Sequence[Row]:
        return [row for row in (*self._data["packages"], *self._own) if row["fqn"] == class_name]

    def services(self) -> Sequence[Row]:
        return self._data["services"] if self._environment == "env-1" else []

    def environment_names(self) -> Sequence[str]:
        return [row["name"] for row in self._data["environments"]]
