"""Effects that need no cloud: identity, clock, entropy, sleep, secrets, and workflows, which there are none of."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from vetro.clouds.interface import NotAvailable
from vetro.engine.host.answer import BadRequest, Handler, Request
from vetro.engine.host.encryption import SecretCipher

#: Most random bytes of one effect.
_MOST_BYTES = 1 << 16


class Small:
    """Handlers that only need this machine."""

    def __init__(
        self,
        identities: Mapping[str, Mapping[str, Mapping[str, Any]]],
        cipher: SecretCipher | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._identities = identities
        self._cipher = cipher
        self._clock = clock

    def handlers(self) -> dict[str, Handler]:
        """Kind to handler."""
        return {
            "identity": self.identity,
            "clock": lambda request: self._clock(),
            "entropy": self.entropy,
            "sleep": self.sleep,
            "secret": self.secret,
            "workflow": self.workflow,
        }

    def identity(self, request: Request) -> Any:
        """``identity``: the record, null fields where nothing is known."""
        what, of = request.text("what"), request.text("of")
        try:
            return dict(self._identities[of][what])
        except KeyError:
            raise BadRequest(f"there is no identity '{what}' of '{of}'") from None

    def entropy(self, request: Request) -> str:
        """``entropy``."""
        count = int(request.number("bytes"))
        if not 0 <= count <= _MOST_BYTES:
            raise BadRequest(f"entropy comes in 0 to {_MOST_BYTES:,} bytes, not {count:,}")
        return secrets.token_hex(count)

    def sleep(self, request: Request) -> None:
        """``sleep``: until that many seconds after it was begun for the first time."""
        seconds = max(request.number("seconds"), 0.0)
        # A clock that is set meanwhile, or was set since it was begun, makes it no longer.
        end = time.monotonic() + min(request.begun + seconds - self._clock(), seconds)
        while (pause := end - time.monotonic()) > 0:
            request.abandoned.wait(min(pause, threading.TIMEOUT_MAX, 3600.0))
            request.check()

    def secret(self, request: Request) -> str:
        """``secret``: the text that was sealed."""
        if self._cipher is None:
            raise NotAvailable("this host can open no secrets; its settings name no keys ('secrets')")
        return self._cipher.decrypt(request.text("data"))

    def workflow(self, request: Request) -> Any:
        """``workflow``: refused."""
        raise NotAvailable(
            "no workflow service (Mistral) here: the package uses io.murano.system.MistralClient, which needs one"
        )
