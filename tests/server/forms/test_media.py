"""Files of ``widgetMedia``: our own, an operator's, and none from elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from django.test import Client

from tests.support.needs import needs
from vetro.server.forms import media
from vetro.server.forms.media_files import BUILT_IN, find_in

OLD = (
    "muranodashboard/js/mixed-mode.js",
    "muranodashboard/js/external-ad.js",
    "muranodashboard/js/support_placeholder.js",
    "muranodashboard/css/support_placeholder.css",
    "muranodashboard/css/checkbox.css",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "media"
    (made / "js").mkdir(parents=True)
    (made / "js" / "own.js").write_text("// own", encoding="utf-8")
    (made / "page.html").write_text("<b>no</b>", encoding="utf-8")
    (tmp_path / "secret.js").write_text("// outside", encoding="utf-8")
    (made / "link.js").symlink_to(tmp_path / "secret.js")
    (made / "loop.js").symlink_to(made / "loop.js")
    return made


def test_the_files_that_came_with_murano_have_replacements() -> None:
    assert [name for name in OLD if find_in([], name) is None] == []


def test_a_folder_comes_before_our_own(folder: Path) -> None:
    assert find_in([folder], "js/own.js") == (folder / "js" / "own.js", "text/javascript; charset=utf-8")
    (folder / "muranodashboard" / "css").mkdir(parents=True)
    (folder / "muranodashboard" / "css" / "checkbox.css").write_text("", encoding="utf-8")
    found = find_in(["/does/not/exist", folder], OLD[4])
    assert found is not None and found[0].is_relative_to(folder)


@pytest.mark.parametrize(
    "name",
    [
        "../secret.js",
        "js/../../secret.js",
        "/etc/hosts.js",
        "js//own.js",
        "./js/own.js",
        "js\\own.js",
        "js/own.js\0",
        "link.js",
        "loop.js",
        "page.html",
        "js",
        "",
        "http://example.com/x.js",
        "a" * 600 + ".js",
        "missing.js",
    ],
)
def test_nothing_else_is_found(folder: Path, name: str) -> None:
    assert find_in([folder], name) is None


def test_they_are_served_to_everybody(client: Client) -> None:
    address = media.url(OLD[0])
    assert address == "/app/media/muranodashboard/js/mixed-mode.js"
    answer = client.get(address)
    assert answer.status_code == 200
    assert b"".join(answer.streaming_content) == (BUILT_IN / OLD[0]).read_bytes()  # type: ignore[attr-defined]
    assert answer["Content-Type"] == "text/javascript; charset=utf-8"
    assert answer["X-Content-Type-Options"] == "nosniff"
    again = client.get(address, headers={"If-Modified-Since": answer["Last-Modified"]})
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("name", ["missing.js", "..%2f..%2fmedia.py", "%2e%2e/media.py", "muranodashboard/js", ""])
def test_what_is_not_there(client: Client, name: str) -> None:
    assert client.get("/app/media/" + name).status_code == 404
    assert client.post("/app/media/" + OLD[0]).status_code == 405


def test_folders_of_the_setting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Settings(dict[str, Any]):
        data = folder.parent

    settings = Settings({"forms.media_folders": ["media"]})
    monkeypatch.setattr(media, "config", lambda: settings)
    assert media.url("js/own.js") == "/app/media/js/own.js"
    assert media.url("link.js") is None
    answer = Client().get("/app/media/js/own.js")
    assert b"".join(answer.streaming_content) == b"// own"  # type: ignore[attr-defined]


def _dom(ticked: bool) -> str:
    """A page as far as the scripts look at it: a box, the field that depends on it, and what listens."""
    return f"""
const rows = {{ "m-saPassword": {{}}, "m-saPassword-clone": {{}} }};
const input = (name, more) => ({{ name, closest: () => rows[name] ?? {{}}, setAttribute() {{}}, ...more }});
const box = input("m-mixedModeAuth", {{ type: "checkbox", checked: {str(ticked).lower()} }});
const all = [box, ...Object.keys(rows).map((name) => input(name, {{ type: "password" }}))];
const heard = {{}};
globalThis.document = {{
  querySelectorAll: () => all,
  addEventListener: (event, listener) => {{ heard[event] = listener; }},
}};
await import("%s");
const hidden = () => Object.values(rows).map((row) => row.hidden);
const before = hidden();
box.checked = !box.checked;
heard.change({{ target: box }});
console.log(JSON.stringify([before, hidden()]));
"""


@needs(which("node"), "Node")
@pytest.mark.parametrize("ticked", [True, False])
def test_the_password_is_shown_while_its_box_is_ticked(ticked: bool, tmp_path: Path) -> None:
    script = tmp_path / "run.mjs"
    for name in ("mixed-mode.js", "toggling.js"):
        text = (BUILT_IN / "muranodashboard" / "js" / name).read_text(encoding="utf-8")
        (tmp_path / name.replace(".js", ".mjs")).write_text(
            text.replace("toggling.js", "toggling.mjs"), encoding="utf-8"
        )
    script.write_text(_dom(ticked) % "./mixed-mode.mjs", encoding="utf-8")
    done = subprocess.run(["node", str(script)], capture_output=True, text=True, timeout=30, check=True)
    hidden = [not ticked] * 2
    assert done.stdout.strip() == str([hidden, [not h for h in hidden]]).lower().replace(" ", "")
