"""Words by which searches find what was misspelt, those of packages that are there at once; and an index of substrings
of all fields together, which finds what has several words without looking at what has one of them.
"""

from django.db import migrations, models

from vetro.server.catalog import spelling

FIELDS = ("name", "fqn", "description", "categories", "tags", "classes", "author")


def _together(row, line):
    return f" || {line} || ".join(f"{row}{field}" for field in FIELDS)


_ADD = f"INSERT INTO catalog_trigrams_all(rowid, text) VALUES (new.id, {_together('new.', 'char(10)')});"
_DROP = (
    "INSERT INTO catalog_trigrams_all(catalog_trigrams_all, rowid, text)"
    f" VALUES ('delete', old.id, {_together('old.', 'char(10)')});"
)
SQLITE = (
    f"CREATE VIEW catalog_all AS SELECT id, {_together('', 'char(10)')} AS text FROM catalog_packagetext",
    "CREATE VIRTUAL TABLE catalog_trigrams_all USING fts5(text, content='catalog_all', content_rowid='id',"
    " tokenize='trigram case_sensitive 1')",
    "INSERT INTO catalog_trigrams_all(catalog_trigrams_all) VALUES ('rebuild')",
    f"CREATE TRIGGER catalog_all_added AFTER INSERT ON catalog_packagetext BEGIN {_ADD} END",
    f"CREATE TRIGGER catalog_all_removed AFTER DELETE ON catalog_packagetext BEGIN {_DROP} END",
    f"CREATE TRIGGER catalog_all_changed AFTER UPDATE ON catalog_packagetext BEGIN {_DROP} {_ADD} END",
)
POSTGRESQL = (
    f"CREATE INDEX catalog_trigrams_all ON catalog_packagetext USING gin (({_together('', 'chr(10)')}) gin_trgm_ops)"
)


def add(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        if schema_editor.connection.vendor == "sqlite":
            # Without the tables of 0003 there is no such kind of index here.
            cursor.execute("SELECT COUNT(*) FROM sqlite_master WHERE name = 'catalog_text_added'")
            for statement in SQLITE if cursor.fetchone()[0] else ():
                cursor.execute(statement)
        elif schema_editor.connection.vendor == "postgresql":
            cursor.execute("SELECT COUNT(*) FROM pg_class WHERE relname = 'catalog_trigrams'")
            if cursor.fetchone()[0]:
                cursor.execute(POSTGRESQL)


def remove(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        if schema_editor.connection.vendor == "sqlite":
            for trigger in ("added", "removed", "changed"):
                cursor.execute(f"DROP TRIGGER IF EXISTS catalog_all_{trigger}")
            cursor.execute("DROP TABLE IF EXISTS catalog_trigrams_all")
            cursor.execute("DROP VIEW IF EXISTS catalog_all")
        else:
            cursor.execute("DROP INDEX IF EXISTS catalog_trigrams_all")


def learn(apps, schema_editor):
    word, texts = apps.get_model("catalog", "SearchWord"), apps.get_model("catalog", "PackageText")
    fields = ("name", "tags", "categories", "fqn", "classes", "description")
    part = []
    for row in texts.objects.order_by("id").values(*fields).iterator(chunk_size=500):
        part.append(row)
        if len(part) == 500:
            spelling.learn(part, word)
            part = []
    spelling.learn(part, word)


def fill(apps, schema_editor):
    learn(apps, schema_editor)
    add(apps, schema_editor)


class Migration(migrations.Migration):
    dependencies = [("catalog", "0010_changes")]
    operations = [
        migrations.CreateModel(
            name="SearchWord",
            fields=[
                ("id", models.BigAutoField(primary_key=True, serialize=False)),
                ("form", models.CharField(max_length=32)),
                ("word", models.CharField(max_length=32)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("form", "word"), name="one_word_a_form")],
            },
        ),
        migrations.RunPython(fill, remove),
    ]
