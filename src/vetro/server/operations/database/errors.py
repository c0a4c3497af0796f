"""What can be wrong with the database of an installation as a whole."""

from __future__ import annotations

from vetro.yaql.errors import VetroError


class SchemaNewer(VetroError):
    """A newer Vetro made or changed the tables."""

    kind = "conflict"
    code = "SRV580"
    hint = "use the newer version here, too, or restore the backup from before it was started"


class SchemaOlder(VetroError):
    """Tables are missing or of an older Vetro."""

    kind = "conflict"
    code = "SRV581"
    hint = "run 'vetro db migrate' with the same settings; make a backup before"


class DatabaseMoved(VetroError):
    """The installation was moved to another database; what is written here would be lost."""

    kind = "conflict"
    code = "SRV582"
    hint = "set 'database.url' to the new one; 'vetro db reopen' makes this one the installation again"


class MoveRefused(VetroError):
    """The installation cannot be moved as things are; nothing was changed."""

    kind = "conflict"
    code = "SRV583"


class MoveFailed(VetroError):
    """Moving the installation failed; the target is as it was before, and the source stays in use."""

    kind = "error"
    code = "SRV584"


class Elsewhere(VetroError):
    """The keys or the package archives of this machine are not those of the installation."""

    kind = "error"
    code = "SRV585"


class NoDatabase(VetroError):
    """The database does not answer, or is not there."""

    kind = "error"
    code = "SRV586"
    hint = "'vetro config show database' says which one it is and where that is set"


class BackupUnusable(VetroError):
    """A file is no backup of an installation, or is damaged or cut off; nothing was restored from it."""

    kind = "bad-argument"
    code = "SRV590"
    hint = "take another backup; 'vetro db restore FILE --dry-run' says whether one is whole"


class BackupNewer(VetroError):
    """A newer Vetro made the backup."""

    kind = "conflict"
    code = "SRV591"
    hint = "restore it with that version or a newer one"


class RestoreRefused(VetroError):
    """The backup cannot be restored here as things are; nothing was changed."""

    kind = "conflict"
    code = "SRV592"


class RestoreFailed(VetroError):
    """Restoring failed or was broken off, and can be begun again; until then nothing else works on the database."""

    kind = "error"
    code = "SRV593"


class BackupFailed(VetroError):
    """No backup was made."""

    kind = "error"
    code = "SRV594"
