// children.js - the JavaScript equivalents of scenarios of child workflows, and of requests between
// runs. Beside each workflow stands its twin, changed in a way that Core must notice.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo, Other } = wf.proxyActivities({ startToCloseTimeout: '10s' });

const elsewhere = () => Echo('elsewhere'); // asks for an activity where a child or a request was asked

async function waitFor(signal) {
  let input;
  let done = false;
  wf.setHandler(wf.defineSignal(signal), (given) => { input = given; done = true; });
  await wf.condition(() => done);
  return input;
}

// --- the children themselves

exports.ChildEcho = (input) => Echo(input);
exports.ChildEchoChanged = (input) => Other(input);
exports.ChildBroken = async () => {
  throw wf.ApplicationFailure.nonRetryable('it broke', 'Broken');
};
exports.ChildBrokenChanged = elsewhere;
exports.ChildWaits = async () => {
  await wf.getExternalWorkflowHandle(wf.workflowInfo().parent.workflowId).signal('ready');
  return waitFor('go');
};
exports.ChildWaitsChanged = elsewhere;
exports.ChildNaps = () => wf.sleep(20);
exports.ChildNapsChanged = elsewhere;
exports.ChildRetried = async (input) => {
  if (wf.workflowInfo().attempt === 1) throw wf.ApplicationFailure.create({ type: 'NotYet' });
  return input;
};
exports.ChildRetriedChanged = elsewhere;

// --- their ends

async function told(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error instanceof wf.ChildWorkflowFailure && !wf.isCancellation(error)) {
      return error.cause.type || error.cause.name;
    }
    if (error.name === 'WorkflowExecutionAlreadyStartedError') return error.name;
    throw error;
  }
}

exports.ChildComplete = (input) =>
  wf.executeChild('ChildEcho', { workflowId: 'child-complete-kid', args: [input] });
exports.ChildCompleteChanged = elsewhere;
exports.ChildFail = () =>
  told(wf.executeChild('ChildBroken', { workflowId: 'child-fail-kid' }));
exports.ChildFailChanged = elsewhere;
exports.ChildExists = () =>
  told(wf.executeChild('ChildEcho', { workflowId: wf.workflowInfo().workflowId }));
exports.ChildExistsChanged = elsewhere;
exports.ChildRetry = (input) =>
  wf.executeChild('ChildRetried', {
    workflowId: 'child-retry-kid', args: [input], retry: { initialInterval: 10, maximumAttempts: 3 },
  });
exports.ChildRetryChanged = elsewhere;
exports.ChildTerminated = () =>
  told(wf.executeChild('ChildWaits', { workflowId: 'child-terminated-kid' }));
exports.ChildTerminatedChanged = elsewhere;

// --- cancelled by the parent

function cancels(type, cancellationType) {
  return async () => {
    const scope = new wf.CancellationScope();
    const child = await scope.run(() => wf.startChild(type, {
      workflowId: `${wf.workflowInfo().workflowId}-kid`, cancellationType,
      parentClosePolicy: 'ABANDON',
    }));
    if (cancellationType !== 'ABANDON') await waitFor('ready');
    scope.cancel();
    const end = await child.result().then(() => 'not cancelled', (error) => {
      if (wf.isCancellation(error)) return 'cancelled';
      throw error;
    });
    return Echo(end);
  };
}
exports.ChildCancelTry = cancels('ChildWaits', 'TRY_CANCEL');
exports.ChildCancelTryChanged = elsewhere;
exports.ChildCancelWait = cancels('ChildWaits', 'WAIT_CANCELLATION_COMPLETED');
exports.ChildCancelWaitChanged = elsewhere;
exports.ChildCancelAbandon = cancels('ChildNaps', 'ABANDON');
exports.ChildCancelAbandonChanged = elsewhere;

// --- left behind

function leaves(type, parentClosePolicy) {
  return async () => {
    await wf.startChild(type, {
      workflowId: `${wf.workflowInfo().workflowId}-kid`, parentClosePolicy,
    });
    if (parentClosePolicy !== 'ABANDON') await waitFor('ready');
  };
}
exports.ParentCloseTerminate = leaves('ChildWaits', 'TERMINATE');
exports.ParentCloseTerminateChanged = elsewhere;
exports.ParentCloseAbandon = leaves('ChildNaps', 'ABANDON');
exports.ParentCloseAbandonChanged = elsewhere;
exports.ParentCloseCancel = leaves('ChildWaits', 'REQUEST_CANCEL');
exports.ParentCloseCancelChanged = elsewhere;

// --- requests between runs

exports.ExternalTarget = () => waitFor('hello');
exports.ExternalTargetChanged = elsewhere;
exports.ExternalSleeper = () => wf.sleep('1h');
exports.ExternalSleeperChanged = elsewhere;
exports.ExternalSignal = (input) =>
  wf.getExternalWorkflowHandle('external-signal-target').signal('hello', input);
exports.ExternalSignalChanged = elsewhere;
exports.ExternalCancel = () => wf.getExternalWorkflowHandle('external-cancel-target').cancel();
exports.ExternalCancelChanged = elsewhere;
exports.ExternalNobody = async () => {
  const nobody = wf.getExternalWorkflowHandle('external-nobody-there');
  const answers = await Promise.allSettled([nobody.signal('hello'), nobody.cancel()]);
  return answers.map((answer) => answer.status);
};
exports.ExternalNobodyChanged = elsewhere;
exports.ChildSignal = async (input) => {
  const child = await wf.startChild('ExternalTarget', { workflowId: 'child-signal-kid' });
  await child.signal('hello', input);
  return child.result();
};
exports.ChildSignalChanged = elsewhere;
