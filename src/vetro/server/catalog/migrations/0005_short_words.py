"""PostgreSQL's index of short words: pg_trgm finds none of fewer than three characters.

`catalog_grams` gives the single characters and the pairs of neighbours of a text, so a word of one or two characters
is in the text exactly if it is among them. It says that it costs much, since reading the texts one by one with it
takes ten times as long as with STRPOS: only the index is meant to answer. There are no statistics of the index, for
which it would be called for every field of thirty thousand packages.
"""

from django.db import migrations

FIELDS = ("name", "fqn", "description", "categories", "tags", "classes", "author")

FUNCTION = """
CREATE FUNCTION catalog_grams(given text) RETURNS text[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE COST 1000 AS $$
SELECT array_agg(gram) FROM (
  SELECT (regexp_matches(given, '..', 'g'))[1] AS gram
  UNION SELECT (regexp_matches(substr(given, 2), '..', 'g'))[1]
  UNION SELECT unnest(string_to_array(given, NULL))
) grams
$$
"""
INDEX = (
    f"CREATE INDEX catalog_short ON catalog_packagetext USING gin ({', '.join(f'catalog_grams({f})' for f in FIELDS)})"
)
STATISTICS = "ALTER INDEX catalog_short " + ", ".join(
    f"ALTER COLUMN {number} SET STATISTICS 0" for number in range(1, len(FIELDS) + 1)
)


def add(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            for statement in (FUNCTION, INDEX, STATISTICS):
                cursor.execute(statement)


def remove(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        with schema_editor.connection.cursor() as cursor:
            cursor.execute("DROP INDEX IF EXISTS catalog_short")
            cursor.execute("DROP FUNCTION IF EXISTS catalog_grams(text)")


class Migration(migrations.Migration):
    dependencies = [("catalog", "0004_type")]
    operations = [migrations.RunPython(add, remove)]
