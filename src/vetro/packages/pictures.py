"""Pictures of packages: logos, screenshots."""

from __future__ import annotations

from vetro.diagnostics import Text
from vetro.packages.errors import PackageError

#: Pictures are PNG, JPEG or GIF by content and at most this long (PACKAGES 1).
MAX_PICTURE = 500 * 1024
_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")


def check_picture(data: bytes, file: str) -> None:
    """Refuses what is no picture or too long (PACKAGES 1). Raises `PackageError`."""
    if len(data) > MAX_PICTURE:
        raise PackageError(
            Text("{file}: the picture has {data} KiB", file=file, data=len(data) // 1024),
            hint=Text("at most {max_picture} KiB are allowed", max_picture=MAX_PICTURE // 1024),
        )
    if not data.startswith(_PICTURES):
        raise PackageError(
            Text("{file}: not a PNG, JPEG or GIF picture", file=file), hint=Text("its content counts, not its name")
        )
