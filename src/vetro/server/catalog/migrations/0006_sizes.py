from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0005_short_words")]
    operations = [
        migrations.AddIndex("package", models.Index(fields=["project_id", "size"], name="package_sizes")),
    ]
