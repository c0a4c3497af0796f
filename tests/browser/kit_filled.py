"""A service with something of everything on it, so that pages have something to show."""

from __future__ import annotations

import io
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

from tests.server.tasks import shop
from tests.support.waiting import until

_EXAMPLES = Path(__file__).parents[2] / "examples"


def fill(service: Any) -> dict[str, str]:
    """Packages, environments in each state, a template; ids by name, for addresses of pages."""
    api = partial(service.api, "ann")
    for folder in ("database/1.0.0", "database/1.1.0", "licences", "motd", "balancer", "board"):
        api("POST", "/v2/packages", raw=packed(_EXAMPLES / folder))
    if not api("GET", "/v2/packages?fqn=test.shop")["items"]:
        api("POST", "/v2/packages", raw=shop.archive())
    application = api("GET", "/v2/packages?fqn=com.example.Motd")["items"][0]["id"]
    package = api("GET", "/v2/packages?fqn=test.shop")["items"][0]["id"]
    live = _environment(api, "Spring fair", [{"title": "North"}, {"title": "South", "warn": True}], deploy=True)
    action = f"{live['component']}_greet"
    result = api("POST", f"/v2/environments/{live['id']}/actions/{action}", {"args": {"name": "town"}})["id"]
    until(lambda: api("GET", f"/v2/tasks/{result}")["state"] in ("done", "failed"))
    broken = _environment(api, "Autumn fair", [{"title": "Closed", "fail": True}], deploy=True)
    draft = _environment(api, "Winter fair", [{"title": "Planned"}])
    session = api("POST", f"/v2/environments/{live['id']}/sessions")["id"]
    api("POST", f"/v2/sessions/{session}/components", _shop("added", {"title": "East"}))
    plan = api("POST", f"/v2/sessions/{draft['session']}/plan")["id"]
    until(lambda: api("GET", f"/v2/tasks/{plan}")["state"] in ("done", "failed"))
    template = api("POST", "/v2/templates", {"name": "A fair", "description": "One shop, ready to open."})["id"]
    # To an address inside: nothing arrives there, and the page says so.
    hook = api("POST", "/v2/notices/targets", {"name": "Town hall", "kind": "webhook", "url": "https://10.0.0.1/fair"})
    api("POST", "/v2/notices/rules", {"target_id": hook["id"], "kinds": ["deployment.failed"], "least": "warning"})
    api("POST", f"/v2/notices/targets/{hook['id']}/test")
    until(lambda: api("GET", "/v2/notices/deliveries")["items"][0]["problem"])
    return {
        "action": action, "application": application, "result": result,
        "live": live["id"], "broken": broken["id"], "draft": draft["id"], "package": package, "template": template,
        "task": live["task"], "failed": broken["task"], "component": live["component"], "plan": plan,
        "ann": service.id("ann"), "demo": service.project("ann"),
    }  # fmt: skip


def _environment(api: Any, name: str, shops: list[dict[str, Any]], deploy: bool = False) -> dict[str, str]:
    made = api("POST", "/v2/environments", {"name": name, "description": "Shops that open together."})["id"]
    session = api("POST", f"/v2/environments/{made}/sessions")["id"]
    for number, properties in enumerate(shops):
        api("POST", f"/v2/sessions/{session}/components", _shop(f"{made}-{number}", properties))
    found = {"id": made, "session": session, "component": f"{made}-0"}
    if deploy:
        found["task"] = api("POST", f"/v2/sessions/{session}/deploy")["id"]
        until(lambda: api("GET", f"/v2/tasks/{found['task']}")["state"] in ("done", "failed"))
    return found


def _shop(own: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {"?": {"type": "test.Shop", "id": own, "name": f"Shop {properties['title']}"}, **properties}


def packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name != "README.md":
                archive.write(path, path.relative_to(folder))
    return buffer.getvalue()
