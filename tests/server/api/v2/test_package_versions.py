"""Versions compared over /v2."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from tests.server.catalog.archives import archive
from vetro.server.catalog import blobs
from vetro.server.catalog.models import Package

NAME = "com.example.App"
TEXT = "Namespaces: {{=: com.example}}\nName: App\nProperties:\n  size: {{Contract: $.int().notNull().check($ > {})}}\n"


def app(version: str, least: int) -> bytes:
    return archive(NAME, version, classes={NAME: TEXT.format(least)}, Type="Library")


def send(who: Any, path: str, *archives: bytes, part: str = "archive", **fields: Any) -> Any:
    files = [SimpleUploadedFile("a.zip", data, "application/zip") for data in archives]
    sent = {part: files} if len(files) > 1 else {part: files[0]} if files else {}
    return who._client.post(path, {**sent, **fields})


def test_archives_and_versions_of_the_catalog_are_compared(ann: Any) -> None:
    id = send(ann, "/v2/packages", app("1.0.0", 0)).json()["imported"][0]["id"]
    for old in (id, NAME, f"{NAME}/1.0.0", f"{NAME}/1"):
        done = send(ann, "/v2/packages/compare", app("1.1.0", 5), part="new_archive", old=old)
        assert done.status_code == 200, done.content
        told = done.json()
        assert (told["name"], told["old"], told["new"], told["required"]) == (NAME, "1.0.0", "1.1.0", "2.0.0")
        (found,) = told["findings"]
        assert (found["code"], found["level"], found["witness"]) == ("CMP112", "major", "1")
        assert found["new"] == {"file": "Classes/com.example.App.yaml", "line": 4, "column": 3}
    # Without an old version it is the newest lower one.
    assert send(ann, "/v2/packages/compare", app("1.0.1", 0), part="new_archive").json()["sufficient"] is True
    send(ann, "/v2/packages", app("2.0.0", 5))
    both = send(ann, "/v2/packages/compare", old=f"{NAME}/1.0.0", new=NAME).json()
    assert (both["old"], both["new"], both["sufficient"]) == ("1.0.0", "2.0.0", True)
    back = send(ann, "/v2/packages/compare", app("1.0.0", 7), part="old_archive", new=f"{NAME}/2.0.0").json()
    assert back["findings"][0]["level"] == "minor"


def test_what_a_person_may_not_see_is_not_there(ann: Any, eve: Any, people: Any) -> None:
    id = send(ann, "/v2/packages", app("1.0.0", 0)).json()["imported"][0]["id"]
    for old in (id, NAME, f"{NAME}/1.0.0", "nonsense", f"{NAME}/x"):
        done = send(eve, "/v2/packages/compare", app("1.1.0", 5), part="new_archive", old=old)
        assert done.status_code == 404, (old, done.content)
    done = send(eve, "/v2/packages/compare", app("1.1.0", 5), part="new_archive")
    assert (done.status_code, done.json()["error"]["code"]) == (400, "SRV524")
    reader = people("rita", "demo", "reader")
    assert send(reader, "/v2/packages/compare", old=id, new=id).status_code == 403


def test_requests_that_make_no_sense(ann: Any) -> None:
    send(ann, "/v2/packages", app("1.0.0", 0))
    address = "/v2/packages/compare"
    assert send(ann, address, old=NAME).status_code == 400
    assert send(ann, address, app("1.1.0", 0), part="new_archive", new=NAME).status_code == 400
    assert send(ann, address, b"junk", part="new_archive").json()["error"]["code"] == "SRV520"
    other = archive("com.example.Other", "1.0.0")
    refused = send(ann, address, other, part="new_archive", old=NAME).json()["error"]
    assert refused["code"] == "SRV524" and "two packages" in refused["message"]
    needs = archive(NAME, "3.0.0", Require={"com.example.Nowhere": ">=1"}, extends="com.example.Nowhere")
    refused = send(ann, address, needs, part="new_archive", old=NAME).json()["error"]
    assert refused["code"] == "SRV524" and "com.example.Nowhere" in refused["message"]


def test_imports_and_packages_say_what_was_found(ann: Any, root: Any) -> None:
    send(root, "/v2/packages", app("1.0.0", 0), public="true")
    done = send(ann, "/v2/packages", app("1.0.1", 5)).json()
    package = done["imported"][0]["id"]
    assert done["compatibility"][package]["verdict"] == "breaking"
    shown = ann.get(f"/v2/packages/{package}").json()["compatibility"]
    assert (shown["required"], shown["against"]["version"], shown["forced"]) == ("2.0.0", "1.0.0", False)
    assert shown["findings"][0]["message"] == "refuses what it took"
    refused = send(root, "/v2/packages", app("1.0.2", 5), public="true")
    error = refused.json()["error"]
    assert (refused.status_code, error["code"]) == (400, "SRV523")
    assert error["details"]["compatibility"]["findings"][0]["witness"] == "1"
    assert send(ann, "/v2/packages", app("1.0.3", 9), anyway="true").status_code == 201  # nothing was forced
    assert send(root, "/v2/packages", app("1.0.2", 5), public="true", anyway="true").status_code == 201
    german = ann.get(f"/v2/packages/{package}", headers={"Accept-Language": "de"}).json()["compatibility"]
    assert german["findings"][0]["message"] == "weist ab, was es annahm"


def test_publishing_is_refused_and_forced(root: Any) -> None:
    send(root, "/v2/packages", app("1.0.0", 0), public="true")
    id = send(root, "/v2/packages", app("1.0.1", 5)).json()["imported"][0]["id"]
    refused = root.patch(f"/v2/packages/{id}", {"public": True})
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "SRV523")
    forced = root.patch(f"/v2/packages/{id}?anyway=true", {"public": True})
    assert forced.json()["compatibility"]["forced"] is True


def packed(files: dict[str, str | bytes], link: str = "") -> bytes:
    """An archive with these files, and a symbolic link where that is wanted."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in files.items():
            made.writestr(name, content)
        if link:
            info = zipfile.ZipInfo("Classes/link.yaml")
            info.external_attr = 0o120777 << 16
            made.writestr(info, link)
    return stream.getvalue()


