"""``--max-memory``: how much the language commands may take. They run packages in their own process."""

from __future__ import annotations

import functools
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import click

from vetro.cli import output as out

F = TypeVar("F", bound=Callable[..., Any])
#: MiB that a command may take beyond what it has when it starts.
DEFAULT = 512


def memory_option(default: int = DEFAULT) -> Callable[[F], F]:
    """``--max-memory MIB``. A command that needs more ends with an error that says so."""

    def decorate(function: F) -> F:
        @click.option(
            "--max-memory",
            type=click.IntRange(min=16),
            metavar="MIB",
            default=default,
            show_default=True,
            help="Stop when more memory than this is needed, in MiB.",
        )
        @functools.wraps(function)
        def limited(*args: Any, max_memory: int, **kwargs: Any) -> Any:
            with _limit(max_memory):
                return function(*args, **kwargs)

        return limited  # type: ignore[return-value]

    return decorate


@contextmanager
def _limit(mib: int) -> Iterator[None]:
    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _now() + (mib << 20)
    if before != resource.RLIM_INFINITY:
        wanted = min(wanted, before)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    except MemoryError:
        # What was built is let go with the frames that hold it, and the limit with it: saying so needs memory, too.
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))
        failed = True
    else:
        failed = False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))
    if failed:
        out.fail(f"this needs more than {mib:,} MiB of memory", "build less at once, or allow more with --max-memory")


def _now() -> int:
    """Bytes of address space of this process."""
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
