import django.db.models.deletion
import vetro.server.secrets.encryption
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = [("environments", "0004_cloud")]
    operations = [
        migrations.CreateModel(
            name="WatchMark",
            fields=[
                ("label", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("worker", models.CharField(max_length=255)),
                ("until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="HealthChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("component", models.CharField(blank=True, default="", max_length=255)),
                ("state", models.CharField(max_length=16)),
                ("at", models.DateTimeField(db_index=True)),
                ("detail", vetro.server.secrets.encryption.EncryptedJSON(editable=False, null=True)),
                (
                    "environment",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="health_changes",
                        to="environments.environment",
                    ),
                ),
            ],
            options={"indexes": [models.Index(fields=["environment", "-id"], name="health_of_an_environment")]},
        ),
        migrations.CreateModel(
            name="Health",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("component", models.CharField(blank=True, default="", max_length=255)),
                ("state", models.CharField(blank=True, default="", max_length=16)),
                ("since", models.DateTimeField()),
                ("detail", vetro.server.secrets.encryption.EncryptedJSON(editable=False, null=True)),
                ("label", models.CharField(blank=True, default="", max_length=64)),
                (
                    "environment",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="health",
                        to="environments.environment",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("environment", "component"), name="one_health_a_component")
                ]
            },
        ),
    ]
