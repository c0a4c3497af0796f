"""The nine categories that are there from the start (API.md 4)."""

from django.db import migrations

NAMES = (
    "Application Servers",
    "Big Data",
    "Databases",
    "Key-Value Storage",
    "Load Balancers",
    "Message Queue",
    "Microsoft Services",
    "SAP",
    "Web",
)


def add(apps, schema_editor):
    category = apps.get_model("catalog", "Category")
    for name in NAMES:
        category.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0001_initial")]
    operations = [migrations.RunPython(add, migrations.RunPython.noop)]
