"""`open_local`: a workspace of this machine, opened for commands as a server is."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from vetro.cli.compile_cache import cache_folder
from vetro.server import sandboxed_workers
from vetro.server.local.workspace import Workspace

if TYPE_CHECKING:
    from vetro.cli.client.local import LocalClient


@contextmanager
def open_local(
    root: str | None, *, scratch: bool = False, tasks: bool = False, templates: Path | None = None
) -> Iterator[LocalClient]:
    """A client for a workspace of this machine, open during the block: the user's, without ``root``.

    ``tasks``: task processes will be wanted; what they are forked from gets ready meanwhile. See `Workspace` for
    ``scratch`` and ``templates``, which is the user's cache where nothing else is said.
    """
    log = logging.getLogger("vetro")
    if not log.handlers:
        log.addHandler(logging.NullHandler())  # what workers log is said by the command
    folder = cache_folder()
    there = folder is not None and folder.is_dir()
    sandboxed_workers.read_compiled(str(folder) if there else None)
    workspace = Workspace(root, templates=templates or cache_folder(), scratch=scratch)
    with ExitStack() as stack:
        if tasks and there:
            stack.callback(sandboxed_workers.close)  # also where the workspace cannot be opened
            sandboxed_workers.launcher(questions=False).begin()
        stack.enter_context(workspace)
        from vetro.cli.client.local import LocalClient  # it needs models, and Django is set up now

        try:
            yield LocalClient(workspace)
        finally:
            ask = sys.modules.get("vetro.server.tasks.package_queries")
            (ask or sandboxed_workers).close()
            sandboxed_workers.read_compiled(None)
            if hosts := sys.modules.get("vetro.server.tasks.effect_hosts"):
                hosts.close()
