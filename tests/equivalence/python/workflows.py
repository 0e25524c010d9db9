"""workflows.py - the Python equivalents of the scenarios of tests/scenario, by Temporal's own SDK.

One coroutine per workflow type T, under its name in FLOWS, and beside it its twin TChanged, which
asks for something that Core must notice. The input is the run's, as parsed JSON, or None. Options
are those of the C functions, so that the flows can also be run: tests/equivalence/python/play.py
does, replay.py has them replay histories. Must not: know how either is done.
"""

import asyncio
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import (
    ActivityError,
    ApplicationError,
    ChildWorkflowError,
    TimeoutError as TimedOut,
    WorkflowAlreadyStartedError,
    is_cancelled_exception,
)

FLOWS = {}
How = workflow.ActivityCancellationType
ChildHow = workflow.ChildWorkflowCancellationType
Close = workflow.ParentClosePolicy


def ms(count):
    return timedelta(milliseconds=count)


QUICK = RetryPolicy(initial_interval=ms(1), maximum_interval=ms(4))
USUAL = {"start_to_close_timeout": timedelta(seconds=10), "retry_policy": QUICK}


def add(name, body, prepare=None):
    """prepare() is called before anything else; the body then gets what it returned, too."""

    def __init__(self):
        self.state = prepare() if prepare else None

    async def run(self, given=None):
        return await (body(given, self.state) if prepare else body(given))

    run.__qualname__ = f"{name}.run"  # the SDK wants no local classes
    members = {"__init__": __init__, "run": workflow.run(run)}
    FLOWS[name] = workflow.defn(name=name)(type(name, (), members))


def flow(body):
    add(body.__name__, body)
    return body


def act(name, given=None, **options):
    return workflow.execute_activity(name, given, **{**USUAL, **options})


def local(name, given=None, **options):
    bounds = {"schedule_to_close_timeout": timedelta(minutes=1)}
    return workflow.execute_local_activity(name, given, **{**bounds, **options})


def inbox(name):
    """A coroutine function: the next signal of that name, early ones included."""
    got = []
    workflow.set_signal_handler(name, lambda given=None: got.append(given))

    async def next_one():
        await workflow.wait_condition(lambda: got)
        return got.pop(0)

    return next_one


async def swallow(task):
    """The task's end, however it ends."""
    try:
        return await task
    except Exception as error:  # noqa: BLE001 - a cancellation of the task is one end of several
        return error
    except asyncio.CancelledError as error:
        return error


# --- activities


@flow
async def Sequence(given):
    for _ in range(3):
        given = await act("Echo", given)
    return given


async def sequence_changed(given):
    return await act("Other", await act("Echo", await act("Echo", given)))


async def parallel(count):
    await asyncio.gather(*[act("Echo", i) for i in range(count)])
    return "all"


add("Parallel", lambda _: parallel(4))


@flow
async def Cleanup(given):
    try:
        result = await act("Echo", given)
        await asyncio.sleep(0.1)
        return result
    except (ActivityError, asyncio.CancelledError):
        # Python counts the activity that was never sent.
        await asyncio.shield(workflow.start_activity("Echo", "undo", activity_id="1", **USUAL))
        raise


@flow
async def Retried(given):
    return await act("Flaky", given)


@flow
async def Heartbeat(given):
    return await act("Counting", given, start_to_close_timeout=timedelta(minutes=1),
                     heartbeat_timeout=ms(20))


async def instead(step):
    """A failed step: another one instead, given the innermost reason."""
    try:
        return await step
    except ActivityError as error:
        why = error
        while why.__cause__:
            why = why.__cause__
        return await act("Echo", why.type.name if isinstance(why, TimedOut) else why.type)


add("Compensated", lambda _: instead(act("Broken")))
add("StartToClose", lambda _: instead(act(
    "Linger", start_to_close_timeout=ms(20), retry_policy=RetryPolicy(maximum_attempts=1))))
add("ScheduleToClose", lambda _: instead(act(
    "Linger", start_to_close_timeout=ms(15), schedule_to_close_timeout=ms(40),
    retry_policy=RetryPolicy(initial_interval=timedelta(minutes=1)))))


@flow
async def ScheduleToStart(_):
    holder = workflow.start_activity("Linger", task_queue="narrow",
                                     cancellation_type=How.WAIT_CANCELLATION_COMPLETED,
                                     start_to_close_timeout=timedelta(minutes=1),
                                     heartbeat_timeout=timedelta(seconds=5))
    await asyncio.sleep(0.05)  # so that it is the first in line

    async def refused():
        try:
            return await act("Echo", task_queue="narrow", schedule_to_start_timeout=ms(20))
        finally:
            holder.cancel()
            await swallow(holder)

    return await instead(refused())


