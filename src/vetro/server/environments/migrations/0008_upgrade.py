"""Drafts that move objects to other versions of their packages."""

from django.db import migrations

from vetro.server.secrets.encryption import EncryptedJSON


class Migration(migrations.Migration):
    dependencies = [("environments", "0007_lock")]
    operations = [migrations.AddField(model_name="session", name="upgrade", field=EncryptedJSON(null=True))]
