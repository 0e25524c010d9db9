// recorded.js - what a run records of itself: patches, memo, search attributes; and, to see Core
// refuse them, the markers that only Go knows.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo } = wf.proxyActivities({ startToCloseTimeout: '10s' });

exports.Version = async (input) => {
  await Echo(input);
  return Echo('two');
};
exports.SideEffect = async () => {
  wf.upsertMemo({ picked: 42 });
  return Echo(42);
};
