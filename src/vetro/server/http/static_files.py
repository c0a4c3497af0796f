"""Files of the pages (``/static/``): a compressed copy in the data directory, sent by WhiteNoise.

`prepare` makes the copy before the service starts, anew where the files changed. `Static` answers requests from it.
Addresses that `Storage` makes (``{% static %}``) have a folder that names the content of all files together,
``/static/v1f2e3d4c/web/app.js``, so scripts that import each other stay within it: browsers keep those for ever and
never ask again. Any other address of a file is asked for anew after a minute, and costs an empty 304 while nothing
changed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote

from django.contrib.staticfiles.storage import StaticFilesStorage
from whitenoise import WhiteNoise
from whitenoise.compress import Compressor

from vetro.server.config.config import Config, make_data

SOURCE = Path(__file__).parents[1] / "web" / "static"
PREFIX = "/static/"
#: Only of use to tests.
_LEFT_OUT = "testing"
_MARK = re.compile("v[0-9a-f]{12}")
_FOREVER = "max-age=31536000, public, immutable"

StartResponse = Callable[..., Any]


def prepare(settings: Config, source: Path = SOURCE) -> Path:
    """The folder of compressed copies, made where it is missing; those of other versions are removed."""
    folder = _folder(settings, source)
    if not folder.is_dir():
        make_data(settings)
        folder.parent.mkdir(exist_ok=True)
        draft = folder.with_name(f".{folder.name}.{os.getpid()}")
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(source, draft, ignore=lambda at, names: [_LEFT_OUT] if Path(at) == source else [])
        compressor = Compressor(quiet=True, use_brotli=False)
        for path in _files(draft):
            if compressor.should_compress(path.name):
                list(compressor.compress(str(path)))
        try:
            draft.rename(folder)
        except OSError:  # somebody else was faster
            shutil.rmtree(draft, ignore_errors=True)
    for old in folder.parent.iterdir():
        if old.name != folder.name and not old.name.startswith("."):
            shutil.rmtree(old, ignore_errors=True)
    return folder


class Static:
    """Answers requests for files. Without `prepare`, as in tests, the files are sent as they are."""

    def __init__(self, settings: Config, source: Path = SOURCE) -> None:
        folder = _folder(settings, source)
        self._files = WhiteNoise(
            _no_such_file, root=str(folder if folder.is_dir() else source), prefix=PREFIX, allow_all_origins=False
        )

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """The file, 304 when the client has it, 404 when there is none."""
        mark, _, rest = environ["PATH_INFO"].removeprefix(PREFIX).partition("/")
        # A page of another version may still ask for its files: it gets those of today, not to be kept.
        named = _MARK.fullmatch(mark) is not None

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            headers = [*headers, ("X-Content-Type-Options", "nosniff")]
            if mark == _mark() and status[:3] in ("200", "206", "304"):
                headers = [(name, _FOREVER if name.lower() == "cache-control" else value) for name, value in headers]
            return start_response(status, headers, *more)

        found: Iterable[bytes] = self._files({**environ, "PATH_INFO": PREFIX + rest} if named else environ, start)
        return found


class Storage(StaticFilesStorage):
    """Addresses of files, with a mark of what is in all of them."""

    def url(self, name: str | None) -> str:
        """``/static/v1f2e3d4c/web/vetro.css``."""
        return f"{PREFIX}{_mark()}/{quote(name or '')}"


@cache
def _mark() -> str:
    return f"v{_digest(SOURCE)[:12]}"


def _folder(settings: Config, source: Path) -> Path:
    """Where the copies of the files as they are belong."""
    return settings.data / "static" / _digest(source)[:16]


def _digest(source: Path) -> str:
    digest = hashlib.sha256()
    for path in _files(source):
        if path.relative_to(source).parts[0] != _LEFT_OUT:
            digest.update(str(path.relative_to(source)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _no_such_file(environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
    status = HTTPStatus.NOT_FOUND
    start_response(f"{status.value} {status.phrase}", [("Content-Type", "text/plain; charset=utf-8")])
    return [b"There is no such file."]
