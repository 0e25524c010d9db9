"""play.py - the scenarios of tests/scenario, played by Temporal's own SDK on a Temporal server.

Usage: play.py ADDRESS NAMESPACE DIR [--activities-only] [NAME...]
Writes the histories of all runs of each scene to DIR/NAME-1.json, NAME-2.json ... (the main runs
oldest first, then those of children and others). With --activities-only somebody else's worker runs
the workflows, in whatever language. Owns: what drive() and during() of the C scenarios do, and the
workers. Status 1 when a scene does not end; SKIPPED says which scenarios are not played, and why.
"""

import asyncio
import datetime
import logging
import os
import sys
from datetime import timedelta

from temporalio.client import (
    Client, Schedule, ScheduleActionStartWorkflow, ScheduleBackfill, ScheduleIntervalSpec,
    ScheduleOverlapPolicy, ScheduleSpec, ScheduleState, WorkflowFailureError,
    WorkflowUpdateFailedError,
)
from temporalio.common import RetryPolicy, WorkflowIDConflictPolicy, WorkflowIDReusePolicy
from temporalio.runtime import Runtime, TelemetryConfig
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

import activities
from workflows import FLOWS

QUEUE = "default"
PATIENCE_S = 60
NOMINAL = datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc)
SKIPPED = {
    "code-version": "a marker of Go's",
    "side-effect": "a marker of Go's",
    "mutable-side-effect": "a marker of Go's",
    "deterministic": "the numbers of our own generator decide what it does",
    "pause": "an operation that the SDKs do not have",
}
scenes = []


class Scene:
    """One scenario: begin() sends what comes before any worker serves, during() what comes then."""

    def __init__(self, name, kind, workflow_id, given=None, begin=None, during=None, kids=(),
                 saved=None, is_short=False, **options):
        self.name, self.kind, self.id, self.given = name, kind, workflow_id, given
        self.begin, self.during, self.kids, self.options = begin, during, kids, options
        self.saved = saved  # how many of the main runs are kept; None: all
        self.is_short = is_short  # its time is over soon: it is begun when the others are over
        scenes.append(self)

    async def start(self, client):
        if self.begin:
            await self.begin(self, client)
        else:
            await start(client, self.kind, self.id, self.given, **self.options)


first_runs = {}  # of each workflow id


async def start(client, kind, workflow_id, given=None, **options):
    handle = await client.start_workflow(kind, given, id=workflow_id, task_queue=QUEUE, **options)
    first_runs.setdefault(workflow_id, handle.first_execution_run_id)
    return handle


pending = []  # requests that are answered only when a worker serves


def update(name, update_id, given):
    async def ask(handle):
        try:
            await handle.execute_update(name, given, id=update_id)
        except WorkflowUpdateFailedError:
            pass

    return ask


def updating(*asked):
    async def begin(scene, client):
        handle = await start(client, scene.kind, scene.id, scene.given)
        for ask in asked:
            pending.append(asyncio.create_task(ask(handle)))
            await asyncio.sleep(0.1)  # they are admitted in this order

    return begin


def signalling(name, *given):
    async def begin(scene, client):
        handle = await start(client, scene.kind, scene.id, scene.given, **scene.options)
        for word in given:
            await handle.signal(name, word)

    return begin


def after(kind, workflow_id):
    """Another run first."""
    async def begin(scene, client):
        await start(client, kind, workflow_id)
        await start(client, scene.kind, scene.id, scene.given)

    return begin


async def cancelled_first(scene, client):
    await (await start(client, scene.kind, scene.id, scene.given)).cancel()


async def greeted(scene, client):
    for word in (1, 2):
        await start(client, scene.kind, scene.id, scene.given, start_signal="hello",
                    start_signal_args=[word],
                    id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE)


async def replaced(scene, client):
    await start(client, scene.kind, scene.id, "old")
    await asyncio.sleep(1.1)  # the server lets nobody start an id again within a second
    await start(client, scene.kind, scene.id, "new",
                id_conflict_policy=WorkflowIDConflictPolicy.TERMINATE_EXISTING)


