"""Which task comes next, as SQL: whether any waits (`waits`), and the statements that claim one (`claims`).

Next is a task of the project that has the fewest running. Many may wait (a hundred thousand), of few projects: these
are found one after the other in the index ``tasks_that_wait``, and in it the first tasks of each. So the cost of a
claim follows the number of projects that wait and not that of the tasks. Only when none of the first tasks may be
claimed, since others of their environments go before, are all looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from vetro.server.tasks import clock

#: Tasks that come first, of each project or of all: of these is seen whether they may be claimed.
_FIRST = 100
#: Of each project so many are offered: others may be claiming the first ones at this moment.
_OFFERED = 4

#: Whether task ``t`` may be claimed by the workers that serve it; {now} twice. Others of its environment are found by
#: the index of environments: the CASE keeps PostgreSQL from looking for all that run in that of states, which has an
#: entry of each task that ran since the table was cleaned up. Thousands of pages were read for a claim.
READY = """
((t.state = 'queued' AND (t.lease_until IS NULL OR t.lease_until <= {now})
    AND (t.environment_id = '' OR NOT EXISTS (
      SELECT 1 FROM dispatch_task o WHERE o.environment_id = t.environment_id AND o.id <> t.id
        AND CASE WHEN o.state = 'queued' THEN o.created < t.created OR (o.created = t.created AND o.id < t.id)
          ELSE o.state IN ('running', 'needs_person') END)))
  OR (t.state = 'running' AND t.lease_until < {now}))"""
#: Whether no worker lives that could go on with ``t``, which another version began, and none came for long enough:
#: {waited} is the end of a lease, {heard} when a worker that lives was heard of, {serves} `serving`.
ABANDONED = """
(t.lease_until < {waited} AND NOT EXISTS (
  SELECT 1 FROM dispatch_workerprocess w WHERE w.version = t.engine AND NOT w.draining AND w.seen > {heard}
    AND (t.label = '' OR {serves})))"""
#: The same for a worker of this version, of the tasks that it may choose from.
_MINE = f"{READY} AND (t.engine IN ('', %(version)s) OR {ABANDONED}){{filters}}"
#: Whether task ``t`` waits, or its worker was not heard of for too long.
_WAITS = """(t.state = 'queued' AND (t.lease_until IS NULL OR t.lease_until <= {now})
    OR t.state = 'running' AND t.lease_until < {now}){filters}"""
#: In an order that an index has: a planner that expects a waiting task in every so many rows reads the whole table
#: otherwise, and all rows that it finds first have ended.
_ANY = """
SELECT q.id FROM (
  SELECT t.id FROM dispatch_task t{index} WHERE t.state = 'queued'
    AND (t.lease_until IS NULL OR t.lease_until <= {now}){filters}
  ORDER BY {by} LIMIT 2) q
UNION ALL SELECT r.id FROM (
  SELECT t.id FROM dispatch_task t WHERE t.state = 'running' AND t.lease_until < {now}{filters}
  ORDER BY t.priority DESC, t.created LIMIT 2) r
LIMIT 2
"""
_OF_A_PROJECT = "t.priority DESC, t.created, t.id"
#: The order of the index ``tasks_that_wait``.
_AS_THEY_WAIT = f"t.project_id, {_OF_A_PROJECT}"
_ORDER = f"COALESCE(busy.tasks, 0), {_OF_A_PROJECT}"
_CLAIM = f"""
WITH RECURSIVE busy AS (SELECT project_id, COUNT(*) AS tasks FROM dispatch_task WHERE state = 'running'
  GROUP BY {{plus}}project_id){{before}}
UPDATE dispatch_task SET state = 'running', owner = %(owner)s, fence = fence + 1, attempts = attempts + 1,
  lease_until = {{until}}, started = COALESCE(started, {{now}}), updated = {{now}},
  engine = CASE WHEN engine = '' THEN %(version)s ELSE engine END
WHERE id = (
  SELECT t.id FROM dispatch_task t LEFT JOIN busy ON busy.project_id = t.project_id
  WHERE {{which}}
    AND NOT EXISTS (SELECT 1 FROM dispatch_workerprocess mine WHERE mine.id = %(owner)s AND mine.draining)
  ORDER BY {_ORDER}
  LIMIT 1{{lock}})
