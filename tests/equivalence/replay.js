// replay.js - recorded histories against Temporal's own replayer, all in one process.
//
// Usage: node replay.js HISTORY.json...      (from a directory where `npm ci` has put the packages)
// Owns: for each history the question "does Core accept it with the equivalent workflow, and does it
// refuse it with the changed twin?", and the answers in TAP. Must not: know any workflow; those are
// in workflows/, one function per workflow type T, and its twin TChanged.
//
// foreign.json lists the histories (by their file's name) that Core cannot know, with the reason, and
// with the words that Core says of them (it must say them) or without (nothing can be asked).
// A history whose workflow nobody wrote in JavaScript yet is skipped, and said so.
'use strict';
const fs = require('fs');
const path = require('path');
const { Runtime, Worker, bundleWorkflowCode } = require('@temporalio/worker');

const PATIENCE_MS = 30000; // for one history; Core takes about 30 ms
const workflowsPath = require.resolve('./workflows/index.js');
const workflows = require(workflowsPath);
const foreign = require('./foreign.json');
const quiet = { log() {}, trace() {}, debug() {}, info() {}, warn() {}, error() {} };

let count = 0;
let failed = 0;

function judge(good, name, comment) {
  count += 1;
  failed += good ? 0 : 1;
  console.log(`${good ? 'ok' : 'not ok'} ${count} - ${name}`);
  for (const line of good ? [] : String(comment).split('\n')) console.log(`    # ${line}`);
}

function start(history) {
  return history.events[0].workflowExecutionStartedEventAttributes;
}

// The same history as one of another workflow type.
function retyped(history, type) {
  const copy = structuredClone(history);
  start(copy).workflowType.name = type;
  return copy;
}

// Core's words for code that does not fit: mostly its own error, and for a few commands that its
// state machines cannot take.
function isMismatch(error) {
  return error && (error.name === 'DeterminismViolationError' ||
    error.message.includes('says the transition is invalid during event'));
}

function verdict(error) {
  return error ? `${error.name}: ${String(error.message).replace(/\s+/g, ' ').slice(0, 400)}` : 'OK';
}

// What is to be asked: [{ name, history, wanted }], wanted being a judgement of Core's answer; one
// without a history is skipped, with its reason.
function questions(files) {
  const list = [];
  for (const file of files) {
    const name = path.basename(file, '.json');
    const history = JSON.parse(fs.readFileSync(file, 'utf8'));
    const type = start(history).workflowType.name;
    const twin = `${type}Changed`;
    const { why, says } = foreign[name] || {};
    if (why && !says) {
      list.push({ name, skip: why });
    } else if (typeof workflows[type] !== 'function') {
      list.push({ name, skip: `write ${type} in tests/equivalence/workflows` });
    } else if (why) {
      list.push({ name: `${name}: Core refuses it (${why})`, history,
        wanted: (error) => error && error.message.includes(says) });
    } else {
      list.push({ name: `${name}: Core accepts ${type}`, history, accepts: true,
        wanted: (error) => !error });
      list.push({ name: `${name}: Core refuses ${twin}`, history: retyped(history, twin),
        wanted: isMismatch });
    }
  }
  return list;
}

async function main(files) {
  Runtime.install({ logger: quiet, telemetryOptions: { logging: { filter: 'OFF' } } });
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: quiet });
  const list = questions(files);
  for (const { name, skip } of list.filter((question) => question.skip)) {
    count += 1;
    console.log(`ok ${count} - ${name} # SKIP ${skip}`);
  }
  let asked;
  let accepted = 0;
  const watchdog = setInterval(() => {
    if (asked && Date.now() - asked.at > PATIENCE_MS) {
      judge(false, asked.name, `no answer within ${PATIENCE_MS / 1000} s`);
      process.exit(1);
    }
  }, 1000);
  const histories = (async function* feed() {
    for (const question of list.filter((each) => each.history)) {
      asked = { ...question, at: Date.now() };
      yield { history: question.history, workflowId: start(question.history).workflowId };
    }
  })();
  for await (const answer of Worker.runReplayHistories({ workflowBundle }, histories)) {
    judge(asked.wanted(answer.error), asked.name, verdict(answer.error));
    accepted += asked.accepts && !answer.error ? 1 : 0;
  }
  clearInterval(watchdog);
  console.log(`# Core accepts the histories of ${accepted} runs`);
  judge(count === list.length, 'every question was answered', `${count} of ${list.length}`);
  console.log(`1..${count}`);
  process.exit(failed ? 1 : 0);
}

main(process.argv.slice(2)).catch((error) => {
  console.error(error);
  process.exit(2);
});
