"""What handlers of effects get and give."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from vetro.data_classes import dataclass
from vetro.engine.effect_kinds import Policy
from vetro.muranopl.runtime.effects import EffectError
from vetro.muranopl.runtime.exceptions import names_of
from vetro.yaql.errors import VetroError, kind_of

#: Seconds that what a cloud is doing gets to end well when the task is over.
GRACE = 20.0
#: Largest number that an effect takes: seconds, bytes. Clocks, headers and files know no larger ones.
_MOST = 10**12


class BadRequest(EffectError):
    """The arguments of an effect are not what its kind takes."""

    kind = "bad-argument"
    code = "ENG320"


class Abandoned(VetroError):
    """Nobody waits for the effect any more."""

    kind = "cancelled"
    code = "ENG321"


class NoSuchSecret(EffectError):
    """This is no secret that can be opened here."""

    kind = "key-error"
    code = "ENG322"
    aliases = ("KeyError",)


class HostConfigError(EffectError):
    """The settings of an effects host are wrong; the message names the setting."""

    kind = "bad-argument"
    code = "ENG323"


@dataclass(slots=True, eq=False)
class Request:
    """One effect to perform."""

    key: str
    kind: str
    args: Mapping[str, Any]
    #: It was begun before, and nobody knows how it ended.
    adopt: bool = False
    #: Seconds since the epoch when it was begun for the first time.
    begun: float = field(default_factory=time.time)
    #: Tells those who watch how far it is: plain data.
    progress: Callable[[Mapping[str, Any]], None] = lambda news: None
    #: What it waits for, where its handler knows: a kind, a noun for people, and the id of the object that it is about.
    waits: tuple[str, str, str] | None = None
    #: What handlers want done once the answer (or error) is in the journal.
    when_stored: list[Callable[[], None]] = field(default_factory=list)
    abandoned: threading.Event = field(default_factory=threading.Event)
    _when_abandoned: list[Callable[[], None]] = field(default_factory=list)

    def abandon(self) -> None:
        """Nobody waits any more."""
        self.abandoned.set()
        for action in list(self._when_abandoned):
            action()

    def when_abandoned(self, action: Callable[[], None]) -> None:
        """Has ``action`` done when nobody waits any more; at once when that is so already."""
        self._when_abandoned.append(action)
        if self.abandoned.is_set():
            action()

    def check(self) -> None:
        """Raises `Abandoned` when nobody waits any more."""
        if self.abandoned.is_set():
            raise Abandoned(f"effect {self.key} was abandoned")

    def text(self, name: str, *, optional: bool = False) -> str:
        """The text argument ``name``; '' for null where it is optional. Raises `BadRequest`."""
        value = self.args.get(name)
        if value is None and optional:
            return ""
        if not isinstance(value, str):
            raise BadRequest(f"argument '{name}' of effect '{self.kind}' must be text, not {type(value).__name__}")
        if not is_unicode(value):
            raise BadRequest(
                f"argument '{name}' of effect '{self.kind}' holds half of a surrogate pair: no Unicode text"
            )
        return value

    def number(self, name: str) -> float:
        """The number ``name``. Raises `BadRequest`."""
        value = self.args.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise BadRequest(f"argument '{name}' of effect '{self.kind}' must be a number, not {type(value).__name__}")
        if not -_MOST <= value <= _MOST:  # nor NaN, which no comparison holds for
            raise BadRequest(f"argument '{name}' of effect '{self.kind}' must be a number of at most {_MOST:.0e}")
        return value


def is_unicode(text: str) -> bool:
    """Whether text can be written down: JSON knows halves of surrogate pairs, files and databases do not."""
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


#: Performs an effect: returns its answer, plain data; raises what the package shall see.
Handler = Callable[[Request], Any]


@dataclass(frozen=True, slots=True)
class Effect:
    """A kind of effect that a plug-in adds: how it is performed, and what may be done when its end is not known."""

    perform: Callable[[Mapping[str, Any]], Any]
    policy: Policy = Policy.UNSAFE


def describe(error: BaseException) -> dict[str, Any]:
    """An error as an answer: ``{kind, code, message, names, hint}``."""
    message = error.message if isinstance(error, VetroError) else str(error) or type(error).__name__
    found = {"kind": kind_of(error), "message": message, "names": list(names_of(error))}
    if isinstance(error, VetroError):
        found["code"] = error.code
        if error.hint:
            found["hint"] = error.hint
    return found
