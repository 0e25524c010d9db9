// changes.js - patches, search attributes and memo, much data.
'use strict';
const wf = require('@temporalio/workflow');
const { Echo, Other } = wf.proxyActivities({ startToCloseTimeout: '10s' });

exports.Patched = async (input) => {
  if (wf.patched('check-stock')) await Echo('stock');
  return Echo(input);
};
exports.PatchedChanged = (input) => Echo(input);

exports.Deprecated = async (input) => {
  wf.deprecatePatch('check-stock');
  await Echo('stock');
  return Echo(input);
};
exports.DeprecatedChanged = async (input) => Echo(await wf.sleep(1).then(() => input));

exports.Found = async (input) => {
  wf.upsertSearchAttributes({ Stage: ['begun'], Amount: [3] });
  wf.upsertMemo({ note: 'looking' });
  await Echo(input);
  wf.upsertSearchAttributes({ Stage: ['done'], Amount: [] });
  return { Stage: 'done' };
};
exports.FoundChanged = async (input) => {
  wf.upsertMemo({ note: 'looking' });
  return Echo(input);
};

exports.Mutable = async (input) => {
  for (let i = 0; i < 4; i += 1) await Echo(input);
  return ['old', 'old', 'new', 'new'];
};

exports.Large = () => Echo('x'.repeat(20000));
exports.LargeChanged = () => Other('x'.repeat(20000));

async function steps(count) {
  let result;
  for (let i = 0; i < count; i += 1) {
    if (i % 5 === 4) await wf.sleep(1);
    else result = await Echo(i);
  }
  return result;
}
exports.Many = () => steps(60);
exports.ManyChanged = () => steps(59);

exports.Wide = async (input) => {
  for (let round = 0; round < 34; round += 1) {
    await Promise.all(Array.from({ length: 50 }, () => Echo(input)));
  }
  return 1700;
};
exports.WideChanged = (input) => Other(input);
exports.Huge = () => Echo('y'.repeat(1900000));
exports.HugeChanged = () => Other('y');

const { Poke } = wf.proxyLocalActivities({ startToCloseTimeout: '10s' });
exports.Poked = async (input) => {
  let poked;
  wf.setHandler(wf.defineSignal('poke'), (given) => { poked = given; });
  await Poke(input);
  await wf.condition(() => poked !== undefined);
  await Echo(poked);
  return poked;
};
exports.PokedChanged = (input) => Other(input);
