import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { GrantsService } from '../../src/cashback/grants.service.js';
import { Admission } from '../../src/platform/http/admission.js';
import { createDataSource } from '../../src/schema.js';
import { AdminCommandLine } from '../support/admin.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { eventsOf } from '../support/events.js';
import { expectCreation, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser, punctuated, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { startService } from '../support/service.js';
import {
  type Debit,
  type Grant,
  type GrantResult,
  idsOf,
  type Members,
  oneAtOnce,
  type Order,
  type Page,
  type Shop,
  unique,
} from '../support/shop.js';
import { sqlOf } from '../support/sql-blocks.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

let counter = 0;
const aGrant = (members: Record<string, unknown> = {}): Record<string, unknown> & { document: string } => ({
  external_id: `SORRY-${++counter}`,
  document: aDocument(),
  amount: '80.00',
  ...members,
});
const create = (members: Record<string, unknown> = {}, shop = merchant): Promise<Answer<Grant>> =>
  shop.client.post('/grants', aGrant(members));
const voidGrant = (id: string, shop = merchant): Promise<Answer<Grant>> => shop.voidGrant({ id }).answer;

/** A day in São Paulo, which has been three hours behind UTC since 2019. */
const dayIn = (days: number): string =>
  new Date(service.clock.now().getTime() + days * 86_400_000 - 3 * 3_600_000).toISOString().slice(0, 10);

/** Holds an amount for a new order. */
async function aHold(document: string, amount: string): Promise<Order> {
  const order = await merchant.create({ document });
  await merchant.hold(order, amount);
  return order;
}

describe('POST /grants', () => {
  it('POST /grants grants cashback that can be spent at once, for the validity of the policy', async () => {
    const document = aDocument();
    const answer = await create({ external_id: 'SORRY-first', document, reason: 'Desculpe 🎁' });
    expectCreation(answer);
    const { headers, body } = answer;
    expect(headers.get('location')).toBe(`/grants/${body.id}`);
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      external_id: 'SORRY-first',
      wallet_id: (await merchant.wallet(document)).id,
      document,
      amount: '80.00',
      remaining: '80.00',
      held: '0.00',
      voided: '0.00',
      reason: 'Desculpe 🎁',
      note: null,
      store: null,
      metadata: {},
      available_at: body.created_at,
      expires_at: `${dayIn(180)}T03:00:00.000Z`,
      available_on: dayIn(0),
      expires_on: dayIn(179),
      created_at: expect.stringMatching(/Z$/),
      created_by: merchant.by,
      voided_at: null,
      voided_by: null,
      void_reason: null,
    });
    expect(await merchant.wallet(document)).toMatchObject({ available: '80.00', pending: '0.00' });
    expect(await merchant.movements(document)).toEqual(['grant 80.00']);
  });

  it('POST /grants takes calendar days of the merchant: available from the first instant of one until the end of the other', async () => {
    const document = aDocument();
    const { body } = await create({ document, available_on: dayIn(2), expires_on: dayIn(3) });
    expect(body).toMatchObject({
      available_on: dayIn(2),
      available_at: `${dayIn(2)}T03:00:00.000Z`,
      expires_on: dayIn(3),
      expires_at: `${dayIn(4)}T03:00:00.000Z`,
    });
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', pending: '80.00' });
  });

  it("POST /grants takes the days in the time zone of the merchant's policy", async () => {
    const shop = await aLongLivedMerchant(service, { timeZone: 'Asia/Tokyo' });
    const { body } = await create({ available_on: '2097-12-31', expires_on: '2098-01-01' }, shop);
    expect(body).toMatchObject({
      available_on: '2097-12-31',
      available_at: '2097-12-30T15:00:00.000Z',
      expires_on: '2098-01-01',
      expires_at: '2098-01-01T15:00:00.000Z',
    });
  });

  it('POST /grants with a past first day or with today as the last day grants cashback that can be spent now', async () => {
    const { body } = await create({ available_on: dayIn(-30), expires_on: dayIn(0) });
    expect(body).toMatchObject({
      available_at: body.created_at,
      available_on: dayIn(0),
      expires_on: dayIn(0),
      expires_at: `${dayIn(1)}T03:00:00.000Z`,
    });
  });

  it.each([
    [{}, ['/amount', '/document', '/external_id']],
    [{ amount: '0.00' }, ['/amount']],
    [{ amount: 80 }, ['/amount']],
    [{ amount: '-1.00' }, ['/amount']],
    [{ amount: '80,00' }, ['/amount']],
    [{ document: '529.982.247.25' }, ['/document']],
    [{ document: '00000000000' }, ['/document']],
    [{ document: '111.111.111-11' }, ['/document']],
    [{ document: '00000000000000' }, ['/document']],
    [{ external_id: '' }, ['/external_id']],
    [{ external_id: 'a\nb' }, ['/external_id']],
    [{ reason: 'x'.repeat(501) }, ['/reason']],
    [{ available_on: '2099-02-30' }, ['/available_on']],
    [{ available_on: '2099-02-01T00:00:00.000Z' }, ['/available_on']],
    [{ available_on: '0026-12-01' }, ['/available_on']],
    [{ expires_on: '2099-1-1' }, ['/expires_on']],
    [{ expires_on: 20990101 }, ['/expires_on']],
    [{ expires_on: '9999-01-01' }, ['/expires_on']],
    [{ expires_on: '9998-12-31' }, ['/expires_on']],
    [{ expires_on: '2020-01-01' }, ['/expires_on']],
    [{ available_on: '2098-01-02', expires_on: '2098-01-01' }, ['/expires_on']],
    [{ available_on: '9998-12-01' }, ['/available_on']],
  ])('POST /grants returns 400 and grants nothing for the members %j', async (members, pointers) => {
    const body: Record<string, unknown> = Object.keys(members).length === 0 ? {} : aGrant(members);
    for (const _attempt of ['first', 'second']) {
      const answer = await merchant.client.post('/grants', body);
      expectProblem(answer, 400, 'validation_failed');
      expect(pointersOf(answer)).toEqual(pointers);
    }
    expect(await rowsOf(service, 'SELECT id FROM wallets WHERE document = ?', [body.document])).toEqual([]);
  });
});

