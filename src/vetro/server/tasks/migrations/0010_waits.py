from django.db import migrations

import vetro.server.secrets.encryption


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0009_sweep_mark")]
    operations = [
        migrations.AddField("task", "waits", vetro.server.secrets.encryption.EncryptedJSON(null=True)),
    ]