async def scheduled(scene, client):
    action = ScheduleActionStartWorkflow(scene.kind, scene.given, id="clean", task_queue=QUEUE)
    spec = ScheduleSpec(intervals=[ScheduleIntervalSpec(every=timedelta(seconds=1))])
    schedule = await client.create_schedule("cleaner", Schedule(
        action=action, spec=spec, state=ScheduleState(paused=True)))
    await schedule.backfill(ScheduleBackfill(
        start_at=NOMINAL - timedelta(milliseconds=1), end_at=NOMINAL,
        overlap=ScheduleOverlapPolicy.ALLOW_ALL))


async def until(step):
    """The step again and again until it does not fail any more."""
    for _ in range(PATIENCE_S * 20):
        try:
            if await step() is not False:
                return
        except RPCError:
            pass
        await asyncio.sleep(0.05)
    raise TimeoutError


async def approves(scene, client):
    activity = client.get_async_activity_handle(workflow_id=scene.id, run_id=None, activity_id="1")
    await until(lambda: activity.complete({"approved": True}))


async def queries(scene, client):
    for _ in range(5):
        await client.get_workflow_handle(scene.id).query("sum")


async def last_word(scene, client):
    """A signal that a run leaves unread when it continues as new is lost: it is for the last."""
    async def step():
        return len(await runs_of(client, scene.id)) > 2

    await until(step)
    await client.get_workflow_handle(scene.id).signal("word", "late")


async def ends_cron(scene, client):
    async def step():
        return len(await runs_of(client, scene.id)) > 2

    await until(step)
    await client.get_workflow_handle(scene.id).terminate("two points are enough")


async def terminates_kid(scene, client):
    kid = client.get_workflow_handle(f"{scene.id}-kid")

    async def step():
        description = await kid.describe()
        if description.history_length < 9:  # it has told its parent, and waits
            return False
        await kid.terminate("not wanted any more")

    await until(step)


def kid_of(name):
    return [f"{name}-kid"]


NUMBER = {"n": 1}
Scene("activity-sequence", "Sequence", "sequence", NUMBER)
Scene("activity-parallel", "Parallel", "parallel")
Scene("cancel-cleanup", "Cleanup", "cleanup", 1, begin=cancelled_first)
Scene("activity-retry", "Retried", "retried", 7)
Scene("activity-failure", "Compensated", "compensated")
Scene("run-failure", "Failing", "failing")
Scene("run-failure-cause", "FailingThrough", "failing-through")
Scene("timeout-start-to-close", "StartToClose", "start-to-close")
Scene("timeout-schedule-to-start", "ScheduleToStart", "schedule-to-start")
Scene("timeout-schedule-to-close", "ScheduleToClose", "schedule-to-close")
Scene("timeout-heartbeat", "Heartbeat", "heartbeat", {"at": 40})
Scene("activity-cancel-try", "TryCancel", "try-cancel")
Scene("activity-cancel-wait", "WaitCancel", "wait-cancel")
Scene("activity-cancel-abandon", "Abandon", "abandon")
Scene("activity-heartbeat", "NoteFlow", "activity-heartbeat", NUMBER)
Scene("activity-final", "Final", "activity-final", NUMBER)
Scene("activity-async", "Approval", "async", NUMBER, during=approves)
Scene("activity-priority", "Ranked", "activity-priority", NUMBER)
Scene("local-activity", "Locals", "locals", NUMBER)
Scene("local-retry", "Patient", "patient", NUMBER)
Scene("local-cancel", "Stopped", "stopped", NUMBER, task_timeout=timedelta(seconds=1))
Scene("transaction", "Counting", "counting", ["steps"])
Scene("timer", "Timers", "timers")
Scene("signal", "Signals", "signals", 0, begin=signalling("word", "one", "two"))
Scene("coroutine", "Coroutines", "coroutines")
Scene("schedule", "Clean", "clean-2026-01-02T03:04:05Z", "done", begin=scheduled)
Scene("signal-handler", "SignalHandler", "signal-handler",
      begin=signalling("word", {"slow": False}, {"slow": True}))
