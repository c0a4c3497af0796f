"""`vetro log`: short for `vetro env log`."""

from __future__ import annotations

from vetro.cli.commands.env import log_command as command

__all__ = ["command"]
