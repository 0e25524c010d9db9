// restate.mjs - the peers' loads on a Restate server: the service, or the load.
//
// Usage: node restate.mjs serve                     the service at PEER_SERVICE_PORT
//        node restate.mjs RUNS STEPS BYTES seq|par  the load; PEER_ADDRESS is the ingress URL
// The load prints "STEPS SECONDS" of the second of two rounds. A step is a ctx.run whose result of
// BYTES characters the server has stored before the handler goes on.
import { createRequire } from 'node:module';

Promise.withResolvers ??= function () { // the SDK expects a newer Node
  let resolve, reject;
  const promise = new Promise((a, b) => { resolve = a; reject = b; });
  return { promise, resolve, reject };
};
const require = createRequire(process.env.PEER_MODULES + '/');

async function serve() {
  const restate = require('@restatedev/restate-sdk');
  const service = restate.service({
    name: 'Bench',
    handlers: {
      steps: async (ctx, { steps, bytes, parallel }) => {
        const echo = () => 'x'.repeat(bytes);
        if (parallel) {
          await restate.RestatePromise.all(
            Array.from({ length: steps }, () => ctx.run('echo', echo)));
        } else {
          for (let i = 0; i < steps; i++) await ctx.run('echo', echo);
        }
        return null;
      },
    },
  });
  await restate.serve({ services: [service], port: Number(process.env.PEER_SERVICE_PORT) });
}

async function load(runs, steps, bytes, parallel) {
  const call = async () => {
    const answer = await fetch(`${process.env.PEER_ADDRESS}/Bench/steps`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ steps, bytes, parallel }),
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    await answer.text();
  };
  const round = async () => {
    const begin = process.hrtime.bigint();
    await Promise.all(Array.from({ length: runs }, call));
    return Number(process.hrtime.bigint() - begin) / 1e9;
  };
  await round();
  console.log(`${runs * steps} ${(await round()).toFixed(6)}`);
}

if (process.argv[2] === 'serve') {
  await serve();
} else {
  const [runs, steps, bytes] = process.argv.slice(2, 5).map(Number);
  await load(runs, steps, bytes, process.argv[5] === 'par');
}
