"""Order of resources: cycles, and what follows from a change."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from vetro.clouds.interface import TemplateInvalid


class CircularDependency(TemplateInvalid):
    """Resources (or conditions) of a template need each other in a circle."""

    code = "CLD124"


def check_cycles(begin: Iterable[str], needs: Callable[[str], Iterable[str]], what: str = "resources") -> None:
    """Follows what the names in ``begin`` need. Raises `CircularDependency` that names the circle."""
    done: set[str] = set()
    for start in begin:
        if start in done:
            continue
        path: list[str] = [start]
        on_path = {start}
        stack = [iter(sorted(needs(start)))]
        while stack:
            for name in stack[-1]:
                if name in on_path:
                    circle = [*path[path.index(name) :], name]
                    raise CircularDependency(f"{what} depend on each other in a circle: {' -> '.join(circle)}")
                if name not in done:
                    path.append(name)
                    on_path.add(name)
                    stack.append(iter(sorted(needs(name))))
                    break
            else:
                stack.pop()
                done.add(path[-1])
                on_path.discard(path.pop())


def closure(begin: Collection[str], following: Callable[[str], Iterable[str]]) -> set[str]:
    """``begin`` and everything that follows from it."""
    found = set(begin)
    waiting = list(begin)
    while waiting:
        for name in following(waiting.pop()):
            if name not in found:
                found.add(name)
                waiting.append(name)
    return found
