"""activities.py - the activities of the scenarios, run by Temporal's Python SDK.

Owns: what those of tests/scenario do, under the same names. Must not: know who calls them. Both
workers of play.py and the workflows in other languages call them by name.
"""

import asyncio
import uuid

from temporalio import activity
from temporalio.api.common.v1 import WorkflowExecution
from temporalio.api.workflowservice.v1 import ResetWorkflowExecutionRequest
from temporalio.exceptions import ApplicationError

PATIENCE_S = 20  # of one that waits to be told


@activity.defn(name="Echo")
async def echo(given=None):
    return given


@activity.defn(name="Linger")
async def linger(given=None):
    """Works until it is told to stop: a cancellation ends the sleep."""
    for _ in range(PATIENCE_S * 100):
        activity.heartbeat()
        await asyncio.sleep(0.01)
    return given


@activity.defn(name="Flaky")
async def flaky(given=None):
    if activity.info().attempt < 3:
        raise ApplicationError("try again", type="BankDown")
    return given


@activity.defn(name="Broken")
async def broken(_=None):
    raise ApplicationError("no money", type="CardDeclined", non_retryable=True)


@activity.defn(name="Counting")
async def counting(given=None):
    """Says how far it came, then says no more: the next attempt goes on from there."""
    before = activity.info().heartbeat_details
    if before:
        return before[0]
    activity.heartbeat(given)
    await asyncio.sleep(PATIENCE_S)
    return given


@activity.defn(name="Note")
async def note(given=None):
    before = activity.info().heartbeat_details
    if before:
        return before[0]
    activity.heartbeat(given)
    raise ApplicationError("the next attempt finds it", type="NoNote")


@activity.defn(name="Declined")
async def declined(_=None):
    raise ApplicationError("no money", type="CardDeclined")


@activity.defn(name="Ask")
async def ask(_=None):
    activity.raise_complete_async()


@activity.defn(name="Hurried")
async def hurried(given=None):
    if activity.info().attempt < 3:
        raise ApplicationError("too early", type="Hurried")
    return given


@activity.defn(name="Endless")
async def endless(_=None):
    while True:
        await asyncio.sleep(1)


@activity.defn(name="Refuse")
async def refuse(_=None):
    raise ApplicationError("never", type="Refused", non_retryable=True)


def of_client(client):
    """Those that speak to the server themselves."""
    counted = 0

    @activity.defn(name="Count")
    async def count(_=None):
        nonlocal counted
        counted += 1
        return counted

    @activity.defn(name="Miscount")
    async def miscount(_=None):
        raise ApplicationError("taken back", type="Miscount", non_retryable=True)

    @activity.defn(name="Poke")
    async def poke(given=None):
        await client.get_workflow_handle(activity.info().workflow_id).signal("poke", given)

    @activity.defn(name="Undo")
    async def undo(_=None):
        """Takes its own run back to its first task, once; then nobody waits for this attempt."""
        info = activity.info()
        runs = client.list_workflows(f"WorkflowId = '{info.workflow_id}'")
        known = {run.run_id async for run in runs} | {info.workflow_run_id}
        first = (await client.get_workflow_handle(info.workflow_id).describe()).raw_description
        if first.workflow_execution_info.first_run_id == info.workflow_run_id and len(known) == 1:
            await client.workflow_service.reset_workflow_execution(ResetWorkflowExecutionRequest(
                namespace=client.namespace, reason="again", workflow_task_finish_event_id=4,
                request_id=str(uuid.uuid4()),
                workflow_execution=WorkflowExecution(workflow_id=info.workflow_id)))
        return len(known)

    return [count, miscount, poke, undo]


PLAIN = [echo, linger, flaky, broken, counting, note, declined, ask, hurried, endless, refuse]
