// talk.js - the JavaScript equivalents of scenarios of updates, queries, handlers of signals,
// conditions and channels. Beside each workflow stands its twin, changed in a way that Core must
// notice.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo } = wf.proxyActivities({ startToCloseTimeout: '10s' });

async function updates(pause) {
  let sum = 0;
  let count = 0;
  const validator = (n) => { if (!(n > 0)) throw wf.ApplicationFailure.nonRetryable('no', 'Negative'); };
  wf.setHandler(wf.defineUpdate('add'), (n) => {
    sum += n;
    count += 1;
    return sum;
  }, { validator });
  await pause();
  await wf.condition(() => count >= 1 && wf.allHandlersFinished());
  return sum;
}
exports.Updates = () => updates(async () => {});
exports.UpdatesChanged = () => updates(() => wf.sleep(1));

async function updateAsync(before) {
  let count = 0;
  wf.setHandler(wf.defineUpdate('work'), async (input) => {
    await before();
    const result = await Echo(input);
    await wf.sleep(5);
    count += 1;
    return result;
  });
  await wf.condition(() => count >= 1 && wf.allHandlersFinished());
  return count;
}
exports.UpdateAsync = () => updateAsync(async () => {});
exports.UpdateAsyncChanged = () => updateAsync(() => wf.sleep(5));

exports.Queries = async (input) => {
  let sum = 1;
  wf.setHandler(wf.defineQuery('sum'), () => sum);
  await Echo(input);
  sum = 2;
  await wf.sleep(30);
  sum = 3;
  return sum;
};
exports.QueriesChanged = () => wf.sleep(30);

async function signalHandler(work) {
  let words = 0;
  wf.setHandler(wf.defineSignal('word'), async (input) => {
    if (input.slow) await work(input);
    words += 1;
  });
  await wf.condition(() => words >= 2 && wf.allHandlersFinished());
  return words;
}
exports.SignalHandler = () => signalHandler((input) => Echo(input));
exports.SignalHandlerChanged = () => signalHandler(async () => {});

async function conditions(limit) {
  let count = 0;
  const work = async () => {
    await Echo('c');
    count += 1;
  };
  const reached = limit ? wf.condition(() => count >= 1, limit) : wf.condition(() => count >= 1);
  work(); // as a coroutine does, behind what its maker asked for before it blocked
  const first = await reached;
  const second = await wf.condition(() => count >= 2, 5);
  return [first === false ? -3 : 0, second ? 0 : -3];
}
exports.Conditions = () => conditions('10m');
exports.ConditionsChanged = () => conditions(0);

async function channels(pause) {
  const taken = [];
  const producer = async () => {
    taken.push(await Echo('first'));
    await pause();
    taken.push('second');
  };
  producer();
  await wf.condition(() => taken.length >= 2);
  return taken;
}
exports.Channels = () => channels(() => wf.sleep(5));
exports.ChannelsChanged = () => channels(async () => {});
