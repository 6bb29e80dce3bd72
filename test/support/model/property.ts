/* eslint jest/no-export: off, jest/no-standalone-expect: off -- Two suites run the same test with different lengths. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ALL_MERCHANTS } from '../../../src/platform/database/by-merchant.js';
import { CampaignsService } from '../../../src/merchants/campaigns.service.js';
import { MerchantsService } from '../../../src/merchants/merchants.service.js';
import { AdminCommandLine } from '../admin.js';
import { Client } from '../client.js';
import { FrozenClock } from '../clock.js';
import { expectInvariants } from '../expectations.js';
import { aCnpj, aDocument, logIn } from '../factories.js';
import { type Service, startService } from '../service.js';
import { closeCampaigns } from './campaign-operations.js';
import type { Campaign } from './campaigns.js';
import { seen } from './expected.js';
import { expectMonthsToClose } from './months.js';
import { missing } from './required.js';
import { policies, policyArguments, type Rules } from './rules.js';
import { runChain } from './sequence.js';
import { Sequence } from './shop.js';
import { DAY, localDate, min, MINUTE } from './values.js';
import { rowsOf } from '../wallets.js';
import type { By } from './wallet.js';

/** A whole run lasts as long instead: ENDURANCE_SECONDS=600 before a release. */
const SECONDS = process.env.ENDURANCE_SECONDS;
/** Otherwise it ends after as many sequences if they have reached everything, and at the latest after this time. */
const ENOUGH = 2000;
const MAXIMUM_SECONDS = 2400;
/** Set it to repeat a run. */
const SEED = Number(process.env.MODEL_SEED ?? Date.now() % 2 ** 31);
/**
 * How long a failed sequence is shortened, which is less than the tests may last. Jest's own limit would report neither
 * the sequence nor its cause.
 */
const SHORTENING_MS = 120_000;
/** After as many chains there is a new database, because reconcile reads all of it. */
const CHAINS_PER_SERVICE = 2000;

const number = fc.noBias(fc.nat(2 ** 31 - 1));
const chain = fc.array(number, { minLength: 12, maxLength: 12, size: 'max' });
const chainsUpTo = (maxLength: number): fc.Arbitrary<number[][]> =>
  fc.array(chain, { minLength: 1, maxLength, size: 'max' });
/** Most sequences are short, and some are long, in which much meets. */
const chains = fc.oneof({ weight: 49, arbitrary: chainsUpTo(5) }, { weight: 1, arbitrary: chainsUpTo(100) });

/** A merchant of the service, and what it has. */
export interface ModelMerchant {
  id: string;
  name: string;
  rules: Rules;
  /** All of its rules, with when they began to hold. */
  history: { at: number; rules: Rules }[];
  /** Those of earlier sequences. */
  campaigns: Campaign[];
  users: ModelUser[];
  grantedToday: GrantedToday;
  /** Changes the earn rate and the share that can be redeemed. */
  set: (rules: Rules) => Promise<void>;
}

export interface ModelUser {
  by: By;
  client: () => Promise<Client>;
}

/** What each user has granted on the current day of a merchant. A void changes nothing. */
export class GrantedToday {
  #day = '';
  readonly #byUser = new Map<string, bigint>();

  constructor(
    private readonly clock: FrozenClock,
    private readonly timeZone: string,
  ) {}

  add(by: By, amount: bigint): void {
    this.#begin();
    for (const key of [by!.user_id, 'all']) this.#byUser.set(key, this.#of(key) + amount);
  }

  left(by: By, maximum: bigint): bigint {
    this.#begin();
    return min(maximum - this.#of(by!.user_id), 4n * maximum - this.#of('all'));
  }

  #begin(): void {
    const today = localDate(this.clock.ms, this.timeZone);
    if (today !== this.#day) this.#byUser.clear();
    this.#day = today;
  }

  #of(key: string): bigint {
    return this.#byUser.get(key) ?? 0n;
  }
}

interface Running {
  service: Service;
  clock: FrozenClock;
  merchants: ModelMerchant[];
  since: number;
  chains: number;
}