describe('a repeated POST /grants', () => {
  it('POST /grants replays the grant of an erased customer with the pseudonym and without the reason', async () => {
    const content = aGrant({ reason: 'Desculpe' });
    const { body } = await merchant.client.post('/grants', content);
    const { pseudonym } = await merchant.erase(content.document);
    const again = await merchant.client.post('/grants', content);
    expect(again).toMatchObject({ status: 201, body: { id: body.id, document: pseudonym, reason: null } });
    const lower = await merchant.client.post('/grants', { ...content, amount: '1.00' });
    expectProblem(lower, 409, 'external_id_conflict');
    expect(pointersOf(lower)).toEqual(['/amount']);
  });

  it.each([
    ['document', { document: aDocument() }, ['/document', '/reason']],
    ['reason', { reason: 'other' }, ['/document', '/reason']],
    ['document and no reason', { document: aDocument(), reason: null }, ['/document']],
  ])(
    'POST /grants returns 409 for the external_id of an erased customer with a different %s, also for another customer at once',
    async (_title, members, pointers) => {
      const content = aGrant({ reason: 'Desculpe' });
      expect((await merchant.client.post('/grants', content)).status).toBe(201);
      await merchant.erase(content.document);
      const sent = { ...content, ...members };
      for (const answer of await atOnce(3, () => merchant.client.post('/grants', sent))) {
        expectProblem(answer, 409, 'external_id_conflict');
        expect(pointersOf(answer)).toEqual(pointers);
      }
      expect((await merchant.wallet(sent.document)).id).toBeNull();
      const other = await aMerchant(service);
      expectCreation(await other.client.post('/grants', sent));
    },
  );
});

