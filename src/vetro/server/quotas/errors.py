"""What a request is refused with that needs more than its project may have."""

from __future__ import annotations

from typing import ClassVar

from vetro.server.errors import ServiceError


class QuotaExceeded(ServiceError):
    """The project has as many as it may have. ``details``: {quota, used, asked, limit, unit}."""

    kind = "limit"
    code = "SRV550"
    status = 403


class QuotaFull(QuotaExceeded):
    """What was sent does not fit into the space that the project may use."""

    code = "SRV551"
    status = 413


class QuotaBusy(QuotaExceeded):
    """As many tasks of the project wait as may: come again when some have ended."""

    code = "SRV552"
    status: ClassVar[int] = 429
