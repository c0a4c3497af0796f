"""DBOS: workflows of three steps that do nothing, called by the process that runs them, or by its queue (``queue``)."""

import sys
import time

from dbos import DBOS


@DBOS.step()
def step(number: int) -> int:
    """Does nothing."""
    return number + 1


@DBOS.workflow()
def workflow(number: int) -> int:
    """Three steps."""
    found: int = step(step(step(number)))
    return found


def main() -> None:
    """Works as often as it is asked to."""
    url, count = sys.argv[1], int(sys.argv[2])
    queued = "queue" in sys.argv[3:]
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
    DBOS.launch()
    if queued:
        DBOS.register_queue("bench")
    print("ready", flush=True)
    for _ in sys.stdin:
        begun = time.process_time()
        for number in range(count):
            found = DBOS.enqueue_workflow("bench", workflow, number).get_result() if queued else workflow(number)
            assert found == number + 3
        print(time.process_time() - begun, flush=True)
    DBOS.destroy()


main()
