"""What procedures tell apps above them."""

from __future__ import annotations

from typing import Final

from vetro.server.hooks import Hook
from vetro.server.procedures.models import Procedure

#: A procedure has ended, or needs a person (`Procedure.step`), and its environment is there; in the transaction that
#: says so.
settled: Final[Hook[[Procedure], None]] = Hook()
