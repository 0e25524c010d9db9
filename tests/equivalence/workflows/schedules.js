// schedules.js - the JavaScript equivalent of the workflow that tests/scenario/schedules.c starts by
// a schedule.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo } = wf.proxyActivities({ startToCloseTimeout: '10s' });

exports.Clean = async (input) => {
  await wf.sleep(10);
  return Echo(input);
};
exports.CleanChanged = (input) => Echo(input);
