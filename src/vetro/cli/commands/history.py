"""`vetro history`: short for `vetro env history`."""

from __future__ import annotations

from vetro.cli.commands.env import history_command as command

__all__ = ["command"]
