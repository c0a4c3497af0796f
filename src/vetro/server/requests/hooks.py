"""What is asked of apps above about requests."""

from __future__ import annotations

from typing import Final

from vetro.server.hooks import Hook

#: How many streams a project may have in a process; -1: any number. One app answers.
most_streams: Final[Hook[[str], int]] = Hook()
