"""States of clouds on their way into processes that plan."""

from __future__ import annotations

import json
import random

import pytest

from vetro.engine.planning.memory import packed, unpacked

PAGE = 4096


@pytest.mark.parametrize("seed", range(20))
def test_what_is_packed_is_unpacked(seed: int) -> None:
    chance = random.Random(seed)
    base = chance.randbytes(PAGE * chance.randrange(1, 40))
    pages = [base[at : at + PAGE] for at in range(0, len(base), PAGE)]
    for _ in range(chance.randrange(20)):
        where = chance.randrange(len(pages) + 1)
        pages.insert(where, chance.choice([chance.randbytes(PAGE), bytes(PAGE), *pages[:3]]))
    state = b"".join(pages) + chance.randbytes(chance.randrange(PAGE))
    for known in (None, b"", base):
        assert unpacked(json.loads(json.dumps(packed(state, known))), known) == state


def test_of_a_large_state_only_what_is_new_is_sent() -> None:
    base = random.Random(1).randbytes(PAGE * 1000)
    state = base[: PAGE * 400] + bytes(PAGE) + base[PAGE * 400 :]
    assert len(json.dumps(packed(state, base))) < 10_000
    assert packed(b"", base) == []
