import { beforeAll, describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { AdminCommandLine } from '../support/admin.js';
import { atOnce, Client } from '../support/client.js';
import { withoutVoidable } from '../support/event-refund.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { startService } from '../support/service.js';
import {
  aCart,
  type Credit,
  documentOf,
  type Entry,
  type FeedEvent,
  type Grant,
  type Members,
  type Order,
} from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: (started) => aMerchant(started, { releaseDays: 0 }) });

const storesIn = async (document: string): Promise<unknown[]> =>
  (await merchant.statement(document)).map(({ kind, store }) => [kind, store]);
const creditsOf = async (document: string): Promise<Credit[]> =>
  (await merchant.credits(await merchant.wallet(document))).data;
const eventsAbout = async (document: string): Promise<FeedEvent[]> =>
  (await eventsOf(service, merchant)).filter((event) => documentOf(event) === document);

/** Requests with a member, each with what it must not change. */
const REQUESTS: Record<string, (member: Members) => Promise<{ answer: object; before: object; after: object }>> = {
  'POST /orders': async (member) => {
    const document = aDocument();
    const orders = async (): Promise<object> => (await merchant.searchOrders({ document })).data;
    return { before: [], answer: await merchant.create({ document, ...member }).answer, after: await orders() };
  },
  'PUT /orders/{id}': async (member) => {
    const before = await merchant.create();
    return {
      before,
      answer: await merchant.amend(before, aCart('90.00', member)).answer,
      after: await merchant.order(before),
    };
  },
  'POST /orders/{id}/cancel': async (member) => {
    const before = await merchant.create();
    return {
      before,
      answer: await merchant.cancel(before, { body: member }).answer,
      after: await merchant.order(before),
    };
  },
  'POST /orders/{id}/refunds': async (member) => {
    const before = await merchant.completed();
    return {
      before,
      answer: await merchant.refund(before, '1.00', member).answer,
      after: await merchant.order(before),
    };
  },
  'POST /grants': async (member) => {
    const document = aDocument();
    const answer = await merchant.grant({ document, ...member }).answer;
    return { before: { id: null }, answer, after: { id: (await merchant.wallet(document)).id } };
  },
  'POST /grants/{id}/void': async (member) => {
    const before = await merchant.grant();
    return { before, answer: await merchant.voidGrant(before, member).answer, after: await merchant.readGrant(before) };
  },
};

const STORE_FAULTS: [unknown, string][] = [
  [7, 'must be a string, in quotes'],
  [['SP-014'], 'must be a string of at most 100 characters'],
  [true, 'must be a string of at most 100 characters'],
  ['', 'must not be empty'],
  ['x'.repeat(101), 'has more than 100 characters'],
  ['SP\n014', 'must not have control characters or line breaks (U+000A)'],
  ['SP\u0000', 'must not have control characters or line breaks (U+0000)'],
  [' ', 'must not be empty'],
  ['SP-014 ', 'must not begin or end with blanks or invisible characters (U+0020)'],
  ['\u00a0SP-014', 'must not begin or end with blanks or invisible characters (U+00A0)'],
  ['SP\u200d014', 'must not have invisible characters (U+200D)'],
  ['..', 'must not be "." or ".."'],
  ['\ud800', 'must be valid Unicode'],
];
const TEXT_FAULTS: [unknown, string][] = [
  [7, 'must be a string, in quotes'],
  [{ text: 'x' }, 'must be a string of at most 500 characters'],
  [false, 'must be a string of at most 500 characters'],
  ['🎁'.repeat(501), 'has more than 500 characters'],
  ['\ud800', 'must be valid Unicode'],
  ['a\0b', 'must not have control characters (U+0000)'],
  ['\u0007', 'must not have control characters (U+0007)'],
  ['a\u0085b', 'must not have control characters (U+0085)'],
];
const REASON_FAULTS: [unknown, string][] = [
  ...TEXT_FAULTS,
  ['late ', 'must not begin or end with blanks or invisible characters (U+0020)'],
  ['\nlate', 'must not begin or end with blanks or invisible characters (U+000A)'],
  ['late\u200b', 'must not begin or end with blanks or invisible characters (U+200B)'],
];
const METADATA_FAULTS: [unknown, string][] = [
  ['till', 'must be an object of strings'],
  [{ till: 3 }, 'has the member "till", which must be a string, in quotes'],
  [{ 'till\n': '3' }, 'must have keys of 1 to 40 characters'],
];
const FAULTS = [
  ...['POST /orders', 'PUT /orders/{id}', 'POST /orders/{id}/refunds', 'POST /grants'].flatMap((operation) =>
    STORE_FAULTS.map((fault) => [operation, 'store', ...fault] as const),
  ),
  ...['POST /grants', 'POST /orders/{id}/cancel', 'POST /orders/{id}/refunds', 'POST /grants/{id}/void'].flatMap(
    (operation) => REASON_FAULTS.map((fault) => [operation, 'reason', ...fault] as const),
  ),
  ...TEXT_FAULTS.map((fault) => ['POST /grants', 'note', ...fault] as const),
  ...['POST /orders/{id}/refunds', 'POST /grants'].flatMap((operation) =>
    METADATA_FAULTS.map((fault) => [operation, 'metadata', ...fault] as const),
  ),
];

