// attempts.js - how activities and runs fail, and how activities are cancelled.
'use strict';
const wf = require('@temporalio/workflow');
const options = {
  startToCloseTimeout: '10s', retry: { initialInterval: 1, maximumInterval: 4 },
};
const { Echo, Flaky, Broken, Linger } = wf.proxyActivities(options);
const { Counting } = wf.proxyActivities({
  ...options, startToCloseTimeout: '1m', heartbeatTimeout: 20,
});
const once = wf.proxyActivities({ startToCloseTimeout: 20, retry: { maximumAttempts: 1 } });
const twice = wf.proxyActivities({
  startToCloseTimeout: 15, scheduleToCloseTimeout: 40, retry: { initialInterval: '1m' },
});
const narrow = wf.proxyActivities({
  startToCloseTimeout: '1m', taskQueue: 'narrow', heartbeatTimeout: '5s',
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});
const hasty = wf.proxyActivities({ ...options, taskQueue: 'narrow', scheduleToStartTimeout: 20 });

// The twin of all: it sleeps first.
async function sleepsFirst(input) {
  await wf.sleep(1);
  return input;
}

exports.Retried = (input) => Flaky(input);
exports.RetriedChanged = sleepsFirst;
exports.Heartbeat = (input) => Counting(input);
exports.HeartbeatChanged = sleepsFirst;

// A failed step: another one instead, given the innermost reason.
async function instead(step) {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof wf.ActivityFailure)) throw error;
    let why = error;
    while (why.cause) why = why.cause;
    return Echo(why instanceof wf.TimeoutFailure ? why.timeoutType : why.type);
  }
}
exports.Compensated = () => instead(() => Broken(null));
exports.CompensatedChanged = () => Broken(null);
exports.StartToClose = () => instead(() => once.Linger(null));
exports.StartToCloseChanged = () => Linger(null);
exports.ScheduleToClose = () => instead(() => twice.Linger(null));
exports.ScheduleToCloseChanged = sleepsFirst;

exports.ScheduleToStart = async () => {
  const scope = new wf.CancellationScope();
  const holder = scope.run(() => narrow.Linger(null)).catch(() => {});
  await wf.sleep(50); // so that it is the first in line
  return instead(async () => {
    try {
      return await hasty.Echo(null);
    } finally {
      scope.cancel();
      await holder;
    }
  });
};
exports.ScheduleToStartChanged = () => instead(() => Echo(null));

exports.Failing = async () => {
  await Echo(null);
  throw wf.ApplicationFailure.nonRetryable('no parcel after 14 days', 'TooLate');
};
exports.FailingChanged = () => Echo(null);
exports.FailingThrough = () => Broken(null);
exports.FailingThroughChanged = () => instead(() => Broken(null));

// Waits a moment, then cancels its activity; then one more step.
async function cancels(cancellationType) {
  const scope = new wf.CancellationScope();
  const work = wf.proxyActivities({
    ...options, cancellationType, heartbeatTimeout: '5s',
  });
  const done = scope.run(() => work.Linger('work')).catch((error) => {
    if (!wf.isCancellation(error)) throw error;
  });
  await wf.sleep(10);
  scope.cancel();
  await done;
  return Echo('after');
}
const { TRY_CANCEL, WAIT_CANCELLATION_COMPLETED, ABANDON } = wf.ActivityCancellationType;
exports.TryCancel = () => cancels(TRY_CANCEL);
exports.TryCancelChanged = () => cancels(ABANDON);
exports.WaitCancel = () => cancels(WAIT_CANCELLATION_COMPLETED);
exports.WaitCancelChanged = () => cancels(ABANDON);
exports.Abandon = () => cancels(ABANDON);
exports.AbandonChanged = () => cancels(TRY_CANCEL);
