"""Packages whose requirements arrived after them: their classes are linked again later."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0007_kept")]
    operations = [
        migrations.AddField(
            model_name="package",
            name="unlinked",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name="package",
            index=models.Index(condition=models.Q(unlinked=True), fields=["id"], name="package_unlinked"),
        ),
    ]
