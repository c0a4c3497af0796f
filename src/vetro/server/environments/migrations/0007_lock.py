"""Every state gets the lock of its deployment: the newest of each environment one of the packages that are known."""

import hashlib
import json
from typing import Any

from django.db import migrations, models

_TOGETHER = 500


def fill(apps: Any, schema_editor: Any) -> None:
    # The connection that is migrated: it may be the target of a move, while the source is the default one.
    state, lock, package, environment = (
        apps.get_model("environments", name).objects.using(schema_editor.connection.alias)
        for name in ("State", "Lock", "EnvironmentPackage", "Environment")
    )
    after = ""
    while ids := list(environment.filter(id__gt=after).order_by("id").values_list("id", flat=True)[:_TOGETHER]):
        after = ids[-1]
        used: dict[str, list[Any]] = {}
        rows = package.filter(environment_id__in=ids).order_by("fqn", "version")
        for id, *row in rows.values_list("environment_id", "fqn", "version", "digest"):
            used.setdefault(id, []).append(row)
        for id, packages in used.items():
            newest = state.filter(environment_id=id).order_by("-number").values_list("id", flat=True).first()
            if newest is None:
                continue
            body = _body(packages)
            digest = hashlib.sha256(body.encode()).hexdigest()
            lock.get_or_create(digest=digest, defaults={"body": body})
            state.filter(id=newest).update(lock_id=digest)


def _body(packages: list[Any]) -> str:
    """As `vetro.packages.lock.Lock.text` was when this was written. What chose the packages is not known."""
    listed = [
        {"name": name, "version": version, "digest": digest, "source": "", "signer": ""}
        for name, version, digest in sorted(packages)
    ]
    document = {"format": 1, "engine": "", "library": {}, "packages": listed, "configs": "", "resolution": []}
    return json.dumps(document, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


class Migration(migrations.Migration):
    dependencies = [("environments", "0006_repair")]
    operations = [
        migrations.CreateModel(
            name="Lock",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("body", models.TextField()),
                ("used", models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
        ),
        migrations.AddField(
            "state",
            "lock",
            models.ForeignKey("environments.Lock", models.PROTECT, related_name="states", null=True),
        ),
        migrations.AddField(
            "session",
            "lock",
            models.ForeignKey("environments.Lock", models.PROTECT, related_name="sessions", null=True),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
