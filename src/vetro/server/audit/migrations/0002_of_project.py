from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("audit", "0001_initial")]
    operations = [
        migrations.AddIndex("auditrecord", models.Index(fields=["project_id", "id"], name="audit_of_project")),
    ]
