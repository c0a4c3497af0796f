from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("watch", "0003_inventory")]
    operations = [
        migrations.AddField(
            "healthchange", "before", models.CharField(blank=True, db_default="", default="", max_length=16)
        ),
        # What workers of an earlier version write is told by them.
        migrations.AddField("healthchange", "pending", models.BooleanField(db_default=False, default=False)),
        migrations.AddIndex(
            "healthchange",
            models.Index(condition=models.Q(("pending", True)), fields=["id"], name="health_changes_to_be_told"),
        ),
    ]
