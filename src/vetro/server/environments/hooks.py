"""What environments tell apps above them."""

from __future__ import annotations

from typing import Final

from vetro.server.hooks import Hook

#: All that an environment (its id) has is to be destroyed, or nobody looks after it any more: what is held of it is let
#: go. Called before anything else is begun, in the transaction that does it; when it is abandoned, before that.
leaving: Final[Hook[[str], None]] = Hook()
#: The environment (its id) that a procedure is about, by its id; '' where there is none.
environment_of: Final[Hook[[str], str]] = Hook()
