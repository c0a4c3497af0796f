"""What sandboxed processes of the service answer about archives: the catalog's questions, and those of apps above it.

Such a process loads this module by its name (`vetro.server.sandboxed_workers.ANSWERING`), and no Django.
"""

from __future__ import annotations

from pathlib import Path

from vetro.server.catalog.inspection import compare
from vetro.server.catalog.inspection.worker import OPERATIONS, answerer
from vetro.server.environments import archive
from vetro.server.local import old_folders

__all__ = ["answerer"]

OPERATIONS["compare"] = compare.answer
OPERATIONS["environment"] = lambda question, blobs: archive.answer(blobs[0], question)
OPERATIONS["old environment"] = lambda question, blobs: old_folders.answer(Path(question["folder"]))