@flow
async def Failing(given):
    await act("Echo", given)
    raise ApplicationError("no parcel after 14 days", type="TooLate", non_retryable=True)


@flow
async def FailingThrough(_):
    return await act("Broken")


async def cancels(how):
    work = workflow.start_activity("Linger", "work", cancellation_type=how,
                                   heartbeat_timeout=timedelta(seconds=5), **USUAL)
    await asyncio.sleep(0.01)
    work.cancel()
    await swallow(work)
    return await act("Echo", "after")


add("TryCancel", lambda _: cancels(How.TRY_CANCEL))
add("WaitCancel", lambda _: cancels(How.WAIT_CANCELLATION_COMPLETED))
add("Abandon", lambda _: cancels(How.ABANDON))
add("NoteFlow", lambda given: act("Note", given, heartbeat_timeout=timedelta(seconds=5)))
add("Approval", lambda given: act("Ask", given, start_to_close_timeout=timedelta(minutes=1)))


async def end_of(step):
    """The type of what is behind a failure; that of a local activity is not wrapped in replay."""
    try:
        return await step
    except ActivityError as error:
        return error.__cause__.type
    except ApplicationError as error:
        return error.type


add("Final", lambda given: end_of(act(
    "Declined", given, retry_policy=RetryPolicy(non_retryable_error_types=["CardDeclined"]))))


@flow
async def Ranked(given):
    return await act("Echo", await act("Echo", given), task_queue="limited")


# --- local activities; to Core transactions are the same


@flow
async def Locals(given):
    step = await local("Echo", given)
    step = await local("Echo", step)
    await asyncio.sleep(0.001)
    step = await act("Echo", step)
    step = await local("Hurried", step, retry_policy=RetryPolicy(initial_interval=ms(1)))
    return await end_of(local("Refuse", step))


add("Patient", lambda given: local("Hurried", given, local_retry_threshold=ms(1), retry_policy=(
    RetryPolicy(initial_interval=ms(10), backoff_coefficient=1.0))))


@flow
async def Stopped(given):
    work = workflow.start_local_activity("Endless", given, cancellation_type=How.TRY_CANCEL,
                                         start_to_close_timeout=timedelta(seconds=60))
    await asyncio.sleep(0.01)
    work.cancel()
    return "cancelled" if is_cancelled_exception(await swallow(work)) else "other"


@flow
async def Counting(given):
    for _ in range(3):
        await local("Count", given)
        await asyncio.sleep(0.001)
    await end_of(local("Miscount", given))
    return await local("Count", given)


# --- timers, signals, coroutines


@flow
async def Timers(_):
    late = asyncio.create_task(asyncio.sleep(600))
    early = asyncio.create_task(asyncio.sleep(0.02))
    await workflow.wait([late, early], return_when=asyncio.FIRST_COMPLETED)
    late.cancel()
    await swallow(late)
    await asyncio.sleep(0.01)
    return 0


async def signals(last):
    word = inbox("word")
    words = [await word(), await word()]
    await last()
    return words


async def times_out(timeout):
    try:
        await workflow.wait_condition(lambda: False, timeout=timeout)
    except asyncio.TimeoutError:
        return


add("Signals", lambda _: signals(lambda: times_out(0.005)))


async def steps(words):
    for word in words:
        await act("Echo", word)
        await asyncio.sleep(0.002)
    return words[-1]


add("Coroutines", lambda _: steps(["left", "right"]))


@flow
async def Clean(given):
    await asyncio.sleep(0.01)
    return await act("Echo", given)


@flow
async def SignalHandler(_):
    words = 0

    async def word(given):
        nonlocal words
        if given["slow"]:
            await act("Echo", given)
        words += 1

    workflow.set_signal_handler("word", word)
    await workflow.wait_condition(lambda: words >= 2 and workflow.all_handlers_finished())
    return words


@flow
async def Conditions(_):
    count = 0

    async def work():
        nonlocal count
        await act("Echo", "c")
        count += 1

    working = asyncio.create_task(work())
    await workflow.wait_condition(lambda: count >= 1, timeout=600)
    await times_out(0.005)
    await working
    return [0, -3]


@flow
async def Channels(_):
    pipe = asyncio.Queue()

    async def producer():
        await pipe.put(await act("Echo", "first"))
        await asyncio.sleep(0.005)
        await pipe.put("second")

    working = asyncio.create_task(producer())
    taken = [await pipe.get(), await pipe.get()]
    await working
    return taken


