"""Does pieces of work in the order of what they need, those that take long beside each other in threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from vetro.clouds.interface import CloudError
from vetro.data_classes import dataclass

Node = TypeVar("Node", bound=Hashable)


@dataclass(slots=True)
class Job:
    """A piece of work: ``run`` may be called in a thread, ``finish`` is called after it, in the caller's."""

    run: Callable[[], None]
    finish: Callable[[], None]
    #: It talks to a driver or waits.
    long: bool = False


def work(
    nodes: Collection[Node],
    needs: Mapping[Node, Collection[Node]],
    begin: Callable[[Node], Job | None],
    *,
    first: Callable[[Node], bool],
    idle: Callable[[], None],
    parallel: int,
) -> dict[Node, Exception]:
    """Begins every node after all that it needs; ``first`` says which of those that could begin go first.

    ``begin`` gives the work of a node, or None when there is none; ``idle`` is called before a thread begins and before
    a wait. After a failure nothing is begun any more, what runs is waited for. Returns the failures: errors of
    `CloudError` and `OSError`.
    """
    pending = {node: len(needs.get(node, ())) for node in nodes}
    following: dict[Node, list[Node]] = {}
    for node in nodes:
        for needed in needs.get(node, ()):
            following.setdefault(needed, []).append(node)
    ready: deque[Node] = deque()
    urgent: deque[Node] = deque()
    running: dict[Future[None], tuple[Node, Job]] = {}
    failures: dict[Node, Exception] = {}
    pool: ThreadPoolExecutor | None = None

    def put(node: Node) -> None:
        (urgent if first(node) else ready).append(node)

    def done(node: Node) -> None:
        for after in following.get(node, ()):
            pending[after] -= 1
            if not pending[after]:
                put(after)

    for node in nodes:
        if not pending[node]:
            put(node)
    try:
        while urgent or ready or running:
            while (urgent or ready) and not failures:
                node = (urgent or ready).popleft()
                try:
                    job = begin(node)
                    if job is not None and job.long and (urgent or ready or running) and parallel > 1:
                        idle()
                        pool = pool or ThreadPoolExecutor(parallel, "vetro-stack")
                        running[pool.submit(job.run)] = (node, job)
                        continue
                    if job is not None:
                        job.run()
                        job.finish()
                except (CloudError, OSError) as error:
                    failures[node] = error
                    break
                done(node)
            if not running:
                break
            idle()
            ended, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in ended:
                node, job = running.pop(future)
                try:
                    future.result()
                    job.finish()
                except (CloudError, OSError) as error:
                    failures[node] = error
                else:
                    done(node)
    finally:
        if pool is not None:
            pool.shutdown()
    return failures
