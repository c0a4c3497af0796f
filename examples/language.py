"""Deploys an environment made of the packages beside this file, uses it, changes it and removes it, without servers.

`script/demo --language` runs it. Everything here is the public Python API; docs/python-api.md explains it.
"""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from vetro.muranopl import Engine, Session
from vetro.muranopl.runtime.effects import InProcessEffects
from vetro.packages import load_path
from vetro.yaql.errors import VetroError

HERE = Path(__file__).parent
console = Console(highlight=False, soft_wrap=True)


class Demo:
    """Runs deployments one after the other; each starts from the model that the one before left."""

    def __init__(self) -> None:
        self.packages = load_path(HERE)
        self.effects = InProcessEffects(on_report=self.on_report)
        self.engine = Engine(self.packages, effects=self.effects)
        self.names: dict[str, str] = {}
        self.started = time.monotonic()

    def on_report(self, report: dict[str, Any]) -> None:
        """Packages report what they do; the engine only hands it on."""
        who = self.names.get(report["id"], report["id"])
        seconds = time.monotonic() - self.started
        style = "red" if report["level"] == "error" else "green"
        console.print(f"  [dim]{seconds:5.2f} s[/]  [{style}]{escape(who):<18}[/] {escape(report['text'])}")

    def session(self, model: dict[str, Any]) -> Session:
        """A new run over a model."""
        for tree in (model.get("ObjectsCopy"), model["Objects"]):
            self.names.update({key: obj["?"]["name"] or key for key, obj in objects(tree)})
        self.started = time.monotonic()
        session = self.engine.session()
        session.load(model)
        return session

    def deploy(self, model: dict[str, Any]) -> dict[str, Any]:
        """What a catalog does for *deploy*: removes what is no longer wanted, deploys the rest, keeps the result."""
        session = self.session(model)
        session.cleanup()
        if session.root is not None:
            session.call("deploy")
        return self.end(session)

    def action(self, model: dict[str, Any], object_id: str, method: str, **arguments: Any) -> dict[str, Any]:
        """Runs a public method of one object."""
        session = self.session(model)
        call = f"{self.names[object_id]}.{method}({', '.join(f'{k}={v!r}' for k, v in arguments.items())})"
        try:
            answer = session.call(method, (), arguments, object_id=object_id)
            console.print(f"  [bold]{escape(call)}[/] → {escape(str(answer))}")
        except VetroError as error:
            console.print(f"  [bold]{escape(call)}[/] [red]refused:[/] {escape(error.message)}")
        return self.end(session)

    def end(self, session: Session) -> dict[str, Any]:
        """The model after a run. The next run compares it with its ``ObjectsCopy`` and destroys what is gone."""
        session.finalize()
        model = session.serialize(copy=True)
        session.close()
        return model


def objects(tree: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """(id, definition) of every object in a model."""
    if isinstance(tree, dict):
        if "?" in tree:
            header = tree["?"]
            yield header["id"], {**tree, "?": {"name": header.get("name"), "type": header["type"]}}
        for value in tree.values():
            yield from objects(value)
    elif isinstance(tree, list):
        for item in tree:
            yield from objects(item)


def bare(value: Any) -> Any:
    """A property as people read it: objects are told by their ids."""
    if isinstance(value, dict):
        return value["?"]["id"] if "?" in value else {k: bare(v) for k, v in value.items()}
    return [bare(item) for item in value] if isinstance(value, list) else value


def short(value: Any, other: Any) -> str:
    """A value without what it shares with another one: of lists and texts of lines only what is new."""
    if isinstance(value, str) and isinstance(other, str):
        value = [line.strip() for line in value.split("\n")]
        return "\n".join(line for line in value if line not in [part.strip() for part in other.split("\n")])
    if isinstance(value, list) and isinstance(other, list):
        return "\n".join(short(item, None) for item in value if item not in other)
    if isinstance(value, dict):
        kept = {k: v for k, v in value.items() if not isinstance(other, dict) or other.get(k) != v}
        return ", ".join(f"{k}: {v}" for k, v in kept.items())
    return str(value)


def show_changes(old: dict[str, Any], new: dict[str, Any]) -> None:
    """A table of what the second model has, lacks, or holds otherwise."""
    before, after = dict(objects(old["Objects"])), dict(objects(new["Objects"]))
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("  ", "object", "property", "before", "after"):
        table.add_column(column, overflow="fold")
    for key in {**before, **after}:
        one, other = before.get(key), after.get(key)
        name = ((one or other or {}).get("?") or {}).get("name") or key
        if one is None or other is None:
            mark = "[green]  +[/]" if one is None else "[red]  -[/]"
            table.add_row(mark, escape(name), "", "", "")
            continue
        for prop in other:
            was, now = bare(one.get(prop)), bare(other[prop])
            if prop != "?" and was != now:
                table.add_row("[yellow]  ~[/]", escape(name), prop, escape(short(was, now)), escape(short(now, was)))
    console.print(table)


def step(number: int, title: str) -> None:
    """A heading."""
    console.print(f"\n[bold cyan]{number}. {title}[/]")


def main() -> None:
    """The whole story."""
    logging.disable(logging.WARNING)
    demo = Demo()
    console.print(f"[bold]{len(demo.packages)} packages of our own[/]")
    for package in demo.packages:
        console.print(f"  {package.name} [dim]{package.version}, format {package.format_text}[/]")

    step(1, "Deploy an environment of nine applications")
    wanted = yaml.safe_load((HERE / "models" / "environment.yaml").read_text(encoding="utf-8"))
    deployed = demo.deploy(wanted)
    console.print("  [dim]One backend does not answer in time. Probing and ordering a certificate ran in parallel.[/]")
    used = deployed["SystemData"]["Packages"]["com.example.Database"]
    console.print(f"  [dim]Two versions of the database work side by side: {' and '.join(sorted(used))}.[/]")

    step(2, "Run actions")
    acted = demo.action(deployed, "board", "post", topic="News", author="Grace", text="We are live")
    acted = demo.action(acted, "balancer", "spread", requests=90)
    acted = demo.action(acted, "licences", "take", who="Grace", count=4)
    acted = demo.action(acted, "licences", "take", who="Ada", count=2)
    show_changes(deployed, acted)

    step(3, "Change the model and deploy again")
    changed = copy.deepcopy(acted)
    apps = changed["Objects"]["applications"]
    by_id = {app["?"]["id"]: app for app in apps}
    by_id["web2"]["delay"] = 0
    by_id["backup"]["schedule"]["hour"] = 4
    by_id["board"]["topics"].append({"?": {"type": "com.example.board.Topic", "id": "jobs"}, "title": "Jobs"})
    apps.remove(by_id["motd"])
    redeployed = demo.deploy(changed)
    show_changes(acted, redeployed)

    step(4, "A model that breaks a contract is refused before anything happens")
    broken = copy.deepcopy(redeployed)
    next(a for a in broken["Objects"]["applications"] if a["?"]["id"] == "backup")["schedule"]["hour"] = 25
    try:
        demo.deploy(broken)
    except VetroError as error:
        console.print(f"  [red]refused:[/] {escape(error.message)}")

    step(5, "Remove the environment")
    removed = demo.deploy({**redeployed, "Objects": None})
    left = len(list(objects(removed["Objects"])))
    console.print(f"\n[bold]Done.[/] {len(demo.effects.reports)} reports, {left} objects left.")


if __name__ == "__main__":
    main()
