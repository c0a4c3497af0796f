"""A client of web sites: cookies kept, and a steady stream of questions that counts failures."""

from __future__ import annotations

import contextlib
import http.cookiejar
import ssl
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field


class Browser:
    """Somebody who looks at pages and fills in forms; whoever vouches for a certificate."""

    def __init__(self) -> None:
        trusting = urllib.request.HTTPSHandler(context=ssl._create_unverified_context())
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(trusting, jar)

    def open(self, url: str, form: dict[str, str] | None = None, data: bytes | None = None, **headers: str) -> str:
        """The text of a page. Raises `OSError` for one that there is not."""
        body = urllib.parse.urlencode(form).encode() if form is not None else data
        request = urllib.request.Request(url, body, {name.replace("_", "-"): one for name, one in headers.items()})
        try:
            with self._opener.open(request, timeout=60) as answer:
                return str(answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            error.close()  # it has the connection
            raise


def seen(url: str, patience: float = 30) -> tuple[int, str]:
    """Status and text of what a URL answers."""
    end = time.monotonic() + patience
    while True:
        try:
            return 200, Browser().open(url)
        except urllib.error.HTTPError as error:
            if error.code not in (502, 503) or time.monotonic() > end:
                return error.code, ""
        except OSError:
            assert time.monotonic() < end, url
        time.sleep(0.2)


@dataclass
class Stream:
    """What a stream of questions saw."""

    texts: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextlib.contextmanager
def stream(url: str, rate: int) -> Iterator[Stream]:
    """Asks for a URL so often a second, at most, as long as the block runs; one thread for 50 questions a second."""
    found, over = Stream(), threading.Event()
    count = max(1, rate // 50)

    def ask() -> None:
        while not over.is_set():
            begun = time.monotonic()
            try:
                found.texts.append(Browser().open(url))
            except OSError as error:
                found.failures.append(f"{error} after {time.monotonic() - begun:.2f} s")
            over.wait(max(0, count / rate - (time.monotonic() - begun)))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        over.set()
        for thread in threads:
            thread.join()
