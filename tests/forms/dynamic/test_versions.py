from __future__ import annotations

from typing import Any

import pytest

from vetro.forms.dynamic.errors import UnsupportedVersion
from vetro.forms.dynamic.versions import read_version


@pytest.mark.parametrize(
    ("written", "read"),
    [(2, (2, 0, 0)), (2.4, (2, 4, 0)), ("2.3.0", (2, 3, 0)), (" 2.1 ", (2, 1, 0)), (2.10, (2, 1, 0))],
)
def test_accepted(written: Any, read: tuple[int, int, int]) -> None:
    assert read_version(written) == read


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("1.0", "requested format version 1.0.0 is not compatible with the supported family 2"),
        (0.9, "0.9.0 is not compatible"),
        (3, "3.0.0 is not compatible"),
        ("2.4.1", "requested format version 2.4.1 is newer than latest supported 2.4.0"),
        ("2.10", "2.10.0 is newer"),
        (None, "must be a number such as 2.4"),
        (True, "must be a number"),
        ("two", "must be a number"),
        ("2.x", "must be a number"),
        ("2." + "9" * 5000, "must be a number"),
        ("", "must be a number"),
    ],
)
def test_refused(written: Any, message: str) -> None:
    with pytest.raises(UnsupportedVersion, match=message.replace(".", r"\.")):
        read_version(written)


def test_old_family_has_a_hint() -> None:
    with pytest.raises(UnsupportedVersion) as caught:
        read_version("1.2")
    assert "rewritten by hand" in str(caught.value.hint)