describe('the maximum of a grant', () => {
  const lower = (shop: TestMerchant, cents: number): Promise<unknown> => shop.setPolicy({ grantMaximumCents: cents });

  it('POST /grants returns 422 above the maximum of the policy and grants nothing, also when repeated or concurrent', async () => {
    const content = aGrant({ amount: '1000.01' });
    for (const answer of [
      await merchant.client.post('/grants', content),
      ...(await atOnce(3, () => create(content))),
    ]) {
      expectProblem(answer, 422, 'grant_exceeds_maximum');
      expect(answer.body).toMatchObject({ maximum: '1000.00', retryable: false, next_action: 'fix_request' });
      expect(pointersOf(answer)).toEqual(['/amount']);
    }
    expect((await merchant.wallet(content.document)).id).toBeNull();
    expect((await merchant.client.post('/grants', { ...content, amount: '1000.00' })).status).toBe(201);
  });

  it('POST /grants above a maximum that was lowered since replays a grant and refuses a new one and a different one', async () => {
    const [shop, other] = [await aMerchant(service, { grantMaximumCents: 500_000 }), await aMerchant(service)];
    const content = aGrant({ amount: '5000.00' });
    const { body } = await shop.client.post('/grants', content);
    await lower(shop, 0);
    for (const again of await atOnce(3, () => shop.client.post('/grants', content))) {
      expect(again).toMatchObject({ status: 201, body });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
    const different = { ...content, amount: '5000.01' };
    expectProblem(await shop.client.post('/grants', different), 409, 'external_id_conflict');
    const refused = await shop.client.post('/grants', aGrant({ amount: '0.01' }));
    expectProblem(refused, 422, 'grant_exceeds_maximum');
    expect(refused.body.maximum).toBe('0.00');
    expect((await other.client.post('/grants', aGrant())).status).toBe(201);
  });

  it('a grant remembers the API user that made it, also when another one repeats it, and the operator is one too', async () => {
    const { client, email, userId: id } = await aUser(service, merchant.id, ['grants']);
    const content = aGrant();
    const { body } = await client.post('/grants', content);
    expect((await merchant.client.post('/grants', content)).body).toEqual(body);
    const { credit } = await service.app
      .get(GrantsService)
      .grant(merchant.id, { document: content.document, amountCents: 100_001 });
    const authors = 'SELECT credit_id, created_by FROM cashback_grants WHERE credit_id IN (?) ORDER BY credit_id';
    expect(await rowsOf(service, authors, [[body.id, credit.id]])).toEqual([
      { credit_id: body.id, created_by: id },
      { credit_id: credit.id, created_by: 'operator' },
    ]);
    const users = await rowsOf(service, sqlOf('docs/incidents.md', 'the API users that granted the most'));
    const ofMerchant = users.filter(({ merchant_id }) => merchant_id === merchant.id);
    expect(
      ofMerchant.map(({ grants, brl, ...user }) => ({ ...user, grants: Number(grants), brl: Number(brl) })),
    ).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ created_by: id, email, grants: 1, brl: 80 }),
        expect.objectContaining({ created_by: 'operator', name: null, email: null, grants: 1, brl: 1000.01 }),
      ]),
    );
  });
});

describe('GET /grants/{id}', () => {
  it('GET /grants/{id} returns the grant in its current state, also when repeated', async () => {
    const { body } = await create();
    await aHold(body.document, '20.00');
    for (const id of [body.id, body.id.toUpperCase()])
      expect(await merchant.readGrant({ id })).toMatchObject({ ...body, remaining: '80.00', held: '20.00' });
    await service.clock.advance({ minutes: 31 });
    expect(await merchant.readGrant(body)).toEqual(body);
    await service.clock.advance({ minutes: 181 * 24 * 60 });
    expect((await merchant.readGrant(body)).remaining).toBe('0.00');
  });

  it('GET /grants/{id} and POST /grants/{id}/void find a grant of the operator without an external ID', async () => {
    const document = aDocument();
    const content = { document, amountCents: 700 };
    const { credit } = await service.app.get(GrantsService).grant(merchant.id, content);
    const found = await merchant.readGrant(credit).answer;
    expect(found).toMatchObject({ status: 200, body: { id: credit.id, external_id: credit.id, amount: '7.00' } });
    expect((await voidGrant(credit.id)).body).toMatchObject({ voided: '7.00', remaining: '0.00' });
  });

  it('GET /grants/{id} finds a grant of the operator with an external ID', async () => {
    const document = aDocument();
    const expiresAt = new Date('2098-12-31T22:30:00.250Z');
    const { credit } = await service.app
      .get(GrantsService)
      .grant(merchant.id, { document, amountCents: 700, externalId: 'OPERATOR-1', expiresAt });
    expect(await merchant.readGrant(credit)).toMatchObject({
      external_id: 'OPERATOR-1',
      document,
      expires_at: expiresAt.toISOString(),
      expires_on: '2098-12-31',
    });
    const conflict = await create({ external_id: 'OPERATOR-1', document, amount: '7.00', expires_on: '2098-12-31' });
    expectProblem(conflict, 409, 'external_id_conflict');
    expect(pointersOf(conflict)).toEqual(['/expires_on']);
  });

  it('GET /grants/{id} and POST /grants/{id}/void return 404 for a credit that an order earned', async () => {
    const order = await merchant.completed();
    const [earned] = await rowsOf(service, 'SELECT id FROM cashback_credits WHERE order_id = ?', [order.id]);
    const credit = { id: String(earned!.id) };
    for (const call of [merchant.readGrant(credit), merchant.voidGrant(credit)]) await call.refused(404, 'not_found');
  });
});

