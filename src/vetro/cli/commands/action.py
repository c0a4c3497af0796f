"""`vetro action`: short for `vetro env action`."""

from __future__ import annotations

from vetro.cli.commands.env import action_command as command

__all__ = ["command"]
