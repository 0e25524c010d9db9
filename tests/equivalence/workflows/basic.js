// basic.js - the JavaScript equivalents of scenarios that need nothing but activities, timers and
// signals. Beside each workflow stands its twin, changed in one place that Core must notice.
'use strict';
const wf = require('@temporalio/workflow');
const { greet } = wf.proxyActivities({ startToCloseTimeout: '10s' });
const go = wf.defineSignal('go');

async function demoWith(first, name) {
  let told = false;
  wf.setHandler(go, () => { told = true; });
  const greeting = await first(name);
  await wf.sleep('2s');
  await wf.condition(() => told);
  return greeting;
}
exports.demo = (name) => demoWith(greet, name);
exports.demoChanged = (name) => demoWith(() => wf.sleep('1s'), name);