describe('POST /grants/{id}/void', () => {
  it('POST /grants/{id}/void takes back what is left', async () => {
    const { body } = await create();
    const first = await voidGrant(body.id);
    expect(first).toMatchObject({
      status: 200,
      body: {
        ...{ ...body, remaining: '0.00', voided: '80.00', voided_at: expect.stringMatching(/Z$/) },
        ...{ voided_by: body.created_by, void_reason: null },
      },
    });
    expect(await merchant.readGrant(body)).toEqual(first.body);
    expect(await merchant.wallet(body.document)).toMatchObject({ available: '0.00', debt: '0.00' });
    expect(await merchant.movements(body.document)).toEqual(['grant 80.00', 'void -80.00']);
  });

  it('POST /grants/{id}/void works for the grant of an erased customer', async () => {
    const { body } = await create();
    const { pseudonym } = await merchant.erase(body.document);
    expect((await voidGrant(body.id)).body).toMatchObject({ voided: '80.00', document: pseudonym });
    expect((await merchant.wallet(body.document)).id).toBeNull();
  });

  it('POST /grants/{id}/void during concurrent holds neither creates nor destroys cashback', async () => {
    const { body } = await create({ amount: '10.00' });
    const document = body.document;
    const orders = await atOnce(10, () => merchant.create({ document, total: '2.00' }));
    const [answers] = await Promise.all([
      atOnce(10, (at) => merchant.hold(orders[at]!, '1.00').answer),
      atOnce(3, () => voidGrant(body.id)),
    ]);
    const held = answers.filter(({ status }) => status === 200).length;
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 422, 'redemption_exceeds_maximum');
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', held: `${held}.00` });
    expect((await merchant.readGrant(body)).voided).toBe(`${10 - held}.00`);
  });
});

describe('grants with metadata', () => {
  const METADATA = { campaign: 'BF-2026', till: '3' };
  let counter = 0;
  const aGrant = (members: object = {}): Record<string, unknown> & { document: string } => ({
    external_id: `META-${++counter}`,
    document: aDocument(),
    amount: '5.00',
    ...members,
  });

  describe('the metadata of a grant', () => {
    it("erasing a customer does not wait for another customer's grant", async () => {
      const [content, others] = [aGrant({ metadata: METADATA }), aGrant({ metadata: METADATA })];
      await merchant.client.post('/grants', content);
      const { body } = await merchant.client.post('/grants', others);
      const own = await createDataSource(service.databaseUrl).initialize();
      try {
        const erased = await own.transaction(async (manager) => {
          await manager.query('SELECT credit_id FROM cashback_grants WHERE credit_id = ? FOR UPDATE', [body.id]);
          return merchant.erase(content.document);
        });
        expect(erased).toMatchObject({ wallets: 1 });
      } finally {
        await own.destroy();
      }
    });
  });
});

