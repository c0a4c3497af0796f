"""A browser's session for each person, and the shop of the form session's tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.server.forms.conftest import _ended, environment, publish, shop
from vetro.server.accounts.models import User
from vetro.server.accounts.web_sessions import session_of

__all__ = ["_ended", "browser", "environment", "publish", "shop"]


def signed_in(person: Any) -> Client:
    """A client that is signed in to the pages."""
    client = Client()
    session = client.session
    session.update(session_of(User.objects.get(id=person.caller.user_id), person.caller.project_id))
    session.save()
    from django.conf import settings

    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


@pytest.fixture
def browser() -> Callable[[Any], Client]:
    """``browser(ann)``: a client that is signed in to the pages."""
    return signed_in
