// dbos_postgres.mjs - the peers' loads on DBOS for TypeScript with PostgreSQL.
//
// Usage: node dbos_postgres.mjs RUNS STEPS BYTES seq|par   (PEER_ADDRESS: a PostgreSQL URL). Prints
// "STEPS SECONDS" of the second of two rounds. A step is a DBOS step whose result of BYTES
// characters is recorded before the workflow goes on.
import { createRequire } from 'node:module';

const require = createRequire(process.env.PEER_MODULES + '/');
const { DBOS } = require('@dbos-inc/dbos-sdk');
const [runs, steps, bytes] = process.argv.slice(2, 5).map(Number);
const isParallel = process.argv[5] === 'par';
const payload = 'x'.repeat(bytes);
const echo = async () => payload;

const work = DBOS.registerWorkflow(
  async (count) => {
    if (isParallel) {
      await Promise.all(Array.from({ length: count }, () => DBOS.runStep(echo, { name: 'echo' })));
    } else {
      for (let i = 0; i < count; i++) await DBOS.runStep(echo, { name: 'echo' });
    }
  },
  { name: 'steps' },
);

async function round() {
  const begin = process.hrtime.bigint();
  const handles = [];
  for (let i = 0; i < runs; i++) handles.push(await DBOS.startWorkflow(work)(steps));
  for (const handle of handles) await handle.getResult();
  return Number(process.hrtime.bigint() - begin) / 1e9;
}

DBOS.setConfig({
  name: 'peers',
  systemDatabaseUrl: process.env.PEER_ADDRESS,
  runAdminServer: false,
  logLevel: 'error',
});
await DBOS.launch();
await round();
console.log(`${runs * steps} ${(await round()).toFixed(6)}`);
process.exit(0);
