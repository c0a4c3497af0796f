"""The same work as an expert would write it by hand in Python, just for this task: the floor to compare with.

Same validation, same results, no generality. `NATIVE` maps a workload's key to ``(prepare, run)``:
``prepare(n, tmp) -> state`` is not timed, ``run(n, state) -> result`` is.
"""

from __future__ import annotations

from benchmarks.native import calls, contracts, deploy, loops, models, packages, queries, schemas, texts
from benchmarks.native.base import Native

NATIVE: dict[str, Native] = {
    **loops.NATIVE,
    **calls.NATIVE,
    **contracts.NATIVE,
    **models.NATIVE,
    **queries.NATIVE,
    **texts.NATIVE,
    **schemas.NATIVE,
    **packages.NATIVE,
    **deploy.NATIVE,
}