# --- updates, queries


# Handlers of updates must be there before the first task's updates are looked at.


class Account:
    def __init__(self):
        self.total = 0
        self.count = 0

    async def closed(self):
        await workflow.wait_condition(
            lambda: self.count >= 1 and workflow.all_handlers_finished())


def adding():
    account = Account()

    def add_up(number):
        account.total += number
        account.count += 1
        return account.total

    def positive(number):
        if number <= 0:
            raise ApplicationError(f"{number} is not", type="Negative")

    workflow.set_update_handler("add", add_up, validator=positive)
    return account


async def updates(_, account):
    await account.closed()
    return account.total


async def updates_changed(_, account):
    await asyncio.sleep(0.001)
    await account.closed()


def working(before=None):
    account = Account()

    async def work(given):
        if before:
            await before()
        result = await act("Echo", given)
        await asyncio.sleep(0.005)
        account.count += 1
        return result

    workflow.set_update_handler("work", work)
    return account


async def update_async(_, account):
    await account.closed()
    return account.count


add("Updates", updates, adding)
add("UpdateAsync", update_async, working)


@flow
async def Queries(given):
    total = 1
    workflow.set_query_handler("sum", lambda: total)
    await act("Echo", given)
    total = 2
    await asyncio.sleep(0.03)
    total = 3
    return total


# --- chains of runs


@flow
async def Countdown(left):
    word = inbox("word")
    await act("Echo", left)
    if left > 0:
        workflow.upsert_memo({"left": left - 1})
        workflow.continue_as_new(left - 1)
    return [await word(), workflow.memo()]


@flow
async def Persist(given):
    before = workflow.get_last_failure()
    attempt = workflow.info().attempt
    await act("Echo", given)
    if attempt < 3:
        raise ApplicationError(f"attempt {attempt}", type="NotYet")
    return [attempt, str(before)]


add("Tick", lambda given: act("Echo", given))
add("Replaced", lambda given: act("Echo", given))


@flow
async def Oversleep(given):
    if given == 0:
        workflow.continue_as_new(1)
    await asyncio.sleep(600)


@flow
async def Late(given):
    word = await inbox("word")()
    await act("Echo", given)
    return word


@flow
async def Greeted(given):
    hello = inbox("hello")
    words = [await hello(), await hello()]
    await act("Echo", given)
    return words


@flow
async def Paused(given):
    word = await inbox("word")()
    await act("Echo", given)
    return word


@flow
async def Regret(given):
    await act("Echo", given)
    return await act("Undo")


# --- patches, search attributes, much


@flow
async def Patched(given):
    if workflow.patched("check-stock"):
        await act("Echo", "stock")
    return await act("Echo", given)


@flow
async def Deprecated(given):
    workflow.deprecate_patch("check-stock")
    await act("Echo", "stock")
    return await act("Echo", given)


@flow
async def Found(given):
    workflow.upsert_search_attributes({"Stage": ["begun"], "Amount": [3]})
    workflow.upsert_memo({"note": "looking"})
    await act("Echo", given)
    workflow.upsert_search_attributes({"Stage": ["done"], "Amount": []})
    return {"Stage": "done"}


add("Large", lambda _: act("Echo", "x" * 20000))


async def many(count):
    result = None
    for i in range(count):
        if i % 5 == 4:
            await asyncio.sleep(0.001)
        else:
            result = await act("Echo", i)
    return result


add("Many", lambda _: many(60))


@flow
async def Wide(given):
    for _ in range(34):
        await asyncio.gather(*[act("Echo", given) for _ in range(50)])
    return 1700


@flow
async def Huge(_):
    return len(await act("Echo", "y" * 1900000)) == 1900000


@flow
async def Poked(given):
    poked = inbox("poke")
    await local("Poke", given)
    return await act("Echo", await poked())


# --- children


add("ChildEcho", lambda given: act("Echo", given))


@flow
async def ChildBroken(_):
    raise ApplicationError("it broke", type="Broken", non_retryable=True)


@flow
async def ChildWaits(_):
    go = inbox("go")
    parent = workflow.get_external_workflow_handle(workflow.info().parent.workflow_id)
    await parent.signal("ready")
    return await go()


add("ChildNaps", lambda _: asyncio.sleep(0.02))


@flow
async def ChildRetried(given):
    if workflow.info().attempt == 1:
        raise ApplicationError("once more", type="NotYet")
    return given


