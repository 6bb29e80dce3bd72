import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Admission } from '../../src/platform/http/admission.js';
import { createDataSource } from '../../src/schema.js';
import { atOnce, Client } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { startService } from '../support/service.js';
import { type GrantResult, type Members, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const aGrant = (members: Members = {}): Members & { external_id: string; document: string } => ({
  ...{ external_id: `BDAY-${unique()}`, document: aDocument(), amount: '5.00', ...members },
});
const grants = (count: number, members: Members = {}) => Array.from({ length: count }, () => aGrant(members));

/** Sends a batch again while a problem is retryable, as callers do. */
async function send(shop: TestMerchant, data: readonly unknown[]): Promise<GrantResult[]> {
  for (;;) {
    const results = (await shop.grantEach(data)).data;
    expect(results).toHaveLength(data.length);
    if (!results.some(({ problem }) => problem?.retryable)) return results;
  }
}

const statuses = (results: readonly GrantResult[]): number[] => results.map(({ status }) => status);
const codes = (results: readonly GrantResult[]) => results.map(({ problem }) => problem?.code ?? null);

/** The external IDs of a merchant's grants, in no order. */
const stored = async (shop: TestMerchant): Promise<string[]> =>
  (await shop.all<{ external_id: string }>('/grants?limit=100')).map(({ external_id }) => external_id).sort();

const idsOf = (sent: readonly { external_id: string }[]): string[] => sent.map(({ external_id }) => external_id).sort();

/** Runs a test while another connection has locked the wallet of a customer. */
async function whileLocked(shop: TestMerchant, document: string, run: () => Promise<void>): Promise<void> {
  const stranger = await createDataSource(service.databaseUrl).initialize();
  const holder = stranger.createQueryRunner();
  await holder.startTransaction('READ COMMITTED');
  try {
    const sql = 'SELECT id FROM wallets WHERE merchant_id = ? AND document = ? FOR UPDATE';
    await holder.query(sql, [shop.id, document]);
    await run();
  } finally {
    await holder.rollbackTransaction();
    await holder.release();
    await stranger.destroy();
  }
}

describe('POST /grants/batch', () => {
  it('POST /grants/batch makes each grant as POST /grants does, in the order of the request', async () => {
    const shop = await aMerchant(service);
    const data = [
      aGrant({ amount: '1.00', reason: 'Feliz aniversário!', note: 'VIP', store: 'SP-014', metadata: { age: '30' } }),
      aGrant({ amount: '2.00', expires_on: '2098-12-31' }),
      aGrant({ amount: '3.00' }),
    ];
    const results = await send(shop, data);
    for (const [at, { status, grant, problem }] of results.entries()) {
      expect({ status, problem }).toEqual({ status: 201, problem: null });
      expect(grant).toEqual(await shop.readGrant(grant!));
      expect(grant).toMatchObject({ ...data[at], created_by: { user_id: shop.userId, name: shop.name } });
      expect((await shop.wallet(data[at]!.document)).available).toBe(data[at]!['amount']);
    }
    expect(await stored(shop)).toEqual(idsOf(data));
  });

  it('a repeated batch returns the grants in their current state, and makes those that are missing', async () => {
    const shop = await aMerchant(service);
    const data = grants(3);
    const first = await send(shop, data.slice(0, 2));
    await shop.voidGrant(first[0]!.grant!);
    const again = await send(shop, data);
    expect(statuses(again)).toEqual([200, 200, 201]);
    expect(again[0]!.grant).toEqual(await shop.readGrant(first[0]!.grant!));
    expect(again[0]!.grant).toMatchObject({ remaining: '0.00', voided: '5.00' });
    expect(again[1]).toEqual({ ...first[1], status: 200 });
    // What was granted alone before is not granted again.
    expect(await shop.grant(data[2]).replayed()).toEqual(again[2]!.grant);
    expect(await stored(shop)).toEqual(idsOf(data));
  });

  it('each grant is refused on its own, with the problem of POST /grants and pointers into the grant', async () => {
    const shop = await aMerchant(service, { grantMaximumCents: 10_000, documentCheckDigits: true });
    const valid = { document: '52998224725' };
    const existing = await shop.grant(aGrant(valid));
    const data = [
      aGrant(valid),
      aGrant({ document: '52998224726' }),
      aGrant({ document: '00000000000' }),
      aGrant({ ...valid, amount: '5,00' }),
      aGrant({ ...valid, amount: 5, unknown: true }),
      aGrant({ ...valid, amount: '100.01' }),
      { ...aGrant(valid), external_id: existing.external_id, amount: '6.00' },
      aGrant({ ...valid, expires_on: '2020-01-01' }),
      { document: valid.document, amount: '5.00' },
      null,
      'BDAY-1',
      [aGrant(valid)],
      aGrant({ document: '529.982.247-25' }),
    ];
    const results = await send(shop, data);
    expect(codes(results)).toEqual([
      null,
      ...Array<string>(4).fill('validation_failed'),
      'grant_exceeds_maximum',
      'external_id_conflict',
      ...Array<string>(5).fill('validation_failed'),
      null,
    ]);
    expect(statuses(results)).toEqual([201, 400, 400, 400, 400, 422, 409, 400, 400, 400, 400, 400, 201]);
    const refused = results.flatMap(({ problem }) => (problem === null ? [] : [problem]));
    expect(refused.map(pointersOf)).toEqual([
      ['/document'],
      ['/document'],
      ['/amount'],
      ['/amount', '/unknown'],
      ['/amount'],
      ['/amount'],
      ['/expires_on'],
      ['/external_id'],
      ...[[''], [''], ['']],
    ]);
    expect(refused[5]).toMatchObject({ existing_id: existing.id, instance: '/grants/batch', retryable: false });
    for (const { grant, problem } of results) expect(grant === null).toBe(problem !== null);
    expect((await shop.wallet(valid.document)).available).toBe('15.00');
  });

  it('the problem of a grant is that of the same request alone', async () => {
    const shop = await aMerchant(service);
    const sent = aGrant({ amount: '1000.01', note: 'x' });
    const alone = await shop.grant(sent).refused(422, 'grant_exceeds_maximum');
    const [result] = await send(shop, [sent]);
    const { request_id } = result!.problem!;
    expect(result!.problem).toEqual({ ...alone, request_id, instance: '/grants/batch' });
  });

  it.each([
    ['is missing', {}, '/data'],
    ['is null', { data: null }, '/data'],
    ['is an object', { data: aGrant() }, '/data'],
    ['is empty', { data: [] }, '/data'],
    ['has 101 grants', { data: grants(101) }, '/data'],
  ])('POST /grants/batch returns 400 and grants nothing when data %s', async (_, body, pointer) => {
    const shop = await aMerchant(service);
    await shop.post('/grants/batch', body).refused(400, 'validation_failed', [pointer]);
    expect(await stored(shop)).toEqual([]);
  });

  it('POST /grants/batch returns 400 with an unknown member, and when the body is a list', async () => {
    await merchant
      .post('/grants/batch', { data: grants(1), dry_run: true })
      .refused(400, 'validation_failed', ['/dry_run']);
    await merchant.post('/grants/batch', grants(1)).refused(400, 'validation_failed', ['']);
  });

  it('POST /grants/batch returns 400 that names each repeated external_id, and grants nothing', async () => {
    const shop = await aMerchant(service);
    const data: unknown[] = grants(6);
    data[3] = { ...(data[0] as object) };
    data[5] = { ...(data[2] as object), amount: '7.00' };
    data[4] = null;
    await shop.grantEach(data).refused(400, 'validation_failed', {
      errors: [
        { pointer: '/data/3/external_id', detail: 'must differ from that of /data/0' },
        { pointer: '/data/5/external_id', detail: 'must differ from that of /data/2' },
      ],
    });
    expect(await stored(shop)).toEqual([]);
    // What differs only in case is another one.
    const [one] = grants(1);
    const other = { ...one!, external_id: one!.external_id.toLowerCase() };
    expect(statuses(await send(shop, [one, other]))).toEqual([201, 201]);
  });

  it('POST /grants/batch returns 403 without the permission "grants", and 401 without a token', async () => {
    const shop = await aMerchant(service);
    const cashier = await aUser(service, shop.id, ['sell', 'refund', 'debits', 'reports']);
    await cashier.grantEach(grants(1)).refused(403, 'forbidden', { permission: 'grants' });
    expectProblem(await new Client(service).post('/grants/batch', { data: grants(1) }), 401, 'missing_token');
    expect(await stored(shop)).toEqual([]);
  });

  it('another merchant has its own external IDs and wallets', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const data = grants(2);
    const [here, there] = [await send(shop, data), await send(other, data)];
    expect([statuses(here), statuses(there)]).toEqual([
      [201, 201],
      [201, 201],
    ]);
    await other.get(`/grants/${here[0]!.grant!.id}`).refused(404, 'not_found');
    expect((await other.wallet(data[0]!.document)).available).toBe('5.00');
  });

  it('the wallet of an erased customer gets nothing, and a new one begins; a frozen wallet is granted', async () => {
    const shop = await aMerchant(service);
    const data = grants(2, { reason: 'Ana' });
    const first = await send(shop, data);
    const { pseudonym } = await shop.erase(data[0]!.document);
    await shop.freeze({ id: first[1]!.grant!.wallet_id });
    const more = data.map((grant) => ({ ...grant, external_id: `${grant.external_id}-2` }));
    const results = await send(shop, [...data, ...more]);
    expect(statuses(results)).toEqual([200, 200, 201, 201]);
    expect(results[0]!.grant).toMatchObject({ document: pseudonym, reason: null });
    expect(results[2]!.grant!.wallet_id).not.toBe(first[0]!.grant!.wallet_id);
    expect(results[3]!.grant!.wallet_id).toBe(first[1]!.grant!.wallet_id);
  });
});

