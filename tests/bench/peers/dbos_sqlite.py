"""dbos_sqlite.py - the peers' loads on DBOS for Python with its default SQLite file.

Usage: dbos_sqlite.py RUNS STEPS BYTES seq|par   (PEER_DIR: a fresh directory). Prints
"STEPS SECONDS" of the second of two rounds. A step is a DBOS step whose result of BYTES characters
is recorded before the workflow goes on. Only Python's public API of the package.
"""
import asyncio
import os
import sys
import time

from dbos import DBOS

RUNS, STEPS, BYTES = (int(a) for a in sys.argv[1:4])
PARALLEL = sys.argv[4] == "par"
PAYLOAD = "x" * BYTES

DBOS(config={
    "name": "peers",
    "system_database_url": "sqlite:///" + os.environ.get("PEER_DIR", ".") + "/dbos.sqlite",
    "log_level": "ERROR",
    "run_admin_server": False,
})


@DBOS.step()
def echo() -> str:
    return PAYLOAD


@DBOS.step()
async def echo_async() -> str:
    return PAYLOAD


@DBOS.workflow()
def steps(count: int) -> None:
    for _ in range(count):
        echo()


@DBOS.workflow()
async def parallel(count: int) -> None:
    await asyncio.gather(*[echo_async() for _ in range(count)])


def one_round() -> float:
    begin = time.monotonic()
    if PARALLEL:
        async def go() -> None:
            handles = [await DBOS.start_workflow_async(parallel, STEPS) for _ in range(RUNS)]
            for handle in handles:
                await handle.get_result()
        asyncio.run(go())
    else:
        handles = [DBOS.start_workflow(steps, STEPS) for _ in range(RUNS)]
        for handle in handles:
            handle.get_result()
    return time.monotonic() - begin


DBOS.launch()
one_round()
print(RUNS * STEPS, f"{one_round():.6f}", flush=True)
os._exit(0)
