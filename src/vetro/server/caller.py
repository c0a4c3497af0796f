"""`Caller`: who asks. Made from a token or a web session; the rules see nothing else of a request."""

from __future__ import annotations

from collections.abc import Sequence

from vetro.data_classes import dataclass


@dataclass(frozen=True, slots=True)
class Caller:
    """A person or program acting in one project."""

    user_id: str
    user_name: str
    project_id: str
    project_name: str
    #: Names of roles in the project: reader, member, admin; with Keystone whatever it says.
    roles: Sequence[str] = ("member",)
    #: Role admin (`accounts.policy`, rule ``context_is_admin``): sees and does everything everywhere.
    is_admin: bool = False
    #: The token that was used; None for web sessions and the command line on the data directory.
    token_id: str | None = None
    #: Where the request came from, for the audit.
    address: str = ""

    def sees(self, project_id: str) -> bool:
        """Whether things of this project are the caller's own."""
        return self.is_admin or project_id == self.project_id


#: The service itself: start-up, sweeps, tasks.
SYSTEM = Caller("system", "system", "", "", ("admin",), True)
