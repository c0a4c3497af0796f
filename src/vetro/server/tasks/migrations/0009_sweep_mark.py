from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0008_long_lines")]
    operations = [
        migrations.CreateModel(
            name="SweepMark",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
            ],
        ),
    ]
