import django.db.models.deletion
import vetro.server.ids
import vetro.server.notices.models
import vetro.server.secrets.encryption
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Target",
            fields=[
                (
                    "id",
                    models.CharField(default=vetro.server.ids.new_id, max_length=32, primary_key=True, serialize=False),
                ),
                ("project_id", models.CharField(max_length=64)),
                ("name", models.CharField(max_length=255)),
                ("kind", models.CharField(max_length=16)),
                ("settings", vetro.server.secrets.encryption.EncryptedJSON()),
                ("keys", vetro.server.secrets.encryption.EncryptedJSON(null=True)),
                ("language", models.CharField(blank=True, default="", max_length=8)),
                ("enabled", models.BooleanField(default=True)),
                ("failures", models.IntegerField(default=0)),
                ("quiet_until", models.DateTimeField(null=True)),
                ("created", models.DateTimeField(auto_now_add=True)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project_id", "name"), name="one_target_a_name")],
            },
        ),
        migrations.CreateModel(
            name="Rule",
            fields=[
                (
                    "id",
                    models.CharField(default=vetro.server.ids.new_id, max_length=32, primary_key=True, serialize=False),
                ),
                ("project_id", models.CharField(max_length=64)),
                ("environment_id", models.CharField(blank=True, default="", max_length=32)),
                ("kinds", models.JSONField(default=list)),
                ("least", models.CharField(max_length=16)),
                ("created", models.DateTimeField(auto_now_add=True)),
                (
                    "target",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rules",
                        to="notices.target",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project_id", "environment_id"], name="rules_of_a_project")],
            },
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.CharField(
                        default=vetro.server.notices.models.new_delivery_id,
                        max_length=40,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("project_id", models.CharField(max_length=64)),
                ("environment_id", models.CharField(blank=True, default="", max_length=32)),
                ("component", models.CharField(blank=True, default="", max_length=255)),
                ("kind", models.CharField(max_length=32)),
                ("level", models.CharField(max_length=16)),
                ("body", vetro.server.secrets.encryption.EncryptedJSON()),
                ("state", models.CharField(default="waiting", max_length=16)),
                ("folded", models.IntegerField(default=0)),
                ("created", models.DateTimeField(auto_now_add=True)),
                ("begins", models.DateTimeField()),
                ("due", models.DateTimeField()),
                ("attempts", models.IntegerField(default=0)),
                ("owner", models.CharField(blank=True, default="", max_length=64)),
                ("lease_until", models.DateTimeField(null=True)),
                ("problem", models.JSONField(null=True)),
                ("ended", models.DateTimeField(null=True)),
                (
                    "target",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="deliveries",
                        to="notices.target",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("state", "waiting")), fields=["due"], name="deliveries_that_wait"),
                    models.Index(fields=["project_id", "-created", "-id"], name="deliveries_of_a_project"),
                    models.Index(
                        fields=["target", "environment_id", "component", "-begins"], name="deliveries_of_a_component"
                    ),
                    models.Index(fields=["created"], name="deliveries_by_age"),
                ],
            },
        ),
    ]
