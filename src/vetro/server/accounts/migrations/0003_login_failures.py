"""Wrong passwords are counted by pairs of name and address."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    """Other indexes."""

    dependencies = [("accounts", "0002_token_parent")]  # noqa: RUF012
    operations = [  # noqa: RUF012
        migrations.AlterField("loginfailure", "at", models.DateTimeField(db_index=True)),
        migrations.AlterField("loginfailure", "username", models.CharField(max_length=255)),
        migrations.AlterField("loginfailure", "address", models.CharField(max_length=64)),
        migrations.AddIndex(
            "loginfailure", models.Index(fields=["username", "address", "at"], name="failures_of_pair")
        ),
        migrations.AddIndex("loginfailure", models.Index(fields=["address", "at"], name="failures_of_address")),
    ]
