"""What definitions want to know of the outside, asked of the process that asked the task process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vetro.engine.task.perform import Performance
from vetro.forms.dynamic import ChoicesUnavailable, EncryptionUnavailable
from vetro.forms.dynamic.environment import Row
from vetro.muranopl.runtime.effects import EffectFailed

#: Kind of the effects; ``what`` says what is wanted: see `Outside`.
EFFECT = "form"


class Outside:
    """Implements `Cloud` and `Catalog` by asking the other side. ``choices`` name the lists of the cloud."""

    def __init__(self, performance: Performance) -> None:
        self._performance = performance
        self._asked = 0

    def ask(self, what: str, **args: Any) -> Any:
        """The answer of the other side. Raises `EffectFailed`."""
        self._asked += 1
        return self._performance.effects.perform(f"form{self._asked}", EFFECT, {"what": what, **args})

    def _list(self, what: str, **args: Any) -> Sequence[Any]:
        try:
            found: Sequence[Any] = self.ask(what, **args)
        except EffectFailed as error:
            raise ChoicesUnavailable(error.message) from None
        return found

    def flavors(self, region: str | None) -> Sequence[Row]:
        return self._list("cloud", source="flavors", region=region)

    def images(self, region: str | None) -> Sequence[Row]:
        return self._list("cloud", source="images", region=region)

    def keypairs(self, region: str | None) -> Sequence[str]:
        return self._list("cloud", source="keypairs", region=region)

    def availability_zones(self, region: str | None) -> Sequence[Row]:
        return self._list("cloud", source="availability_zones", region=region)

    def networks(self, region: str | None) -> Sequence[Row]:
        return self._list("cloud", source="networks", region=region)

    def security_groups(self, region: str | None) -> Sequence[str]:
        return self._list("cloud", source="security_groups", region=region)

    def volumes(self, region: str | None) -> Sequence[Row]:
        return self._list("cloud", source="volumes", region=region)

    def snapshots(self, region: str | None) -> Sequence[Row]:
        return self._list("cloud", source="snapshots", region=region)

    def zones(self, region: str | None) -> Sequence[str]:
        return self._list("cloud", source="zones", region=region)

    def packages(self, class_name: str) -> Sequence[Row]:
        return self._list("packages", class_name=class_name)

    def services(self) -> Sequence[Row]:
        return self._list("services")

    def environment_names(self) -> Sequence[str]:
        return self._list("environment_names")

    def encrypt(self, text: str) -> str:
        """Keeps a text in the secret store; its id."""
        try:
            return str(self.ask("encrypt", text=text))
        except EffectFailed as error:
            raise EncryptionUnavailable(error.message) from None
