"""What a deleted version was besides its archive: a refused exchange puts it back."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0006_sizes")]
    operations = [
        migrations.AddField(
            model_name="retiredversion",
            name="kept",
            field=models.JSONField(db_default={}, default=dict),
        ),
    ]
