"""Types of fields, one module a family. `type_of` finds the one that a definition names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vetro.forms.dynamic.types.apps import Application
from vetro.forms.dynamic.types.base import FieldType
from vetro.forms.dynamic.types.choices import ChoiceType
from vetro.forms.dynamic.types.cloud import (
    AvailabilityZone,
    DnsZone,
    Flavor,
    Image,
    Keypair,
    SecurityGroup,
    Volume,
)
from vetro.forms.dynamic.types.networks import Network
from vetro.forms.dynamic.types.numbers import Boolean, Integer
from vetro.forms.dynamic.types.passwords import Password
from vetro.forms.dynamic.types.texts import ClusterIp, DatabaseList, PlainText, String

TYPES: Mapping[str, FieldType] = {
    "string": String(),
    "text": PlainText(),
    "integer": Integer(),
    "boolean": Boolean(),
    "floatingip": Boolean(),
    "password": Password(),
    "choice": ChoiceType(),
    "clusterip": ClusterIp(),
    "databaselist": DatabaseList(),
    "flavor": Flavor(),
    "image": Image(),
    "keypair": Keypair(),
    "azone": AvailabilityZone(),
    "network": Network(),
    "securitygroup": SecurityGroup(),
    "volume": Volume(),
    "zone": DnsZone(),
    "domain": Application(["io.murano.windows.ActiveDirectory"]),
}


def type_of(name: str | Sequence[str]) -> FieldType:
    """The type called ``name``; any other word, or a list of words, names classes of applications."""
    if isinstance(name, str):
        return TYPES.get(name) or Application([name])
    return Application(name)


__all__ = ["TYPES", "FieldType", "type_of"]
