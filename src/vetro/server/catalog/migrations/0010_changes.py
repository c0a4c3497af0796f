"""What is new in which version of a package."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0009_compat")]
    operations = [
        migrations.AddField(
            model_name="package", name="changes", field=models.JSONField(db_default=[], default=list)
        ),
    ]
