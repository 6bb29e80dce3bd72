// @ts-check
//
// npm run bench                        everything up to `events`, half an hour
// npm run bench -- floor               POST /orders against a bare server: throughput and p99 at 1, 10, 50, 200 connections
// npm run bench -- lifecycle           creation, hold, completion and refund against that server, and one hot wallet
// npm run bench -- sales                sales in one request against those in two, at 1, 10, 50 connections
// npm run bench -- operations reads    each operation at 1, 10, 50 connections; reads against the size of the tables
// npm run bench -- events              the feed: changes, lag, webhooks, pages, what happens by date beside orders
// npm run bench -- large               reports and lists of a merchant with many orders, and what others notice
// npm run bench -- pace                sales at a steady rate, as their callers see them
//
// --seconds N    the length of each measurement (3)
// --rounds N     the number of measurements, of which the median is printed (3)
// --orders N     orders, and ledger entries of a wallet, in the large tables of `reads` and `large` (1000000); 0 leaves them out
// --minutes N    how long `pace` sells (20)
// --events N     events of the long feed, and of those to delete, in `events` (1000000)
// --wallets N    wallets whose cashback becomes available or expires at the same time in `events` (100000)
// --only NAMES   the operations that `lifecycle` measures, such as complete,refund (all)
// --json FILE    where the figures are written (bench/results.json)
// --no-build     uses `dist/` in its current state
import { writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { messageOf, onInterrupt, PROJECT, run } from '../tools/support/processes.mjs';
import { Lab, PRODUCTION_COMMAND } from './lab.mjs';
import { measureEvents } from './parts/events.mjs';
import { measureFloor } from './parts/floor.mjs';
import { measureLarge } from './parts/large.mjs';
import { measureLifecycle } from './parts/lifecycle.mjs';
import { measureOperations } from './parts/operations.mjs';
import { measurePace } from './parts/pace.mjs';
import { measureReads } from './parts/reads.mjs';
import { measureSales } from './parts/sales.mjs';

/** In the order in which they run. */
const PARTS = {
  operations: measureOperations,
  floor: measureFloor,
  lifecycle: measureLifecycle,
  sales: measureSales,
  reads: measureReads,
  events: measureEvents,
  large: measureLarge,
  pace: measurePace,
};

/** What takes long, and is measured only if it is asked for. */
const LONG = ['large', 'pace'];

/** @typedef {{ seconds: number, rounds: number, minutes: number, orders: number, events: number, wallets: number, only: string[] }} Plan */

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '3' },
    minutes: { type: 'string', default: '20' },
    orders: { type: 'string', default: '1000000' },
    events: { type: 'string', default: '1000000' },
    wallets: { type: 'string', default: '100000' },
    only: { type: 'string', default: '' },
    json: { type: 'string', default: path.join(PROJECT, 'bench/results.json') },
    'no-build': { type: 'boolean', default: false },
  },
});

/** @param {string} line */
function say(line) {
  console.log(`[bench] ${line}`);
}

/** @param {Exclude<keyof Plan, 'only'>} name @param {number} least */
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

/** @returns {Plan} */
function planOf() {
  return {
    seconds: wholeNumber('seconds', 1),
    rounds: wholeNumber('rounds', 1),
    minutes: wholeNumber('minutes', 1),
    orders: wholeNumber('orders', 0),
    events: wholeNumber('events', 200),
    wallets: wholeNumber('wallets', 1),
    only: values.only.split(',').filter(Boolean),
  };
}

/** @param {Lab} lab */
async function bench(lab) {
  const plan = planOf();
  // A part may be called by the beginning of its name.
  const named = positionals.map((begin) => Object.keys(PARTS).find((name) => name.startsWith(begin)) ?? begin);
  const wanted = named.length > 0 ? named : Object.keys(PARTS).filter((name) => !LONG.includes(name));
  const unknown = wanted.filter((name) => !(name in PARTS));
  if (unknown.length > 0)
    throw new Error(`There is no part ${unknown.join(', ')}; the parts are ${Object.keys(PARTS).join(', ')}`);
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
    // After each part, so that a later failure does not lose its figures.
    writeFileSync(values.json, `${JSON.stringify(results, null, 2)}\n`);
  }
  say(`The figures are in ${values.json}`);
}

const lab = new Lab(say);
let interrupted = false;

/** The servers have their own sessions, so Ctrl-C reaches only this process, which stops them in order. */
function interrupt() {
  if (interrupted) return;
  interrupted = true;
  say('Interrupted: stopping what was started');
  void lab.close().finally(() => process.exit(130));
}

onInterrupt(interrupt);

try {
  await bench(lab);
} catch (error) {
  if (!interrupted) console.error(messageOf(error));
  process.exitCode = 1;
} finally {
  await lab.close();
}
