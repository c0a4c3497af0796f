"""The documents of a YAML file: composed (`nodes`) and checked (`checks`)."""

from __future__ import annotations

from vetro.diagnostics import Text
from vetro.muranopl.declarations.tree import Position
from vetro.muranopl.errors import SourceError
from vetro.muranopl.source.checks import check, check_aliases
from vetro.muranopl.source.nodes import MAX_BYTES, Warn, YNode, compose


def load_documents(
    text: str, file: str, *, allow_duplicate_keys: bool = False, warn: Warn | None = None
) -> list[YNode]:
    """The root node of every non-empty document of ``text``.

    ``file`` names the file in positions. Where duplicate keys are allowed the last one wins and ``warn`` is told.
    Raises `SourceError`.
    """
    if len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES):
        raise SourceError(
            Text("file is larger than {max_bytes} MiB", max_bytes=MAX_BYTES // 1024 // 1024),
            position=Position(file, 1, 1),
            hint=Text("data of that size belongs under Resources/"),
        )
    documents = compose(text.removeprefix("\ufeff"), file)
    if "&" in text and "*" in text:
        check_aliases(documents, file)
    for document in documents:
        check(document, file, allow_duplicate_keys, warn)
    return documents