describe('grants in batches', () => {
  const merchant = useMerchant(() => aMerchant(service));

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

  const idsOf = (sent: readonly { external_id: string }[]): string[] =>
    sent.map(({ external_id }) => external_id).sort();

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

    it('another merchant has its own external IDs and wallets', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      const data = grants(2);
      const [here, there] = [await send(shop, data), await send(other, data)];
      expect([statuses(here), statuses(there)]).toEqual([
        [201, 201],
        [201, 201],
      ]);
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
      const [results, ...alone] = await Promise.all([
        send(shop, data),
        ...data.map((grant) => shop.grant(grant).answer),
      ]);
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
        const made = (): Promise<number> => stored(shop).then(({ length }) => length);
        // On a busy machine, more than the locked one may be too late: they are made by a repeat.
        do {
          const results = (await shop.grantEach(data)).data;
          expect(results[4]).toMatchObject({ status: 503, grant: null });
          expect(results[4]!.problem).toMatchObject({ code: 'unavailable', retryable: true, next_action: 'retry' });
        } while ((await made()) < 30);
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
});

describe('the list of grants', () => {
  const { service } = useService({ clock: new FrozenClock() });

  /** The day in São Paulo (UTC-3). */
  const dayOf = (instant: Date): string => new Date(instant.getTime() - 3 * 3_600_000).toISOString().slice(0, 10);

  const list = (shop: Shop, query = ''): Promise<Page<Grant>> =>
    Promise.resolve(shop.send<Page<Grant>>('GET', `/grants${query && `?${query}`}`, {}, 200));

  /** Grants a second apart. @returns them, newest first. */
  async function grantsOf(shop: Shop, count: number): Promise<Grant[]> {
    const grants: Grant[] = [];
    for (let n = 0; n < count; n++) {
      grants.unshift(await shop.grant());
      await service.clock.advance({ seconds: 1 });
    }
    return grants;
  }

  describe('GET /grants', () => {
    it('GET /grants returns each grant in its current state like GET /grants/{id}, newest first', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      await grantsOf(other, 1);
      const others = await grantsOf(shop, 4);
      const [voided, held] = others as [Grant, Grant];
      // It ends too soon, so a refund returns a credit of its own.
      const redeemed = await shop.grant({ expires_on: dayOf(service.clock.inDays(2)) });
      const grants = [redeemed, ...others];
      await shop.voidGrant(voided);
      await shop.hold(await shop.create({ document: held.document }), '20.00');
      const order = await shop.completed({ document: redeemed.document }, { redeem: '30.00' });
      await shop.refund(order, '75.00');
      const expected: Grant[] = [];
      for (const grant of grants) expected.push(await shop.readGrant(grant));
      expect(expected.map(({ remaining, held, voided }) => [remaining, held, voided]).slice(0, 3)).toEqual([
        ['35.00', '0.00', '0.00'],
        ['0.00', '0.00', '50.00'],
        ['50.00', '20.00', '0.00'],
      ]);
      expect(await list(shop)).toEqual({ data: expected, next_cursor: null });
      expect(await shop.all<Grant>('/grants?limit=2')).toEqual(expected);
    });

    it('GET /grants includes created_from and excludes created_to, to the millisecond', async () => {
      const shop = await aMerchant(service);
      const grants = await grantsOf(shop, 4);
      const ids = idsOf({ data: grants });
      const [second, third] = [grants[1]!.created_at, grants[2]!.created_at];
      const later = (instant: string): string => new Date(Date.parse(instant) + 1).toISOString();
      expect(idsOf(await list(shop, `created_from=${third}`))).toEqual(ids.slice(0, 3));
      expect(idsOf(await list(shop, `created_from=${later(third)}`))).toEqual(ids.slice(0, 2));
      expect(idsOf(await list(shop, `created_to=${second}`))).toEqual(ids.slice(2));
      expect(idsOf(await list(shop, `created_to=${later(second)}`))).toEqual(ids.slice(1));
      expect(idsOf(await list(shop, `created_from=${third}&created_to=${second}`))).toEqual([ids[2]]);
      expect(idsOf(await list(shop, `created_from=${second}&created_to=${third}`))).toEqual([]);
      expect(idsOf(await list(shop, 'created_from=0000-01-01T00:00:00Z&created_to=9999-12-31T23:59:59.999Z'))).toEqual(
        ids,
      );
      expect(idsOf(await list(shop, 'created_to=1960-01-01T00:00:00Z'))).toEqual([]);
    });

    it('GET /grants?user_id returns the grants of an API user, or of the operator', async () => {
      const shop = await aMerchant(service);
      const marketing = await aUser(service, shop.id, ['grants'], 'Marketing');
      const [own, other] = [await grantsOf(shop, 1), await grantsOf(marketing, 3)];
      await shop.credit(aDocument(), '1.00');
      const ids = async (query: string): Promise<string[]> =>
        (await shop.all<Grant>(`/grants?${query}`)).map((g) => g.id);
      expect(await ids(`user_id=${shop.userId}`)).toEqual(idsOf({ data: own }));
      expect(await ids(`user_id=${marketing.userId.toUpperCase()}&limit=1`)).toEqual(idsOf({ data: other }));
      expect(await ids(`user_id=${marketing.userId}&created_to=${other[0]!.created_at}`)).toEqual([
        other[1]!.id,
        other[2]!.id,
      ]);
      const [byOperator] = (await list(shop, 'user_id=operator')).data;
      expect(byOperator).toMatchObject({ amount: '1.00', created_by: { user_id: null, name: 'operator' } });
      expect(await ids('user_id=0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10')).toEqual([]);
    });

    it('GET /grants?external_id returns the grant with this ID, if it matches the other filters', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      const grant = await shop.grant({ external_id: 'Natal/1' });
      await shop.grant({ external_id: 'natal/1' });
      const query = 'external_id=Natal%2F1';
      expect(idsOf(await list(shop, query))).toEqual([grant.id]);
      expect(idsOf(await list(shop, `${query}&user_id=${shop.userId}&created_from=${grant.created_at}`))).toEqual([
        grant.id,
      ]);
      expect(idsOf(await list(shop, `${query}&user_id=operator`))).toEqual([]);
      expect(idsOf(await list(shop, `${query}&created_to=${grant.created_at}`))).toEqual([]);
      expect(idsOf(await list(other, query))).toEqual([]);
    });

    it('the pages of GET /grants return each grant once when all were made in the same millisecond, while others are added', async () => {
      const shop = await aMerchant(service);
      const grants = await atOnce(9, () => Promise.resolve(shop.grant()));
      const ids = idsOf({ data: grants }).sort().reverse();
      const at = grants[0]!.created_at;
      await service.clock.advance({ seconds: 1 });
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const page = await list(shop, `limit=2&created_from=${at}${cursor}`);
        seen.push(...idsOf(page));
        if (page.next_cursor === null) break;
        await shop.grant();
        cursor = `&cursor=${page.next_cursor}`;
      }
      expect(seen).toEqual(ids);
    });

    it.each([
      ['limit', 'limit=101'],
      ['created_from', 'created_from=2026-11-20'],
      ['created_to', 'created_to=now'],
      ['user_id', 'user_id=Caixa%203'],
      ['user_id', 'user_id='],
      ['external_id', 'external_id='],
      ['document', 'document=52998224725'],
      ['cursor', 'cursor=abc'],
      ['cursor', `cursor=${Buffer.from('["refunds",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`],
    ])('GET /grants returns 400 when %s is invalid: %s', async (parameter, query) => {
      const shop = await aMerchant(service);
      await shop.get(`/grants?${query}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
    });
  });
});

describe('the maximum of a day', () => {
  // Some tests move the clock by a day.
  const { service } = useService({ env: { ACCESS_TOKEN_TTL_SECONDS: '86400', REFRESH_TOKEN_TTL_SECONDS: '864000' } });

  /** A merchant whose users grant at most 100.00 in a day each. */
  const aShop = (): Promise<TestMerchant> => aMerchant(service, { grantDailyMaximumCents: 10_000 });
  const users = (shop: TestMerchant, count: number): Promise<TestMerchant[]> =>
    Promise.all(Array.from({ length: count }, (_, at) => aUser(service, shop.id, ['grants'], `Caixa ${at}`)));
  const exceeds = (maximum: string): object => ({
    ...{ maximum, limited_by: 'day' },
    errors: [{ pointer: '/amount', detail: `must be at most ${maximum} today` }],
  });

  function expectGranted(answers: Answer<Grant>[], count: number): void {
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(count);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expect(expectProblem(answer, 422, 'grant_exceeds_maximum')).toMatchObject({ limited_by: 'day' });
  }

  describe('what API users grant in a day', () => {
    it('a user grants exactly grant_daily_maximum, and a refusal says how much is left', async () => {
      const shop = await aShop();
      await shop.grant({ amount: '99.98' });
      await shop.grant({ amount: '0.03' }).refused(422, 'grant_exceeds_maximum', exceeds('0.02'));
      await shop.grant({ amount: '0.02' });
      await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    });

    it('a single grant above grant_maximum is limited by that', async () => {
      const shop = await aMerchant(service, { grantMaximumCents: 5000, grantDailyMaximumCents: 10_000 });
      await shop
        .grant({ amount: '50.01' })
        .refused(422, 'grant_exceeds_maximum', { maximum: '50.00', limited_by: 'grant' });
    });

    it('of 50 grants of one user at once to different customers, those that fit are made', async () => {
      const shop = await aShop();
      expectGranted(await atOnce(50, () => shop.grant({ amount: '7.00' }).answer), 14);
      await shop.grant({ amount: '2.01' }).refused(422, 'grant_exceeds_maximum', exceeds('2.00'));
    });

    it('of 50 grants of one user at once to one customer, those that fit are made', async () => {
      const shop = await aShop();
      const document = aDocument();
      expectGranted(await atOnce(50, () => shop.grant({ document, amount: '7.00' }).answer), 14);
      expect((await shop.wallet(document)).available).toBe('98.00');
    });

    it('of 50 grants of five users at once on two instances, all of the merchant grant four times as much', async () => {
      const shop = await aShop();
      const five = await users(shop, 5);
      const second = await startService({ databaseUrl: service.databaseUrl });
      try {
        const there = five.map((user) => user.with(new Client(second, user.tokens.access_token)));
        const answers = await atOnce(50, (at) => [...five, ...there][at % 10]!.grant({ amount: '10.00' }).answer);
        expectGranted(answers, 40);
        const byUser = new Map<string | null, number>();
        for (const { status, body } of answers)
          if (status === 201) byUser.set(body.created_by.user_id, (byUser.get(body.created_by.user_id) ?? 0) + 1);
        expect(Math.max(...byUser.values())).toBeLessThanOrEqual(10);
        for (const user of five)
          await user.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
      } finally {
        await second.stop();
      }
    });

    it('a repeated grant counts once, also if nothing is left, and a refused one does not count', async () => {
      const shop = await aShop();
      const given = { external_id: aDocument(), document: aDocument(), amount: '60.00' };
      const grant = await shop.grant(given);
      await atOnce(5, () => shop.grant(given).replayed());
      await shop.grant({ amount: '40.01' }).refused(422, 'grant_exceeds_maximum', exceeds('40.00'));
      await shop.grant({ amount: '40.00', expires_on: '2020-01-01' }).refused(400, 'validation_failed');
      await shop.grant({ ...given, amount: '40.00' }).refused(409, 'external_id_conflict');
      await shop.grant({ amount: '40.00' });
      expect(await shop.grant(given).replayed()).toEqual(grant);
      // Of equal requests at once, one counts.
      const other = await aShop();
      const same = { external_id: aDocument(), document: aDocument(), amount: '60.00' };
      await atOnce(5, () => other.grant(same));
      await other.grant({ amount: '40.00' });
    });

    it('a void gives nothing back, and neither does an erasure', async () => {
      const shop = await aShop();
      const grant = await shop.grant({ amount: '100.00' });
      await shop.voidGrant(grant);
      await shop.erase(grant.document);
      await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    });

    it('the next day begins at midnight of the merchant, to the millisecond', async () => {
      const shop = await aMerchant(service, { grantDailyMaximumCents: 10_000, timeZone: 'Asia/Tokyo' });
      await shop.grant({ amount: '100.00' });
      const day = 86_400_000;
      const now = +service.clock.now();
      // Tokyo is nine hours ahead, all year.
      const midnight = Math.ceil((now + day * 0.375) / day) * day - day * 0.375;
      service.clock.skip(midnight - now - 60_000);
      const client = (
        await shop.post<{ access_token: string }>('/auth/refresh', { refresh_token: shop.tokens.refresh_token })
      ).access_token;
      const refreshed = shop.with(new Client(service, client));
      await refreshed.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
      service.clock.skip(60_000);
      await refreshed.grant({ amount: '100.00' });
      await refreshed.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    });

    it('the operator is not bounded and does not count, and another merchant has its own bound', async () => {
      const shop = await aShop();
      const other = await aShop();
      const admin = new AdminCommandLine(service);
      const of = ['--merchant', shop.id, '--document', aDocument()];
      for (const id of ['OP-1', 'OP-2'])
        await admin.json('grants', 'create', ...of, '--external-id', id, '--amount', '500.00');
      await shop.grant({ amount: '100.00' });
      const late = await admin.json('grants', 'create', ...of, '--external-id', 'OP-3', '--amount', '0.01');
      expect(late.amount).toBe('0.01');
      expect(await other.grant({ amount: '100.00' })).toMatchObject({ amount: '100.00' });
    });

    it('a change of grant_daily_maximum applies to what was granted before on the day', async () => {
      const shop = await aShop();
      await shop.grant({ amount: '60.00' });
      await shop.setPolicy({ grantDailyMaximumCents: 5000 });
      await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
      await shop.setPolicy({ grantDailyMaximumCents: 7000 });
      await shop.grant({ amount: '10.00' });
      await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    });
  });
});

describe('debits', () => {
  const merchant = useMerchant(() => aLongLivedMerchant(service));

  /** A customer with 20.00 until day 10, 10.00 until day 5, and 30.00 that are pending until day 2. */
  async function aCustomer(): Promise<string> {
    const document = await merchant.customerWith('20.00', { expiresAt: service.clock.inDays(10) });
    await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(5) });
    await merchant.credit(document, '30.00', {
      availableAt: service.clock.inDays(2),
      expiresAt: service.clock.inDays(4),
    });
    return document;
  }

  const remaining = async (document: string): Promise<string[]> =>
    (
      await merchant.all<{ remaining: string }>(`/wallets/${(await merchant.wallet(document)).id}/credits?status=all`)
    ).map((credit) => credit.remaining);

  describe('POST /debits', () => {
    it('a debit takes what can be spent by expiry, then what is pending, and says so everywhere', async () => {
      const document = await aCustomer();
      const debit = await merchant
        .debit({
          document: punctuated(document),
          amount: '35.00',
          note: 'Approved',
          store: 'SP-014',
          metadata: { a: 'b' },
        })
        .changed();
      const { id: walletId } = await merchant.wallet(document);
      expect(debit).toMatchObject({
        ...{ wallet_id: walletId, document, amount: '35.00', requested_amount: '35.00', take: null },
        ...{ restored: '0.00', not_restored: '0.00', reason: 'Granted twice', note: 'Approved', store: 'SP-014' },
        ...{ metadata: { a: 'b' }, created_by: merchant.by, voided_at: null, voided_by: null, void_reason: null },
      });
      expect(await merchant.readDebit(debit)).toEqual(debit);
      expect(await merchant.get(`/debits?external_id=${debit.external_id}`)).toMatchObject({ data: [debit] });
      expect(await remaining(document)).toEqual(['25.00', '0.00', '0.00']);
      const lines = (await merchant.statement(document)).filter(({ kind }) => kind === 'debit');
      expect(lines).toMatchObject([
        { amount: '-10.00', debit_id: debit.id, debit_external_id: debit.external_id, reason: 'Granted twice' },
        { amount: '-20.00', by: merchant.by, store: 'SP-014', order_id: null, source: { type: 'grant' } },
        { amount: '-5.00', balance: '25.00' },
      ]);
      const [event] = (await eventsOf(service, merchant)).filter(({ type }) => type === 'cashback.debited').slice(-1);
      expect(event!.data).toEqual({
        amount: '35.00',
        debit: {
          ...{ id: debit.id, external_id: debit.external_id, store: 'SP-014', amount: '35.00' },
          ...{ reason: 'Granted twice', metadata: { a: 'b' } },
        },
        wallet: {
          ...{ id: walletId, document, available: '0.00', pending: '25.00', held: '0.00', debt: '0.00', frozen: false },
        },
      });
    });

    it('with take, a debit takes what there is, and is refused if there is nothing', async () => {
      const document = await merchant.customerWith('12.34');
      const debit = await merchant.debit({ document, take: 'available' });
      expect(debit).toMatchObject({ amount: '12.34', requested_amount: '20.00', take: 'available' });
      await merchant.debit({ document, take: 'available' }).refused(422, 'debit_exceeds_balance', { maximum: '0.00' });
      const unknown = aDocument();
      await merchant.debit({ document: unknown, take: 'available' }).refused(422, 'debit_exceeds_balance');
      expect((await merchant.wallet(unknown)).id).toBeNull();
    });

    it('a repeated debit returns the debit in its current state, also after an erasure', async () => {
      const document = await merchant.customerWith('50.00');
      const body = {
        external_id: `FIX-${document}`,
        document,
        amount: '20.00',
        reason: 'Twice',
        note: 'n',
        take: 'available',
      };
      const debit = await merchant.debit(body);
      expect(await merchant.debit({ ...body, document: punctuated(document), amount: '20' }).replayed()).toEqual(debit);
      await merchant.voidDebit(debit);
      expect(await merchant.debit(body).replayed()).toMatchObject({ restored: '20.00' });
      await merchant.erase(document);
      const erased = await merchant.debit(body).replayed();
      expect(erased).toMatchObject({ reason: null, note: null, metadata: {}, void_reason: null });
      expect(erased.document).not.toBe(document);
      await merchant.debit({ ...body, reason: 'other' }).refused(409, 'external_id_conflict');
    });

    it.each([
      ['/amount', { amount: '0.00' }],
      ['/amount', { amount: '1.001' }],
      ['/reason', { reason: null }],
      ['/reason', { reason: ' ' }],
      ['/document', { document: '1234' }],
      ['/take', { take: 'all' }],
      ['/external_id', { external_id: 'a ' }],
      ['/note', { note: 'x'.repeat(501) }],
    ])('POST /debits returns 400 at %s for %j', async (pointer, members) => {
      await merchant.debit({ document: aDocument(), ...members }).refused(400, 'validation_failed', [pointer]);
    });

    it('debits at the same time take no more than there is', async () => {
      const document = await merchant.customerWith('20.00');
      await oneAtOnce(6, () => merchant.debit({ document }), 422, { code: 'debit_exceeds_balance', maximum: '0.00' });
    });

    it('the ledger report has what was debited, less what voids restored, in the store of the debit', async () => {
      const shop = await aLongLivedMerchant(service);
      const document = await shop.customerWith('50.00');
      const first = await shop.debit({ document, amount: '15.00', store: 'SP-014' });
      await shop.debit({ document, amount: '4.00' });
      await shop.voidDebit(first);
      const today = service.clock.now().toISOString().slice(0, 10);
      const tomorrow = service.clock.inDays(2).toISOString().slice(0, 10);
      const { total } = await shop.get<{ total: object }>(`/reports/ledger?from=${today.slice(0, 8)}01&to=${tomorrow}`);
      expect(total).toMatchObject({ granted: '50.00', debited: '4.00', closing: '46.00' });
    });
  });

  describe('POST /debits/{id}/void', () => {
    const voided = (debit: Debit, members: object): object => ({ ...debit, ...members });

    it('a void restores to the same credits with their own dates', async () => {
      const document = await aCustomer();
      const debit = await merchant.debit({ document, amount: '35.00' });
      const given = await merchant.voidDebit(debit, { reason: 'Wrong customer' }).changed();
      expect(given).toEqual(
        voided(debit, {
          ...{ restored: '35.00', not_restored: '0.00', void_reason: 'Wrong customer' },
          ...{ voided_at: expect.any(String), voided_by: merchant.by },
        }),
      );
      expect(await remaining(document)).toEqual(['30.00', '10.00', '20.00']);
      expect((await merchant.movements(document)).slice(-3)).toEqual(['debit 5.00', 'debit 10.00', 'debit 20.00']);
      expect(await merchant.wallet(document)).toMatchObject({ available: '30.00', pending: '30.00' });
      const [event] = (await eventsOf(service, merchant))
        .filter(({ type }) => type === 'cashback.debit_voided')
        .slice(-1);
      expect(event!.data).toMatchObject({ amount: '35.00', debit: { id: debit.id }, wallet: { available: '30.00' } });
    });
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
