"""Environments that a procedure has for itself, and states that take others back."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('environments', '0008_upgrade'),
    ]

    operations = [
        migrations.AddField(
            model_name='environment',
            name='procedure_id',
            field=models.CharField(blank=True, db_default='', default='', max_length=32),
        ),
        migrations.AddField(
            model_name='state',
            name='undone_of',
            field=models.BigIntegerField(null=True),
        ),
    ]