MANIFEST = f"Format: 1.4\nType: Library\nFullName: {NAME}\nVersion: 1.1.0\nClasses: {{{NAME}: App.yaml}}\n"
APP = TEXT.format(5)
ENDLESS = APP.replace("$ > 5", "range(0, 10 ** 12).where($ < 0).len() = 0")
ALIASES = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(15)
)
HOSTILE: dict[str, bytes] = {
    "no archive": b"PK\x03\x04" + b"\xff" * 500,
    "cut": packed({"manifest.yaml": MANIFEST, "Classes/App.yaml": APP})[:-40],
    "bomb": packed({"manifest.yaml": MANIFEST, "Classes/App.yaml": APP, "Resources/zeros": b"\0" * (160 << 20)}),
    "climbs": packed({"manifest.yaml": MANIFEST, "Classes/App.yaml": APP, "../../outside": "x"}),
    "link": packed({"manifest.yaml": MANIFEST, "Classes/App.yaml": APP}, link="/etc/shadow"),
    "aliases": packed({"manifest.yaml": MANIFEST + ALIASES, "Classes/App.yaml": APP}),
    "deep": packed({"manifest.yaml": MANIFEST, "Classes/App.yaml": APP + "x: " + "[" * 100_000}),
    "tags": packed({"manifest.yaml": "!!python/object/apply:os.system ['true']\n", "Classes/App.yaml": APP}),
    "endless": packed({"manifest.yaml": MANIFEST, "Classes/App.yaml": ENDLESS}),
    "another": packed({"manifest.yaml": MANIFEST.replace(NAME, "x.Y"), "Classes/App.yaml": APP.replace(NAME, "x.Y")}),
}


@pytest.mark.attack("uploads", "compare")
@pytest.mark.parametrize("side", ["old_archive", "new_archive"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused_or_unknown_and_nothing_is_kept(ann: Any, name: str, side: str) -> None:
    send(ann, "/v2/packages", app("1.0.0", 0))
    other = {"new": NAME} if side == "old_archive" else {"old": NAME}
    blobs_before, rows_before = set(blobs.store().listed()), Package.objects.count()
    done = send(ann, "/v2/packages/compare", HOSTILE[name], part=side, **other)
    assert done.status_code in (200, 400, 404, 409, 413, 422), done.content
    if name in ("endless", "climbs"):  # what a budget ends, and a name that nothing is written under
        assert done.status_code == 200, done.content
    else:
        assert done.status_code != 200 and done.json()["error"]["code"].startswith("SRV"), done.content
        assert b"/etc/shadow" not in done.content and b"Traceback" not in done.content
    assert set(blobs.store().listed()) == blobs_before and Package.objects.count() == rows_before
