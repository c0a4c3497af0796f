"""The databases' own indexes of substrings: FTS5 with trigrams on SQLite, pg_trgm on PostgreSQL.

Where neither can be made the catalog works all the same; search then reads the texts one by one.
"""

from django.db import DatabaseError, migrations, transaction

FIELDS = ("name", "fqn", "description", "categories", "tags", "classes", "author")


def _each(template):
    """One statement for each field, in one trigger."""
    return " ".join(template.format(f=field) for field in FIELDS)


_ADD = "INSERT INTO catalog_trigrams_{f}(rowid, {f}) VALUES (new.id, new.{f});"
_DROP = "INSERT INTO catalog_trigrams_{f}(catalog_trigrams_{f}, rowid, {f}) VALUES ('delete', old.id, old.{f});"

# One table for each field: a word that is in all descriptions costs nothing when it is looked for in names.
SQLITE = (
    *(
        f"CREATE VIRTUAL TABLE catalog_trigrams_{field} USING fts5({field}, content='catalog_packagetext',"
        " content_rowid='id', tokenize='trigram case_sensitive 1')"
        for field in FIELDS
    ),
    f"CREATE TRIGGER catalog_text_added AFTER INSERT ON catalog_packagetext BEGIN {_each(_ADD)} END",
    f"CREATE TRIGGER catalog_text_removed AFTER DELETE ON catalog_packagetext BEGIN {_each(_DROP)} END",
    f"CREATE TRIGGER catalog_text_changed AFTER UPDATE ON catalog_packagetext BEGIN {_each(_DROP)} {_each(_ADD)} END",
)


def add(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            try:
                cursor.execute(SQLITE[0])
            except DatabaseError as error:
                if "fts5" in str(error) or "trigram" in str(error) or "tokenizer" in str(error):
                    return
                raise
            for statement in SQLITE[1:]:
                cursor.execute(statement)
        elif connection.vendor == "postgresql":
            try:
                with transaction.atomic(using=connection.alias):
                    cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
            except DatabaseError:
                return
            columns = ", ".join(f"{f} gin_trgm_ops" for f in FIELDS)
            cursor.execute(f"CREATE INDEX catalog_trigrams ON catalog_packagetext USING gin ({columns})")


def remove(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        if schema_editor.connection.vendor == "sqlite":
            for trigger in ("added", "removed", "changed"):
                cursor.execute(f"DROP TRIGGER IF EXISTS catalog_text_{trigger}")
            for field in FIELDS:
                cursor.execute(f"DROP TABLE IF EXISTS catalog_trigrams_{field}")
        else:
            cursor.execute("DROP INDEX IF EXISTS catalog_trigrams")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_categories")]
    operations = [migrations.RunPython(add, remove)]
