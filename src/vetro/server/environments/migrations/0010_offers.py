"""What environments could have in newer versions, kept for lists."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("environments", "0009_procedures"),
    ]

    operations = [
        migrations.AddField(
            model_name='environment',
            name='offered',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.CreateModel(
            name='UpgradeOffer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('package', models.CharField(db_index=True, max_length=512)),
                ('lowest', models.CharField(max_length=128)),
                ('highest', models.CharField(max_length=128)),
                ('to', models.CharField(blank=True, default='', max_length=128)),
                ('name', models.CharField(blank=True, default='', max_length=255)),
                ('bump', models.CharField(blank=True, default='', max_length=8)),
                ('verdict', models.CharField(blank=True, default='', max_length=16)),
                ('security', models.BooleanField(default=False)),
                ('environment', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='offers', to='environments.environment')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('environment', 'package'), name='one_offer_a_package')],
            },
        ),
    ]