describe('many grants at once', () => {
  it.each([
    ['100 customers', () => grants(100)],
    ['one customer', () => grants(100, { document: aDocument() })],
  ])('a batch of 100 grants for %s makes each once, also when it is repeated', async (_, make) => {
    const shop = await aMerchant(service);
    const data = make();
    const results = await send(shop, data);
    expect(results.map(({ grant }) => grant?.external_id)).toEqual(data.map(({ external_id }) => external_id));
    const again = await send(shop, data);
    expect(again).toEqual(results.map((result) => ({ ...result, status: 200 })));
    expect(await stored(shop)).toEqual(idsOf(data));
    const [sum] = await rowsOf(service, 'SELECT SUM(available_cents) AS cents FROM wallets WHERE merchant_id = ?', [
      shop.id,
    ]);
    expect(Number(sum!['cents'])).toBe(50_000);
  });

  it('two equal batches at once make each grant once, and both return all of them', async () => {
    const shop = await aMerchant(service);
    const document = aDocument();
    const data = [...grants(10), ...grants(10, { document })];
    const [one, other] = await atOnce(2, (at) => send(shop, at === 0 ? data : [...data].reverse()));
    const ids = (results: GrantResult[]): string[] => results.map(({ grant }) => grant!.id);
    expect(ids(other!).reverse()).toEqual(ids(one!));
    expect(await stored(shop)).toEqual(idsOf(data));
    expect((await shop.wallet(document)).available).toBe('50.00');
  });

  it('a batch, and the same grants alone at once, make each grant once', async () => {
    const shop = await aMerchant(service);
    const data = grants(10);
    const [results, ...alone] = await Promise.all([send(shop, data), ...data.map((grant) => shop.grant(grant).answer)]);
    expect(alone.map(({ body }) => body.id)).toEqual(results.map(({ grant }) => grant!.id));
    expect(await stored(shop)).toEqual(idsOf(data));
  });

  it('of a batch that exceeds the daily maximum, the grants that fit are made, and the others say what is left', async () => {
    const shop = await aMerchant(service, { grantDailyMaximumCents: 10_000 });
    const data = grants(50, { amount: '7.00' });
    const results = await send(shop, data);
    expect(results.filter(({ status }) => status === 201)).toHaveLength(14);
    for (const { problem } of results.filter(({ status }) => status !== 201))
      expect(problem).toMatchObject({ code: 'grant_exceeds_maximum', limited_by: 'day' });
    expect(await shop.get('/me')).toMatchObject({ grants_left_today: '2.00' });
    // A repeat returns those that were made, and makes no other.
    expect(statuses(await send(shop, data))).toEqual(statuses(results).map((status) => (status === 201 ? 200 : 422)));
  });

  it('of two batches at once, of one customer and of many, the grants that fit in the daily maximum are made', async () => {
    const shop = await aMerchant(service, { grantDailyMaximumCents: 10_000 });
    const colleague = await aUser(service, shop.id, ['grants']);
    const document = aDocument();
    const sent = [grants(30, { amount: '7.00', document }), grants(30, { amount: '7.00' }), grants(30)];
    const users = [shop, shop, colleague];
    const results = await atOnce(3, (at) => send(users[at]!, sent[at]!));
    const made = results.map((each) => each.filter(({ status }) => status === 201).length);
    expect([made[0]! + made[1]!, made[2]]).toEqual([14, 20]);
    expect(await stored(shop)).toHaveLength(34);
    expect(await colleague.get('/me')).toMatchObject({ grants_left_today: '0.00' });
  });

  it('a grant whose wallet is locked is a retryable problem in time, and the others are made', async () => {
    const shop = await aMerchant(service);
    const document = await shop.customerWith('1.00');
    const data = grants(30);
    data[4] = aGrant({ document });
    await whileLocked(shop, document, async () => {
      const results = (await shop.grantEach(data)).data;
      expect(results[4]).toMatchObject({ status: 503, grant: null });
      expect(results[4]!.problem).toMatchObject({ code: 'unavailable', retryable: true, next_action: 'retry' });
      expect(codes(results.toSpliced(4, 1))).toEqual(Array(29).fill(null));
    });
    const again = await send(shop, data);
    expect(codes(again)).toEqual(data.map(() => null));
    expect(await stored(shop)).toHaveLength(31);
    expect((await shop.wallet(document)).available).toBe('6.00');
  });

  it('batches that wait for a lock leave connections for the orders and the batches of another merchant', async () => {
    const behind = await startService({
      ...{ databaseUrl: service.databaseUrl, clock: service.clock, env: { DATABASE_POOL_SIZE: '4' } },
    });
    try {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      const document = await shop.customerWith('1.00');
      const waiting: Promise<unknown>[] = [];
      await whileLocked(shop, document, async () => {
        const client = new Client(behind, shop.client.token).once;
        for (let n = 0; n < 8; n++) waiting.push(client.post('/grants/batch', { data: grants(100, { document }) }));
        while (behind.app.get(Admission).load.running < 2) await sleep(5);
        await sleep(500);
        const first = Promise.race(waiting).then(() => 'one that waits');
        const there = new Client(behind, other.client.token);
        const others = Promise.all([
          there.post('/orders', anOrder()),
          there.post('/grants/batch', { data: grants(20) }),
        ]);
        expect(await Promise.race([first, others])).toMatchObject([{ status: 201 }, { status: 200 }]);
        expect(codes((await others)[1].body.data as never)).toEqual(Array(20).fill(null));
      });
      await Promise.all(waiting);
    } finally {
      await behind.stop();
    }
  });
});
