import django.db.models.deletion
import vetro.server.secrets.encryption
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("watch", "0001_initial")]
    operations = [
        migrations.CreateModel(
            name="MetricSamples",
            fields=[
                (
                    "environment",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="metrics",
                        serialize=False,
                        to="environments.environment",
                    ),
                ),
                ("at", models.DateTimeField(db_index=True)),
                ("samples", vetro.server.secrets.encryption.EncryptedJSON(editable=False)),
            ],
        ),
    ]
