"""procrastinate: jobs that do nothing, deferred one after the other and done by a worker in the same process."""

import asyncio
import sys
import time

import procrastinate

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=sys.argv[1]))
done: "asyncio.Queue[int]" = asyncio.Queue()


@app.task(name="job")
async def job(number: int) -> None:
    """Says that it was done."""
    await done.put(number)


async def main() -> None:
    """Works as often as it is asked to."""
    count = int(sys.argv[2])
    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        worker = asyncio.create_task(app.run_worker_async(install_signal_handlers=False, listen_notify=True))
        await asyncio.sleep(1)
        print("ready", flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            begun = time.process_time()
            for number in range(count):
                await job.defer_async(number=number)
                assert await done.get() == number
            await asyncio.sleep(0.2)  # the end of the last job is written after it
            print(time.process_time() - begun, flush=True)
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)


asyncio.run(main())
