"""Options of commands that deploy: whether what they do can be taken back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*([smhd]?)")
_NAMES = ("guard", "settle", "hold", "confirmed")


class Seconds(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """A time as seconds: 90, 90s, 15m, 24h, 7d."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The seconds."""
        if isinstance(value, float):
            return value
        match = _TIME.fullmatch(str(value).strip())
        if match is None:
            self.fail(f"'{value}' is no time: 90, 90s, 15m, 24h and 7d are", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


def guard_options(function: F) -> F:
    """``guard``, ``settle``, ``hold`` and ``confirmed``."""
    for option in (
        click.option(
            "--confirm", "confirmed", is_flag=True, help="Go on although not all of it would come back, as it says."
        ),
        click.option(
            "--hold", type=Seconds(), metavar="TIME", help="Keep the way back open for so long afterwards (24h)."
        ),
        click.option(
            "--settle", type=Seconds(), metavar="TIME", help="Look for so long whether all is as well as before (30s)."
        ),
        click.option(
            "--guard/--no-guard",
            default=None,
            help="Keep disks and all else as it is before, and bring it back when this does not go well.",
        ),
    ):
        function = option(function)
    return function


def guard_of(options: dict[str, Any]) -> dict[str, Any]:
    """Takes these options out of the others: the body of the request that deploys. Raises `click.UsageError`."""
    given = {name: options.pop(name, None) for name in _NAMES}
    if given["guard"] is False and (given["settle"] is not None or given["hold"]):
        raise click.UsageError("--settle and --hold are for updates with a way back, without --no-guard")
    if given["guard"] is None and (given["settle"] is not None or given["hold"]):
        given["guard"] = True
    return {name: value for name, value in given.items() if value not in (None, False) or name == "guard"}


def guarded(said: Mapping[str, Any]) -> bool:
    """Whether somebody wants a way back."""
    return bool(said.get("guard"))
