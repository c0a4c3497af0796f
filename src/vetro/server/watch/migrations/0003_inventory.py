import django.db.models.deletion
from django.db import migrations, models

import vetro.server.secrets.encryption


class Migration(migrations.Migration):
    dependencies = [("environments", "0005_stopped"), ("watch", "0002_metrics")]
    operations = [
        migrations.CreateModel(
            name="Inventory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.BigIntegerField()),
                ("first", vetro.server.secrets.encryption.EncryptedJSON(editable=False, null=True)),
                ("last", vetro.server.secrets.encryption.EncryptedJSON(editable=False, null=True)),
                ("digest", models.CharField(blank=True, default="", max_length=64)),
                ("looked", models.DateTimeField(null=True)),
                ("trouble", vetro.server.secrets.encryption.EncryptedJSON(editable=False, null=True)),
                (
                    "environment",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="inventory",
                        to="environments.environment",
                    ),
                ),
            ],
        ),
    ]
