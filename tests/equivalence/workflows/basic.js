// basic.js - the JavaScript equivalents of scenarios of activities, timers, signals, cancellation.
// Beside each workflow stands its twin, changed in a way that Core must notice.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo, Other } = wf.proxyActivities({ startToCloseTimeout: '10s' });
const First = wf.proxyActivities({ startToCloseTimeout: '10s', activityId: '1' });

exports.Sequence = async (input) => Echo(await Echo(await Echo(input)));
exports.SequenceChanged = async (input) => Echo(await Echo(await Other(input)));

exports.Parallel = async () => {
  await Promise.all([Echo(0), Echo(1), Echo(2), Echo(3)]);
  return 'all';
};
exports.ParallelChanged = async () => {
  await Promise.all([Echo(0), Echo(1)]);
  return 'all';
};

// Cancelled before its first task. TypeScript counts the activity that was never sent, so the cleanup
// has an id of its own.
async function cleanup(input, undo) {
  try {
    const result = await Echo(input);
    await wf.sleep(100);
    return result;
  } catch (error) {
    if (wf.isCancellation(error)) await wf.CancellationScope.nonCancellable(undo);
    throw error;
  }
}
exports.Cleanup = (input) => cleanup(input, () => First.Echo('undo'));
exports.CleanupChanged = (input) => cleanup(input, () => wf.sleep(1));

// A late timer and an early one; the late one is cancelled when the early one fires.
async function timers(pause) {
  const scope = new wf.CancellationScope();
  const late = scope.run(() => wf.sleep('10m'));
  const first = await Promise.race([wf.sleep(20).then(() => 0), late.then(() => 1)]);
  scope.cancel();
  await late.catch(() => {});
  await pause();
  return first;
}
exports.Timers = () => timers(() => wf.sleep(10));
exports.TimersChanged = () => timers(() => Echo(10));

async function signals(last) {
  const words = [];
  wf.setHandler(wf.defineSignal('word'), (word) => { words.push(word); });
  await wf.condition(() => words.length >= 2);
  await last();
  return words.slice(0, 2);
}
exports.Signals = () => signals(() => wf.condition(() => false, 5));
exports.SignalsChanged = () => signals(() => Echo(0));

async function steps(words) {
  for (const word of words) {
    await Echo(word);
    await wf.sleep(2);
  }
  return words.at(-1);
}
exports.Coroutines = () => steps(['left', 'right']);
exports.CoroutinesChanged = () => steps(['left']);

exports.Clean = async (input) => {
  await wf.sleep(10);
  return Echo(input);
};
exports.CleanChanged = (input) => Echo(input);
