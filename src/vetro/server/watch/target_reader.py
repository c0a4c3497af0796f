"""`TargetReader`: what the watcher is told of an environment, read from its newest model, packages and settings."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vetro.diagnostics import Text, encode_messages
from vetro.engine.query.query import AskFailed, ask
from vetro.engine.task.launcher import Launcher, LauncherError
from vetro.engine.task.task import Budget
from vetro.engine.task.task import Task as EngineTask
from vetro.engine.watching.states import State as Known
from vetro.model.header import parse_type_text
from vetro.server.catalog.secret_names import secrets_of
from vetro.server.config import cloud_settings
from vetro.server.config.config import Config
from vetro.server.environments import packages, power
from vetro.server.environments.models import Environment, State
from vetro.server.tasks import spec
from vetro.server.watch import targets
from vetro.server.watch.models import Health

_log = logging.getLogger("vetro.worker")

#: Seconds and processor seconds that reading the declarations of the classes of an environment takes at most.
_SECONDS, _CPU = 20.0, 10.0
#: States that say that nothing is wrong.
_WELL = frozenset({"", Known.RUNNING.value, Known.STOPPED.value})
#: Environments whose declarations are kept.
_KEPT = 500


class TargetReader:
    """``launcher`` makes the processes that read packages. Keeps what classes declare."""

    def __init__(self, config: Config, launcher: Launcher) -> None:
        self._config = config
        self._launcher = launcher
        self._declared: dict[str, targets.Declared] = {}
        #: Environments whose declarations could not be read the last time.
        self.unread: set[str] = set()

    def components(self, row: Environment) -> list[targets.Component]:
        """The components of which there is something to watch."""
        self.unread.discard(row.id)
        state = State.objects.filter(environment=row).order_by("-number").first()
        model = state.model if state is not None else {}
        secrets = secrets_of(package.digest for package in packages.pinned(row.id))
        return list(targets.components(model, lambda classes: self._declarations(row, classes), secrets))

    def cloud(self, row: Environment) -> tuple[str, Mapping[str, Any]]:
        """The cloud of an environment: a key that those of the same cloud share, and its settings."""
        settings = cloud_settings.cloud(self._config, row.cloud)
        key = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
        if ":" in str(settings.get("kind")):  # such a cloud is made for one owner
            key += row.id
        return key, settings

    def target(
        self, row: Environment, found: Sequence[targets.Component], key: str, known: Mapping[str, Health]
    ) -> dict[str, Any]:
        """What `vetro.engine.watching.watch.Watch.put` takes. ``known``: how the components were told to be."""
        created = State.objects.filter(environment=row).order_by("-number").values_list("created", flat=True).first()
        return {
            "id": row.id,
            "number": row.version,
            "owner": {"project": row.project_id, "environment": row.id, "user": "system"},
            "cloud": key,
            "since": created.timestamp() if created is not None else 0.0,
            "stopped": power.on_purpose(row.stopped),
            "components": [component.as_json(_before(known.get(component.id))) for component in found],
        }

    def _declarations(self, row: Environment, classes: list[str]) -> targets.Declared:
        """What the classes declare; nothing for those of packages that do not use ``io.vetro``."""
        if not packages.uses(row.id, "io.vetro"):
            return {}
        digests = [package.digest for package in packages.pinned(row.id)]
        key = hashlib.sha256("\0".join([*sorted(digests), *classes]).encode()).hexdigest()
        if key not in self._declared:
            if len(self._declared) >= _KEPT:
                self._declared.clear()
            found = self._asked(row, digests, classes)
            if found is None:
                self.unread.add(row.id)
                return {}
            self._declared[key] = found
        return self._declared[key]

    def told(self, row_id: str, reports: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Reports about components of an environment: nothing is well of which the author's checks are not known."""
        if row_id not in self.unread:
            return list(reports)
        unknown = encode_messages({"state": Known.UNKNOWN.value, "text": Text("its checks cannot be read")})
        return [{**item, **unknown} if item["state"] in _WELL else item for item in reports]

    def _asked(self, row: Environment, digests: list[str], classes: list[str]) -> targets.Declared | None:
        task = EngineTask(
            id="watch",
            kind="lifecycle",
            packages=tuple(spec.local_paths(digests)),
            args={"classes": [{"text": text, **parse_type_text(text)._asdict()} for text in classes]},
            seed=row.id,
            settings=spec.engine_settings(self._config, row.id),
            budget=Budget(steps=1_000_000, cpu_seconds=_CPU, memory_mib=512),
        )
        try:
            found: targets.Declared = ask(task, launcher=self._launcher, timeout=_SECONDS)
        except (AskFailed, LauncherError) as error:
            _log.warning("the checks of environment %s cannot be read: %s", row.id, error.message)
            return None
        return found


def _before(row: Health | None) -> dict[str, tuple[str, bool, dict[str, Any]]]:
    checks = ((row.detail or {}).get("checks") or ()) if row is not None else ()
    return {
        check["key"]: (
            check["state"],
            bool(check.get("reached")),
            {name: check[name] for name in ("text", "texts") if name in check},
        )
        for check in checks
    }
