"""Servers of the recorder that run commands: on this machine, held as those of real servers are."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from vetro.clouds.guest.running_command import CommandEntry, GuestCommand
from vetro.clouds.interface import Command
from vetro.clouds.record.driver import RecordDriver
from vetro.clouds.record.kind import RecordKind


class Execution:
    """The recorder, with commands of servers run on this machine."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        able = RecordKind.capabilities
        self.servers: list[str] = []

        def run_command(driver: RecordDriver, server: str, command: Command) -> GuestCommand:
            self.servers.append(server)
            return GuestCommand(CommandEntry(command.words, command.terminal and os.openpty()), command)

        monkeypatch.setattr(RecordDriver, "run_command", run_command, raising=False)
        monkeypatch.setattr(RecordKind, "capabilities", lambda *args: replace(able(*args), commands=True))
