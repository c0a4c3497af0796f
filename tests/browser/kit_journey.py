"""A person with an empty project of her own, and steps that say where a journey ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.browser.kit import picture


def newcomer(service: Any, name: str) -> tuple[str, str]:
    """Makes an account with a project of its own, both called so; (the link that signs its owner in, the name)."""
    user = service.api("root", "POST", "/v2/admin/users", {"name": name})["id"]
    project = service.api("root", "POST", "/v2/admin/projects", {"name": name})["id"]
    service.api("root", "POST", "/v2/admin/memberships", {"user": user, "project": project, "role": "member"})
    made = service.api("root", "POST", f"/v2/admin/users/{user}/link?project={name}")
    return urlsplit(made["url"]).path, name  # its host is that of the configuration; tests take any free port


@contextmanager
def step(page: Any, name: str) -> Iterator[None]:
    """What fails in it says which step that was, and on which page; a picture of the page is kept."""
    try:
        yield
    except Exception as error:
        error.add_note(f"step '{name}', on the page {page.url}")
        picture(page, f"failed-{re.sub(r'[^a-z]+', '-', name.lower())}")
        raise
