import { describe, expect, it } from '@jest/globals';
import { type Answer, atOnce, Client } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, logIn } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { idsOf, type Order, type Page, type Refund, type Shop, type TimelineLine } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();

describe('refunds of an order', () => {
  const merchant = useMerchant(() => aMerchant(service));

  /** Refunds an order by one amount after the other. @returns the refunds as they were answered, oldest first. */
  async function aRefundedOrder(amounts: string[]): Promise<{ order: Order; refunds: Refund[] }> {
    const document = await merchant.customerWith('15.00');
    const order = await merchant.completed({ document }, { redeem: '15.00' });
    const refunds: Refund[] = [];
    for (const [at, amount] of amounts.entries()) refunds.push(await refund(order, `DEV-${at + 1}`, amount));
    return { order, refunds };
  }

  /** The refunds of an order when all were made: only the last one can be undone. */
  const now = (refunds: Refund[]): Refund[] =>
    refunds.map((created, at) => ({ ...created, voidable: at === refunds.length - 1 }));

  const refund = (order: { id: string }, external_id: string, amount: string) =>
    merchant.refund(order, amount, { external_id });
  const list = (order: { id: string }, query = ''): Promise<Answer<Page<Refund>>> =>
    merchant.client.get(`/orders/${order.id}/refunds${query}`);

  describe('GET /orders/{id}/refunds', () => {
    it('GET /orders/{id}/refunds returns the refunds as they were created, newest first, and says that only the last one can be undone', async () => {
      const { order, refunds } = await aRefundedOrder(['50.00', '10.01', '89.99']);
      for (const _attempt of ['first', 'second'])
        expect(await list(order)).toMatchObject({
          status: 200,
          body: { data: now(refunds).toReversed(), next_cursor: null },
        });
    });

    it('GET /orders/{id}/refunds pages return each refund once when refunds have the same creation date', async () => {
      const { order } = await aRefundedOrder([]);
      await atOnce(7, (at) => refund(order, `DEV-${at}`, '1.00').answer);
      const written = await rowsOf(service, 'SELECT id, created_at FROM refunds WHERE order_id = ?', [order.id]);
      await service.dataSource.query(
        'UPDATE refunds r JOIN (SELECT MIN(created_at) AS first FROM refunds WHERE order_id = ?) f SET r.created_at = f.first WHERE r.order_id = ?',
        [order.id, order.id],
      );
      const pages = await merchant.client.pages(`/orders/${order.id}/refunds?limit=3`);
      const seen = pages.flatMap(({ data }) => data).map(({ external_id }) => external_id as string);
      expect(seen.sort()).toEqual(['DEV-0', 'DEV-1', 'DEV-2', 'DEV-3', 'DEV-4', 'DEV-5', 'DEV-6']);
      // The events have the dates of the refunds.
      for (const { id, created_at } of written)
        await service.dataSource.query('UPDATE refunds SET created_at = ? WHERE id = ? AND order_id = ?', [
          created_at,
          id,
          order.id,
        ]);
    });

    it.each([
      ['limit', 'limit=0'],
      ['limit', 'limit=101'],
      ['limit', 'limit=2e0'],
      ['cursor', 'cursor=abc'],
      ['cursor', `cursor=${Buffer.from('["refunds",1]').toString('base64url')}`],
      [
        'cursor',
        `cursor=${Buffer.from('["refunds 0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`,
      ],
    ])('GET /orders/{id}/refunds returns 400 when %s is invalid: %s', async (parameter, query) => {
      const { order } = await aRefundedOrder([]);
      const answer = await list(order, `?${query}`);
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body).toMatchObject({ errors: [{ parameter }] });
    });
  });

  describe('GET /orders/{id}/refunds/{refund_id}', () => {
    it('GET /orders/{id}/refunds/{refund_id} returns the refund as it was created, also after later refunds, and whether it can be undone', async () => {
      const { order, refunds } = await aRefundedOrder(['50.00', '10.01']);
      for (const created of now(refunds)) {
        const read = await merchant.client.get(`/orders/${order.id}/refunds/${created.id.toUpperCase()}`);
        expect(read).toMatchObject({ status: 200, body: created });
      }
    });
  });
});

