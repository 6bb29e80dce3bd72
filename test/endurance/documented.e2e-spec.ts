import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { AdminCommandLine } from '../support/admin.js';
import { Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { seen } from '../support/documented/expected.js';
import { missing } from '../support/documented/required.js';
import { policies, policyArguments } from '../support/documented/rules.js';
import { runChain } from '../support/documented/sequence.js';
import { Sequence } from '../support/documented/shop.js';
import { DAY } from '../support/documented/values.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, logIn, PASSWORD } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';

/** As many sequences reach all outcomes and states, in 4 to 6 minutes. A run that is shorter need not reach them. */
const SEQUENCES = 200;
/** Runs for as long instead: ENDURANCE_SECONDS=600 before a release. */
const SECONDS = process.env.ENDURANCE_SECONDS;
/** Set it to repeat a run. */
const SEED = Number(process.env.DOCUMENTED_SEED ?? Date.now() % 2 ** 31);
/** After as many sequences there is a new database, because reconcile reads all of it after each. */
const SEQUENCES_PER_SERVICE = 40;

type Merchant = ConstructorParameters<typeof Sequence>[1][number];

let current: { service: Service; clock: FrozenClock; merchants: Merchant[] } | undefined;
let sequences = 0;
let compared = 0;

beforeAll(() => {
  process.stdout.write(`DOCUMENTED_SEED=${SEED}\n`);
});

afterAll(async () => {
  await current?.service.stop();
  const lines = [...seen].sort().map(([what, times]) => `  ${times} ${what}\n`);
  process.stdout.write(`${sequences} sequences, ${compared} responses compared:\n${lines.join('')}`);
});

/** Starts a service with one merchant per policy, in another part of the year than the one before. */
async function startMerchants(): Promise<NonNullable<typeof current>> {
  await current?.service.stop();
  const clock = new FrozenClock();
  clock.skip((sequences % 365) * DAY);
  const service = await startService({ clock });
  const admin = new AdminCommandLine(service);
  const merchants: Merchant[] = [];
  for (const [name, rules] of Object.entries(policies)) {
    const { id } = await admin.json('merchant', 'create', '--name', name, ...policyArguments(rules));
    const email = `${name}@shop.example`;
    const user = ['--merchant', id as string, '--email', email, '--password', PASSWORD, '--allow', 'grants'];
    await admin.json('user', 'create', ...user);
    merchants.push({ name, rules, client: loggedIn(service, clock, email) });
  }
  return { service, clock, merchants };
}

/** Returns a client that logs in again before its access token expires. */
function loggedIn(service: Service, clock: FrozenClock, email: string): () => Promise<Client> {
  let client: Client | undefined;
  let until = 0;
  return async () => {
    if (client && clock.ms < until) return client;
    client = new Client(service, (await logIn(service, email)).access_token);
    until = clock.ms + 50 * 60_000;
    return client;
  };
}

async function runSequence(first: number, operations: number[][]): Promise<void> {
  if (!current || sequences % SEQUENCES_PER_SERVICE === 0) current = await startMerchants();
  sequences++;
  const { service, clock, merchants } = current;
  // A time of day that depends on the sequence only, so that it can be repeated.
  clock.skip(DAY - (clock.ms % DAY) + (first % DAY));
  const other = (first + 1 + ((first >> 4) % (merchants.length - 1))) % merchants.length;
  const chosen = [merchants[first % merchants.length]!, merchants[other]!];
  const sequence = new Sequence(clock, chosen, [aDocument(), aDocument()]);
  try {
    for (const numbers of operations) await runChain(sequence, numbers);
    await sequence.pass(0, true);
    for (const shop of sequence.shops) for (const document of sequence.documents) await shop.compareWallet(document);
  } finally {
    compared += sequence.compared;
  }
  await expectInvariants(service);
}

test(
  'every response of random sequences of operations is what the documents say',
  async () => {
    const number = fc.noBias(fc.nat(2 ** 31 - 1));
    const operation = fc.array(number, { minLength: 12, maxLength: 12, size: 'max' });
    const sequence = fc.array(operation, { minLength: 1, maxLength: 100, size: 'max' });
    await fc.assert(fc.asyncProperty(number, sequence, runSequence), {
      ...{ seed: SEED, endOnFailure: !!process.env.NOSHRINK, markInterruptAsFailure: false },
      ...(SECONDS
        ? { numRuns: Number.MAX_SAFE_INTEGER, interruptAfterTimeLimit: Number(SECONDS) * 1000 }
        : { numRuns: SEQUENCES }),
    });
    expect(compared).toBeGreaterThan(100);
    expect(sequences < SEQUENCES ? [] : missing()).toEqual([]);
  },
  (Number(SECONDS ?? 1200) + 120) * 1000,
);
