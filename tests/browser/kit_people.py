"""Run as a script with the service's settings: makes people and prints, as JSON, how each of them signs in."""

from __future__ import annotations

import json
from typing import Any

#: Name -> (project, role). Ann and Bob share a project.
PEOPLE = {
    "ann": ("demo", "member"),
    "bob": ("demo", "member"),
    "paul": ("demo", "member"),  # changes his own account
    "rita": ("demo", "reader"),
    "eve": ("others", "member"),
    "mallory": ("wild", "member"),
    "ida": ("fleet", "member"),  # counts her environments
    "root": ("demo", "admin"),
}
PASSWORD = "a long enough phrase"


def main() -> None:
    """Prints what `make` gives."""
    from vetro.server.setup import setup

    setup()
    print(json.dumps(make()))


def make() -> dict[str, Any]:
    """Makes them, where Django is set up; ``{name: {"session": key of a web session, "token", "id", "project"}}``."""
    from vetro.server.accounts import service as accounts
    from vetro.server.accounts.sessions import SessionStore
    from vetro.server.accounts.web_sessions import session_of
    from vetro.server.caller import SYSTEM

    projects = {name: accounts.create_project(SYSTEM, name) for name in {place for place, _ in PEOPLE.values()}}
    told: dict[str, Any] = {}
    for name, (place, role) in PEOPLE.items():
        user = accounts.create_user(SYSTEM, name, password=PASSWORD if name == "ann" else None)
        accounts.grant(SYSTEM, user, projects[place], role)
        session = SessionStore()
        session.update(session_of(user, projects[place].id))
        session.create()
        token = accounts.create_token(SYSTEM, user, projects[place], name="tests")[1]
        told[name] = {
            "id": user.id, "session": session.session_key, "token": token, "project": projects[place].id
        }  # fmt: skip
    return told


if __name__ == "__main__":
    main()
