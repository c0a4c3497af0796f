"""What the agent keeps on disk, so that a plan is run once and answered whatever happens (AGENT.md 3).

``<storage>/plans/<time x 10000>/`` is one plan: ``plan.json`` {Data, Signature, ID, ReplyTo}, ``started`` while and
after it runs, ``result.json`` when there is an answer. ``<storage>/plans/stamp`` holds the newest accepted stamp,
``<storage>/plans/known`` the ids of accepted plans. ``<storage>/files/<plan ID>`` are the working files of a plan.
``<storage>/reserve`` takes room for times when the disk is full (`reserve`).
Every file is written beside its place, synchronised and renamed: a crash leaves the old or the new content.
"""

from __future__ import annotations

import base64
import errno
import fcntl
import hashlib
import json
import logging
import os
import re
import shutil
import signal
import time
from typing import Any

from .reserve import Reserve

log = logging.getLogger("muranoagent")

#: How many ids are remembered at least.
REMEMBERED = 4096
_SAFE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}")


class StorageBusy(Exception):
    """Another agent uses this storage."""


class StoredPlan:
    """One plan on disk."""

    def __init__(self, path: str, reserve: Reserve) -> None:
        self.path = path
        self._reserve = reserve
        with open(os.path.join(path, "plan.json"), encoding="utf-8") as file:
            data = json.load(file)
        self.id: str = data["ID"]
        self.reply_to: str | None = data["ReplyTo"]
        self.body: bytes = base64.b64decode(data["Data"])
        #: Whether whoever waits wants to hear what scripts write.
        self.output: bool = data.get("Output") is True
        #: Until when somebody waits for the answer, on the clock of this boot; None: no limit, or not of this boot.
        self.until: float | None = data.get("Until") if data.get("Boot") == _boot_id() else None

    @property
    def started(self) -> bool:
        """Whether it was begun."""
        return os.path.exists(os.path.join(self.path, "started"))

    def mark_started(self) -> None:
        """Notes for good that it is about to run."""
        self._write("started", b"{}")

    def note_process(self, pid: int) -> None:
        """Notes which process group runs it."""
        mark = {"pid": pid, "boot": _boot_id()}
        self._write("started", json.dumps(mark).encode())

    def end_leftovers(self) -> None:
        """Kills what a former agent left running of this plan."""
        try:
            with open(os.path.join(self.path, "started"), encoding="utf-8") as file:
                mark = json.load(file)
            pid = int(mark["pid"])
        except (OSError, ValueError, KeyError, TypeError):
            return
        # The number of a process group is not given away while the group has members, so within one boot only a group
        # that has ended completely could be mistaken; its leader is then another program in another session.
        if mark.get("boot") == _boot_id() and pid > 1 and _session_is_ours(pid):
            try:
                os.killpg(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

    @property
    def result(self) -> str | None:
        """The answer, or None before it is there."""
        try:
            with open(os.path.join(self.path, "result.json"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def write_result(self, text: str) -> None:
        """Keeps the answer for good."""
        self._write("result.json", text.encode())

    def _write(self, name: str, data: bytes) -> None:
        self._reserve.using(lambda: write_file(os.path.join(self.path, name), data))


class Storage:
    """The folders of one agent, made with mode 0700. Raises `StorageBusy`, OSError."""

    def __init__(self, root: str) -> None:
        self._plans = os.path.join(root, "plans")
        self._files = os.path.join(root, "files")
        for folder in (self._plans, self._files):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.chmod(folder, 0o700)
        self._lock = os.open(os.path.join(self._plans, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._lock)
            raise StorageBusy(f"another agent uses the storage {root}") from None
        self._clear_files()
        self.reserve = Reserve(os.path.join(root, "reserve"))
        self.reserve.fill()
        self.last_stamp = self._read_stamp()
        self._known = self._read_known()
        for plan in self.plans():
            self._remember(identity(plan.body))  # of a crash between storing a plan and remembering it

    def release(self) -> None:
        """Lets another agent use the storage; in a forked process only the copy of the lock goes."""
        os.close(self._lock)

    def _clear_files(self) -> None:
        """Removes the working files of plans that a former agent ran. What cannot be removed stays, and is logged: a
        plan may have made it immutable, and an agent that does not start could not be told to change that."""
        for entry in list(os.scandir(self._files)):  # the folder stays: a full disk has no room for a new one
            try:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)  # the others in it go, where one cannot
                    if os.path.lexists(entry.path):
                        os.rmdir(entry.path)  # fails, and says why
                else:
                    os.unlink(entry.path)
            except OSError as error:
                log.warning("%s stays from a former plan, it cannot be removed: %s", entry.path, error)

    def plans(self) -> list[StoredPlan]:
        """All plans, oldest first. Folders that a crash left half made are removed."""
        found = []
        try:
            names = os.listdir(self._plans)
        except OSError as error:
            log.error("the stored plans cannot be read: %s", error)
            names = []
        for name in sorted((name for name in names if name.isdigit()), key=int):
            path = os.path.join(self._plans, name)
            try:
                found.append(StoredPlan(path, self.reserve))
            except (OSError, ValueError, KeyError, TypeError):
                shutil.rmtree(path, ignore_errors=True)
        return found

    def knows(self, body: bytes) -> bool:
        """Whether this plan was accepted before."""
        return identity(body) in self._known

    def add(
        self,
        id: str,
        body: bytes,
        signature: bytes | None,
        reply_to: str | None,
        stamp: int | None,
        patience: float | None = None,
        output: bool = False,
    ) -> StoredPlan:
        """Keeps an accepted plan for good and remembers it and its stamp. ``patience``, ``output``: see `Delivered`."""
        return self.reserve.using(lambda: self._add(id, body, signature, reply_to, stamp, patience, output))

    def _add(
        self,
        id: str,
        body: bytes,
        signature: bytes | None,
        reply_to: str | None,
        stamp: int | None,
        patience: float | None,
        output: bool,
    ) -> StoredPlan:
        number = int(time.time() * 10000)
        while True:
            path = os.path.join(self._plans, str(number))
            try:
                os.mkdir(path, 0o700)
                break
            except FileExistsError:
                number += 1
        data: dict[str, Any] = {
            "Data": base64.b64encode(body).decode(),
            "Signature": None if signature is None else base64.b64encode(signature).decode(),
            "ID": id,
            "ReplyTo": reply_to,
        }
        if output:
            data["Output"] = True
        if patience is not None:
            data.update(Until=boot_clock() + patience, Boot=_boot_id())
        try:
            write_file(os.path.join(path, "plan.json"), json.dumps(data).encode())
            sync_folder(self._plans)
            if stamp is not None and stamp > (self.last_stamp or 0):
                write_file(os.path.join(self._plans, "stamp"), str(stamp).encode())
                self.last_stamp = stamp
            self._remember(identity(body))
        except OSError:
            shutil.rmtree(path, ignore_errors=True)  # not acknowledged, so it comes again
            raise
        return StoredPlan(path, self.reserve)

    def remove(self, plan: StoredPlan) -> None:
        """Forgets a plan whose answer has arrived; its id stays known."""
        # The plan first: a folder with an answer only is no plan and is cleared away at the next start.
        for name in ("plan.json", "started", "result.json"):
            try:
                os.unlink(os.path.join(plan.path, name))
            except FileNotFoundError:
                pass
        shutil.rmtree(plan.path, ignore_errors=True)
        self.reserve.fill()

    def work_folder(self, id: str) -> str:
        """Where the working files of a plan belong. The folder is not made."""
        name = id if _SAFE.fullmatch(id) else hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()
        return os.path.join(self._files, name)

    def _read_stamp(self) -> int | None:
        try:
            with open(os.path.join(self._plans, "stamp"), encoding="ascii") as file:
                return int(file.read())
        except (OSError, ValueError):
            return None

    def _read_known(self) -> dict[str, None]:
        try:
            with open(os.path.join(self._plans, "known"), encoding="utf-8") as file:
                return dict.fromkeys(json.loads(line) for line in file if line.endswith("\n"))
        except (OSError, ValueError):
            return {}

    def _remember(self, id: str) -> None:
        if id in self._known:
            return
        path = os.path.join(self._plans, "known")
        if len(self._known) >= 2 * REMEMBERED:
            kept = dict.fromkeys([*list(self._known)[1 - REMEMBERED :], id])
            write_file(path, "".join(json.dumps(item) + "\n" for item in kept).encode())
            self._known = kept
            return
        with open(path, "ab", buffering=0) as file:
            before = file.tell()
            try:
                line = json.dumps(id).encode() + b"\n"
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)  # the next line would be none
                raise
        self._known[id] = None


def identity(body: bytes) -> str:
    """By what a plan is known: its own ID, or a digest where only its message had one (which nobody signs)."""
    try:
        own = json.loads(body).get("ID")
    except (ValueError, AttributeError, RecursionError):
        own = None
    return own if own and isinstance(own, str) else "sha256:" + hashlib.sha256(body).hexdigest()


def write_file(path: str, data: bytes) -> None:
    """Writes a file for good or leaves what was there. Mode 0600."""
    draft = path + ".new"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, path)
    except OSError:
        try:
            os.unlink(draft)
        except OSError:
            pass
        raise
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    """Makes new names in a folder last."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def boot_clock() -> float:
    """Seconds on a clock that nobody sets, and that goes on through restarts of the agent."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def _boot_id() -> Any:
    try:
        # The id is the same in every container of a machine; the start of its first process is not.
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
        with open("/proc/1/stat", encoding="utf-8", errors="replace") as file:
            return f"{boot}:{file.read().rsplit(')', 1)[-1].split()[19]}"
    except (OSError, IndexError):
        return None


def _session_is_ours(number: int) -> bool:
    """Whether a process group exists whose members belong to the session of the same number."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[-1].split()
            except OSError:
                continue
            if int(fields[2]) == number:
                return int(fields[3]) == number
    return False
