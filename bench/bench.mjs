// @ts-check
//
// npm run bench                        everything, half an hour
// npm run bench -- --seconds 1 --rounds 1 --orders 100000 --created 10000
//
// --seconds N    how long each single measurement lasts (3)
// --rounds N     how often each is repeated; what is printed are medians (3)
// --orders N     orders, and ledger entries of a wallet, in the large tables (1000000); 0 leaves those tables out
// --created N    orders that one process creates while its memory is measured (200000); 0 leaves that out
// --only a,b     of: operations, floor, reads, size, endurance, cluster
// --json FILE    where the figures go (bench/results.json)
// --no-build     takes `dist/` as it is
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { run } from '../tools/support/processes.mjs';
import { watchParent } from '../tools/support/parent.mjs';
import { Lab, PRODUCTION_COMMAND, PROJECT } from './lab.mjs';
import { measureCluster } from './parts/cluster.mjs';
import { measureEndurance } from './parts/endurance.mjs';
import { measureFloor } from './parts/floor.mjs';
import { measureOperations } from './parts/operations.mjs';
import { measureReads } from './parts/reads.mjs';
import { measureSize } from './parts/size.mjs';

/** In the order in which they run. Counting statements needs a server that does nothing else, so that part is first. */
const PARTS = {
  operations: measureOperations,
  floor: measureFloor,
  reads: measureReads,
  size: measureSize,
  endurance: measureEndurance,
  cluster: measureCluster,
};

/** @typedef {{ seconds: number, rounds: number, orders: number, created: number }} Plan */

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    orders: { type: 'string', default: '1000000' },
    created: { type: 'string', default: '200000' },
    only: { type: 'string', default: Object.keys(PARTS).join(',') },
    json: { type: 'string', default: path.join(PROJECT, 'bench/results.json') },
    'no-build': { type: 'boolean', default: false },
  },
});

/** @param {string} line */
function say(line) {
  console.log(`[bench] ${line}`);
}

/** @param {'seconds' | 'rounds' | 'orders' | 'created'} name @param {number} least */
function wholeNumber(name, least) {
  const number = Number(values[name]);
  if (!Number.isInteger(number) || number < least) throw new Error(`--${name} must be a whole number from ${least}`);
  return number;
}

async function build() {
  say('Building');
  const cli = path.join(PROJECT, 'node_modules/@nestjs/cli/bin/nest.js');
  const { ok, output } = await run(process.execPath, [cli, 'build'], { timeoutMs: 300_000 });
  if (!ok) throw new Error(`the build failed:\n${output}`);
}

/** @param {Lab} lab */
async function bench(lab) {
  /** @type {Plan} */
  const plan = {
    seconds: wholeNumber('seconds', 1),
    rounds: wholeNumber('rounds', 1),
    orders: wholeNumber('orders', 0),
    created: wholeNumber('created', 0),
  };
  const wanted = values.only.split(',');
  const unknown = wanted.filter((name) => !(name in PARTS));
  if (unknown.length > 0) throw new Error(`--only knows ${Object.keys(PARTS).join(', ')}; not ${unknown.join(', ')}`);
  process.chdir(PROJECT);
  if (!values['no-build']) await build();
  await lab.open();
  const machine = {
    cores: availableParallelism(),
    processor: cpus()[0]?.model,
    load: loadavg(),
    node: process.version,
  };
  /** @type {Record<string, unknown>} */
  const results = {
    at: new Date().toISOString(),
    machine,
    database: lab.database,
    production: PRODUCTION_COMMAND,
    plan,
  };
  say(
    `${machine.cores} cores for the service, its database and the load generator together; load average ${machine.load[0]?.toFixed(1)}`,
  );
  for (const [name, measure] of Object.entries(PARTS)) {
    if (!wanted.includes(name)) continue;
    results[name] = await measure(lab, plan);
    // After every part, so that one that fails does not take the others with it.
    writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
  }
  say(`The figures are in ${values.json}`);
}

const lab = new Lab(say);
let interrupted = false;

/** The servers have sessions of their own, so Ctrl-C reaches only us: they are ended in order, and then we end. */
function interrupt() {
  if (interrupted) return;
  interrupted = true;
  say('Interrupted: ending what was started');
  void lab.close().finally(() => process.exit(130));
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) process.on(signal, interrupt);
watchParent(interrupt);

try {
  await bench(lab);
} catch (error) {
  if (!interrupted) console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  await lab.close();
}