describe('stores, reasons and notes that are not valid', () => {
  it.each(FAULTS)('%s with the %s %j returns 400 and changes nothing', async (operation, member, value, detail) => {
    const { before, answer, after } = await REQUESTS[operation]!({ [member]: value });
    const { errors } = expectProblem(answer as never, 400, 'validation_failed');
    expect(errors).toEqual([{ pointer: `/${member}`, detail: expect.stringContaining(detail) }]);
    expect(after).toEqual(before);
  });
});

describe('the store of an order', () => {
  it.each(['SP-014', 'SP 1', '🎁'.repeat(100), 'loja "1"\\'])(
    'an order, its credit, ledger entries and events have the store %j of its creation',
    async (store) => {
      const document = await merchant.customerWith('20.00');
      const order = await merchant.create({ document, store });
      expect(order.store).toBe(store);
      await merchant.complete(order, { redeem: '10.00' });
      expect((await merchant.order(order)).store).toBe(store);
      expect(await storesIn(document)).toEqual([
        ['grant', null],
        ['redeem', store],
        ['earn', store],
      ]);
      const credits = await creditsOf(document);
      expect(credits.map((credit) => [credit.source.type, credit.store])).toEqual([
        ['grant', null],
        ['order', store],
      ]);
      const [event] = (await eventsAbout(document)).slice(-1);
      expect(event!.data.order!.store).toBe(store);
    },
  );

  it.each([undefined, null])('an order whose store is %j has null, and so does what it earns', async (store) => {
    const order = await merchant.completed({ store });
    expect(order.store).toBeNull();
    expect(await storesIn(order.document)).toEqual([['earn', null]]);
    expect((await creditsOf(order.document)).map((credit) => credit.store)).toEqual([null]);
  });

  it('an amendment changes the store, and one without a store removes it', async () => {
    const document = await merchant.customerWith('20.00');
    const order = await merchant.create({ document, store: 'SP-014' });
    const cart = aCart('90.00');
    const moved = await merchant.amend(order, { ...cart, store: 'RJ-003' });
    expect(moved).toMatchObject({ store: 'RJ-003', version: 2 });
    expect(await merchant.amend(order, { ...cart, store: 'RJ-003' })).toEqual(moved);
    expect(await merchant.amend(order, cart)).toMatchObject({ store: null, version: 3 });
    expect(await merchant.amend(order, { ...cart, store: 'MG-001' })).toMatchObject({ store: 'MG-001', version: 4 });
    await merchant.complete(order, { redeem: '5.00' });
    const stores = (await eventsAbout(document)).flatMap(({ data }) => (data.order ? [data.order.store] : []));
    expect(stores).toEqual(['SP-014', 'RJ-003', null, 'MG-001', 'MG-001']);
    expect((await storesIn(document)).slice(1)).toEqual([
      ['redeem', 'MG-001'],
      ['earn', 'MG-001'],
    ]);
  });

  it('what an amendment releases repays a debt in the store that the order has after it', async () => {
    const sold = await merchant.completed({ store: 'SP-014' });
    const { document } = sold;
    await merchant.completed({ document, total: '15.00', earn_amount: '0.00' }, { redeem: '7.50' });
    await merchant.credit(document, '7.50');
    const order = await merchant.create({ document, total: '15.00', store: 'SP-014' });
    await merchant.hold(order, '7.50');
    await merchant.refund(sold, '150.00');
    await merchant.amend(order, aCart('5.00', { store: 'RJ-003', redeem: 'maximum' }));
    expect((await storesIn(document)).slice(-3)).toEqual([
      ['debt', 'SP-014'],
      ['take_back', 'RJ-003'],
      ['repay', 'RJ-003'],
    ]);
  });
});

