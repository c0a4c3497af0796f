from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0002_notify")]
    operations = [migrations.AddField("workerprocess", "drain_until", models.DateTimeField(null=True))]
