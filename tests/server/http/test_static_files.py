"""Files of the pages: compressed once, kept by browsers as long as they are the same, and nothing else of the disk."""

from __future__ import annotations

import gzip
import io
import re
from pathlib import Path
from typing import Any

import pytest
from django.templatetags.static import static
from django.test import RequestFactory

from vetro.server.config.config import Config
from vetro.server.http.static_files import SOURCE, Static, prepare


@pytest.fixture
def settings_here(tmp_path: Path) -> Config:
    return Config.load(environ={"VETRO_DATA": str(tmp_path / "data")})


def asked(files: Static, path: str, method: str = "GET", **headers: str) -> Any:
    """(status, headers, body)"""
    seen: list[Any] = []
    environ = RequestFactory().generic(method, "/", b"").environ
    environ = {**environ, "PATH_INFO": path, "wsgi.input": io.BytesIO(b""), **headers}
    parts = files(environ, lambda status, headers: seen.extend((int(status[:3]), dict(headers))))
    body = b"".join(parts)
    getattr(parts, "close", lambda: None)()
    return *seen, body


def test_files_are_sent_compressed_to_who_takes_it(settings_here: Config) -> None:
    prepare(settings_here)
    files, path = Static(settings_here), "/static/web/vetro.css"
    plain = (SOURCE / "web" / "vetro.css").read_bytes()
    status, headers, body = asked(files, path, HTTP_ACCEPT_ENCODING="gzip, br")
    assert (status, headers["Content-Encoding"], gzip.decompress(body)) == (200, "gzip", plain)
    assert len(body) < len(plain) / 2
    assert headers["Content-Type"].startswith("text/css")
    assert headers["X-Content-Type-Options"] == "nosniff"
    status, headers, body = asked(files, path)
    assert (status, body) == (200, plain)
    assert "Content-Encoding" not in headers


def test_a_browser_keeps_what_is_named_by_its_content(settings_here: Config) -> None:
    files = Static(settings_here)
    kept = static("web/vetro.css")
    assert re.fullmatch("/static/v[0-9a-f]{12}/web/vetro.css", kept)
    status, headers, body = asked(files, kept)
    assert (status, body) == (200, (SOURCE / "web" / "vetro.css").read_bytes())
    assert "immutable" in headers["Cache-Control"]
    # A page of an older version gets a file all the same, but does not keep it.
    for other in ("/static/v000000000000/web/vetro.css", "/static/web/vetro.css"):
        status, headers, body = asked(files, other)
        assert status == 200
        assert "immutable" not in headers["Cache-Control"]
    assert asked(files, kept, HTTP_IF_NONE_MATCH=headers["ETag"])[0] == 304
    assert asked(files, kept, "HEAD")[2] == b""
    assert asked(files, kept, "POST")[0] == 405


@pytest.mark.parametrize(
    "path",
    ["/static/", "/static/web", "/static/none.css", "/static/../settings.py", "/static/web/../../settings.py",
     "/static//etc/passwd", "/static/web/vetro.css/", "/static/\x00", "/static/testing/axe.min.js",
     "/static/v000000000000/", "/static/v000000000000/../settings.py", "/static/v000000000000//etc/passwd",
     "/static/v000000000000/v000000000000/web/vetro.css"],
)  # fmt: skip
def test_nothing_else_is_sent(settings_here: Config, path: str) -> None:
    prepare(settings_here)
    assert asked(Static(settings_here), path)[0] == 404


def test_copies_follow_the_files_and_replace_older_ones(settings_here: Config, tmp_path: Path) -> None:
    source = tmp_path / "files"
    source.mkdir()
    (source / "a.css").write_text("a {}\n" * 100)
    first = prepare(settings_here, source)
    stamp = (first / "a.css.gz").stat().st_mtime_ns
    assert prepare(settings_here, source) == first
    assert (first / "a.css.gz").stat().st_mtime_ns == stamp
    (source / "a.css").write_text("b {}\n" * 100)
    second = prepare(settings_here, source)
    assert gzip.decompress((second / "a.css.gz").read_bytes()).startswith(b"b {}")
    assert [path.name for path in second.parent.iterdir()] == [second.name]
