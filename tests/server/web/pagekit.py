"""A browser without a screen: follows redirects, knows what the form of a page would send, presses its buttons."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.test import Client


class Page:
    """What a browser shows."""

    def __init__(self, client: Client, answer: Any, url: str) -> None:
        self.client, self.url, self.status = client, url, answer.status_code
        self.text = str(answer.content.decode())

    def inputs(self) -> dict[str, list[str]]:
        """Names and values of the form with id ``form``, as a browser sends them."""
        reader = _Inputs()
        reader.feed(self.text)
        return reader.found

    def send(self, do: str = "next", **typed: Any) -> Page:
        """Presses a button; ``typed``: by the place of the input, ``__`` for slashes."""
        return followed(self.client, self.client.post(self.url, {**self._filled(typed), "do": do}), self.url)

    def keep(self, do: str = "keep", have: str = "{}", **typed: Any) -> Any:
        """What the script does: the answer to it, as JSON."""
        data = {**self._filled(typed), "do": do, "have": have}
        return self.client.post(self.url, data, headers={"hx-request": "true"}).json()

    def _filled(self, typed: dict[str, Any]) -> dict[str, Any]:
        data: dict[str, Any] = self.inputs()
        places = {name.partition(".")[2]: name for name in data if name[0] not in "kz"}
        for place, value in typed.items():
            data[places[place.replace("__", "/")]] = value
        return data


class _Inputs(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[str]] = {}
        self._inside = False
        self._name: str | None = None
        self._texts: list[str] | None = None
        self._options: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self._inside = given.get("id") == "form"
        if not self._inside:
            return
        name = None if "disabled" in given else given.get("name")
        if tag == "input" and name and (given.get("type") != "checkbox" or "checked" in given):
            self._add(name, given.get("value") or "")
        elif tag == "select":
            self._name, self._options = name, []
        elif tag == "option":
            self._options.append((given.get("value") or "", "selected" in given))
        elif tag == "textarea":
            self._name, self._texts = name, []

    def handle_data(self, data: str) -> None:
        if self._texts is not None:
            self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False
        elif tag == "select" and self._name and self._options:
            self._add(self._name, next((v for v, chosen in self._options if chosen), self._options[0][0]))
        elif tag == "textarea" and self._texts is not None:
            if self._name:
                self._add(self._name, "".join(self._texts).removeprefix("\n"))
            self._texts = None

    def _add(self, name: str, value: str) -> None:
        self.found.setdefault(name, []).append(value)


def followed(client: Client, answer: Any, url: str) -> Page:
    """The page that an answer leads to."""
    for _ in range(6):
        if answer.status_code not in (301, 302):
            return Page(client, answer, url)
        url = answer["Location"].partition("#")[0]
        answer = client.get(url)
    raise AssertionError(f"there is no end of redirects at {url}")


def opened(client: Client, url: str) -> Page:
    """The page at an address."""
    return followed(client, client.get(url), url)
