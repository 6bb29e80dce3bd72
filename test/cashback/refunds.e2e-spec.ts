import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CreditExpiryService } from '../../src/cashback/credit-expiry.service.js';
import { type Answer, atOnce } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { localDate, startOfDayAfter } from '../support/days.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Grant, Members, Order, Refund, Wallet } from '../support/shop.js';
import { useMerchant } from '../support/use-merchant.js';
import { useService } from '../support/use-service.js';
import { type Row, rowsOf } from '../support/wallets.js';

const clock = new FrozenClock();
const { service } = useService({ clock });

describe('what a refund takes back', () => {
  const merchant = useMerchant(() => aLongLivedMerchant(service));

  let counter = 0;
  async function refund(order: { id: string }, amount: string): Promise<Refund> {
    const body = await merchant.refund(order, amount, { external_id: `DEV-${++counter}` });
    return body;
  }

  describe('cashback that a refund claims', () => {
    let shop: TestMerchant;
    beforeAll(async () => {
      const policy = {
        releaseDays: 0,
        validityDays: 1,
        redeemShareBps: 10_000,
        earnRatesByPaymentMethod: { pix: 5000 },
      };
      shop = await aLongLivedMerchant(service, { ...policy, earnRateBps: 0, maxOrderTtlMinutes: 60 * 24 * 10 });
    });

    /** An order of 200.00 that earned 100.00 until midnight, of which another one holds 60.00. */
    async function aSale(): Promise<{ x: Order; y: Order }> {
      const x = await shop.completed({
        total: '200.00',
        payment_methods: [{ id: 'pix', amount: '200.00' }],
        store: 'SP-014',
      });
      const expires_at = service.clock.inDays(5).toISOString();
      const y = await shop.create({ document: x.document, total: '60.00', expires_at, store: 'RJ-003' });
      return { x, y: await shop.hold(y, '60.00') };
    }
    const refundAll = (x: Order, by = shop): PromiseLike<Refund> =>
      by.refund(x, '200.00', { store: 'MG-001', external_id: 'DEV-1' });
    const aManager = (): Promise<TestMerchant> => aUser(service, shop.id, ['refund'], 'Gerente');
    const nothing = { available: '0.00', pending: '0.00', held: '0.00', debt: '0.00' };

    it('what is claimed and redeemed is a debt of the refund, with an event of its user', async () => {
      const { x, y } = await aSale();
      const { document } = x;
      await shop.credit(document, '10.00');
      const manager = await aManager();
      await refundAll(x, manager);
      expect(await shop.wallet(document)).toMatchObject({ ...nothing, available: '10.00', held: '60.00' });
      await shop.complete(y);
      expect(await shop.wallet(document)).toMatchObject({ ...nothing, debt: '50.00' });
      const own = { order_id: x.id, refund_external_id: 'DEV-1', by: manager.by, store: 'MG-001' };
      expect((await shop.statement(document)).slice(-3)).toMatchObject([
        { kind: 'redeem', amount: '-60.00', order_id: y.id, by: shop.by },
        { kind: 'take_back', amount: '-10.00', ...own },
        { kind: 'debt', amount: '50.00', ...own },
      ]);
      const events = (await eventsOf(service, shop)).slice(-2);
      expect(events).toMatchObject([
        { type: 'wallet.debt_changed', by: manager.by, data: { change: '50.00', wallet: { debt: '50.00' } } },
        { type: 'order.completed', by: shop.by, data: { order: { id: y.id }, wallet: { debt: '50.00' } } },
      ]);
      expect(await shop.refund(y, '60.00')).toMatchObject({ cashback_returned: '60.00' });
      expect(await shop.wallet(document)).toMatchObject({ ...nothing, available: '10.00' });
    });

    it('a refund, its repetition and a cancellation at once leave nothing and no debt, in any order', async () => {
      for (let round = 0; round < 6; round++) {
        const { x, y } = await aSale();
        if (round % 2 === 1) await service.clock.advance({ days: 1 });
        await Promise.all([refundAll(x), shop.cancel(y), refundAll(x)]);
        expect(await shop.wallet(x.document)).toMatchObject(nothing);
      }
    });

    it('a refund and a completion of what is held at once leave the debt of what was redeemed', async () => {
      for (let round = 0; round < 6; round++) {
        const { x, y } = await aSale();
        if (round % 2 === 1) await service.clock.advance({ days: 1 });
        await Promise.all([refundAll(x), shop.complete(y)]);
        expect(await shop.wallet(x.document)).toMatchObject({ ...nothing, debt: '60.00' });
      }
    });
  });

  describe('debt of a wallet', () => {
    /** A customer who spent 5.00 that the refund of the order then could not take back. */
    async function aDebtor(): Promise<{ document: string; spent: Order }> {
      const document = aDocument();
      const order = await merchant.completed({ document, total: '100.00' });
      await service.clock.advance({ days: 8 });
      const spent = await merchant.completed({ document, total: '10.00', payment_methods: [] }, { redeem: '5.00' });
      await refund(order, '100.00');
      return { document, spent };
    }

    it('every line of a refund names it, also those that repay a debt, and an expiry names none', async () => {
      const { document, spent } = await aDebtor();
      const before = (await merchant.statement(document)).length;
      const { id: refund_id, external_id: refund_external_id } = await refund(spent, '10.00');
      const ofRefund = { refund_id, refund_external_id, order_id: spent.id };
      expect((await merchant.statement(document)).slice(before)).toMatchObject([
        { kind: 'return', amount: '5.00', ...ofRefund },
        { kind: 'take_back', amount: '-4.75', ...ofRefund },
        { kind: 'repay', amount: '-4.75', ...ofRefund },
        { kind: 'take_back', amount: '-0.25', ...ofRefund },
      ]);

      const other = aDocument();
      await merchant.credit(other, '30.00', { expiresAt: service.clock.inDays(1) });
      const late = await merchant.completed({ document: other }, { redeem: '10.00' });
      service.clock.skip(3 * 86_400_000);
      const { id } = await refund(late, '150.00');
      expect((await merchant.statement(other)).slice(-3)).toMatchObject([
        { kind: 'expire', amount: '-20.00', refund_id: null, order_id: null },
        { kind: 'return', amount: '10.00', refund_id: id },
        { kind: 'take_back', amount: '-7.00', refund_id: id },
      ]);
    });

    it('concurrent refunds of all orders of a customer give the same result as sequential ones', async () => {
      const document = await merchant.customerWith('40.00');
      const orders = await atOnce(8, () => merchant.completed({ document, total: '100.00' }, { redeem: '5.00' }));
      await atOnce(8, (index) => refund(orders[index]!, '100.00'));
      expect(await merchant.wallet(document)).toMatchObject({
        available: '40.00',
        pending: '0.00',
        held: '0.00',
        debt: '0.00',
      });
    });
  });
});

