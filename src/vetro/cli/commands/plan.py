"""`vetro plan`: short for `vetro env plan`."""

from __future__ import annotations

from vetro.cli.commands.env import plan_command as command

__all__ = ["command"]
