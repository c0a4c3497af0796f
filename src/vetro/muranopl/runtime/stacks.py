"""Room for deep calls: Python's recursion limit while the engine runs, and a larger stack where the own one is small.

Package code may nest 500 calls of any kind and more; the costliest kind takes 18 Python frames a level. What is deeper
than the limit fails with `NestingLimit`. Frames of generated code need no C stack; those that run inside a library
generator or a native class were measured with up to 160 bytes each, and we reckon with three times as much.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context
from typing import Any, TypeVar

#: Python frames that may be nested while the engine runs.
RECURSION_LIMIT = 10_000
#: Bytes of C stack to reckon with for each of them.
BYTES_PER_FRAME = 512
#: Stack of the threads that serve callers whose own stack is too small.
HELPER_STACK = 64 * 1024 * 1024

_T = TypeVar("_T")
_lock = threading.Lock()
_users = 0
_before = 0


class _DeepCalls:
    """What `deep_calls` gives: one for all, as it keeps nothing. A class, as a generator costs three times as much."""

    def __enter__(self) -> None:
        global _users, _before
        with _lock:
            if not _users:
                _before = sys.getrecursionlimit()
            _users += 1
            if sys.getrecursionlimit() < RECURSION_LIMIT:
                sys.setrecursionlimit(RECURSION_LIMIT)

    def __exit__(self, *error: object) -> None:
        global _users
        with _lock:
            _users -= 1
            if not _users and sys.getrecursionlimit() == RECURSION_LIMIT != _before:
                try:
                    sys.setrecursionlimit(_before)
                except RecursionError:  # the caller is deeper than that; another thread of ours had raised it before
                    pass


_DEEP_CALLS = _DeepCalls()


def deep_calls() -> AbstractContextManager[None]:
    """Raises the recursion limit, which all threads share, until the last user leaves."""
    return _DEEP_CALLS


def enough_stack() -> bool:
    """Whether the stack of this thread holds as many frames as the recursion limit allows."""
    size = stack_size()
    return size is None or size >= max(RECURSION_LIMIT, sys.getrecursionlimit()) * BYTES_PER_FRAME


def stack_size() -> int | None:
    """Bytes of this thread's stack; None when there is no limit, or none that can be found out."""
    if threading.current_thread() is threading.main_thread():
        return _limit_of_process()
    known: int | None = getattr(_own, "size", None)
    if known is None:
        known = _own.size = _size_of_thread() or threading.stack_size() or _limit_of_process()
    return known


_own = threading.local()


def _limit_of_process() -> int | None:
    try:
        import resource
    except ImportError:
        return None
    size = resource.getrlimit(resource.RLIMIT_STACK)[0]
    return None if size == resource.RLIM_INFINITY else size


def _size_of_thread() -> int | None:
    """What the C library says about the stack of the running thread (glibc and musl)."""
    import ctypes

    try:
        library = ctypes.CDLL(None)
        library.pthread_self.restype = ctypes.c_void_p
        attributes = ctypes.create_string_buffer(256)
        address, size = ctypes.c_void_p(), ctypes.c_size_t()
        if library.pthread_getattr_np(ctypes.c_void_p(library.pthread_self()), attributes) != 0:
            return None
        failed = library.pthread_attr_getstack(attributes, ctypes.byref(address), ctypes.byref(size))
        library.pthread_attr_destroy(attributes)
        return None if failed else size.value
    except (OSError, AttributeError):
        return None


def on_large_stack(function: Callable[[], _T], interrupt: Callable[[], None]) -> _T:
    """``function()`` on a thread with a large stack while this one waits; its result or what it raises.

    Context variables, trace and profile functions are those of the caller. ``interrupt`` is called when the wait is
    interrupted; then the wait goes on, and the interrupt is raised at its end.
    """
    outcome: list[tuple[bool, Any]] = []
    tracing, profiling, context = sys.gettrace(), sys.getprofile(), copy_context()

    def work() -> None:
        sys.setprofile(profiling)
        sys.settrace(tracing)
        try:
            outcome.append((True, context.run(function)))
        except BaseException as error:
            outcome.append((False, error))
        finally:
            sys.settrace(None)
            sys.setprofile(None)

    needed = max(HELPER_STACK, 2 * max(RECURSION_LIMIT, sys.getrecursionlimit()) * BYTES_PER_FRAME)
    with _lock:
        usual = threading.stack_size(needed)
        try:
            thread = threading.Thread(target=work, name="vetro-stack", daemon=True)
            thread.start()
        finally:
            threading.stack_size(usual)
    interrupted: BaseException | None = None
    while thread.is_alive():
        try:
            thread.join()
        except BaseException as error:
            interrupted = error
            interrupt()
    if interrupted is not None:
        raise interrupted
    fine, value = outcome.pop()
    if not fine:
        raise value
    return value  # type: ignore[no-any-return]
