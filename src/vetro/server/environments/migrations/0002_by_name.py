from django.db import migrations, models
from django.db.models.functions import Lower


class Migration(migrations.Migration):
    dependencies = [("environments", "0001_initial")]
    operations = [
        migrations.AddIndex("environment", models.Index("project_id", Lower("name"), "id", name="environments_by_name")),
    ]
