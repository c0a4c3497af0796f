"""The messages between task process, worker and effects host: length-framed JSON objects on a socket or pipe pair.

From the task process: ``{"t": "effect", "key", "kind", "args"}``; ``{"t": "checkpoint", "model"}`` when asked for one
(with ``error`` where it could not be written); last ``{"t": "done", "model", "result"}`` or ``{"t": "failed", "error":
{...}, "model"}``. To a probe it says ``{"t": "layers", "layers"}`` instead. `vetro.engine.task.launcher` has the order.
To the task process: ``{"t": "task", "task"}`` or ``{"t": "probe"}`` first; ``{"t": "answer", "key", "answer"}`` or
``{"t": "answer", "key", "error": {kind, message, names}}``; ``{"t": "checkpoint"}``; ``{"t": "cancel", "reason"}``.
To the effects host: ``{"t": "config", "config"}`` first; ``{"t": "begin", "expect": [plan ids]}``, whose answers are
kept for effects that will be adopted; ``{"t": "perform", "key", "kind", "args", "adopt": bool, "begun": seconds}``;
``{"t": "stored", "key"}`` (its result is in the journal); ``{"t": "abandon", "key"}``; ``{"t": "finish"}`` last.
From it: ``{"t": "ready"}`` or ``{"t": "refused", "error"}`` first; answers as above; ``{"t": "progress", "key", ...}``,
which nobody waits for.

They travel as `vetro.frames`.
"""

from __future__ import annotations

#: Exit statuses of a task process, which says no more where it cannot.
FINE, DISCONNECTED, OUT_OF_MEMORY, DEFECT = 0, 3, 4, 5

#: What the launcher asks the zygote for when it wants a process ahead of its task; it brings no sockets.
AHEAD = b"ahead"

#: Digits of the largest integers that packages may have (16,384 bits) and somewhat more.
MOST_DIGITS = 5_000