/**
 * Defines the test that compares every response of random sequences of operations with what the documents say.
 *
 * @param options `isWhole`: whether as many sequences reach all outcomes and states.
 */
export function testModel({ sequences: count, isWhole }: { sequences: number; isWhole: boolean }): void {
  const wanted = Number(process.env.MODEL_SEQUENCES ?? count);
  const isTimed = isWhole && SECONDS !== undefined;
  const seconds = Number(SECONDS ?? MAXIMUM_SECONDS);
  let current: Running | undefined;
  let sequences = 0;
  let compared = 0;
  let endsAt = Infinity;
  let hasFailed = false;

  beforeAll(() => {
    process.stdout.write(`MODEL_SEED=${SEED}\n`);
  });
  afterAll(async () => {
    await current?.service.stop();
    const lines = [...seen].sort().map(([what, times]) => `  ${times} ${what}\n`);
    process.stdout.write(`${sequences} sequences, ${compared} responses compared:\n${isWhole ? lines.join('') : ''}`);
  });

  async function next(): Promise<Running> {
    if (current && current.chains < CHAINS_PER_SERVICE) return current;
    if (current) await expectMonthsToClose(current.service, current.merchants, current.since, current.clock.ms);
    await current?.service.stop();
    current = undefined;
    return (current = await startMerchants(sequences));
  }

  /** Ends a run between two sequences: one that fast-check's limit abandons would go on beside the last comparisons. */
  async function runInTime(first: number, operations: number[][]): Promise<void> {
    const isEnough = isWhole && !isTimed && !hasFailed && sequences >= ENOUGH && missing().length === 0;
    if (isEnough || Date.now() >= endsAt) throw new fc.PreconditionFailure(true);
    try {
      await runSequence(first, operations);
    } catch (error) {
      if (!hasFailed) {
        const [cause] = String(error).split('\n', 1);
        process.stdout.write(`Sequence ${sequences} failed: ${cause}\n`);
        endsAt = Date.now() + SHORTENING_MS;
      }
      hasFailed = true;
      throw error;
    }
  }

  async function runSequence(first: number, operations: number[][]): Promise<void> {
    const running = await next();
    const { service, clock, merchants } = running;
    sequences++;
    running.chains += operations.length;
    // A time of day that depends on the sequence only, so that it can be repeated.
    clock.skip(DAY - (clock.ms % DAY) + (first % DAY));
    const other = (first + 1 + ((first >> 4) % (merchants.length - 1))) % merchants.length;
    const chosen = [merchants[first % merchants.length]!, merchants[other]!];
    const sequence = new Sequence(clock, chosen, [aDocument(), aCnpj()]);
    try {
      for (const numbers of operations) await runChain(sequence, numbers);
      for (const shop of sequence.shops) await closeCampaigns(shop);
      await sequence.pass(MINUTE, true);
      for (const shop of sequence.shops) for (const document of sequence.documents) await shop.compareWallet(document);
    } catch (error) {
      await abandon(running, chosen);
      throw error;
    } finally {
      compared += sequence.compared;
      for (const { rules, set, name } of chosen) if (rules !== policies[name]) await set(policies[name]!);
      for (const [at, { campaigns }] of chosen.entries()) campaigns.push(...sequence.shops[at]!.campaigns);
    }
    if (operations.length > 20 || sequences % 10 === 0) {
      await expectInvariants(service);
      await expectAuthors(service);
    }
  }

  test(
    'every response of random sequences of operations is what the documents say',
    async () => {
      if (isWhole) endsAt = Date.now() + seconds * 1000;
      await fc.assert(fc.asyncProperty(number, chains, runInTime), {
        ...{ seed: SEED, endOnFailure: !!process.env.NOSHRINK, markInterruptAsFailure: false },
        numRuns: isTimed ? Number.MAX_SAFE_INTEGER : wanted,
      });
      await expectInvariants(current!.service);
      await expectAuthors(current!.service);
      await expectMonthsToClose(current!.service, current!.merchants, current!.since, current!.clock.ms);
      expect(compared).toBeGreaterThan(100);
      expect(isWhole && sequences >= count ? missing() : []).toEqual([]);
    },
    isWhole ? (seconds + 300) * 1000 : 900_000,
  );
}