def child(name, given=None, **options):
    return workflow.execute_child_workflow(name, given, **options)


async def told(promise):
    try:
        return await promise
    except ChildWorkflowError as error:
        return getattr(error.__cause__, "type", None) or type(error.__cause__).__name__
    except WorkflowAlreadyStartedError as error:
        return type(error).__name__


add("ChildComplete", lambda given: child("ChildEcho", given, id="child-complete-kid"))
add("ChildFail", lambda _: told(child("ChildBroken", id="child-fail-kid")))
add("ChildExists", lambda _: told(child("ChildEcho", id=workflow.info().workflow_id)))
add("ChildRetry", lambda given: child(
    "ChildRetried", given, id="child-retry-kid",
    retry_policy=RetryPolicy(initial_interval=ms(10), maximum_attempts=3)))
add("ChildTerminated", lambda _: told(child("ChildWaits", id="child-terminated-kid")))


async def cancels_child(name, how):
    ready = inbox("ready")
    kid = await workflow.start_child_workflow(
        name, id=f"{workflow.info().workflow_id}-kid", cancellation_type=how,
        parent_close_policy=Close.ABANDON)
    if how != ChildHow.ABANDON:
        await ready()
    kid.cancel()
    ended = "cancelled" if is_cancelled_exception(await swallow(kid)) else "not cancelled"
    return await act("Echo", ended)


add("ChildCancelTry", lambda _: cancels_child("ChildWaits", ChildHow.TRY_CANCEL))
add("ChildCancelWait",
    lambda _: cancels_child("ChildWaits", ChildHow.WAIT_CANCELLATION_COMPLETED))
add("ChildCancelAbandon", lambda _: cancels_child("ChildNaps", ChildHow.ABANDON))


async def leaves(name, policy):
    ready = inbox("ready")
    await workflow.start_child_workflow(name, id=f"{workflow.info().workflow_id}-kid",
                                        parent_close_policy=policy)
    if policy != Close.ABANDON:
        await ready()


add("ParentCloseTerminate", lambda _: leaves("ChildWaits", Close.TERMINATE))
add("ParentCloseAbandon", lambda _: leaves("ChildNaps", Close.ABANDON))
add("ParentCloseCancel", lambda _: leaves("ChildWaits", Close.REQUEST_CANCEL))


# --- requests between runs


def other(workflow_id):
    return workflow.get_external_workflow_handle(workflow_id)


add("ExternalTarget", lambda _: inbox("hello")())
add("ExternalSleeper", lambda _: asyncio.sleep(3600))
add("ExternalSignal", lambda given: other("external-signal-target").signal("hello", given))
add("ExternalCancel", lambda _: other("external-cancel-target").cancel())


@flow
async def ExternalNobody(_):
    nobody = other("external-nobody-there")
    ends = await asyncio.gather(nobody.signal("hello"), nobody.cancel(), return_exceptions=True)
    return [type(end).__name__ for end in ends]


@flow
async def ChildSignal(given):
    kid = await workflow.start_child_workflow("ExternalTarget", id="child-signal-kid")
    await kid.signal("hello", given)
    return await kid


# --- the changed twins: as small a change as Core can notice, else another activity


async def unpatched(given):
    return await act("Echo", given)


async def sleeps_first(given):
    await asyncio.sleep(0.001)
    return given


async def timers_changed(_):
    late = asyncio.create_task(asyncio.sleep(600))
    await asyncio.sleep(0.02)
    await act("Echo", 10)
    await late


def elsewhere(_):
    return act("Another")


CHANGED = {
    "Sequence": sequence_changed,
    "Parallel": lambda _: parallel(2),
    "Retried": sleeps_first,
    "Compensated": lambda _: act("Broken"),
    "StartToClose": lambda _: act("Linger"),
    "TryCancel": lambda _: cancels(How.ABANDON),
    "WaitCancel": lambda _: cancels(How.ABANDON),
    "Abandon": lambda _: cancels(How.TRY_CANCEL),
    "Timers": timers_changed,
    "Signals": lambda _: signals(lambda: act("Echo", 0)),
    "Coroutines": lambda _: steps(["left"]),
    "Clean": unpatched,
    "Patched": unpatched,
    "Deprecated": sleeps_first,
    "Many": lambda _: many(59),
    "Failing": unpatched,
}
for name in list(FLOWS):
    add(f"{name}Changed", CHANGED.get(name, elsewhere))
add("UpdatesChanged", updates_changed, adding)
add("UpdateAsyncChanged", update_async, lambda: working(lambda: asyncio.sleep(0.005)))