describe('refunds of all orders', () => {
  const list = (shop: Shop, query = ''): Promise<Page<Refund>> =>
    Promise.resolve(shop.send<Page<Refund>>('GET', `/refunds${query && `?${query}`}`, {}, 200));

  /** Refunds of several orders, a second apart. @returns them, newest first. */
  async function refundsOf(shop: Shop, count: number): Promise<Refund[]> {
    const orders = [await shop.completed(), await shop.completed(), await shop.completed()];
    const refunds: Refund[] = [];
    for (let n = 0; n < count; n++) {
      refunds.unshift(await shop.refund(orders[n % 3]!, '1.00'));
      await service.clock.advance({ seconds: 1 });
    }
    return refunds;
  }

  describe('GET /refunds', () => {
    it('GET /refunds returns the refunds of all orders of the merchant as they were created, newest first, and which can be undone', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      const refunds = await refundsOf(shop, 5);
      const [foreign] = await refundsOf(other, 1);
      // Only the last refund of each order can be undone.
      const now = refunds.map((refund, at) => ({ ...refund, voidable: at < 3 }));
      expect(await list(shop)).toEqual({ data: now, next_cursor: null });
      expect(idsOf(await list(other))).toEqual([foreign!.id]);
      expect((await shop.all<Refund>('/refunds?limit=2')).map(({ id }) => id)).toEqual(idsOf({ data: refunds }));
    });

    it('GET /refunds says who made each refund, where and why', async () => {
      const shop = await aMerchant(service);
      const cashier = await aUser(service, shop.id, ['sell', 'refund'], 'Caixa 3');
      const order = await shop.completed();
      await cashier.refund(order, '1.00', { reason: 'Defective', store: 'RJ-003', metadata: { till: '3' } });
      expect((await list(shop)).data).toMatchObject([
        {
          order_id: order.id,
          order_external_id: order.external_id,
          reason: 'Defective',
          store: 'RJ-003',
          metadata: { till: '3' },
          created_by: { user_id: cashier.userId, name: 'Caixa 3' },
        },
      ]);
    });

    it('GET /refunds includes created_from and excludes created_to', async () => {
      const shop = await aMerchant(service);
      const refunds = await refundsOf(shop, 4);
      const ids = idsOf({ data: refunds });
      const [second, third] = [refunds[1]!.created_at, refunds[2]!.created_at];
      expect(idsOf(await list(shop, `created_from=${third}`))).toEqual(ids.slice(0, 3));
      expect(idsOf(await list(shop, `created_to=${second}`))).toEqual(ids.slice(2));
      expect(idsOf(await list(shop, `created_from=${third}&created_to=${second}`))).toEqual([ids[2]]);
      expect(await list(shop, `created_from=${second}&created_to=${third}`)).toEqual({ data: [], next_cursor: null });
      const pages = await shop.client.pages(`/refunds?created_from=${third}&limit=1`);
      expect(pages.flatMap((page) => idsOf(page as never))).toEqual(ids.slice(0, 3));
    });

    it('GET /refunds?user_id returns the refunds of an API user, also of orders of others, in pages and in a period', async () => {
      const shop = await aMerchant(service);
      const cashier = await aUser(service, shop.id, ['sell', 'refund', 'reports'], 'Caixa 3');
      const [own, theirs] = [await refundsOf(shop, 2), await refundsOf(cashier, 4)];
      const last = await cashier.refund(await shop.completed(), '1.00');
      const ids = idsOf({ data: [last, ...theirs] });
      const found = async (query: string): Promise<string[]> =>
        (await shop.all<Refund>(`/refunds?${query}`)).map(({ id }) => id);
      expect(await found(`user_id=${cashier.userId}`)).toEqual(ids);
      expect(await found(`user_id=${cashier.userId.toUpperCase()}&limit=2`)).toEqual(ids);
      expect(await found(`user_id=${shop.userId}&limit=1`)).toEqual(idsOf({ data: own }));
      const at = theirs[1]!.created_at;
      expect(await found(`user_id=${cashier.userId}&created_from=${at}&limit=1`)).toEqual(ids.slice(0, 3));
      expect(await found(`user_id=${cashier.userId}&created_to=${at}`)).toEqual(ids.slice(3));
      for (const by of ['operator', shop.id]) expect(await found(`user_id=${by}`)).toEqual([]);
      expect(await list(await aMerchant(service), `user_id=${cashier.userId}`)).toMatchObject({ data: [] });
    });

    it('the pages of GET /refunds return each refund once when all have the same creation date', async () => {
      const shop = await aMerchant(service);
      const refunds = await refundsOf(shop, 7);
      const at = service.clock.now();
      await rowsOf(service, 'UPDATE refunds SET created_at = ? WHERE merchant_id = ?', [at, shop.id]);
      const ids = idsOf({ data: refunds }).sort().reverse();
      for (const bounds of ['', `&created_from=${at.toISOString()}`])
        expect((await shop.all<Refund>(`/refunds?limit=3${bounds}`)).map(({ id }) => id)).toEqual(ids);
      expect(await list(shop, `created_to=${at.toISOString()}`)).toMatchObject({ data: [] });
    });

    it.each([
      ['limit', 'limit=0'],
      ['limit', 'limit=101'],
      ['created_from', 'created_from=2026-11-20'],
      ['created_to', 'created_to=2026-11-20T13:45:00'],
      ['store', 'store=SP-014'],
      ['user_id', 'user_id=Caixa'],
      ['cursor', 'cursor=abc'],
    ])('GET /refunds returns 400 when %s is invalid: %s', async (parameter, query) => {
      const shop = await aMerchant(service);
      await shop.get(`/refunds?${query}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
    });

    it('GET /refunds refuses the cursor of an order’s refunds, and the other way around', async () => {
      const shop = await aMerchant(service);
      const refunds = await refundsOf(shop, 4);
      const order = { id: refunds[0]!.order_id };
      const [all, own] = [await list(shop, 'limit=1'), await shop.refunds(order, 'limit=1')];
      const errors = [{ parameter: 'cursor' }];
      await shop.get(`/refunds?cursor=${own.next_cursor}`).refused(400, 'validation_failed', { errors });
      await shop.refunds(order, `cursor=${all.next_cursor}`).refused(400, 'validation_failed', { errors });
    });
  });
});

describe('what happened to an order', () => {
  const merchant = useMerchant(() =>
    aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 1, validityDays: 30 }),
  );

  const linesOf = async (order: { id: string }): Promise<TimelineLine[]> =>
    (await merchant.timeline(order, 'limit=100')).data;

  /** Each line in short form, such as `earn 7.50`. */
  const toldOf = async (order: { id: string }): Promise<string[]> =>
    (await linesOf(order)).map(({ type, amount }) => (amount === null ? type : `${type} ${amount}`));

  const aMinute = (): Promise<void> => service.clock.advance({ minutes: 1 });

  describe('GET /orders/{id}/timeline', () => {
    it('a timeline has what happened to an order and the cashback that it moved, with who, where and why, oldest first', async () => {
      let cashier = await aUser(service, merchant.id, ['sell', 'refund'], 'Caixa 3');
      const order = await cashier.create({ store: 'SP-014' });
      await aMinute();
      const completed = await merchant.complete(order, {});
      await service.clock.advanceTo(completed.cashback.to_receive.available_at, 1000);
      const spent = await merchant.completed(
        { document: order.document, total: '2.50', earn_amount: '0.00' },
        { redeem: '2.50' },
      );
      await aMinute();
      const change = await merchant.changeCustomer(order, aDocument());
      await aMinute();
      cashier = cashier.with(new Client(service, (await logIn(service, cashier.email)).access_token));
      const first = await cashier.refund(order, '50.00', { reason: 'Defective', store: 'RJ-003' });
      await aMinute();
      const second = await cashier.refund(order, '100.00');
      const of = (type: string, amount: string | null, at: string | null, by: object | null, store: string | null) => {
        return { at, type, amount, by, store, refund_id: null, refund_external_id: null, reason: null };
      };
      const ofRefund = ({ id, external_id }: typeof first) => ({ refund_id: id, refund_external_id: external_id });
      const [at, available] = [completed.completed_at, completed.cashback.to_receive.available_at];
      expect(await merchant.timeline(order)).toEqual({
        data: [
          of('created', null, order.created_at, cashier.by, 'SP-014'),
          of('completed', '150.00', at, merchant.by, 'SP-014'),
          of('earn', '7.50', at, merchant.by, 'SP-014'),
          of('available', '7.50', available, null, null),
          {
            ...of('customer_changed', null, change.created_at, merchant.by, 'SP-014'),
            reason: 'Typed wrongly at the till',
          },
          of('move_out', '-5.00', change.created_at, merchant.by, 'SP-014'),
          of('move_in', '5.00', change.created_at, merchant.by, 'SP-014'),
          {
            ...of('refunded', '50.00', first.created_at, cashier.by, 'RJ-003'),
            ...ofRefund(first),
            reason: 'Defective',
          },
          { ...of('refunded', '100.00', second.created_at, cashier.by, 'SP-014'), ...ofRefund(second) },
          { ...of('take_back', '-5.00', second.created_at, cashier.by, 'SP-014'), ...ofRefund(second) },
        ],
        next_cursor: null,
      });
      expect(await toldOf(spent)).toEqual(['created', 'completed 2.50', 'redeem -2.50']);
    });

    it('a timeline is the same after the events are deleted, and after every request was repeated', async () => {
      const members = { external_id: aDocument(), document: await merchant.customerWith('20.00'), metadata: {} };
      const order = await merchant.create(members);
      await merchant.complete(order, { redeem: '20.00' });
      const refund = { external_id: 'DEV-1', reason: 'Too large' };
      await merchant.refund(order, '75.00', refund);
      const before = await linesOf(order);
      expect(before.map(({ type, amount }) => [type, amount])).toEqual([
        ['created', null],
        ['completed', '150.00'],
        ['redeem', '-20.00'],
        ['earn', '6.50'],
        ['refunded', '75.00'],
        ['return', '10.00'],
        ['take_back', '-3.25'],
      ]);
      await merchant.refund(order, '75.00', refund).replayed();
      expect(await eventsOf(service, merchant)).not.toHaveLength(0);
      await rowsOf(service, 'DELETE FROM events WHERE merchant_id = ?', [merchant.id]);
      expect(await linesOf(order)).toEqual(before);
    });

    it('an order that expired says so, also after it was completed, and so does the cashback that it earned', async () => {
      const order = await merchant.orderThatHolds('20.00');
      await service.clock.advanceTo(order.expires_at, 2000);
      expect(await linesOf(order)).toMatchObject([
        { type: 'created' },
        { type: 'expired', at: order.expires_at, amount: null, by: null, store: null, reason: null },
      ]);
      const completed = await merchant.complete(order, { redeem: '0.00' });
      const { available_at, expires_at } = completed.cashback.to_receive;
      expect(await toldOf(order)).toEqual(['created', 'expired', 'completed 150.00', 'earn 7.50']);
      await service.clock.advanceTo(available_at, -2000);
      expect(await toldOf(order)).toHaveLength(4);
      await service.clock.advanceTo(expires_at, 1000);
      expect((await linesOf(order)).slice(4)).toMatchObject([
        { type: 'available', at: available_at, amount: '7.50', by: null },
        { type: 'expire', at: expires_at, amount: '-7.50', by: null, store: null },
      ]);
    });

    it('a cancelled order has the reason, an order that was renewed has not expired, and an erasure removes reasons', async () => {
      const cancelled = await merchant.create();
      await merchant.cancel(cancelled, { body: { reason: 'Ana moved' } });
      const expired = await merchant.create();
      service.clock.skip(31 * 60_000);
      await merchant.cancel(expired);
      expect(await toldOf(expired)).toEqual(['created', 'expired', 'cancelled']);
      const renewed = await merchant.create();
      service.clock.skip(31 * 60_000);
      await merchant.hold(renewed, '0.00');
      await merchant.complete(renewed, {});
      expect(await toldOf(renewed)).toEqual(['created', 'completed 150.00', 'earn 7.50']);
      const reasons = async (): Promise<unknown[]> =>
        (await linesOf(cancelled)).map(({ type, reason }) => [type, reason]);
      expect(await reasons()).toEqual([
        ['created', null],
        ['cancelled', 'Ana moved'],
      ]);
      await merchant.erase(cancelled.document);
      expect(await reasons()).toEqual([
        ['created', null],
        ['cancelled', null],
      ]);
    });

    it('entries of one kind are one line, and a debt is repaid in the timeline of the order that earned', async () => {
      const document = aDocument();
      for (const amount of ['1.00', '2.00', '3.00']) await merchant.credit(document, amount);
      const order = await merchant.completed({ document }, { redeem: '6.00' });
      expect(await toldOf(order)).toEqual(['created', 'completed 150.00', 'redeem -6.00', 'earn 7.20']);
      await service.clock.advanceTo(order.cashback.to_receive.available_at, 1000);
      await merchant.completed({ document, total: '7.20', earn_amount: '0.00' }, { redeem: '7.20' });
      await merchant.refund(order, '150.00');
      expect((await toldOf(order)).slice(4)).toEqual([
        'available 7.20',
        'refunded 150.00',
        'return 6.00',
        'take_back -6.00',
        'debt 1.20',
      ]);
      const next = await merchant.completed({ document });
      await service.clock.advanceTo(next.cashback.to_receive.available_at, 1000);
      expect(await toldOf(next)).toEqual([
        'created',
        'completed 150.00',
        'earn 7.50',
        'take_back -1.20',
        'repay -1.20',
        'available 6.30',
      ]);
    });

    it('what was taken back or moved before the day is not available', async () => {
      const [whole, part, moved] = [await merchant.completed(), await merchant.completed(), await merchant.completed()];
      await merchant.refund(whole, '150.00');
      await merchant.refund(part, '50.00');
      await merchant.changeCustomer(moved, aDocument());
      await service.clock.advanceTo(moved.cashback.to_receive.available_at, 1000);
      const available = async (order: { id: string }): Promise<string[]> =>
        (await toldOf(order)).filter((line) => line.startsWith('available'));
      expect(await available(whole)).toEqual([]);
      expect(await available(part)).toEqual(['available 5.00']);
      expect(await available(moved)).toEqual(['available 7.50']);
    });

    it('the pages of a timeline have each line once, also of refunds at the same instant, and after each refund', async () => {
      const order = await merchant.completed({ document: await merchant.customerWith('20.00') }, { redeem: '20.00' });
      await atOnce(6, () => merchant.refund(order, '15.00'));
      await rowsOf(service, 'UPDATE refunds SET created_at = ? WHERE order_id = ?', [
        new Date(order.completed_at!),
        order.id,
      ]);
      const whole = await linesOf(order);
      expect(whole).toHaveLength(4 + 6 * 2 + 6);
      expect(whole.map(({ at }) => at)).toEqual(whole.map(({ at }) => at).sort());
      for (const limit of [1, 3, 7, 100])
        expect(await merchant.all(`/orders/${order.id}/timeline?limit=${limit}`)).toEqual(whole);
      const first = await merchant.timeline(order, 'limit=10');
      await aMinute();
      await merchant.refund(order, '60.00');
      const rest = await merchant.timeline(order, `limit=100&cursor=${first.next_cursor}`);
      expect([...first.data, ...rest.data].slice(0, whole.length)).toEqual(whole);
      expect(rest.data.at(-1)).toMatchObject({ type: 'take_back' });
    });

    it.each(['limit=0', 'limit=101', 'cursor=abc', 'type=earn'])(
      'GET /orders/{id}/timeline refuses %s',
      async (query) => {
        const parameter = query.split('=')[0];
        const order = await merchant.create();
        await merchant.timeline(order, query).refused(400, 'validation_failed', { errors: [{ parameter }] });
      },
    );

    it('GET /orders/{id}/timeline refuses the cursor of another order', async () => {
      const [one, other] = [await merchant.completed(), await merchant.completed()];
      const { next_cursor } = await merchant.timeline(one, 'limit=1');
      const errors = [{ parameter: 'cursor' }];
      await merchant.timeline(other, `cursor=${next_cursor}`).refused(400, 'validation_failed', { errors });
    });
  });
});
