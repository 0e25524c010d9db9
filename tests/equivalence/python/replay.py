"""replay.py - recorded histories against the replayer of Temporal's Python SDK.

Usage: replay.py [FOREIGN.json] HISTORY.json...    (prints TAP)
Owns: for each history the questions "is it accepted with the equivalent workflow?" and "is it
refused with the changed twin?". Must not: know any workflow; those are in workflows.py.
FOREIGN.json lists histories, by their file's name, that this SDK cannot know, with the reason.
"""

import asyncio
import json
import logging
import os
import sys

from temporalio.client import WorkflowHistory
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from workflows import FLOWS

PATIENCE_S = 30


def start_of(history):
    return history["events"][0]["workflowExecutionStartedEventAttributes"]


def is_mismatch(failure):
    """Core's words for code that does not fit: its own error; for a few commands another one."""
    return failure is not None and (
        "TMPRL1100" in str(failure)
        or "says the transition is invalid during event" in str(failure))


async def failure_of(replayer, history):
    as_told = WorkflowHistory.from_json(start_of(history)["workflowId"], history)
    result = await asyncio.wait_for(
        replayer.replay_workflow(as_told, raise_on_replay_failure=False), PATIENCE_S)
    return result.replay_failure


async def main(foreign, files):
    logging.disable(logging.CRITICAL)
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))
    replayer = Replayer(workflows=list(FLOWS.values()),
                        workflow_runner=UnsandboxedWorkflowRunner())
    count = failed = accepted = 0

    def judge(good, name, comment):
        nonlocal count, failed
        count += 1
        failed += not good
        print(f"{'ok' if good else 'not ok'} {count} - {name}", flush=True)
        if not good:
            print(f"    # {' '.join(str(comment).split())[:600]}", flush=True)

    for path in files:
        name = os.path.splitext(os.path.basename(path))[0]
        with open(path, encoding="utf-8") as file:
            history = json.load(file)
        kind = start_of(history)["workflowType"]["name"]
        if name in foreign or kind not in FLOWS:
            count += 1
            why = foreign.get(name) or f"write {kind} in tests/equivalence/python/workflows.py"
            print(f"ok {count} - {name} # SKIP {why}", flush=True)
            continue
        failure = await failure_of(replayer, history)
        judge(failure is None, f"{name}: Python accepts {kind}", failure)
        accepted += failure is None
        start_of(history)["workflowType"]["name"] = f"{kind}Changed"
        failure = await failure_of(replayer, history)
        judge(is_mismatch(failure), f"{name}: Python refuses {kind}Changed", failure)
    print(f"# Python accepts the histories of {accepted} runs")
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    strange = {}
    names = sys.argv[1:]
    if names and os.path.basename(names[0]) == "foreign.json":
        with open(names.pop(0), encoding="utf-8") as table:
            strange = json.load(table)
    status = asyncio.run(main(strange, names))
    sys.stdout.flush()
    os._exit(status)  # the SDK's own threads may abort an interpreter that takes itself down
