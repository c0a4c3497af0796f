"""The root of what clouds refuse."""

from __future__ import annotations

from vetro.yaql.errors import VetroError


class CloudError(VetroError):
    """A cloud cannot do what it was asked."""

    kind = "error"
    code = "CLD100"