Scene("wait-condition", "Conditions", "conditions")
Scene("channel", "Channels", "channels")
Scene("update", "Updates", "updates", begin=updating(update("add", "u-1", 7)))
Scene("update-reject", "Updates", "rejects", begin=updating(
    update("add", "u-1", -3), update("subtract", "u-2", 4), update("add", "u-3", 9)))
Scene("update-async", "UpdateAsync", "update-async", begin=updating(update("work", "u-1", "w")))
Scene("query", "Queries", "queries", "q", during=queries)
Scene("continue-as-new", "Countdown", "countdown", 2, during=last_word)
Scene("run-retry", "Persist", "persist", 1,
      retry_policy=RetryPolicy(initial_interval=timedelta(milliseconds=2), maximum_attempts=5))
# In C the second one ends its chain as cancelled; SDKs end a run so only when it was asked to.
Scene("cron", "Tick", "tick", 1, during=ends_cron, saved=1, cron_schedule="@every 1s")
Scene("run-timeout", "Oversleep", "run-timeout", 1, is_short=True,
      run_timeout=timedelta(seconds=2))
Scene("execution-timeout", "Oversleep", "execution-timeout", 0, is_short=True,
      execution_timeout=timedelta(seconds=4))
Scene("start-delay", "Late", "late", 1, begin=signalling("word", "waiting"),
      start_delay=timedelta(milliseconds=300))
Scene("signal-with-start", "Greeted", "greeted", 1, begin=greeted)
Scene("terminate-existing", "Replaced", "replaced", begin=replaced)
Scene("reset", "Regret", "regret", 1)
Scene("patch", "Patched", "patched", 1)
Scene("patch-deprecated", "Deprecated", "deprecated", 1)
Scene("search-attributes", "Found", "found")
Scene("large-payload", "Large", "large")
Scene("long-history", "Many", "many")
Scene("history-of-5000", "Wide", "wide", 1)
Scene("payload-of-2-mb", "Huge", "huge")
Scene("signal-buffered", "Poked", "poked", "hey")
Scene("child-complete", "ChildComplete", "child-complete", "parcel",
      kids=kid_of("child-complete"))
Scene("child-fail", "ChildFail", "child-fail", kids=kid_of("child-fail"))
Scene("child-exists", "ChildExists", "child-exists")
Scene("child-retry", "ChildRetry", "child-retry", "again", kids=kid_of("child-retry"))
Scene("child-terminated", "ChildTerminated", "child-terminated", during=terminates_kid,
      kids=kid_of("child-terminated"))
for end, title in (("try", "Try"), ("wait", "Wait"), ("abandon", "Abandon")):
    Scene(f"child-cancel-{end}", f"ChildCancel{title}", f"child-cancel-{end}",
          kids=kid_of(f"child-cancel-{end}"))
for end, title in (("terminate", "Terminate"), ("abandon", "Abandon"), ("cancel", "Cancel")):
    Scene(f"parent-close-{end}", f"ParentClose{title}", f"parent-close-{end}",
          kids=kid_of(f"parent-close-{end}"))
Scene("external-signal", "ExternalSignal", "external-signal", "hi",
      begin=after("ExternalTarget", "external-signal-target"), kids=["external-signal-target"])
Scene("external-cancel", "ExternalCancel", "external-cancel",
      begin=after("ExternalSleeper", "external-cancel-target"), kids=["external-cancel-target"])
Scene("external-not-found", "ExternalNobody", "external-not-found")
Scene("child-signal", "ChildSignal", "child-signal", "hi", kids=kid_of("child-signal"))