describe('what a refund returns', () => {
  const DAY_MS = 86_400_000;
  const ZONE = 'America/Sao_Paulo';
  const { service, merchant: inSaoPaulo } = useService({
    clock,
    merchant: (started) => aShop(ZONE, started),
  });

  /** A merchant whose orders earn 10 % of what is paid with `bonus`, and nothing otherwise. */
  function aShop(timeZone: string, started = service): Promise<TestMerchant> {
    return aLongLivedMerchant(started, {
      ...{ timeZone, earnRateBps: 0, earnRatesByPaymentMethod: { bonus: 1000 }, redeemShareBps: 10_000 },
      ...{ releaseDays: 0, validityDays: 90 },
    });
  }

  let merchant: TestMerchant;
  let document: string;
  beforeEach(() => {
    merchant = inSaoPaulo;
    document = aDocument();
  });

  let counter = 0;
  const refund = (order: { id: string }, amount: string, external_id = `DEV-${++counter}`): Promise<Answer<Refund>> =>
    merchant.client.post(`/orders/${order.id}/refunds`, { external_id, amount });
  async function refunded(order: { id: string }, amount: string): Promise<Refund> {
    const { status, body } = await refund(order, amount);
    expect({ status, body }).toMatchObject({ status: 201 });
    return body;
  }
  const credit = (amount: string, expiresAt: number): Promise<void> =>
    merchant.credit(document, amount, { expiresAt: new Date(expiresAt) });
  const completed = (redeem: string, members: Members = {}): Promise<Order> =>
    merchant.completed({ document, total: '100.00', ...members }, { redeem });
  const wallet = (): PromiseLike<Wallet> => merchant.wallet(document);
  const movements = (): Promise<string[]> => merchant.movements(document);
  /** The end of the 7th day after today. */
  const endOfSevenDays = (zone = ZONE): number => startOfDayAfter(clock.ms, 8, zone);
  const iso = (instant: number): string => new Date(instant).toISOString();

  /** The rows of the customer's credits, oldest first. */
  function credits(): Promise<Row[]> {
    return rowsOf(
      service,
      `SELECT c.id, c.order_id, c.refund_id, c.from_credit_id, c.expires_at, c.remaining_cents
       FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id
      WHERE w.merchant_id = ? AND w.document = ? ORDER BY c.seq`,
      [merchant.id, document],
    );
  }

  describe('what a refund returns', () => {
    it('the days of a refund are those of the order, also if the time zone of the merchant has changed since', async () => {
      await credit('10.00', clock.ms + DAY_MS);
      merchant = await aShop('Pacific/Kiritimati');
      await credit('10.00', clock.ms + DAY_MS);
      const order = await completed('10.00');
      await rowsOf(
        service,
        "UPDATE merchants m JOIN policy_bases b ON b.merchant_id = m.id SET m.policy = JSON_SET(m.policy, '$.timeZone', 'Pacific/Pago_Pago'), b.policy = m.policy WHERE m.id = ?",
        [merchant.id],
      );
      await clock.advance({ seconds: 2 });
      await refunded(order, '100.00');
      expect((await wallet()).next_expiry!.at).toBe(iso(endOfSevenDays('Pacific/Kiritimati')));
    });

    it('refunds at once return what was redeemed exactly, each once', async () => {
      await credit('10.00', clock.ms + DAY_MS);
      await credit('5.00', clock.ms + 90 * DAY_MS);
      const order = await completed('15.00');
      await clock.advance({ days: 2 });
      const answers = await atOnce(40, (at) => refund(order, '5.00', `DEV-ONCE-${at % 20}`));
      expect(answers.map(({ status }) => status)).toEqual(Array(40).fill(201));
      expect(await wallet()).toMatchObject({ available: '15.00', debt: '0.00' });
      const made = (await credits()).slice(2);
      expect(made.reduce((sum, row) => sum + Number(row.remaining_cents), 0)).toBe(1000);
      expect(new Set(made.map((row) => row.refund_id)).size).toBe(made.length);
      const returned = (await movements()).filter((line) => line.startsWith('return'));
      expect(returned.reduce((cents, line) => cents + Math.round(100 * Number(line.split(' ')[1])), 0)).toBe(1500);
    });
  });

  describe('a void of a grant of which refunds returned a part', () => {
    const voidOf = (id: string): Promise<Answer> => merchant.client.post(`/grants/${id}/void`);

    /** A grant of 30.00 that ends today. */
    const aGrant = (): PromiseLike<Grant> =>
      merchant.grant({ document, amount: '30.00', expires_on: localDate(clock.ms, ZONE) });

    it('25 voids at once take what returned once', async () => {
      const { id } = await aGrant();
      const order = await completed('20.00');
      await clock.advance({ days: 2 });
      await refunded(order, '100.00');
      const answers = await atOnce(25, () => voidOf(id));
      expect(new Set(answers.map(({ status, body }) => JSON.stringify({ status, body }))).size).toBe(1);
      expect(answers[0]).toMatchObject({ status: 200, body: { voided: '20.00', remaining: '0.00' } });
      expect((await movements()).filter((line) => line.startsWith('void'))).toEqual(['void -20.00']);
    });
  });
});

