"""The recorded exchanges, in the order in which they are replayed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
EXCHANGES: Final = HERE / "exchanges"
PACKAGES: Final = HERE / "packages"

#: Files with the exchanges that come last, and the first of them (RECORDING.md, "Order").
_SECOND_DEMO: Final = "00-setup[6]"
_ENDS: Final = {"40-cli": 87, "42-osc": 3}


@dataclass(frozen=True)
class Exchange:
    """One request and its recorded answer."""

    file: str
    index: int
    actor: str
    #: What the step was meant to show; of the command line: the command.
    note: str
    request: dict[str, Any]
    response: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.file}[{self.index}]"

    @property
    def status(self) -> int:
        status: int = self.response["status"]
        return status

    @property
    def target(self) -> tuple[str, str, str, str]:
        """Whom it asks for what: equal for two requests that ask for the same."""
        request = self.request
        session = request["headers"].get("x-configuration-session", "")
        return self.actor, request["method"], request["path"], f"{request.get('query', '')} {session}"

    def __str__(self) -> str:
        query = "?" + self.request["query"] if self.request.get("query") else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.name} {self.actor} {self.request['method']} {self.request['path']}{query}{note}"


def files() -> list[str]:
    """Names of all files, sorted."""
    return sorted(path.stem for path in EXCHANGES.glob("*.json"))


def load(file: str) -> list[Exchange]:
    """The exchanges of one file, as they happened."""
    found = json.loads((EXCHANGES / f"{file}.json").read_text())["exchanges"]
    return [
        Exchange(
            file, index, one["actor"], one.get("note") or one.get("command") or "", one["request"], one["response"]
        )
        for index, one in enumerate(found)
    ]


def in_order() -> list[Exchange]:
    """All exchanges in the order of RECORDING.md."""
    names = files()
    late = ["50-heat", "08-packages-upload-parts"]
    order = [one for name in names if name not in late for one in load(name) if one.index < _ENDS.get(name, 10_000)]
    # 00 was put together from several moments: this package is not yet in the lists of 02-04.
    second = order.pop(next(position for position, one in enumerate(order) if one.name == _SECOND_DEMO))
    order.insert(next(position for position, one in enumerate(order) if one.file == "05-packages-upload"), second)
    order += [one for name in late for one in load(name)]
    return order + [one for name, first in _ENDS.items() for one in load(name)[first:]]
