"""A repository folder: archives and package folders side by side, as `vetro package build` writes them.

Names do not matter, manifests do; ``apps/com.example.App.1.2.0.zip``, ``App/1.0.0/manifest.yaml`` and a single
``app.zip`` are all found.
"""

from __future__ import annotations

import os

from vetro.muranopl.code_cache import CodeCache
from vetro.packages.directory import DirectorySource
from vetro.packages.formats import FormatRegistry


class RepositorySource(DirectorySource):
    """Every package below a folder, whether folder or ZIP."""

    def __init__(
        self,
        root: str | os.PathLike[str],
        *,
        registry: FormatRegistry | None = None,
        cache: CodeCache | None = None,
    ) -> None:
        super().__init__(root, archives=True, registry=registry, cache=cache)
