import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { AdminCommandLine } from '../support/admin.js';
import { atOnce, Client } from '../support/client.js';
import { withoutVoidable } from '../support/event-refund.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { startService } from '../support/service.js';
import { aCart, documentOf, type Entry, type FeedEvent, type Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: (started) => aMerchant(started, { releaseDays: 0 }) });
afterEach(() => expectInvariants(service));

const OPERATOR = { user_id: null, name: 'operator' };

/** Another API user of the merchant. */
let till: TestMerchant;
beforeAll(async () => {
  till = await aUser(service, merchant.id, PERMISSIONS, 'Caixa 3');
});

const authorsIn = (entries: Entry[]): unknown[] => entries.map(({ kind, by }) => [kind, by?.name ?? null]);
const authorsOf = async (document: string): Promise<unknown[]> => authorsIn(await merchant.statement(document));
const eventsAbout = async (document: string): Promise<FeedEvent[]> =>
  (await eventsOf(service, merchant)).filter((event) => documentOf(event) === document);
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

  it('a request that another API user repeats keeps the first user', async () => {
    const content = anOrder();
    const order = await merchant.create(content);
    expect((await till.create(content).replayed()).created_by).toEqual(merchant.by);
    const completed = await merchant.complete(order);
    expect(await till.complete(order)).toEqual(completed);
    const refund = await merchant.refund(order, '10.00', { external_id: 'DEV-1' });
    expect(await till.refund(order, '10.00', { external_id: 'DEV-1' }).replayed()).toEqual(refund);
    const cancelled = await merchant.cancel(await merchant.create());
    expect(await till.cancel(cancelled, { body: { reason: 'Another reason' } })).toEqual(cancelled);
    const given = { external_id: aDocument(), document: aDocument() };
    const grant = await merchant.grant(given);
    expect(await till.grant(given).replayed()).toEqual(grant);
    const voided = await merchant.voidGrant(grant, { reason: 'A mistake' });
    expect(voided).toMatchObject({ created_by: merchant.by, voided_by: merchant.by, void_reason: 'A mistake' });
    expect(await till.voidGrant(grant, { reason: 'Another reason' })).toEqual(voided);
  });

  it('a later void by another user is in the ledger and the events, and the grant keeps the user and reason of the first one', async () => {
    const document = aDocument();
    const grant = await merchant.grant({ document });
    const order = await merchant.completed({ document }, { redeem: '20.00' });
    const first = await merchant.voidGrant(grant, { reason: 'A mistake' });
    await merchant.refund(order, '150.00');
    const second = await till.voidGrant(grant, { reason: 'Another reason' });
    expect(second).toEqual({ ...first, voided: '50.00' });
    expect((await authorsOf(document)).filter((entry) => String(entry).startsWith('void'))).toEqual([
      ['void', merchant.name],
      ['void', till.name],
    ]);
    expect((await authorsOfEvents(document)).filter((event) => String(event).includes('voided'))).toEqual([
      ['cashback.voided', merchant.name],
      ['cashback.voided', till.name],
    ]);
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

  it('a user of another merchant changes nothing with a reason, and is not named', async () => {
    const other = await aMerchant(service);
    const order = await merchant.create();
    const grant = await merchant.grant({ document: order.document });
    const body = { reason: 'Not mine' };
    await other.cancel(order, { body }).refused(404, 'not_found');
    await other.voidGrant(grant, body).refused(404, 'not_found');
    expect(await merchant.order(order)).toMatchObject({ status: 'pending', cancelled_by: null, cancel_reason: null });
    expect(await merchant.readGrant(grant)).toEqual(grant);
    const completed = await merchant.complete(order);
    await other.refund(order, '1.00', body).refused(404, 'not_found');
    expect(await merchant.order(order)).toEqual(completed);
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

  it('a debt that is repaid with what an expired order releases is repaid by no user, and with what a cancelled one releases by its user', async () => {
    const shop = await aMerchant(service, { releaseDays: 0, redeemShareBps: 10_000 });
    for (const isCancelled of [true, false]) {
      const sold = await shop.completed();
      const { document } = sold;
      await shop.completed({ document, earn_amount: '0.00' }, { redeem: '7.50' });
      await shop.credit(document, '7.50');
      const order = await shop.create({ document });
      await shop.hold(order, '7.50');
      await shop.refund(sold, '150.00');
      if (isCancelled) await shop.cancel(order);
      else service.clock.skip(1_800_000);
      const by = isCancelled ? shop.by : null;
      const events = (await eventsOf(service, shop)).filter((event) => documentOf(event) === document);
      expect(events.slice(-2).map((event) => [event.type, event.by])).toEqual([
        ['wallet.debt_changed', by],
        [isCancelled ? 'order.cancelled' : 'order.expired', by],
      ]);
      const repayment = (await shop.statement(document)).slice(-2);
      expect(repayment.map((entry) => [entry.kind, entry.by])).toEqual([
        ['take_back', by],
        ['repay', by],
      ]);
    }
  });
});
