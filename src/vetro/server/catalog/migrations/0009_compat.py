"""What a version of a package breaks, kept with it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0008_unlinked")]
    operations = [
        migrations.AddField(
            model_name="package",
            name="compat",
            field=models.JSONField(db_default={}, default=dict),
        ),
    ]
