"""Archives that came with questions count for the quota of their project."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("impact", "0001_initial"),
    ]

    operations = [
        migrations.AddField(
            model_name="impact",
            name="size",
            field=models.BigIntegerField(db_default=0, default=0),
        ),
    ]
