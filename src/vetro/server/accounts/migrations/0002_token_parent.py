"""Tokens know the token that they were made with."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    """Adds the column; tokens that are there have none."""

    dependencies = [("accounts", "0001_initial")]  # noqa: RUF012
    operations = [  # noqa: RUF012
        migrations.AddField(
            model_name="token",
            name="parent",
            field=models.ForeignKey(
                db_constraint=False,
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="children",
                to="accounts.token",
            ),
        ),
    ]
