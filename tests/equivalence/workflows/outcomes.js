// outcomes.js - the JavaScript equivalents of scenarios of activities with details, final failures,
// tokens and priorities; of local activities, and of transactions, which to Core are the same.
'use strict';
const wf = require('@temporalio/workflow');
const { ActivityCancellationType: How } = wf;
const acts = wf.proxyActivities({ startToCloseTimeout: '10s' });
const locals = wf.proxyLocalActivities({ startToCloseTimeout: '10s' });
const hurried = wf.proxyLocalActivities({
  startToCloseTimeout: '10s', retry: { initialInterval: 1 },
});
const patient = wf.proxyLocalActivities({
  startToCloseTimeout: '10s', localRetryThreshold: 1,
  retry: { initialInterval: 10, backoffCoefficient: 1 },
});
const noted = wf.proxyActivities({
  startToCloseTimeout: '10s', heartbeatTimeout: '5s', retry: { initialInterval: 1 },
});
const final = wf.proxyActivities({
  startToCloseTimeout: '10s', retry: { nonRetryableErrorTypes: ['CardDeclined'] },
});
const limited = wf.proxyActivities({ startToCloseTimeout: '10s', taskQueue: 'limited' });

// The type or time-out behind a failure.
async function endOf(promise) {
  try {
    return await promise;
  } catch (error) {
    // Core gives the failure of a local activity as it is, that of another one wrapped.
    if (error instanceof wf.ApplicationFailure) return error.type;
    if (!(error instanceof wf.ActivityFailure)) throw error;
    return error.cause.type || 'timeout';
  }
}

exports.NoteFlow = (input) => noted.Note(input);
exports.Final = (input) => endOf(final.Declined(input));
exports.Approval = (input) => acts.Ask(input);
exports.Ranked = async (input) => limited.Echo(await acts.Echo(input));

async function stopAfter(begin) {
  const scope = new wf.CancellationScope();
  const end = scope.run(begin).then(() => 'other', () => 'cancelled');
  await wf.sleep(10);
  scope.cancel();
  return end;
}
exports.Locals = async (input) => {
  let step = await locals.Echo(input);
  step = await locals.Echo(step);
  await wf.sleep(1);
  step = await acts.Echo(step);
  step = await hurried.Hurried(step);
  return endOf(locals.Refuse(step));
};
exports.Patient = (input) => patient.Hurried(input);
const tried = wf.proxyLocalActivities({
  startToCloseTimeout: '60s',
  cancellationType: How.TRY_CANCEL,
});
exports.Stopped = (input) => stopAfter(() => tried.Endless(input));

exports.Counting = async (input) => {
  for (let i = 0; i < 3; i++) {
    await locals.Count(input);
    await wf.sleep(1);
  }
  await endOf(locals.Miscount(input));
  return locals.Count(input);
};

for (const type of Object.keys(exports)) {
  exports[`${type}Changed`] = (input) => acts.Other(input);
}
