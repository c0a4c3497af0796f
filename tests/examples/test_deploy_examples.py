"""The packages below examples/deploy are sound, deploy, change only what has changed, and go without a trace."""

from __future__ import annotations

import copy
import json
import os
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.examples.recorded import Recorded
from tests.examples.standin import StandIn, files, is_command, usual_answer
from tests.support.fuzzing import every
from vetro.muranopl import Engine, VirtualClock
from vetro.muranopl.errors import ContractViolation
from vetro.packages import load_path
from vetro.packages.build import build_archive
from vetro.packages.checks.paths import check_paths

DEPLOY = Path(__file__).parents[2] / "examples" / "deploy"
PACKAGES = load_path(DEPLOY)
MODELS = {path.stem: path for path in sorted((DEPLOY / "models").glob("*.yaml"))}

each_package = pytest.mark.parametrize("package", PACKAGES, ids=[p.name for p in PACKAGES])
each_model = pytest.mark.parametrize("name", MODELS)


class FormLoader(yaml.SafeLoader):
    """Reads forms as text: expressions stay what they are."""


FormLoader.add_constructor("!yaql", lambda loader, node: loader.construct_scalar(node))  # type: ignore[arg-type]


class Site:
    """One environment: each step starts from the model that the step before left."""

    def __init__(self, name: str, cloud: StandIn | None = None) -> None:
        self.model: dict[str, Any] = yaml.safe_load(MODELS[name].read_text(encoding="utf-8"))
        self.cloud = cloud or StandIn()

    def deploy(self, **changes: Any) -> Site:
        """Deploys, after setting properties of objects: ``id__property=value``."""
        for where, value in changes.items():
            id, _, name = where.partition("__")
            self.object(id)[name] = value
        return self._run("deploy", None)

    def act(self, object_id: str, method: str) -> Any:
        """The result of an action."""
        self._run(method, object_id)
        return self.result

    def remove(self, id: str | None = None) -> Site:
        """Removes an application, or the environment."""
        self.cloud.plans.clear()
        self.cloud.reports.clear()
        if id is None:
            self.model["Objects"] = None
        else:
            applications = self.model["Objects"]["applications"]
            self.model["Objects"]["applications"] = [a for a in applications if a["?"]["id"] != id]
        return self._run("deploy" if id else None, None)

    def object(self, id: str) -> dict[str, Any]:
        """An object of the model by its id."""
        (found,) = [o for o in objects(self.model["Objects"]) if o["?"].get("id") == id]
        return found

    def _run(self, method: str | None, object_id: str | None) -> Site:
        self.cloud.plans.clear()
        self.cloud.reports.clear()
        session = Engine(PACKAGES, effects=self.cloud, clock=VirtualClock(), seed=1).session()
        try:
            session.load(copy.deepcopy(self.model))
            session.cleanup()
            self.result = session.call(method, object_id=object_id) if method else None
        finally:
            session.finalize()
            self.model = session.serialize(copy=True)
            session.close()
        return self


def objects(tree: Any) -> Iterator[dict[str, Any]]:
    """Every object in a model."""
    if isinstance(tree, dict):
        if "?" in tree:
            yield tree
        tree = list(tree.values())
    if isinstance(tree, list):
        for item in tree:
            yield from objects(item)


# -- all of them -------------------------------------------------------------------------------------------------------


def test_check_finds_nothing() -> None:
    assert [str(problem) for _, problem in check_paths([str(DEPLOY)])] == []


