"""What the texts of a package are in other languages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0011_searchword")]
    operations = [
        migrations.AddField(model_name="package", name="texts", field=models.JSONField(db_default={}, default=dict)),
    ]
