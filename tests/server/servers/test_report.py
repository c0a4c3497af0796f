"""The report about an environment holds what helps, and none of the secrets that lie everywhere around it."""

from __future__ import annotations

import base64
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.server.servers.test_logs import House
from tests.server.web.conftest import signed_in
from vetro.clouds.record.driver import RecordDriver
from vetro.server.audit.models import AuditRecord
from vetro.server.environments import sessions
from vetro.server.environments.models import Session
from vetro.server.servers import report
from vetro.server.tasks import reports
from vetro.server.tasks.models import JournalEntry, Task
from vetro.server.tasks.script_output import OutputLog
from vetro.yaql.redact import MASK

pytestmark = pytest.mark.django_db

#: Where each of them is planted.
WHERE = (
    "property", "list", "named", "nested", "earlier", "draft", "argument", "address", "setting", "variable", "console",
    "output", "error",
)  # fmt: skip
SECRETS = {where: f'S3cr\u00e9t/{where}+{number}"x' * 2 for number, where in enumerate(WHERE)}


def everything(data: bytes) -> str:
    """All bytes of an archive as text: as they are, of its members, and of what is Base64 in these."""
    parts = [data.decode("latin-1")]
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            text = archive.read(name).decode()
            parts += [name, text]
            for found in re.findall(r"[A-Za-z0-9+/_=-]{16,}", text):
                for start in range(4):
                    piece = found[start : start + (len(found) - start) // 4 * 4]
                    raw = base64.b64decode(piece.replace("-", "+").replace("_", "/") + "==", validate=False)
                    parts.append(raw.decode("utf-8", "replace"))
    return "\n".join(parts)


def spellings(secret: str) -> set[str]:
    data = secret.encode()
    return {
        secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret), quote(secret, safe=""),
        base64.b64encode(data).decode().rstrip("=")[:-2], base64.b64encode(b"a" + data).decode()[4:-4],
        base64.b64encode(b"ab" + data).decode()[4:-4],
    }  # fmt: skip


@pytest.fixture
def house(ann: Any, drain: Callable[..., int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> House:
    from vetro.server import setup
    from vetro.server.config.config import Config

    given = {
        "cloud.driver": "record", "cloud.directory": str(tmp_path / "cloud"),
        "notices.mail_password": SECRETS["setting"],
    }  # fmt: skip
    monkeypatch.setattr(setup, "_current", Config.load(setup.config().data, overrides=given))
    monkeypatch.setenv("SOME_TOKEN", SECRETS["variable"])
    made = House(ann, drain)
    made.said = "\n".join(f"{where}={secret}" for where, secret in SECRETS.items()) + "\n"
    monkeypatch.setattr(RecordDriver, "console", lambda self, server, lines=200: made.said)
    return made


def plant(house: House) -> None:
    """Puts each secret where it is known as one, and all of them where nobody knows it."""
    from vetro.server.environments.models import State

    def application(word: str, **more: Any) -> dict[str, Any]:
        return {"?": {"type": "test.Shop", "id": "house", "name": "the house"}, "instances": [], "word": word, **more}

    state = State.objects.filter(environment=house.row).order_by("-number")[0]
    root = state.model["Objects"]
    more = {
        "accessToken": SECRETS["named"],
        "options": {
            "list": [{"password": SECRETS["nested"]}],
            "url": f"http://ann:{quote(SECRETS['address'], safe='')}@there/",
        },
        "secrets": [SECRETS["list"], SECRETS["console"], SECRETS["output"], SECRETS["error"]],
    }
    old = {**root, "applications": [application(SECRETS["earlier"])]}
    State.objects.create(environment=house.row, number=state.number + 1, model={"Objects": old, "ObjectsCopy": old})
    new = {**root, "applications": [application(SECRETS["property"], **more)]}
    State.objects.create(environment=house.row, number=state.number + 2, model={"Objects": new, "ObjectsCopy": new})
    house.row.version = state.number + 2
    house.row.save()
    draft = sessions.open_session(house.caller, house.row.id)
    drafted = {**root, "applications": [application(SECRETS["draft"])]}
    Session.objects.filter(id=draft.id).update(draft={"Objects": drafted, "ObjectsCopy": None})
    task = Task.objects.filter(environment_id=house.row.id).order_by("-created")[0]
    everything = " ".join(f"<{secret}> {base64.b64encode(secret.encode()).decode()}" for secret in SECRETS.values())
    task.error = {"message": f"failed: {everything}", "names": [], "kind": "error"}
    task.action = {
        "object_id": "house",
        "method": "open",
        "args": {"password": SECRETS["argument"], "what": everything},
    }
    task.result = {"told": [everything, {"password": "whatever"}]}
    task.save()
    reports.add(task, "planted", f"{everything}\nthe end")
    OutputLog(task).add(
        "0/1", {"id": "i", "number": "1", "script": "s", "stream": "stdout", "text": everything, "left": 0}
    )
    entry = JournalEntry.objects.filter(task=task).order_by("-id")[0]
    entry.about = {"name": everything, "password": "whatever"}
    entry.save()


def test_secrets_are_found_nowhere_in_it(house: House, ann: Any, root: Any) -> None:
    plant(house)
    with report.write(house.caller, house.row.id) as file:
        data = file.read()
    text = everything(data)
    for where, secret in SECRETS.items():
        for form in spellings(secret):
            assert form not in text, (where, form)
        assert secret[:14] not in text, where
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name).decode() for name in archive.namelist()}
        assert archive.testzip() is None
    assert "doctor.json" not in members, "members of a project need not know the machine"
    log = next(content for name, content in members.items() if name.endswith("log.txt"))
    assert "the end" in log and MASK in log
    model = json.loads(members["model.json"])
    told = model["deployed"]["applications"][0]
    assert told["?"]["id"] == "house" and told["word"] == {"secret": "kept"} and told["accessToken"] == "***"
    assert any(name.startswith("draft ") for name in model)
    assert "test.shop" in [package["name"] for package in json.loads(members["packages.json"])]
    about = json.loads(members["environment.json"])
    assert (about["name"], about["simulated"]) == ("house", True)
    journal = json.loads(next(content for name, content in members.items() if name.endswith("journal.json")))
    assert {"stack.push"} <= {entry["kind"] for entry in journal} and journal[0]["key"]
    consoles = [content for name, content in members.items() if name.endswith("console.txt")]
    assert len(consoles) == 2 and all(f"property={MASK}" in content for content in consoles)
    audit = AuditRecord.objects.get(action="environment.report")
    assert (audit.target_id, audit.user_name) == (house.row.id, house.caller.user_name)
    with report.write(root.caller, house.row.id) as file, zipfile.ZipFile(file) as archive:
        found = json.loads(archive.read("doctor.json"))
        assert {one["topic"] for one in found} >= {"sandbox", "engine"}