describe('the store, the reason and the metadata of a refund', () => {
  const told = { reason: 'Defective\nand late', store: 'RJ-003', metadata: { till: '3' } };

  it('a refund keeps its reason, store and metadata, and its entries have its store', async () => {
    const document = await merchant.customerWith('20.00');
    const order = await merchant.completed({ document, store: 'SP-014' }, { redeem: '15.00' });
    const refund = await merchant.refund(order, '150.00', { external_id: 'DEV-1', ...told });
    expect(refund).toMatchObject(told);
    expect((await merchant.refunds(order)).data).toEqual([refund]);
    expect((await eventsAbout(document)).at(-1)!.data.refund).toEqual(withoutVoidable(refund));
    expect((await storesIn(document)).slice(-2)).toEqual([
      ['return', 'RJ-003'],
      ['take_back', 'RJ-003'],
    ]);
    // The store that owes it is that of the order and of the grant.
    expect((await creditsOf(document)).map((credit) => credit.store)).toEqual([null]);
  });

  it('a refund without a store has none, and its entries have the store of the order', async () => {
    const order = await merchant.completed({ store: 'SP-014' });
    expect(await merchant.refund(order, '150.00')).toMatchObject({ reason: null, store: null, metadata: {} });
    expect(await storesIn(order.document)).toEqual([
      ['earn', 'SP-014'],
      ['take_back', 'SP-014'],
    ]);
  });
});

describe('the reason of a cancellation', () => {
  it('POST /orders/{id}/cancel keeps the reason, and a repeat with another one returns the first', async () => {
    const order = await merchant.create();
    const cancelled = await merchant.cancel(order, { body: { reason: 'Out of stock 🎁' } });
    expect(cancelled).toMatchObject({
      status: 'cancelled',
      cancelled_by: merchant.by,
      cancel_reason: 'Out of stock 🎁',
    });
    for (const body of [{ reason: 'Another one' }, {}, undefined])
      expect(await merchant.cancel(order, { body })).toEqual(cancelled);
    const events = (await eventsOf(service, merchant)).filter(({ data }) => data.order?.id === order.id);
    expect(events.map(({ data }) => data.order!.cancel_reason)).toEqual([null, 'Out of stock 🎁']);
  });

  it.each([undefined, {}, { reason: null }])(
    'POST /orders/{id}/cancel with the body %j has no reason, also later',
    async (body) => {
      const cancelled = await merchant.cancel(await merchant.create(), { body });
      expect(cancelled.cancel_reason).toBeNull();
      expect(await merchant.cancel(cancelled, { body: { reason: 'Too late' } })).toEqual(cancelled);
    },
  );
});

describe('the store and the note of a grant, and the reason of its void', () => {
  const content = (): Members => ({
    external_id: aDocument(),
    document: aDocument(),
    store: 'SP-014',
    note: 'Third complaint',
  });

  it('a grant keeps its store and note, and the customer sees only the store', async () => {
    const document = aDocument();
    const grant = await merchant.grant({ ...content(), document, reason: 'Late delivery' });
    expect(grant).toMatchObject({ store: 'SP-014', note: 'Third complaint', reason: 'Late delivery' });
    expect(await merchant.readGrant(grant)).toEqual(grant);
    const [entry] = await merchant.statement(document);
    expect(entry).toMatchObject({ kind: 'grant', store: 'SP-014', reason: 'Late delivery' });
    const [credit] = await creditsOf(document);
    expect(credit!.store).toBe('SP-014');
    const [event] = await eventsAbout(document);
    expect(event!.data.grant!.store).toBe('SP-014');
    for (const shown of [entry, credit, event]) expect(JSON.stringify(shown)).not.toContain('Third complaint');
  });

  it('a void keeps its first reason, and its entry has no store', async () => {
    const grant = await merchant.grant(content());
    const voided = await merchant.voidGrant(grant, { reason: 'Granted by mistake' });
    expect(voided).toMatchObject({ voided: '50.00', voided_by: merchant.by, void_reason: 'Granted by mistake' });
    for (const body of [{ reason: 'Another one' }, {}, undefined])
      expect(await merchant.voidGrant(grant, body)).toEqual(voided);
    expect(await storesIn(grant.document)).toEqual([
      ['grant', 'SP-014'],
      ['void', null],
    ]);
  });

  it('what a refund returns as a new credit has the store of the credit that it came from', async () => {
    const document = aDocument();
    const today = (await merchant.grant()).available_on;
    await merchant.grant({ document, store: 'SP-014', expires_on: today });
    const order = await merchant.completed({ document, store: 'MG-001' }, { redeem: '20.00' });
    await merchant.refund(order, '150.00', { store: 'RJ-003' });
    const returned = (await creditsOf(document)).filter(({ source }) => source.return);
    expect(returned.map(({ store, remaining }) => [store, remaining])).toEqual([['SP-014', '20.00']]);
    expect((await storesIn(document)).slice(-2)).toEqual([
      ['return', 'RJ-003'],
      ['take_back', 'RJ-003'],
    ]);
  });
});

