from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("environments", "0011_fewer_indexes")]
    operations = [migrations.RemoveIndex(model_name="session", name="sessions_that_are_open")]