def test_who_waits_for_it_waits_for_no_more_than_one_server_that_says_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "_PATIENCE", -1.0)
    with report.write(house.caller, house.row.id) as file, zipfile.ZipFile(file) as archive:
        found = [archive.read(name).decode() for name in archive.namelist() if name.endswith("console.txt")]
    assert len(found) == 2 and all("too long to answer" in text for text in found)


def test_who_gets_it(
    house: House, ann: Any, eve: Any, people: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "examine", list)
    path = f"/v2/environments/{house.row.id}/report"
    answer = ann.get(path)
    assert answer.status_code == 200 and answer["Content-Type"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as archive:
        assert "README.txt" in archive.namelist()
    assert eve.get(path).status_code == 404
    reader = people("rita", role="reader")
    assert reader.get(path).status_code == 403
    page = f"/app/environments/{house.row.id}/report"
    download = signed_in(ann).get(page)
    assert b"".join(download.streaming_content)
    assert download["Content-Disposition"].endswith(f'"report-{house.row.id}.zip"')
    assert signed_in(reader).get(page).status_code == 403 and signed_in(eve).get(page).status_code == 404
    head = f"/app/environments/{house.row.id}/"
    assert page in signed_in(ann).get(head).content.decode()
    assert page not in signed_in(reader).get(head).content.decode()


def test_a_cloud_that_is_away_is_told_of_in_it(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.clouds.errors import CloudError
    from vetro.clouds.stacks.cloud import StackCloud

    def away(*args: Any) -> None:
        raise CloudError("Nova is away")

    monkeypatch.setattr(StackCloud, "servers", away)
    with report.write(house.caller, house.row.id) as file, zipfile.ZipFile(file) as archive:
        assert json.loads(archive.read("servers.json")) == {"missing": "Nova is away"}
        assert "model.json" in archive.namelist()


def test_hostile_names_stay_in_the_archive(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    from vetro.server.servers import logs

    there = [logs.Server(id, "../../etc/passwd\n", "ACTIVE", "", None) for id in ("same-id-1", "same-id-2")]
    monkeypatch.setattr(logs, "servers", lambda *args: there)
    with report.write(house.caller, house.row.id) as file, zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    assert len(names) == len(set(names)) and not any(".." in name or name.startswith("/") for name in names), names
