// chains.js - the JavaScript equivalents of scenarios of runs that follow each other, wait, pause and
// are taken back. Beside each workflow stands its twin, changed in a way that Core must notice.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo, Undo, Another } = wf.proxyActivities({ startToCloseTimeout: '10s' });

function inbox(name) {
  const all = [];
  wf.setHandler(wf.defineSignal(name), (word) => { all.push(word); });
  return async () => {
    await wf.condition(() => all.length > 0);
    return all.shift();
  };
}

const another = () => Another();

exports.Countdown = async (left) => {
  const word = inbox('word');
  await Echo(left);
  if (left > 0) {
    wf.upsertMemo({ left: left - 1 });
    await wf.continueAsNew(left - 1);
  }
  return [await word(), wf.workflowInfo().memo];
};
exports.CountdownChanged = another;

exports.Persist = async (input) => {
  const { attempt, lastFailure } = wf.workflowInfo();
  await Echo(input);
  if (attempt < 3) throw wf.ApplicationFailure.retryable(`attempt ${attempt}`, 'NotYet');
  return [attempt, lastFailure ? lastFailure.message : null];
};
exports.PersistChanged = another;

exports.Tick = (input) => Echo(input);
exports.TickChanged = another;

exports.Oversleep = async (input) => {
  if (input === 0) await wf.continueAsNew(1);
  await wf.sleep('10 minutes');
};
exports.OversleepChanged = another;

exports.Late = async (input) => {
  const word = inbox('word');
  const first = await word();
  await Echo(input);
  return first;
};
exports.LateChanged = another;

exports.Greeted = async (input) => {
  const hello = inbox('hello');
  const words = [await hello(), await hello()];
  await Echo(input);
  return words;
};
exports.GreetedChanged = another;

exports.Replaced = (input) => Echo(input);
exports.ReplacedChanged = another;

exports.Paused = async (input) => {
  const word = inbox('word');
  const first = await word();
  await Echo(input);
  return first;
};
exports.PausedChanged = another;

exports.Regret = async (input) => {
  await Echo(input);
  return Undo(null);
};
exports.RegretChanged = another;
