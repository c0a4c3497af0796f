"""What is to be reached, at the largest size of each workload."""

from __future__ import annotations

from typing import NamedTuple

#: Growth exponent up to which a workload counts as linear; hand-written Python itself comes to 1.3 with 50,000 objects,
#: because of the garbage collector and the processor's caches.
LINEAR = 1.2


class Goal(NamedTuple):
    """``ratio``: times the hand-written version. ``seconds``: CPU time on the reference machine.

    ``per_item``: the seconds are for one of N items.
    """

    ratio: float | None = None
    seconds: float | None = None
    per_item: bool = False
    linear: bool = False

    def text(self) -> str:
        """As a table shows it."""
        parts = []
        if self.ratio is not None:
            parts.append(f"<= {self.ratio:g}x")
        if self.seconds is not None:
            unit = f"{self.seconds * 1e6:g} us" if self.per_item else f"{self.seconds * 1e3:g} ms"
            parts.append(f"<= {unit}{' each' if self.per_item else ''}")
        if self.linear:
            parts.append("linear")
        return ", ".join(parts)


GOALS: dict[str, Goal] = {
    "a1_while": Goal(3),
    "a2_for": Goal(3),
    "b1_calls": Goal(4),
    "b2_fib": Goal(3),
    "b3_static": Goal(4),
    "c1_props": Goal(3),
    "c2_inherited_calls": Goal(3),
    "d1_contract_rows": Goal(3),
    "d2_contract_ints": Goal(3),
    "d3_contract_map": Goal(3),
    "e1_load": Goal(4, linear=True),
    "f1_serialize": Goal(1.5, linear=True),
    "g1_where_select": Goal(4),
    "g2_group": Goal(4),
    "g3_order": Goal(3),
    "g4_todict": Goal(4),
    "g5_pipeline": Goal(4),
    "h1_strings": Goal(2.5),
    "h2_grow": Goal(2.5),
    "i1_schema": Goal(4),
    "j1_core": Goal(seconds=0.150),
    "j1_core cached": Goal(seconds=0.015),
    "j2_big": Goal(seconds=0.900),
    "j2_big cached": Goal(seconds=0.080),
    "j3_versions": Goal(seconds=0.020),
    "k1_pselect": Goal(seconds=25e-6, per_item=True),
    "k2_parallel": Goal(seconds=25e-6, per_item=True),
    "l1_trycatch": Goal(4),
    "m1_deploy": Goal(5, linear=True),
    "n1_ui": Goal(seconds=50e-6, per_item=True),
    "n2_ui_again": Goal(seconds=2e-6, per_item=True),
}

#: Of a process that imported the language.
IMPORT_SECONDS = 0.100
IMPORT_MIB = 40
#: Levels of nesting that have to work, by kind; see `probes.py`.
DEPTH = 500
OWNED_DEPTH = 5_000

#: Of deployments: processor time of task, worker and host for one recorded server; from the push of a stack until a
#: script of its first server has ended; a whole deployment of ten; from asking for a checkpoint until it is stored.
DEPLOY_SERVER_SECONDS = 0.003
FIRST_SERVER_SECONDS = 3.0
TEN_SERVERS_SECONDS = 15.0
CHECKPOINT_SECONDS = 0.150
