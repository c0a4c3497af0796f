"""Puts the files of a plan in place: contents once, and links to them in the folder of each script (AGENT.md 4)."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from .errors import ANY, PlanError, malformed
from .plan import CONTENT, PlanFile, Script, last_part

#: Seconds without any data after which a download fails.
_SILENCE = 60


class Files:
    """The files of one plan in its folder, which is made."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._contents: dict[str, str] = {}
        os.makedirs(os.path.join(folder, CONTENT), mode=0o700)

    def script_folder(self, script: Script) -> str:
        """The folder of a script with all its files, put in place on first use. Raises `PlanError`."""
        folder = os.path.join(self.folder, script.name)
        if not os.path.isdir(folder):
            os.mkdir(folder)
            try:
                for file in script.files:
                    self._link(folder, file)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)  # the next call of the script tries again
                raise
        return folder

    def content(self, file: PlanFile) -> str:
        """Path of the content of a file: a file, or the folder of what was downloaded."""
        path = self._contents.get(file.id)
        if path is None:
            path = os.path.join(self.folder, CONTENT, str(len(self._contents) + 1))
            if file.url is not None:
                os.mkdir(path)
                try:
                    download(file.url, path)
                except BaseException:
                    shutil.rmtree(path, ignore_errors=True)
                    raise
            else:
                with open(path, "wb") as out:
                    out.write(file.content or b"")
            self._contents[file.id] = path
        return path

    def _link(self, folder: str, file: PlanFile) -> None:
        parts = file.name.split("/")
        place = folder
        for part in parts[:-1]:
            place = os.path.join(place, part)
            try:
                os.mkdir(place)
            except FileExistsError:
                # A link may lead anywhere, for example one that came with a downloaded folder.
                if not stat.S_ISDIR(os.lstat(place).st_mode):
                    raise malformed(f"the file '{file.name}' would lie inside of another file") from None
        target = os.path.join(place, parts[-1])
        if os.path.lexists(target):
            raise malformed(f"the file '{file.name}' would take the place of another")
        os.symlink(self.content(file), target)


def make_executable(path: str) -> None:
    """Lets the owner read and run a file."""
    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) | stat.S_IRUSR | stat.S_IXUSR)


def download(url: str, folder: str) -> None:
    """Fetches an address into an empty folder: a repository, or a file under its last part. Raises `PlanError`."""
    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise PlanError(ANY, f"cannot fetch '{url}': {error}") from None
    if not parts.scheme or not parts.netloc:
        raise PlanError(ANY, f"cannot fetch '{url}': it has no scheme and host")
    if parts.scheme in ("git", "git+http", "git+https") or parts.path.endswith(".git"):
        _fetch(["git", "clone", "--quiet", "--", url[4:] if url.startswith("git+") else url, folder], url)
    elif parts.scheme == "svn" or "/svn/" in parts.path:
        _fetch(["svn", "checkout", "--non-interactive", "--quiet", "--", url, folder], url)
    elif parts.scheme in ("http", "https"):
        name = urllib.parse.unquote(last_part(url))
        if "/" in name or name in ("", ".", "..") or "\0" in name:
            raise PlanError(ANY, f"cannot fetch '{url}': its last part is no name for a file")
        try:
            request = urllib.request.Request(url, headers={"User-Agent": "muranoagent"})
            place = os.path.join(folder, name)
            with urllib.request.urlopen(request, timeout=_SILENCE) as answer, open(place, "wb") as out:
                shutil.copyfileobj(answer, out)
        except (OSError, ValueError, urllib.error.URLError) as error:
            raise PlanError(ANY, f"cannot fetch '{url}': {error}") from None
    else:
        raise PlanError(ANY, f"cannot fetch '{url}': addresses begin with http, https, git or svn")


def _fetch(command: list[str], url: str) -> None:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
        )
    except FileNotFoundError:
        raise PlanError(ANY, f"cannot fetch '{url}': the program {command[0]} is not installed") from None
    if done.returncode:
        said = done.stdout.decode("utf-8", "replace").strip()[-2000:]
        raise PlanError(ANY, f"cannot fetch '{url}': {command[0]} ended with code {done.returncode}: {said}")
