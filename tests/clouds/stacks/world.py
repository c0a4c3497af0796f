"""A cloud with a recording driver, and short ways to push templates into it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vetro.clouds.interface import Owner, StackChange, StackFailed, StackState
from vetro.clouds.kind_protocols import Capabilities
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.record.table import Table
from vetro.clouds.stacks.cloud import StackCloud
from vetro.clouds.stacks.settings import StackSettings
from vetro.library.stackdata import EMPTY, Parts, difference, digest_of, parts_of

OWNER = Owner("project", "Env1")


def hot(resources: Mapping[str, Any], **sections: Any) -> dict[str, Any]:
    """A template of the version that packages send."""
    return {"heat_template_version": "2013-05-23", "resources": dict(resources), **sections}


class World:
    """One cloud in a folder; `push` sends differences as the library does."""

    def __init__(
        self,
        folder: Path,
        settings: StackSettings | None = None,
        table: Any = None,
        quotas: Mapping[str, int] | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.quotas = quotas
        self.capabilities = capabilities
        self.table = Table.from_json(table)
        self.parts: dict[str, Parts] = {}
        self.open()
        self.cloud.catalog(OWNER, "", "networks")  # now the project has its router and network

    def open(self) -> None:
        self.driver = RecordDriver(self.folder, self.table)
        self.cloud = StackCloud(
            self.folder, self.driver, self.settings, quotas=self.quotas, capabilities=self.capabilities
        )

    def reopen(self) -> None:
        """What a new process sees."""
        self.cloud.close()
        self.open()

    def push(
        self,
        template: Mapping[str, Any],
        values: Mapping[str, Any] | None = None,
        *,
        files: Mapping[str, str] | None = None,
        environment: str | None = None,
        name: str = "stack",
        whole: bool = False,
        owner: Owner = OWNER,
        region: str = "",
    ) -> StackState:
        new = parts_of(template, values, files, environment)
        old = {} if whole else self.parts.get(name, {})
        put, drop = difference(old, new)
        base = None if whole or name not in self.parts else digest_of(old)
        change = StackChange(digest_of(new), base, put, drop)
        try:
            state = self.cloud.push_stack(owner, region, name, change)
        except StackFailed:
            self.parts[name] = new  # the wanted state was taken in
            raise
        self.parts[name] = new
        return state

    def outputs(self, resources: Mapping[str, Any], outputs: Mapping[str, Any], **more: Any) -> Mapping[str, Any]:
        """Outputs of a stack with these resources; values of ``outputs`` are what the template has under ``value``."""
        parameters = more.pop("parameters", None)
        sections: dict[str, Any] = {"outputs": {key: {"value": value} for key, value in outputs.items()}}
        for section in ("parameters", "conditions"):
            if section in more:
                sections[section] = more.pop(section)
        if parameters is not None:
            sections["parameters"] = parameters
        return self.push(hot(resources, **sections), **more).outputs

    def states(self, name: str = "stack") -> dict[str, str]:
        """Resource name -> state, as the database has it."""
        rows = self.cloud._database.rows(
            "SELECT r.name, r.status FROM resources r JOIN stacks s ON s.id = r.stack WHERE s.name = ? AND r.old = 0",
            (name,),
        )
        return dict(rows)

    def ids(self, name: str = "stack") -> dict[str, str]:
        """Resource name -> id."""
        rows = self.cloud._database.rows(
            "SELECT r.name, r.id FROM resources r JOIN stacks s ON s.id = r.stack WHERE s.name = ? AND r.old = 0",
            (name,),
        )
        return dict(rows)

    def count(self, table: str) -> int:
        """Rows of a table of the state."""
        row = self.cloud._database.row(f"SELECT count(*) FROM {table}")
        return int(row[0]) if row else 0


__all__ = ["EMPTY", "OWNER", "World", "hot"]