RETURNING id, fence
"""
#: The projects of which tasks wait: each is the next one in the index. SQLite would take another one for MIN.
_PROJECTS = f""",
projects(id) AS (
  SELECT (SELECT t.project_id FROM dispatch_task t WHERE t.state = 'queued' ORDER BY {_AS_THEY_WAIT} LIMIT 1)
  UNION ALL
  SELECT (SELECT t.project_id FROM dispatch_task t WHERE t.state = 'queued' AND t.project_id > b.id
    ORDER BY {_AS_THEY_WAIT} LIMIT 1)
  FROM projects b WHERE b.id IS NOT NULL)"""
_OFFER = f"""
      SELECT t.id FROM (
        SELECT t.id, t.state, t.lease_until, t.environment_id, t.created, t.priority, t.engine, t.label, t.kind
        FROM dispatch_task t WHERE t.project_id = projects.id AND t.state = 'queued'{{filters}}
        ORDER BY {_OF_A_PROJECT} LIMIT {_FIRST}) t
      WHERE {_MINE} ORDER BY {_OF_A_PROJECT}"""
#: Where nobody else writes meanwhile one will do.
_OFFERS = {
    True: f"SELECT offer.id FROM projects CROSS JOIN LATERAL ({_OFFER} LIMIT {_OFFERED}) offer",
    False: f"SELECT ({_OFFER} LIMIT 1) FROM projects",
}
#: What was offered may have changed since: who waits for a lock sees the row once more.
_OFFERED_NOW = f"""{_WAITS} AND t.id {{among}}
    {{offers}}
    UNION ALL SELECT t.id FROM dispatch_task t WHERE t.state = 'running' AND {_MINE}{{end}}"""
#: An array is made once, and its few members are looked up: nothing that the planner could take for a large table.
_AMONG = {True: {"among": "= ANY (ARRAY(", "end": "))"}, False: {"among": "IN (", "end": ")"}}
#: Short tasks, and what is left: all that wait are put in order.
_FIRST_OF_ALL = f"""{_MINE} AND t.id IN (
    SELECT t.id FROM dispatch_task t LEFT JOIN busy ON busy.project_id = t.project_id
    WHERE {_WAITS} ORDER BY {_ORDER} LIMIT {_FIRST})"""


class ClaimQueries:
    """What one worker may choose from. ``kinds``: None for any, and ``without`` these; ``labels``: none for any.
    ``moments``: seconds from now for ``until``, ``waited`` and ``heard`` (`READY`, `ABANDONED`). ``values`` are the
    parameters of all statements."""

    def __init__(
        self,
        owner: str,
        version: str,
        kinds: Collection[str] | None,
        labels: Sequence[str],
        without: Collection[str] = (),
        **moments: float,
    ) -> None:
        self.values: dict[str, Any] = {"owner": owner, "version": version}
        self._texts = {"serves": serving()}
        for name, seconds in {"now": 0.0, **moments}.items():
            text, (self.values[name],) = clock.sql(seconds)
            self._texts[name] = text.replace("%s", f"%({name})s")
        self._few = kinds is not None
        filters = ""
        if kinds is not None:
            filters += f" AND t.kind IN ({self._among('kind', sorted(kinds))})"
        if without:
            filters += f" AND t.kind NOT IN ({self._among('without', sorted(without))})"
        if labels:
            filters += f" AND t.label IN ({self._among('label', ['', *labels])})"
        self._texts["filters"] = filters

    def _among(self, name: str, values: Sequence[str]) -> str:
        named = {f"{name}{number}": value for number, value in enumerate(values)}
        self.values |= named
        return ", ".join(f"%({each})s" for each in named)

    def waits(self) -> str:
        """Whether some task may be claimed, but for what its environment or another version have to do with it: a row,
        two where there are several, or none."""
        by, index = ("t.kind", "kinds_that_wait") if self._few else (_AS_THEY_WAIT, "tasks_that_wait")
        # SQLite does not know how many wait, and would put all of them in order.
        hint = "" if clock.on_postgresql() else f" INDEXED BY {index}"
        return _ANY.format(**self._texts, by=by, index=hint)

    def claims(self) -> list[str]:
        """Statements that claim the next task, give its id and fence: a row or none; one after the other, until one
        has got one."""
        apart = clock.on_postgresql()
        # With the plus SQLite counts what runs; it would read all tasks in the order of their projects.
        lock, plus = (" FOR UPDATE OF t SKIP LOCKED", "") if apart else ("", "+")
        texts = {**self._texts, "lock": lock, "plus": plus}
        if self._few:
            first = _CLAIM.format(**texts, before="", which=_FIRST_OF_ALL.format(**texts))
        else:
            offered = _OFFERED_NOW.format(**texts, offers=_OFFERS[apart].format(**texts), **_AMONG[apart])
            first = _CLAIM.format(**texts, before=_PROJECTS, which=offered)
        return [first, _CLAIM.format(**texts, before="", which=_MINE.format(**texts))]


def serving() -> str:
    """Whether worker ``w`` serves the label of task ``t`` (`vetro.server.tasks.labels.serves`), as SQL."""
    if clock.on_postgresql():
        return "w.labels = '[]'::jsonb OR jsonb_exists(w.labels, t.label)"
    return "w.labels = '[]' OR EXISTS (SELECT 1 FROM json_each(w.labels) l WHERE l.value = t.label)"