def test_together_they_use_what_real_packages_use() -> None:
    formats = {p.format_text for p in PACKAGES}
    assert formats >= {"MuranoPL/1.0.0", "MuranoPL/1.2.0", "MuranoPL/1.3.0", "Heat.HOT/1.0.0"}
    paths = [p for p in DEPLOY.rglob("*") if p.suffix in (".yaml", ".template")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    for feature in (
        "initialize:", "Workflow:", "find(std:Environment).require()", "reporter.report(", "report_error(",
        "getAttr(deployed, false)", "setAttr(deployed, true)", "new(sys:Resources)", "sys:Resources.string(", ".bind(",
        "addGroupIngress", "runCommand(", "putFile(", "FormatVersion: 2.0.0", "FormatVersion: 2.1.0", "BodyType: Text",
        "- <", "args.", ".format(", ".stdout", "Parallel:", "pselect(", "randomName()", "switch(", ".replace(",
        ".join(",
        "Usage: Action", "Usage: InOut", "Usage: Out", "destroy:", ".destroy:", "Require:", "generateHostname(",
        "type: flavor", "type: image", "type: keypair", "type: azone", "type: network", "type: password",
        "reportDeployed(", "reportDestroyed()", "Try:", "Catch:", "Rethrow:", "Throw:", "While:", "For:", "Match:",
        "Continue:", "scaleFactor", "io.murano.applications",
    ):  # fmt: skip
        assert feature in text, feature


@each_package
def test_it_is_a_whole_package(package: Any, tmp_path: Path) -> None:
    assert package.description and package.author and package.tags
    assert package.logo.startswith(b"\x89PNG") and len(package.logo) < 1024
    form = yaml.load(package.ui, FormLoader) if package.ui else None
    assert (form is not None) == (package.type == "Application")
    if form is not None:
        assert re.match(r"2(\.\d)?$", str(form["Version"]))
        assert form["Forms"] and form["Application"]["?"]["type"] in package.classes
    path = tmp_path / "package.zip"
    path.write_bytes(build_archive(package.location))
    assert [set(p.classes) for p in load_path(path)] == [set(package.classes)]


@each_model
def test_twice_is_once_and_nothing_is_left(name: str) -> None:
    site = Site(name).deploy()
    first, pushes = site.model, [stack.pushes for stack in site.cloud.stacks.values()]
    assert site.cloud.said and site.cloud.stacks
    assert site.cloud.plans or name == "hotstack"
    site.deploy()
    assert site.cloud.plans == []
    assert site.model == first
    assert [stack.pushes for stack in site.cloud.stacks.values()] == pushes or name == "hotstack"
    site.remove()
    assert site.cloud.stacks == {} and site.cloud.plans == []
    assert site.model["Objects"] is None and site.model["Attributes"] == []


@pytest.mark.parametrize("name", every(2, sorted(MODELS.keys() - {"hotstack"})))
def test_a_deployment_that_fails_can_be_repeated(name: str) -> None:
    def broken(plan: dict[str, Any]) -> Any:
        raise OSError("the server is on fire")

    site = Site(name, StandIn(broken))
    with pytest.raises(Exception):  # noqa: B017 - packages raise what they like
        site.deploy()
    site.cloud.answer = usual_answer
    site.deploy()
    assert site.cloud.plans
    assert Site(name).deploy().cloud.servers() == site.cloud.servers() or name == "workers"


SERVERS = {
    "banner": ["banner-1"],
    "hosting": ["machine-1"],
    "hotstack": ["from-template"],
    "webfarm": ["farm-1", "farm-2"],
    "webshop": ["database-1", "shop-1"],
}


@each_model
def test_its_stack_suits_the_local_cloud(name: str, tmp_path: Path) -> None:
    cloud = Recorded(tmp_path)
    try:
        site = Site(name, cloud).deploy()
        first = site.model
        servers = cloud.servers()
        assert len(servers) == 2 if name == "workers" else servers == SERVERS[name]
        assert all(server.addresses for server in cloud.cloud.servers(cloud.owner))
        site.deploy()
        assert (cloud.plans, cloud.servers(), site.model) == ([], servers, first)
        site.remove()
        assert (cloud.servers(), cloud.cloud.stacks(cloud.owner)) == ([], [])
    finally:
        cloud.cloud.close()


# -- the shop and its database -----------------------------------------------------------------------------------------


def test_the_shop_gets_a_database_on_another_server() -> None:
    site = Site("webshop").deploy()
    cloud = site.cloud
    assert cloud.names() == ["Install database", "Create database shop_shop", "Install shop", "Change the greeting"]
    assert cloud.servers() == ["database-1", "shop-1"]
    assert [queue for queue, _ in cloud.plans] == [
        "ewebshop-env-hdatabase-server",
        "ewebshop-env-hdatabase-server",
        "ewebshop-env-hshop-server",
        "ewebshop-env-hshop-server",
    ]
    assert cloud.plan("Install shop")["Parameters"] == {
        "port": 8080,
        "databaseUrl": "http://10.0.0.10:5480",
        "token": "correct-horse-battery",
        "database": "shop_shop",
    }
    assert set(files(cloud.plan("Install shop"))) == {"install-shop.sh", "webshop.py", "page.html"}
    assert b"$greeting" in files(cloud.plan("Install shop"))["page.html"]
    assert b'"database": "shop_shop"' in files(cloud.plan("Create database shop_shop"))["scriptFile.sh"]
    assert cloud.said[-1] == "The shop at http://10.0.0.11:8080 says 'Good morning'"
    assert site.object("shop")["address"] == "http://10.0.0.11:8080"
    (stack,) = cloud.stacks.values()
    rules = stack.template["resources"]
    groups = [r["properties"]["rules"] for r in rules.values() if r["type"] == "OS::Neutron::SecurityGroup"]
    ports = {rule.get("port_range_min") for group in groups for rule in group}
    assert {5480, 8080, 22} <= ports


def test_a_changed_greeting_is_all_that_is_sent() -> None:
    site = Site("webshop").deploy().deploy(shop__greeting="Good night")
    assert site.cloud.names() == ["Change the greeting"]
    assert b"Good night" in files(site.cloud.plan("Change the greeting")).values()
    assert site.cloud.said == ["The shop at http://10.0.0.11:8080 says 'Good night'"]


def test_actions_of_the_shop_give_data() -> None:
    def answer(plan: dict[str, Any]) -> Any:
        if plan["Name"] == "Figures of the shop":
            return {"greeting": "Good morning", "visits": 3}
        return {"exitCode": 0, "stdout": "INSERT 3", "stderr": None} if is_command(plan) else "done"

    site = Site("webshop", StandIn(answer)).deploy()
    assert site.act("shop", "report") == {"greeting": "Good morning", "visits": 3}
    assert site.act("shop", "backup") == "INSERT 3"
    assert site.act("database", "backup") == "done"


def test_a_closed_shop_gives_its_database_back() -> None:
    site = Site("webshop").deploy().remove("shop")
    assert site.cloud.names() == ["Drop database shop_shop"]
    assert site.cloud.said == ["Database shop_shop is gone", "The shop is closed"]
    assert site.cloud.servers() == ["database-1"]


# -- the others --------------------------------------------------------------------------------------------------------


def test_the_banner_sends_bytes_and_text() -> None:
    site = Site("banner").deploy()
    plan = site.cloud.plan("Install banner")
    assert plan["Parameters"]["text"] == "WELCOME\nHave fun\nLog off when you leave"
    assert files(plan)["frame.txt.gz"].startswith(b"\x1f\x8b")
    assert site.cloud.said[-1] == "Banner of banner-1 is up, done"


def test_programs_share_a_host() -> None:
    site = Site("hosting").deploy()
    assert site.cloud.names() == ["Prepare machine", "Start clock", "Start calendar"]
    assert site.cloud.plan("Start calendar")["Parameters"]["environment"] == {
        "CLOCK_FORMAT": "%Y-%m-%d",
        "PORTS": "9000",
    }
    assert site.object("calendar")["endpoints"] == [{"port": 9000, "address": "10.0.0.10", "scope": "cloud"}]
    site.deploy(clock__format="%M")
    assert site.cloud.names() == ["Start clock"]
    site.remove("clock")
    assert site.cloud.names() == ["Remove program"]
    assert [program["name"] for program in site.object("machine")["programs"]] == ["calendar"]


def test_a_program_that_does_not_start_is_reported() -> None:
    def answer(plan: dict[str, Any]) -> Any:
        if plan["Name"] == "Start clock":
            raise OSError("no Python here")
        return "done"

    site = Site("hosting", StandIn(answer))
    with pytest.raises(OSError, match="no Python here"):
        site.deploy()
    site.cloud.answer = usual_answer
    site.deploy()
    assert site.cloud.names() == ["Start clock"]


@pytest.mark.campaign
def test_the_farm_grows_and_shrinks() -> None:
    site = Site("webfarm").deploy()
    assert site.cloud.names() == [
        "Install on farm-1",
        "Install on farm-2",
        "Write the page of farm-1",
        "Write the page of farm-2",
    ]
    (queue,) = {queue for queue, plan in site.cloud.plans if "farm-1" in plan["Name"]}
    assert queue.startswith("ewebfarm-env-h")
    site.act("farm", "scaleOut")
    assert site.cloud.names() == ["Install on farm-3", "Write the page of farm-3"]
    assert site.cloud.servers() == ["farm-1", "farm-2", "farm-3"]
    site.act("farm", "scaleOut")
    site.act("farm", "scaleOut")
    assert len(site.cloud.servers()) == 4  # maxItems
    for _ in range(5):
        site.act("farm", "scaleIn")
    assert site.cloud.servers() == ["farm-1"]
    site.deploy(farm__page="New")
    assert site.cloud.names() == ["Write the page of farm-1"]


def test_the_farm_pushes_its_stack_once_for_all_servers() -> None:
    site = Site("webfarm")
    site.object("farm-servers")["numItems"] = 4
    site.deploy()
    (stack,) = site.cloud.stacks.values()
    few = stack.pushes
    assert len(site.cloud.servers()) == 4
    site = Site("webfarm").deploy()
    assert next(iter(site.cloud.stacks.values())).pushes == few


def test_pairs_are_added_and_taken_away_by_actions() -> None:
    site = Site("workers").deploy()
    assert site.act("workers", "scaleOut") == 2
    assert site.cloud.names() == ["Watch", "Watch"] and len(site.cloud.said) == 2
    assert len(site.cloud.servers()) == 4
    assert site.cloud.plans[0][1]["Parameters"]["interval"] == 1
    assert site.act("workers", "scaleIn") == 1
    assert len(site.cloud.servers()) == 2 and site.cloud.plans == []


def test_a_pair_that_fails_fails_the_deployment() -> None:
    def answer(plan: dict[str, Any]) -> Any:
        raise OSError("no answer")

    site = Site("workers", StandIn(answer))
    with pytest.raises(Exception, match="Pairs do not work"):
        site.deploy()
    assert site.cloud.said == ["no answer"]


def test_a_token_that_would_end_a_quotation_is_refused() -> None:
    with pytest.raises(ContractViolation, match="token"):
        Site("webshop").deploy(database__token="correct'horse")


def test_the_template_gets_its_parameters() -> None:
    site = Site("hotstack").deploy()
    (stack,) = site.cloud.stacks.values()
    assert ("parameter values", "server_name") in stack.parts
    assert any("boot.sh" in key for section, key in stack.parts if section == "stack files")
    assert site.object("hot")["templateOutputs"]["address"] == "10.0.0.10"
    with pytest.raises(ContractViolation, match="templateParameters"):
        site.deploy(hot__templateParameters={"purpose": "fun"})


# -- what runs on the servers ------------------------------------------------------------------------------------------


@contextmanager
def served(script: Path, configuration: Path) -> Iterator[None]:
    """A server program of an example, as an ordinary process."""
    process = subprocess.Popen(
        [sys.executable, str(script), str(configuration)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def get(url: str) -> str:
    """The page, as soon as somebody answers."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(200):
        try:
            with opener.open(url, timeout=10) as response:
                return str(response.read().decode())
        except ConnectionRefusedError:
            pass
        except OSError as error:
            if "refused" not in str(error):
                raise
        # There is nothing to wait on but the port itself.
        subprocess.run(["sleep", "0.05"], check=True)
    raise AssertionError(f"nobody answers at {url}")


def test_the_shop_counts_in_the_database(tmp_path: Path) -> None:
    database, shop = free_port(), free_port()
    (tmp_path / "db.conf").write_text(
        f"MINIDB_PORT={database}\nMINIDB_TOKEN=correct-horse\nMINIDB_FOLDER={tmp_path / 'data'}\n", encoding="utf-8"
    )
    (tmp_path / "shop.conf").write_text(
        f"PORT={shop}\nDATABASE_URL=http://127.0.0.1:{database}\nTOKEN=correct-horse\nDATABASE=shop_1\n",
        encoding="utf-8",
    )
    (tmp_path / "greeting.txt").write_text("Good <morning>\n", encoding="utf-8")
    plan = Site("webshop").deploy().cloud.plan("Install shop")
    for name, content in files(plan).items():
        (tmp_path / name).write_bytes(content)
    minidb = DEPLOY / "com.example.vetro.Database" / "Resources" / "scripts" / "minidb.py"
    with served(minidb, tmp_path / "db.conf"), served(tmp_path / "webshop.py", tmp_path / "shop.conf"):
        assert json.loads(get(f"http://127.0.0.1:{database}/alive")) == {"alive": True}
        assert "number <strong>1</strong>" in get(f"http://127.0.0.1:{shop}/")
        page = get(f"http://127.0.0.1:{shop}/")
        assert "number <strong>2</strong>" in page and "<h1>Good &lt;morning&gt;</h1>" in page
        (tmp_path / "greeting.txt").write_text("Good night\n", encoding="utf-8")
        assert json.loads(get(f"http://127.0.0.1:{shop}/report")) == {
            "greeting": "Good night",
            "visits": 2,
            "database": "shop_1",
        }
        assert "INSERT INTO" in get(f"http://127.0.0.1:{shop}/backup")
        with pytest.raises(urllib.error.HTTPError, match="403"):
            get(f"http://127.0.0.1:{database}/dump")


def scripts() -> list[Path]:
    return sorted(path for path in DEPLOY.rglob("*.sh"))


@pytest.mark.parametrize("path", scripts(), ids=[path.name for path in scripts()])
def test_scripts_are_shell(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    shell = "bash" if text.startswith("#!/bin/bash") or path.name == "unit.sh" else "sh"
    checked = subprocess.run([shell, "-n", os.fspath(path)], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_bodies_are_python() -> None:
    for path in DEPLOY.rglob("*.template"):
        plan = yaml.safe_load(path.read_text(encoding="utf-8"))
        body = "def body(args, **scripts):\n" + "".join(f"    {line}\n" for line in plan["Body"].splitlines())
        compile(body, str(path), "exec")
        assert plan["Scripts"]
        for name in plan["Scripts"]:
            assert re.search(rf"\b{name}\(", plan["Body"]), (path, name)
