"""What is refused of updates with a way back."""

from __future__ import annotations

from vetro.diagnostics import Text
from vetro.server.errors import Conflict


class NoWayBack(Conflict):
    """What the environment has could not be brought back as it was; the message says why."""

    code = "SRV612"
    hint: str | None = Text("without a guard an earlier state can still be deployed again: vetro env restore")


class LossesUnconfirmed(Conflict):
    """An author wants a way back, and something would not come back by it; ``details.losses`` lists it."""

    code = "SRV613"
    hint: str | None = Text("confirm it: --confirm, or 'confirmed' in the request")


class GuardRequired(Conflict):
    """An author allows the update only with a way back."""

    code = "SRV614"
    hint: str | None = Text("leave --no-guard out")


class StillHeld(Conflict):
    """The environment still has the way back of an earlier update; ``details.procedure_id`` says of which."""

    code = "SRV615"
    hint: str | None = Text("let it go first: vetro env keep")


class NothingHeld(Conflict):
    """There is no update of the environment that could be taken back, or kept, now."""

    code = "SRV616"
    hint: str | None = Text("an earlier state can be deployed again: vetro env history, vetro env restore")