describe('stores, reasons and notes of an erased customer', () => {
  it('an erasure clears reasons, notes and metadata, keeps stores and users, and requests still replay', async () => {
    const document = aDocument();
    const secrets = [
      'the reason of a grant',
      'a note',
      'why it is void',
      'why it is cancelled',
      'why it returns',
      'a till',
    ];
    const [reason, note, voidReason, cancelReason, refundReason, metadata] = secrets;
    const grantContent = { external_id: aDocument(), document, reason, note, store: 'SP-014' };
    const grant = await merchant.grant(grantContent);
    await merchant.voidGrant(grant, { reason: voidReason });
    const orderContent = anOrder({ document, store: 'SP-014' });
    const order = await merchant.completed(orderContent);
    const refundContent = { external_id: 'DEV-1', reason: refundReason, store: 'RJ-003', metadata: { till: metadata } };
    const refund = await merchant.refund(order, '10.00', refundContent);
    const other = await merchant.cancel(await merchant.create({ document }), { body: { reason: cancelReason } });
    const seen = async (): Promise<string> =>
      JSON.stringify([
        await merchant.readGrant(grant),
        [await merchant.order(order), (await merchant.refunds(order)).data, await merchant.order(other)],
        (await eventsOf(service, merchant)).filter(({ data }) => [order.id, other.id].includes(data.order?.id ?? '')),
      ]);
    for (const secret of secrets) expect(await seen()).toContain(secret);
    const { pseudonym } = await merchant.erase(document);
    for (const secret of secrets) expect(await seen()).not.toContain(secret);

    const by = merchant.by;
    const erasedGrant: Partial<Grant> = { reason: null, note: null, void_reason: null, store: 'SP-014' };
    expect(await merchant.readGrant(grant)).toMatchObject({ ...erasedGrant, created_by: by, voided_by: by });
    expect(await merchant.order(other)).toMatchObject({ cancel_reason: null, cancelled_by: by, document: pseudonym });
    const erasedRefund = { ...refund, reason: null, metadata: {} };
    expect((await merchant.refunds(order)).data).toEqual([erasedRefund]);
    expect(await merchant.grant(grantContent).replayed()).toMatchObject({ id: grant.id, created_by: by });
    expect(await merchant.create(orderContent).replayed()).toMatchObject({ id: order.id, created_by: by });
    expect(await merchant.refund(order, '10.00', refundContent).replayed()).toEqual(erasedRefund);
    expect(await merchant.cancel(other, { body: { reason: cancelReason } })).toEqual(await merchant.order(other));
    expect(await merchant.voidGrant(grant, { reason: voidReason })).toEqual(await merchant.readGrant(grant));
    // What is not erased is still compared.
    const moved = { ...refundContent, store: 'MG-001' };
    await merchant.refund(order, '10.00', moved).refused(409, 'external_id_conflict', ['/store']);
    await merchant.create({ ...orderContent, store: 'MG-001' }).refused(409, 'external_id_conflict');
    await merchant.grant({ ...grantContent, store: 'MG-001' }).refused(409, 'external_id_conflict');
  });

  it('an erasure clears only what is of the customer and of the merchant', async () => {
    const other = await aMerchant(service);
    const document = aDocument();
    const body = { reason: 'Mine' };
    const [theirs, another] = [await other.create({ document }), await merchant.create()];
    const kept: Order[] = [await other.cancel(theirs, { body }), await merchant.cancel(another, { body })];
    await merchant.cancel(await merchant.create({ document }), { body });
    await merchant.erase(document);
    expect([await other.order(theirs), await merchant.order(another)]).toEqual(kept);
  });
});

