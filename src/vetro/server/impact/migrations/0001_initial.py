import django.db.models.deletion
import vetro.server.ids
import vetro.server.secrets.encryption
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='PlanCache',
            fields=[
                ('key', models.CharField(max_length=64, primary_key=True, serialize=False)),
                ('environment_id', models.CharField(db_index=True, max_length=32)),
                ('plan', vetro.server.secrets.encryption.EncryptedJSON()),
                ('created', models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='Impact',
            fields=[
                ('id', models.CharField(default=vetro.server.ids.new_id, max_length=32, primary_key=True, serialize=False)),
                ('project_id', models.CharField(max_length=64)),
                ('user_id', models.CharField(max_length=64)),
                ('fqn', models.CharField(max_length=512)),
                ('version', models.CharField(max_length=128)),
                ('digest', models.CharField(max_length=64)),
                ('all_projects', models.BooleanField(default=False)),
                ('engine', models.CharField(max_length=64)),
                ('created', models.DateTimeField(auto_now_add=True, db_index=True)),
            ],
            options={
                'indexes': [models.Index(fields=['project_id', 'digest', '-created'], name='impact_of_a_package')],
            },
        ),
        migrations.CreateModel(
            name='Entry',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('environment_id', models.CharField(max_length=32)),
                ('project_id', models.CharField(max_length=64)),
                ('task_id', models.CharField(blank=True, default='', max_length=32)),
                ('group', models.CharField(blank=True, default='', max_length=16)),
                ('number', models.BigIntegerField(default=0)),
                ('lock', models.CharField(blank=True, default='', max_length=64)),
                ('detail', vetro.server.secrets.encryption.EncryptedJSON(null=True)),
                ('plans', vetro.server.secrets.encryption.EncryptedJSON(null=True)),
                ('impact', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='entries', to='impact.impact')),
            ],
            options={
                'indexes': [models.Index(fields=['impact', 'group'], name='groups_of_an_impact')],
                'constraints': [models.UniqueConstraint(fields=('impact', 'environment_id'), name='one_entry_an_environment')],
            },
        ),
    ]
