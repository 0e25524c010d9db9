// worker.js - the workflows of workflows/, served by Temporal's TypeScript SDK on a Temporal server.
//
// Usage: node worker.js ADDRESS NAMESPACE      (from a directory where `npm ci` has put the packages)
// Owns: a worker of the task queue "default" for workflows, with the local activities that they run;
// all others are served by tests/equivalence/python/play.py. Says "serving", and serves until it is
// told to stop by SIGTERM. Must not: know any workflow.
'use strict';
const { NativeConnection, Runtime, Worker } = require('@temporalio/worker');
const { Context } = require('@temporalio/activity');
const { ApplicationFailure } = require('@temporalio/common');
const { Client } = require('@temporalio/client');

const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };
let counted = 0;
let client;

const activities = {
  Echo: async (input) => input,
  Hurried: async (input) => {
    if (Context.current().info.attempt < 3) {
      throw ApplicationFailure.create({ type: 'Hurried', message: 'too early' });
    }
    return input;
  },
  Endless: () => Context.current().cancelled,
  Refuse: async () => { throw ApplicationFailure.nonRetryable('never', 'Refused'); },
  Poke: (input) => client.workflow
    .getHandle(Context.current().info.workflowExecution.workflowId).signal('poke', input),
  Count: async () => { counted += 1; return counted; },
  Miscount: async () => { throw ApplicationFailure.nonRetryable('taken back', 'Miscount'); },
};

async function main(address, namespace) {
  Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'OFF' } } });
  const connection = await NativeConnection.connect({ address });
  client = new Client({ connection, namespace });
  const worker = await Worker.create({
    connection, namespace, taskQueue: 'default', activities,
    workflowsPath: require.resolve('./workflows/index.js'),
    enableNonLocalActivities: false,
    bundlerOptions: { logger: quiet },
  });
  console.log('serving');
  await worker.run();
}

main(...process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(1);
});