describe('what orders hold', () => {
  const DAY_MS = 86_400_000;
  const HOUR_MS = 3_600_000;
  const { service, merchant } = useService({
    clock,
    merchant: (started) =>
      aLongLivedMerchant(started, {
        ...{ earnRateBps: 0, earnRatesByPaymentMethod: { bonus: 600 }, redeemShareBps: 10_000 },
        ...{ releaseDays: 0, maxOrderTtlMinutes: 60 * 24 * 60 },
      }),
  });

  let document: string;
  /** When the credit expires that every test holds. */
  let tonight: number;
  beforeEach(() => {
    document = aDocument();
    tonight = clock.ms + HOUR_MS;
  });

  const hold = (order: { id: string }, amount: string, expires_at?: string): Promise<Answer<Order>> =>
    merchant.client.put(`/orders/${order.id}/redemption`, { amount, expires_at });
  const cancel = (order: { id: string }): Promise<Answer<Order>> => merchant.client.post(`/orders/${order.id}/cancel`);
  const credit = (amount: string, expiresAt: number): Promise<void> =>
    merchant.credit(document, amount, { expiresAt: new Date(expiresAt) });
  const wallet = (): PromiseLike<Wallet> => merchant.wallet(document);
  const movements = (): Promise<string[]> => merchant.movements(document);
  /** Moves the clock to an instant without a sweep. */
  const skipTo = (instant: number): void => clock.skip(instant - clock.ms);

  /** Creates an order of 100.00 that holds an amount until an instant. */
  async function anOrderHolding(amount: string, until = clock.ms + 2 * DAY_MS): Promise<Order> {
    const order = await merchant.create({
      ...{ document, total: '100.00', expires_at: new Date(until).toISOString() },
    });
    const { status, body } = await hold(order, amount);
    expect({ status, held: body.cashback?.to_redeem.held }).toEqual({ status: 200, held: amount });
    return body;
  }

  describe('what an order holds of a credit that expires meanwhile', () => {
    it('orders that hold parts of an expired credit and are cancelled at once let each part expire once', async () => {
      await credit('20.00', tonight);
      const orders: Order[] = [];
      for (let count = 0; count < 5; count++) orders.push(await anOrderHolding('4.00'));
      skipTo(tonight);
      const answers = await atOnce(10, (index) => cancel(orders[index % 5]!));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(await wallet()).toMatchObject({ available: '0.00', held: '0.00', debt: '0.00' });
      expect(await movements()).toEqual(['grant 20.00', ...Array<string>(5).fill('expire -4.00')]);
    });
  });

  describe('an order that expires around the expiry of its credit', () => {
    const sweeps: [string, () => Promise<unknown>][] = [
      ['before the credit expires', () => Promise.resolve()],
      ['1 second after the credit has expired', () => Promise.resolve(clock.skip(1100))],
      ['after an outage of three days', () => Promise.resolve(clock.skip(3 * DAY_MS))],
    ];

    /** The lines of a statement, with the instant of those that expire. */
    async function lines(): Promise<string[]> {
      return (await merchant.statement(document)).map(({ kind, amount, effective_at }) =>
        kind === 'expire' ? `${kind} ${amount} at ${effective_at}` : `${kind} ${amount}`,
      );
    }

    it.each(sweeps)(
      'an order that ends 100 ms before its credit expires lets it expire, if the sweep comes %s',
      async (_, wait) => {
        await credit('30.00', tonight);
        const order = await anOrderHolding('20.00', tonight - 100);
        skipTo(tonight - 100);
        await wait();
        await clock.sweep();
        skipTo(Math.max(tonight, clock.ms));
        await clock.sweep();
        expect((await merchant.client.get(`/orders/${order.id}`)).body).toMatchObject({
          ...{ status: 'expired', cashback: { to_redeem: { lapsed: '20.00', available: '0.00' } } },
        });
        expect(await wallet()).toMatchObject({ available: '0.00', held: '0.00', next_expiry: null });
        const expired = (await lines()).slice(1);
        const sum = expired.reduce((cents, line) => cents + Math.round(100 * Number(line.split(' ')[1])), 0);
        expect(sum).toBe(-3000);
        expect(new Set(expired.map((line) => line.split(' at ')[1]))).toEqual(
          new Set([new Date(tonight).toISOString()]),
        );
      },
    );

    it('the result is the same whether credits or orders are swept first', async () => {
      await credit('30.00', tonight);
      await anOrderHolding('20.00', tonight - 100);
      skipTo(tonight + HOUR_MS);
      await service.app.get(CreditExpiryService).run();
      expect(await lines()).toEqual(['grant 30.00', `expire -10.00 at ${new Date(tonight).toISOString()}`]);
      await clock.sweep();
      // By change, both lines are one, and name their credit.
      const { id } = await wallet();
      const [first, second] = (await merchant.entries({ id })).data;
      const change = { ...first, amount: '-30.00', lines: 2 };
      expect(first).toMatchObject({ credit_id: second!.credit_id });
      expect((await merchant.entries({ id }, 'by=change')).data).toMatchObject([change, { kind: 'grant' }]);
      expect(await lines()).toEqual([
        ...[
          'grant 30.00',
          ...['-10.00', '-20.00'].map((amount) => `expire ${amount} at ${new Date(tonight).toISOString()}`),
        ],
      ]);
      expect(await wallet()).toMatchObject({ available: '0.00', held: '0.00' });
    });
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
