"""`SessionStore`: web sessions as Django keeps them in the database, under a hash of the key that the cookie has.

So a copy of the database, or a backup, signs nobody in. Keys are random: they need no slow hash. Only what works
without ``await`` is changed; nothing here uses the rest.
"""

from __future__ import annotations

import hashlib
from typing import Any

from django.contrib.sessions.backends import db
from django.utils import timezone

#: Characters that the column holds: 160 bits.
_LENGTH = 40


def stored(key: str) -> str:
    """What the database holds of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]


class SessionStore(db.SessionStore):
    """The engine of sessions (``SESSION_ENGINE``)."""

    def _get_session_from_db(self) -> Any:
        known = self.model.objects.filter(session_key=stored(str(self.session_key)), expire_date__gt=timezone.now())
        found = known.first()
        if found is None:
            self._session_key = None
        return found

    def exists(self, session_key: str) -> bool:
        """Whether there is a session with this key."""
        return bool(super().exists(stored(session_key)))

    def create_model_instance(self, data: Any) -> Any:
        """The row of the session with these data."""
        row = super().create_model_instance(data)
        row.session_key = stored(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Removes this session, or the one with this key; nothing when there is none."""
        key = session_key or self.session_key
        if key:
            super().delete(stored(key))
