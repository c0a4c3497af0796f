"""Lets packets of servers pass where Docker filters: it drops all that this machine forwards and that is not its own.

What no other table dropped is dropped by Docker's (policy of the chain FORWARD), so servers beside it would reach
nobody outside, nor be reached. Docker leaves one chain to others and keeps what is in it. For links of a cloud it gets
a rule for each direction; what passes between links and the rest is decided by `border`, before.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vetro.clouds.drivers.tools import attempt, run, which

#: The chain that Docker jumps to first and does not touch.
CHAIN = "DOCKER-USER"
#: The program in its two variants: rules of one are not seen by the other. That of the old tables is asked only where
#: the kernel has such tables, for asking makes them.
_PROGRAM, _OLD = "iptables", "iptables-legacy"
_OLD_TABLES = "/proc/net/ip_tables_names"


def let_pass(links: str) -> None:
    """Adds the rules for interfaces whose names begin so; nothing where Docker filters nothing. Raises `HostFailed`."""
    for program in _programs():
        for rule in _rules(links):
            if not attempt([program, "--wait", "--check", CHAIN, *rule]):
                run([program, "--wait", "--insert", CHAIN, *rule])


def withdraw(links: str) -> None:
    """Removes the rules; nothing where there are none."""
    for program in _programs():
        for rule in _rules(links):
            attempt([program, "--wait", "--delete", CHAIN, *rule])


def _rules(links: str) -> Iterator[list[str]]:
    for direction in ("--in-interface", "--out-interface"):
        yield [direction, f"{links}+", "--jump", "ACCEPT"]


def _programs() -> Iterator[str]:
    """The variants in which there is the chain."""
    found = [_PROGRAM] if which(_PROGRAM) else []
    if which(_OLD) and os.path.exists(_OLD_TABLES) and _old_tables():
        found.append(_OLD)
    for program in found:
        if attempt([program, "--wait", "--numeric", "--list", CHAIN]):
            yield program


def _old_tables() -> bool:
    try:
        with open(_OLD_TABLES, encoding="ascii") as file:
            return "filter" in file.read().split()
    except OSError:
        return False
