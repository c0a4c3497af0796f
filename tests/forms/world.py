"""A catalog of real classes for tests of forms: schemas come from a session, as the task process makes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vetro.forms.catalog import Describer, Implementation, Implementations
from vetro.muranopl import Engine
from vetro.muranopl.schemas import class_schemas
from vetro.muranopl.session import Session
from vetro.packages.memory import memory_package
from vetro.yaql.errors import VetroError

SHOP = {
    "t.Host": """
Namespaces: {=: t, m: io.murano.metadata, forms: io.murano.metadata.forms}
Name: Host
Properties:
  name: {Contract: $.string().notNull()}
  size: {Contract: $.int().notNull().check($ > 0), Default: 5}
  password:
    Contract: $.string()
    Meta: {forms:Secret: {}}
  address: {Contract: $.string(), Usage: Out}
""",
    "t.BigHost": """
Namespaces: {=: t, m: io.murano.metadata}
Name: BigHost
Extends: Host
Meta: {m:Title: {text: Big host}}
Properties:
  disks: {Contract: [{size: $.int().notNull(), label: $.string()}]}
  peers: {Contract: [$.class(Host)]}
""",
    "t.Shop": """
Namespaces: {=: t, m: io.murano.metadata, forms: io.murano.metadata.forms, std: io.murano}
Name: Shop
Extends: std:Application
Meta:
  - m:Title: {text: Shop}
  - forms:Section: {name: basics, title: The basics, index: 0}
  - forms:Section: {name: more, index: 1}
Properties:
  name:
    Contract: $.string().notNull().check($.matches('^[A-Za-z ]+$'), 'letters and blanks only')
    Meta:
      - m:Title: {text: Name of the shop}
      - forms:Position: {section: basics, index: 1}
  kind:
    Contract: $.string().check($ in [small, large])
    Default: small
    Meta: {forms:Position: {section: basics, index: 0}}
  host: {Contract: $.class(Host).notNull()}
  spare: {Contract: $.class(Host).check($ = null or $.size > 7)}
  hosts: {Contract: [$.class(Host).notNull().owned()]}
  friend: {Contract: $.class(Shop).notOwned()}
  byName: {Contract: {$.string().notNull(): $.class(Host)}}
  settings: {Contract: {a: $.int().notNull(), b: $.string(), $.string().notNull(): $.int()}, Default: {a: 1}}
  pair: {Contract: [$.string().notNull(), $.int().notNull()]}
  tags:
    Contract: [$.string().notNull().check(len($) < 9), 0, 3]
    Meta: {forms:Position: {section: more}}
  zone: {Contract: $.string(), Usage: Const}
  label: {Contract: $.string().notNull(), Default: $.name}
  hidden:
    Contract: $.int()
    Meta: {forms:Hidden: {}}
  token:
    Contract: {user: $.string(), key: $.string()}
    Meta: {forms:Secret: {}}
  pattern:
    Contract: $.template(Host, excludeProperties => [size])
  free: {Contract: $}
Methods:
  rename:
    Scope: Public
    Meta: {m:Title: {text: Rename}}
    Arguments:
      - name: {Contract: $.string().notNull()}
      - loudly: {Contract: $.bool().notNull()}
  small:
    Usage: Static
    Scope: Public
    Meta:
      - m:ModelBuilder: {}
      - m:Title: {text: A small shop}
    Arguments:
      - model: {Contract: {}}
      - name: {Contract: $.string().notNull()}
""",
}


def package(classes: Mapping[str, str] = SHOP, **about: Any) -> Any:
    return memory_package({"name": "t", "version": "1.2.0", "format": "1.4", "classes": dict(classes), **about})


class WorldCatalog:
    """A catalog over one session."""

    def __init__(self, *packages: Any) -> None:
        self.packages = packages or (package(),)
        self.session: Session = Engine(self.packages).session()
        self.asked: list[str] = []

    def schemas(self, name: str, methods: Any = None) -> dict[str, Any]:
        session = self.session
        type_ = session.types.find(name, ">=0")
        return session.run(lambda: class_schemas(session, type_, methods, form=True))

    def class_schema(self, name: str, version: str | None, package: str | None) -> Mapping[str, Any] | None:
        self.asked.append(name)
        try:
            found: Mapping[str, Any] = self.schemas(name)[""]
        except VetroError:
            return None
        return found

    def inheritors(
        self, name: str, version: str | None, search: str = "", offset: int = 0, limit: int = 100
    ) -> Implementations:
        found = []
        for one in self.packages:
            for full in sorted(one.classes):
                schema = self.schemas(full)[""]
                title = schema.get("title", full)
                if any(n == name for n, _ in schema["muranoClass"]["ancestors"]) and search.lower() in title.lower():
                    found.append(Implementation(f"{full}/{one.version}@{one.name}", title))
        return Implementations(found[offset : offset + limit], len(found) > offset + limit)


def describer(*packages: Any) -> Describer:
    return Describer(WorldCatalog(*packages))
