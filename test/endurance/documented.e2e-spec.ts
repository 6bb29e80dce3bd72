import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AdminCommandLine } from '../support/admin.js';
import { Client } from '../support/client.js';
import { gaps, reached } from '../support/documented/comparison.js';
import { policies } from '../support/documented/policies.js';
import { runOperation } from '../support/documented/sequence.js';
import { Session, StoppedClock } from '../support/documented/session.js';
import { Shop } from '../support/documented/shop.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, logIn, PASSWORD } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

/** One minute in CI, and ENDURANCE_SECONDS=600 before a release. */
const SECONDS = Number(process.env.ENDURANCE_SECONDS ?? 60);
/** Set it to repeat a run. */
const SEED = Number(process.env.DOCUMENTED_SEED ?? Date.now() % 2 ** 31);
const DAY_MS = 86_400_000;
/** After as many sequences there is a new database, because reconcile reads all of it after each. */
const SEQUENCES_PER_SERVICE = 40;

interface Merchants {
  service: Service;
  clock: StoppedClock;
  clients: (() => Promise<Client>)[];
}

let current: Merchants | undefined;
let sequences = 0;
let compared = 0;

beforeAll(() => {
  process.stdout.write(`DOCUMENTED_SEED=${SEED}\n`);
});

afterAll(async () => {
  await current?.service.stop();
  process.stdout.write(`${sequences} sequences, ${compared} responses compared\n`);
  process.stdout.write(`Reached:\n${linesOf(reached)}\nNot documented, accepted:\n${linesOf(gaps)}\n`);
});

const linesOf = (counts: Map<string, number>): string =>
  [...counts]
    .sort(([, a], [, b]) => b - a)
    .map(([what, times]) => `  ${times} ${what}`)
    .join('\n');

/** Starts a service with one merchant per policy, in another part of the year than the one before. */
async function startMerchants(): Promise<Merchants> {
  await current?.service.stop();
  const clock = new StoppedClock();
  clock.skip((sequences % 365) * DAY_MS);
  const service = await startService({ clock });
  const admin = new AdminCommandLine(service);
  const clients: Merchants['clients'] = [];
  for (const { name, args } of policies) {
    const { id } = await admin.json('merchant', 'create', '--name', name, ...args);
    const email = `${name}@shop.example`;
    const user = ['--merchant', id as string, '--email', email, '--password', PASSWORD, '--allow', 'grants'];
    await admin.json('user', 'create', ...user);
    clients.push(loggedIn(service, clock, email));
  }
  return { service, clock, clients };
}

/** Returns a client that logs in again before its access token expires. */
function loggedIn(service: Service, clock: StoppedClock, email: string): () => Promise<Client> {
  let client: Client | undefined;
  let until = 0;
  return async () => {
    if (client && clock.at < until) return client;
    client = new Client(service, (await logIn(service, email)).access_token);
    until = clock.at + 50 * 60_000;
    return client;
  };
}

async function runSequence(first: number, operations: number[][]): Promise<void> {
  if (!current || sequences % SEQUENCES_PER_SERVICE === 0) current = await startMerchants();
  sequences++;
  const { service, clock, clients } = current;
  // A time of day that depends on the sequence only, so that it can be repeated.
  clock.skip(DAY_MS - (clock.at % DAY_MS) + (first % DAY_MS));
  const chosen = [first % policies.length, (first + 1 + ((first >> 4) % (policies.length - 1))) % policies.length];
  const shops = chosen.map((index) => new Shop(policies[index]!.name, policies[index]!.rules, clients[index]!));
  const session = new Session(clock, shops, [aDocument(), aDocument()]);
  try {
    for (const numbers of operations) await runOperation(session, numbers);
    await session.pass(0, true);
  } finally {
    compared += session.compared;
  }
  await expectInvariants(service);
}

test(
  'every response of random sequences of operations is what the documents say',
  async () => {
    const number = fc.noBias(fc.nat(2 ** 31 - 1));
    const operation = fc.array(number, { minLength: 12, maxLength: 12, size: 'max' });
    const sequence = fc.array(operation, { minLength: 1, maxLength: 150, size: 'max' });
    await fc.assert(fc.asyncProperty(number, sequence, runSequence), {
      ...{ seed: SEED, numRuns: Number.MAX_SAFE_INTEGER },
      ...{
        interruptAfterTimeLimit: SECONDS * 1000,
        markInterruptAsFailure: false,
        endOnFailure: !!process.env.NOSHRINK,
      },
    });
    expect(compared).toBeGreaterThan(100);
  },
  (SECONDS + 120) * 1000,
);
