import django.db.models.deletion
from django.db import migrations, models
from django.db.models.functions import Length

import vetro.server.secrets.encryption
from vetro.server.tasks.long_lines import parts_of, shortened

#: Ciphertext of fewer bytes holds no line that would have to be cut (it is compressed, a thousand times at most).
_SHORT = 300
_TOGETHER = 20


def cut_long_lines(apps, schema_editor):
    """Lines that were stored whole become what lists show, and parts."""
    report, part = apps.get_model("dispatch", "Report"), apps.get_model("dispatch", "ReportPart")
    rows = report.objects.annotate(size=Length("text"), more=Length("details"))
    rows = rows.filter(models.Q(size__gt=_SHORT) | models.Q(more__gt=_SHORT)).order_by("seq")
    last = 0
    while found := list(rows.filter(seq__gt=last).values_list("seq", flat=True)[:_TOGETHER]):
        for seq in found:
            row = report.objects.get(seq=seq)
            text, details, whole = shortened(str(row.text), row.details)
            if whole is not None:
                pieces = parts_of(whole)
                part.objects.bulk_create(part(report_id=row.id, number=n, text=piece) for n, piece in pieces)
                report.objects.filter(seq=seq).update(text=text, details=details, cut=True)
        last = found[-1]


class Migration(migrations.Migration):
    dependencies = [("dispatch", "0007_log_bytes")]
    operations = [
        migrations.AddField("report", "cut", models.BooleanField(default=False, db_default=False)),
        migrations.CreateModel(
            name="ReportPart",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.IntegerField()),
                ("text", vetro.server.secrets.encryption.EncryptedJSON()),
                (
                    "report",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="parts",
                        to="dispatch.report",
                        to_field="id",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("report", "number"), name="one_part_a_number")],
            },
        ),
        migrations.RunPython(cut_long_lines, migrations.RunPython.noop),
    ]