const OPERATOR = { user_id: null, name: 'operator' };

/** Another API user of the merchant. */
let till: TestMerchant;
beforeAll(async () => {
  till = await aUser(service, merchant.id, PERMISSIONS, 'Caixa 3');
});

const authorsIn = (entries: Entry[]): unknown[] => entries.map(({ kind, by }) => [kind, by?.name ?? null]);
const authorsOf = async (document: string): Promise<unknown[]> => authorsIn(await merchant.statement(document));
const authorsOfEvents = async (document: string): Promise<unknown[]> =>
  (await eventsAbout(document)).map(({ type, by }) => [type, by?.name ?? null]);

describe('who made a change', () => {
  it('an order, its refunds, its ledger entries and its events name the API user of each change', async () => {
    const document = aDocument();
    const grant = await merchant.grant({ document });
    const order = await merchant.create({ document });
    await till.hold(order, '10.00');
    await merchant.amend(order, aCart('140.00'));
    const completed = await till.complete(order);
    const refund = await merchant.refund(order, '140.00');
    expect(grant).toMatchObject({ created_by: merchant.by, voided_by: null });
    expect(order).toMatchObject({ created_by: merchant.by, completed_by: null, cancelled_by: null });
    expect(completed).toMatchObject({ created_by: merchant.by, completed_by: till.by, cancelled_by: null });
    expect(refund.created_by).toEqual(merchant.by);
    const [listed] = (await merchant.searchOrders({ document })).data;
    for (const read of [await till.order(order), await till.orderByExternalId(order.external_id), listed])
      expect(read).toMatchObject({ created_by: merchant.by, completed_by: till.by });
    expect((await till.refunds(order)).data).toEqual([refund]);
    expect(await authorsOf(document)).toEqual([
      ['grant', merchant.name],
      ['redeem', till.name],
      ['earn', till.name],
      ['return', merchant.name],
      ['take_back', merchant.name],
    ]);
    expect(await authorsOfEvents(document)).toEqual([
      ['cashback.granted', merchant.name],
      ['order.created', merchant.name],
      ['order.redemption_held', till.name],
      ['order.amended', merchant.name],
      ['order.completed', till.name],
      ['order.refunded', merchant.name],
    ]);
    const [, , held, , done, refunded] = await eventsAbout(document);
    expect(held!.data.order).toMatchObject({ created_by: merchant.by, completed_by: null });
    expect(done!.data.order).toMatchObject({ created_by: merchant.by, completed_by: till.by });
    expect(refunded!.data.refund).toEqual(withoutVoidable(refund));
  });

  it('of several users that do the same at once, the one that did it is named', async () => {
    const users = [merchant, till];
    const shown = (by: unknown): TestMerchant =>
      users.find(({ userId }) => (by as Order['created_by']).user_id === userId)!;
    for (let round = 0; round < 5; round++) {
      const document = aDocument();
      const content = anOrder({ document });
      const grantContent = { external_id: aDocument(), document };
      const created = await atOnce(8, (at) => users[at % 2]!.create(content).answer);
      const granted = await atOnce(8, (at) => users[at % 2]!.grant(grantContent).answer);
      const order = created[0]!.body;
      const completed = await atOnce(8, (at) => users[at % 2]!.complete(order));
      const refunded = await atOnce(8, (at) => users[at % 2]!.refund(order, '10.00', { external_id: 'DEV-1' }).answer);
      for (const answers of [created, granted, refunded]) {
        const authors = new Set(answers.map(({ body }) => body.created_by.user_id));
        const creator = answers.findIndex(({ headers }) => !headers.has('idempotency-replayed'));
        // Of a repeated request, an attempt that was answered too late may have created it.
        const isCertain = !answers.some(({ isRepeated }) => isRepeated);
        expect([...authors]).toEqual([isCertain ? users[creator % 2]!.userId : [...authors][0]]);
      }
      const other = await merchant.create({ document });
      const bodies = ['Out of stock', 'Paid twice'].map((reason) => ({ body: { reason } }));
      const cancelled = await atOnce(8, (at) => users[at % 2]!.cancel(other, bodies[at % 2]));
      const voided = await atOnce(8, (at) => users[at % 2]!.voidGrant(granted[0]!.body, bodies[at % 2]!.body));
      for (const answers of [completed, cancelled, voided])
        expect(new Set(answers.map((body) => JSON.stringify(body))).size).toBe(1);
      const by = {
        completed: shown(completed[0]!.completed_by),
        refunded: shown(refunded[0]!.body.created_by),
        cancelled: shown(cancelled[0]!.cancelled_by),
        voided: shown(voided[0]!.voided_by),
      };
      expect(cancelled[0]!.cancel_reason).toBe(bodies[users.indexOf(by.cancelled)]!.body.reason);
      expect(voided[0]!.void_reason).toBe(bodies[users.indexOf(by.voided)]!.body.reason);
      expect(await authorsOfEvents(document)).toEqual([
        ['order.created', created[0]!.body.created_by.name],
        ['cashback.granted', granted[0]!.body.created_by.name],
        ['order.completed', by.completed.name],
        ['order.refunded', by.refunded.name],
        ['order.created', merchant.name],
        ['order.cancelled', by.cancelled.name],
        ['cashback.voided', by.voided.name],
      ]);
      expect(await authorsOf(document)).toEqual([
        ['grant', granted[0]!.body.created_by.name],
        ['earn', by.completed.name],
        ['take_back', by.refunded.name],
        ['void', by.voided.name],
      ]);
    }
  });

  it('what the command line grants and voids is by the operator', async () => {
    const admin = new AdminCommandLine(service);
    const document = aDocument();
    const of = ['--merchant', merchant.id];
    const { id } = await admin.json(
      'grants',
      'create',
      ...of,
      '--document',
      document,
      '--amount',
      '9.00',
      '--external-id',
      'OP-1',
    );
    expect(await merchant.readGrant({ id })).toMatchObject({ created_by: OPERATOR, voided_by: null });
    await admin.json('grants', 'void', id);
    expect(await merchant.readGrant({ id })).toMatchObject({ created_by: OPERATOR, voided_by: OPERATOR });
    const entries = await merchant.statement(document);
    expect(entries.map(({ by }) => by)).toEqual([OPERATOR, OPERATOR]);
    expect((await eventsAbout(document)).map(({ by }) => by)).toEqual([OPERATOR, OPERATOR]);
  });

  it('a user that is renamed keeps its ID and shows the new name, and one that is disabled keeps its name', async () => {
    const cashier = await aUser(service, merchant.id, ['sell'], 'Caixa 7');
    const order = await cashier.completed();
    const { document } = order;
    const change = (members: object) =>
      merchant.put(`/users/${cashier.userId}`, { name: 'Caixa 8', permissions: ['sell'], disabled: false, ...members });
    await change({});
    const renamed = { user_id: cashier.userId, name: 'Caixa 8' };
    // An instance keeps names for a minute, and another one has not read this one. Reads and events read them.
    const second = await startService({ databaseUrl: service.databaseUrl });
    try {
      const there = merchant.with(new Client(second, merchant.tokens.access_token));
      for (const disabled of [false, true]) {
        await change({ disabled });
        const [listed] = (await merchant.searchOrders({ document })).data;
        for (const shown of [await there.order(order), listed])
          expect(shown).toMatchObject({ created_by: renamed, completed_by: renamed });
        expect((await merchant.statement(document)).map(({ by }) => by)).toEqual([renamed]);
        expect((await eventsAbout(document)).map(({ by }) => by)).toEqual([renamed, renamed]);
      }
    } finally {
      await second.stop();
    }
  });

  it('no user makes what a date does, also if a request happens to write it', async () => {
    const shop = await aMerchant(service, { releaseDays: 0 });
    const document = aDocument();
    await shop.credit(document, '30.00', { expiresAt: new Date(+service.clock.now() + 600_000) });
    const order = await shop.create({ document });
    await shop.hold(order, '10.00');
    service.clock.skip(1_800_000);
    expect(await shop.complete(order, { redeem: '0.00' })).toMatchObject({ completed_by: shop.by });
    expect((await shop.statement(document)).map(({ kind, by }) => [kind, by])).toEqual([
      ['grant', OPERATOR],
      ['expire', null],
      ['expire', null],
      ['earn', shop.by],
    ]);
    expect((await eventsOf(service, shop)).map(({ type, by }) => [type, by])).toEqual([
      ['cashback.granted', OPERATOR],
      ['order.created', shop.by],
      ['order.redemption_held', shop.by],
      ['cashback.expired', null],
      ['order.expired', null],
      ['order.completed', shop.by],
    ]);
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
