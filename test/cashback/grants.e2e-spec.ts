import { afterEach, describe, expect, it } from '@jest/globals';
import { GrantsService } from '../../src/cashback/grants.service.js';
import { type Answer, atOnce } from '../support/client.js';
import { changesAmong, expectCreation, expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Grant, Order } from '../support/shop.js';
import { sqlOf } from '../support/sql-blocks.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

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
  it('a repeated POST /grants returns 201 with the grant in its current state and Idempotency-Replayed: true', async () => {
    const content = aGrant({ reason: 'Desculpe', expires_on: dayIn(30) });
    const { body } = await merchant.client.post('/grants', content);
    await aHold(content.document, '20.00');
    await service.clock.advance({ minutes: 1 });
    for (const amount of ['80.00', '80', '80.0']) {
      const again = await merchant.client.post('/grants', { ...content, amount });
      expect(again).toMatchObject({ status: 201, body: { ...body, remaining: '80.00', held: '20.00' } });
      expect(again.headers.get('idempotency-replayed')).toBe('true');
      expect(again.headers.get('location')).toBe(`/grants/${body.id}`);
    }
    expect(await merchant.movements(content.document)).toEqual(['grant 80.00']);
  });

  it.each(['reason', 'available_on', 'expires_on'])(
    'POST /grants takes %s: null as absent, in the first request and in a repeated one',
    async (member) => {
      const without = aGrant();
      const first = await merchant.client.post('/grants', { ...without, [member]: null });
      expect(first.status).toBe(201);
      for (const again of [without, { ...without, [member]: null }, { ...without, reason: null, expires_on: null }])
        expect(await merchant.client.post('/grants', again)).toMatchObject({ status: 201, body: first.body });
      const omitted = aGrant();
      const { body } = await merchant.client.post('/grants', omitted);
      expect(await merchant.client.post('/grants', { ...omitted, [member]: null })).toMatchObject({
        status: 201,
        body,
      });
      expect(await merchant.movements(without.document)).toEqual(['grant 80.00']);
    },
  );

  it.each([
    ['/amount', { amount: '80.01' }],
    ['/document', { document: '00000000000' }],
    ['/reason', { reason: 'other' }],
    ['/available_on', { available_on: '2098-01-01' }],
    ['/expires_on', { expires_on: '2098-01-01' }],
  ])('POST /grants returns 409 with the pointer %s when that member differs', async (pointer, members) => {
    const content = aGrant({ reason: 'Desculpe' });
    const { body: granted } = await merchant.client.post('/grants', content);
    for (const _attempt of ['first', 'second']) {
      const answer = await merchant.client.post('/grants', { ...content, ...members });
      expectProblem(answer, 409, 'external_id_conflict');
      expect(answer.body).toMatchObject({ existing_id: granted.id, next_action: 'read_existing' });
      expect(pointersOf(answer)).toEqual([pointer]);
    }
    expect(await merchant.movements(content.document)).toEqual(['grant 80.00']);
  });

  it('25 concurrent identical POST /grants requests grant once and all return 201', async () => {
    const content = aGrant();
    const answers = await atOnce(25, () => merchant.client.post('/grants', content));
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(201));
    expect(changesAmong(answers)).toBe(1);
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1);
    expect(await merchant.movements(content.document)).toEqual(['grant 80.00']);
  });

  it('only one of 25 concurrent POST /grants requests with different amounts grants cashback', async () => {
    const content = aGrant();
    const answers = await atOnce(25, (at) => merchant.grant({ ...content, amount: `${at + 1}.00` }).answer);
    const [won, ...others] = answers.filter(({ status }) => status === 201);
    expect(others).toEqual([]);
    for (const answer of answers.filter(({ status }) => status !== 201))
      expectProblem(answer, 409, 'external_id_conflict');
    expect(await merchant.movements(content.document)).toEqual([`grant ${won!.body.amount}`]);
  });

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

  it('GET /grants/{id} and POST /grants/{id}/void return 404 for another merchant, an unknown grant, and the credit of an order', async () => {
    const { body } = await create();
    const other = await aMerchant(service);
    const order = await merchant.completed();
    const [earned] = await rowsOf(service, 'SELECT id FROM cashback_credits WHERE order_id = ?', [order.id]);
    await other.readGrant(body).refused(404, 'not_found');
    expectProblem(await voidGrant(body.id, other), 404, 'not_found');
    for (const id of ['0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', 'SORRY-1', String(earned!.id)]) {
      await merchant.readGrant({ id }).refused(404, 'not_found');
      expectProblem(await voidGrant(id), 404, 'not_found');
    }
    expect(await merchant.readGrant(body)).toEqual(body);
  });
});

describe('POST /grants/{id}/void', () => {
  it('POST /grants/{id}/void takes back what is left, returns the same 200 when repeated, and says that it is a repetition', async () => {
    const { body } = await create();
    const first = await voidGrant(body.id);
    expect(first).toMatchObject({
      status: 200,
      body: {
        ...{ ...body, remaining: '0.00', voided: '80.00', voided_at: expect.stringMatching(/Z$/) },
        ...{ voided_by: body.created_by, void_reason: null },
      },
    });
    expect(first.isRepeated || !first.headers.has('idempotency-replayed')).toBe(true);
    await service.clock.advance({ minutes: 5 });
    expect(await merchant.voidGrant(body).replayed()).toEqual(first.body);
    expect(await merchant.voidGrant(body, { reason: 'Another' }).replayed()).toEqual(first.body);
    expect(await merchant.readGrant(body)).toEqual(first.body);
    expect(await merchant.wallet(body.document)).toMatchObject({ available: '0.00', debt: '0.00' });
    expect(await merchant.movements(body.document)).toEqual(['grant 80.00', 'void -80.00']);
  });

  it('POST /grants/{id}/void leaves what an order holds, and takes it back when it is repeated after the release', async () => {
    const { body } = await create();
    const document = body.document;
    const order = await aHold(document, '30.00');
    const voided = await voidGrant(body.id);
    expect(voided.body).toMatchObject({ voided: '50.00', remaining: '30.00', held: '30.00' });
    expect(await merchant.voidGrant(body).replayed()).toEqual(voided.body);
    await merchant.cancel(order);
    expect(await merchant.wallet(document)).toMatchObject({ available: '30.00', held: '0.00' });
    const rest = { ...voided.body, voided: '80.00', remaining: '0.00', held: '0.00' };
    expect(await merchant.voidGrant(body).changed()).toEqual(rest);
    expect(await merchant.voidGrant(body).replayed()).toEqual(rest);
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', held: '0.00' });
    expect(await merchant.movements(document)).toEqual(['grant 80.00', 'void -50.00', 'void -30.00']);
  });

  it('POST /grants/{id}/void works for the grant of an erased customer', async () => {
    const { body } = await create();
    const { pseudonym } = await merchant.erase(body.document);
    expect((await voidGrant(body.id)).body).toMatchObject({ voided: '80.00', document: pseudonym });
    expect((await merchant.wallet(body.document)).id).toBeNull();
  });

  it('25 concurrent POST /grants/{id}/void requests take the cashback back once and return the same grant', async () => {
    const { body } = await create();
    const answers = await atOnce(25, () => voidGrant(body.id));
    expect(answers.map(({ status }) => status)).toEqual(Array(25).fill(200));
    expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
    expect(await merchant.movements(body.document)).toEqual(['grant 80.00', 'void -80.00']);
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
