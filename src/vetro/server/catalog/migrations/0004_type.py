"""Packages by type: where few packages have the wanted one, these lead a list."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0003_search")]
    operations = [
        migrations.AddIndex(
            model_name="package",
            index=models.Index(fields=["type"], name="package_by_type"),
        ),
    ]