async def chain_of(client, workflow_id):
    """The runs that follow each other, oldest first, as each tells its next."""
    description = await client.get_workflow_handle(workflow_id).describe()
    run_id = description.raw_description.workflow_execution_info.first_run_id
    run_id = first_runs.get(workflow_id) or run_id or description.run_id
    runs = []
    while run_id:
        runs.append(run_id)
        history = await client.get_workflow_handle(workflow_id, run_id=run_id).fetch_history()
        last = history.events[-1]
        attributes = getattr(last, last.WhichOneof("attributes"))
        run_id = getattr(attributes, "new_execution_run_id", None)
    return runs


async def runs_of(client, workflow_id):
    """All runs of that id, oldest first. A server without lists knows those of one chain."""
    try:
        found = [run async for run in client.list_workflows(f"WorkflowId = '{workflow_id}'")]
    except RPCError as error:
        if error.status != RPCStatusCode.UNIMPLEMENTED:
            raise
        return await chain_of(client, workflow_id)
    return [run.run_id for run in sorted(found, key=lambda run: (run.start_time, run.run_id))]


async def closed(client, workflow_id):
    try:
        await client.get_workflow_handle(workflow_id).result()
    except WorkflowFailureError:
        pass


async def over(scene, client):
    during = asyncio.create_task(scene.during(scene, client)) if scene.during else None
    if scene.begin is scheduled:
        await until(lambda: client.get_workflow_handle(scene.id).describe())
    for workflow_id in [scene.id, *scene.kids]:
        await closed(client, workflow_id)
    if during:
        await during


async def end(scene, client):
    """Waits until all is over; what is wrong, or None."""
    task = asyncio.create_task(over(scene, client))
    await asyncio.wait([task], timeout=PATIENCE_S)  # a call under way is deaf to cancellation
    if not task.done():
        return f"{scene.name}: not over after {PATIENCE_S} s"
    if task.exception():
        return f"{scene.name}: {task.exception()!r}"
    return None


async def save(scene, client, directory):
    number = 0
    for workflow_id in [scene.id, *scene.kids]:
        for run_id in (await runs_of(client, workflow_id))[:scene.saved]:
            handle = client.get_workflow_handle(workflow_id, run_id=run_id)
            history = await handle.fetch_history()
            number += 1
            path = os.path.join(directory, f"{scene.name}-{number}.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(history.to_json())


def workers(client, activities_only):
    acts = activities.PLAIN + activities.of_client(client)
    flows = [] if activities_only else list(FLOWS.values())
    usual = {"workflow_runner": UnsandboxedWorkflowRunner(),
             "max_heartbeat_throttle_interval": timedelta(milliseconds=10)}
    return [Worker(client, task_queue=QUEUE, workflows=flows, activities=acts, **usual),
            Worker(client, task_queue="narrow", activities=acts, max_concurrent_activities=1,
                   **usual),
            Worker(client, task_queue="limited", activities=acts, max_concurrent_activities=2,
                   **usual)]


async def main(address, namespace, directory, *options):
    names = [option for option in options if not option.startswith("--")]
    if names:
        scenes[:] = [scene for scene in scenes if scene.name in names]
    logging.disable(logging.CRITICAL)
    Runtime.set_default(Runtime(telemetry=TelemetryConfig(logging=None)))
    client = await Client.connect(address, namespace=namespace)
    await asyncio.gather(*[scene.start(client) for scene in scenes if not scene.is_short])
    serving = workers(client, "--activities-only" in options)
    tasks = [asyncio.create_task(worker.run()) for worker in serving]
    wrong = await asyncio.gather(*[end(scene, client) for scene in scenes if not scene.is_short])
    for scene in scenes:
        if scene.is_short:
            await scene.start(client)
            wrong.append(await end(scene, client))
    for task in pending:
        task.cancel()
    for scene in scenes:
        await save(scene, client, directory)
    await asyncio.gather(*[worker.shutdown() for worker in serving])
    await asyncio.gather(*tasks, return_exceptions=True)
    for line in filter(None, wrong):
        print(line, flush=True)
    os._exit(1 if any(wrong) else 0)  # calls under way are nobody's any more


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
