"""Procedures and their tasks."""

import django.db.models.deletion
import vetro.server.ids
import vetro.server.secrets.encryption
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [("environments", "0009_procedures")]

    operations = [
        migrations.CreateModel(
            name='Procedure',
            fields=[
                ('id', models.CharField(default=vetro.server.ids.new_id, max_length=32, primary_key=True, serialize=False)),
                ('kind', models.CharField(default='guarded-update', max_length=32)),
                ('project_id', models.CharField(max_length=64)),
                ('user_id', models.CharField(max_length=64)),
                ('environment_id', models.CharField(max_length=32)),
                ('step', models.CharField(max_length=16)),
                ('asked', models.CharField(blank=True, default='', max_length=16)),
                ('record', vetro.server.secrets.encryption.EncryptedJSON()),
                ('about', vetro.server.secrets.encryption.EncryptedJSON()),
                ('before_state', models.BigIntegerField()),
                ('update_state', models.BigIntegerField(null=True)),
                ('undo_state', models.BigIntegerField(null=True)),
                ('label', models.CharField(blank=True, default='', max_length=64)),
                ('wake_at', models.DateTimeField(null=True)),
                ('looked', models.DateTimeField(null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('finished', models.DateTimeField(null=True)),
            ],
            options={
                'indexes': [models.Index(fields=['environment_id', '-created'], name='procedures_of_environment'), models.Index(condition=models.Q(('finished__isnull', True)), fields=['wake_at'], name='procedures_to_be_looked_at')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('finished__isnull', True)), fields=('environment_id',), name='one_procedure_at_a_time')],
            },
        ),
        migrations.CreateModel(
            name='ProcedureStep',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(max_length=32)),
                ('kind', models.CharField(max_length=16)),
                ('task_id', models.CharField(blank=True, db_index=True, default='', max_length=32)),
                ('error', vetro.server.secrets.encryption.EncryptedJSON(null=True)),
                ('created', models.DateTimeField(auto_now_add=True)),
                ('procedure', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='procedures.procedure')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('procedure', 'key'), name='one_task_a_key')],
            },
        ),
    ]