/** What a sequence that failed leaves must not reach another one: neither its campaigns nor late sales of its days. */
async function abandon({ service, clock }: Running, merchants: ModelMerchant[]): Promise<void> {
  const campaigns = service.app.get(CampaignsService);
  for (const { id: merchant, users } of merchants) {
    const by = users[0]!.by!.user_id;
    const open = 'SELECT DISTINCT id FROM policy_versions WHERE merchant_id = ? AND ended_at IS NULL';
    for (const { id } of await rowsOf<{ id: string }>(service, open, [merchant]))
      await campaigns.end(merchant, id, by).catch(() => campaigns.remove(merchant, id));
  }
  clock.skip(9 * DAY);
}

/** Over HTTP, only dates do anything without a user: they expire cashback, and orders whose hold repays a debt. */
async function expectAuthors(service: Service): Promise<void> {
  const rows = await rowsOf(
    service,
    // Events are kept for a time.
    `/* ${ALL_MERCHANTS} */ SELECT e.* FROM cashback_entries e JOIN event_feeds f ON f.merchant_id = e.merchant_id
      WHERE e.created_at >= f.kept_since
        AND NOT CASE WHEN e.made_by IS NOT NULL THEN e.made_by IN (SELECT id FROM api_users) AND e.kind <> 'expire'
                     WHEN e.kind = 'expire' THEN TRUE
                     ELSE e.kind IN ('take_back', 'repay') AND e.refund_id IS NULL
                          AND EXISTS (SELECT 1 FROM events v WHERE v.subject_id = e.order_id AND v.type = 'order.expired' AND v.occurred_at = e.created_at) END`,
  );
  expect(rows).toEqual([]);
}

/** Starts a service with one merchant per policy, in another part of the year than the one before. */
async function startMerchants(sequences: number): Promise<Running> {
  const clock = new FrozenClock();
  clock.skip((sequences % 365) * DAY);
  const since = clock.ms;
  const service = await startService({ clock });
  const admin = new AdminCommandLine(service);
  const merchants: ModelMerchant[] = [];
  for (const [name, rules] of Object.entries(policies)) {
    const { id } = await admin.json('merchants', 'create', '--name', name, ...policyArguments(rules));
    const users: ModelUser[] = [];
    for (const till of ['Caixa 1', 'Caixa 2']) {
      const email = `${name}-${users.length}@shop.example`;
      const user = ['--merchant', id, '--name', till, '--email', email, '--permissions', 'all'];
      const { id: userId, password } = await admin.json('users', 'create', ...user);
      const client = loggedIn(service, clock, email, String(password));
      users.push({ by: { user_id: userId, name: till }, client });
    }
    const merchant: ModelMerchant = {
      ...{ id, name, rules, users, grantedToday: new GrantedToday(clock, rules.timeZone) },
      history: [{ at: clock.ms, rules }],
      campaigns: [],
      set: async (changed) => {
        // In this process, because the instance of another one would read it only after a second.
        const policy = { earnRateBps: Number(changed.earnRate), redeemShareBps: Number(changed.redeemShare) };
        await service.app.get(MerchantsService).set(id, { policy });
        if (changed.earnRate !== merchant.rules.earnRate || changed.redeemShare !== merchant.rules.redeemShare)
          merchant.history.push({ at: clock.ms, rules: changed });
        merchant.rules = merchant.history.at(-1)!.rules;
      },
    };
    merchants.push(merchant);
  }
  return { service, clock, merchants, since, chains: 0 };
}

/** Returns a client that logs in again before its access token expires. */
function loggedIn(
  service: Service,
  clock: FrozenClock,
  ...[email, password]: [email: string, password: string]
): () => Promise<Client> {
  let client: Client | undefined;
  let until = 0;
  return async () => {
    if (client && clock.ms < until) return client;
    client = new Client(service, (await logIn(service, email, password)).access_token);
    until = clock.ms + 50 * 60_000;
    return client;
  };
}
