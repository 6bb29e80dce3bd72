import { beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CreditExpiryService } from '../../src/cashback/credit-expiry.service.js';
import { type Answer, atOnce } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { localDate, startOfDayAfter } from '../support/days.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Credit, Grant, Members, Order, Refund, Wallet } from '../support/shop.js';
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

    it.each<[string, (y: Order) => Promise<unknown>]>([
      ['is lowered', (y) => shop.hold(y, '0.00').answer],
      ['expires', () => service.clock.advance({ days: 5 })],
      ['is completed without cashback', (y) => shop.complete(y, { redeem: '0.00' }).answer],
      [
        'is cancelled after an erasure',
        async (y) => {
          await shop.erase(y.document);
          await shop.cancel(y);
        },
      ],
    ])('what is claimed is taken back if the order that holds it %s', async (_, release) => {
      const { x, y } = await aSale();
      await refundAll(x);
      const { id } = await shop.wallet(x.document);
      await service.clock.advance({ days: 1 });
      await release(y);
      const { body } = await shop.client.get<Wallet>(`/wallets/${id}`);
      expect(body).toMatchObject(nothing);
    });

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

    it('with another merchant, nothing is claimed', async () => {
      const { x, y } = await aSale();
      const { document } = x;
      await merchant.credit(document, '20.00');
      await refundAll(x);
      await shop.complete(y);
      expect(await merchant.wallet(document)).toMatchObject({ ...nothing, available: '20.00' });
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

    it('debt with one merchant does not affect the wallet with another merchant', async () => {
      const { document } = await aDebtor();
      const other = await aLongLivedMerchant(service);
      await other.credit(document, '10.00');
      expect(await other.wallet(document)).toMatchObject({ available: '10.00', debt: '0.00' });
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

  /** The customer's credits as the API lists them. */
  async function listed(): Promise<Credit[]> {
    return merchant.all(`/wallets/${(await wallet()).id}/credits?limit=100`);
  }

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
    it('a refund returns to the latest expiry first, and makes a new credit where seven days would be too short', async () => {
      const [a, b] = [clock.ms + 3 * DAY_MS, clock.ms + 90 * DAY_MS];
      await credit('30.00', a);
      await credit('50.00', b);
      const order = await completed('40.00');
      await clock.advance({ days: 10 });
      const first = await refunded(order, '50.00');
      expect(first).toMatchObject({ cashback_returned: '20.00', amount_to_pay_back: '30.00' });
      const firstEnd = endOfSevenDays();
      expect(await listed()).toMatchObject([
        {
          ...{
            amount: '10.00',
            remaining: '10.00',
            held: '0.00',
            available_at: first.created_at,
            expires_at: iso(firstEnd),
          },
          expires_on: localDate(clock.ms + 7 * DAY_MS, ZONE),
          source: { type: 'order', id: order.id, external_id: order.external_id, reason: null, return: true },
        },
        { amount: '50.00', remaining: '50.00', expires_at: iso(b), source: { type: 'grant', return: false } },
      ]);
      await clock.advance({ ms: firstEnd - 1 - clock.ms });
      expect((await wallet()).available).toBe('60.00');
      await clock.advance({ ms: 1 });
      expect((await wallet()).available).toBe('50.00');

      await clock.advance({ ms: Date.parse(first.created_at) + 30 * DAY_MS - clock.ms });
      const second = await refunded(order, '50.00');
      expect(second).toMatchObject({ cashback_returned: '20.00', amount_to_pay_back: '30.00' });
      expect(await listed()).toMatchObject([
        {
          amount: '20.00',
          remaining: '20.00',
          expires_at: iso(endOfSevenDays()),
          source: { id: order.id, return: true },
        },
        { amount: '50.00', remaining: '50.00', expires_at: iso(b) },
      ]);
      expect(await movements()).toEqual([
        ...['grant 30.00', 'grant 50.00', 'redeem -30.00', 'redeem -10.00', 'return 10.00', 'return 10.00'],
        ...['expire -10.00', 'return 20.00'],
      ]);
      const [fromA, , ...made] = await credits();
      expect(made).toMatchObject([
        { order_id: null, refund_id: first.id, from_credit_id: fromA!.id, remaining_cents: 0 },
        { order_id: null, refund_id: second.id, from_credit_id: fromA!.id, remaining_cents: 2000 },
      ]);
      expect(fromA).toMatchObject({ remaining_cents: 0, expires_at: new Date(a) });
      const lines = (await merchant.statement(document)).filter(({ kind }) => kind === 'return');
      expect(lines.map(({ refund_id, order_id }) => [refund_id, order_id])).toEqual([
        ...[first.id, first.id, second.id].map((id) => [id, order.id]),
      ]);
    });

    it.each([
      ['America/Sao_Paulo', -1, true],
      ['America/Sao_Paulo', 0, false],
      ['Pacific/Kiritimati', -1, true],
      ['Pacific/Kiritimati', 0, false],
      ['America/Santiago', -1, true],
      ['America/Santiago', 0, false],
    ])(
      'in %s, a credit that expires %d ms after the seventh day of a refund gets a new credit: %s',
      async (zone, ms, isNew) => {
        merchant = await aShop(zone);
        const end = endOfSevenDays(zone);
        await credit('10.00', end + ms);
        const order = await completed('10.00');
        await refunded(order, '100.00');
        expect(await wallet()).toMatchObject({ available: '10.00', next_expiry: { amount: '10.00', at: iso(end) } });
        expect((await listed()).map(({ source }) => source.return)).toEqual([isNew]);
        await clock.advance({ ms: end - 1 - clock.ms });
        expect((await wallet()).available).toBe('10.00');
        await clock.advance({ ms: 1 });
        expect((await wallet()).available).toBe('0.00');
      },
    );

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
    const read = (id: string): PromiseLike<Grant> => merchant.readGrant({ id });

    /** A grant of 30.00 that ends today. */
    const aGrant = (): PromiseLike<Grant> =>
      merchant.grant({ document, amount: '30.00', expires_on: localDate(clock.ms, ZONE) });

    it('a void takes what refunds returned of the grant, also of what had returned before, and nothing of other grants', async () => {
      const { id } = await aGrant();
      const first = await completed('20.00');
      await credit('7.00', clock.ms + 60 * DAY_MS);
      await clock.advance({ days: 2 });
      expect(await read(id)).toMatchObject({ remaining: '0.00', held: '0.00' });
      await refunded(first, '50.00');
      expect(await read(id)).toMatchObject({ amount: '30.00', remaining: '10.00', held: '0.00', voided: '0.00' });
      const second = await completed('4.00');
      await clock.advance({ days: 8 });
      await refunded(second, '100.00');
      await refunded(first, '50.00');
      expect(await read(id)).toMatchObject({ remaining: '14.00' });

      const { body } = await voidOf(id);
      expect(body).toMatchObject({ amount: '30.00', remaining: '0.00', held: '0.00', voided: '14.00' });
      expect((await voidOf(id)).body).toEqual(body);
      expect(await read(id)).toEqual(body);
      expect(await wallet()).toMatchObject({ available: '7.00', pending: '0.00', debt: '0.00' });
      expect((await movements()).filter((line) => line.startsWith('void'))).toEqual(['void -4.00', 'void -10.00']);
    });

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
  const complete = (order: { id: string }, redeem?: string): Promise<Answer<Order>> =>
    merchant.client.post(`/orders/${order.id}/complete`, { redeem });
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

  /** What remains of the customer's credits, and what is held of it, earliest expiry first. */
  async function credits(): Promise<[remaining: number, held: number][]> {
    const sql = `SELECT c.remaining_cents, c.held_cents FROM cashback_credits c JOIN wallets w ON w.id = c.wallet_id
                WHERE w.merchant_id = ? AND w.document = ? ORDER BY c.expires_at, c.seq`;
    const rows = await rowsOf(service, sql, [merchant.id, document]);
    return rows.map((row) => [Number(row.remaining_cents), Number(row.held_cents)]);
  }

  describe('what an order holds of a credit that expires meanwhile', () => {
    it('a hold that is lowered keeps what expires first, and releases the rest, once', async () => {
      await credit('20.00', tonight);
      await credit('10.00', tonight + 30 * DAY_MS);
      const order = await anOrderHolding('30.00');
      expect(await credits()).toEqual([
        [2000, 2000],
        [1000, 1000],
      ]);
      skipTo(tonight);
      const answers = await atOnce(10, () => hold(order, '15.00'));
      expect(new Set(answers.map(({ status, body }) => JSON.stringify({ status, body }))).size).toBe(1);
      expect(answers[0]).toMatchObject({
        ...{ status: 200, body: { version: 3, cashback: { to_redeem: { held: '15.00', available: '10.00' } } } },
      });
      expect(await hold(order, '15.00')).toMatchObject({ status: 200, body: answers[0]!.body });
      expect(await credits()).toEqual([
        [1500, 1500],
        [1000, 0],
      ]);
      expect(await movements()).toEqual(['grant 20.00', 'grant 10.00', 'expire -5.00']);
      const holds = 'SELECT amount_cents FROM cashback_holds WHERE order_id = ?';
      expect((await rowsOf(service, holds, [order.id])).map((row) => Number(row.amount_cents))).toEqual([1500]);
    });

    const amended = (order: Order): Promise<Answer> => {
      const { items, payment_methods } = anOrder({ total: '5.50' });
      return merchant.client.put(`/orders/${order.id}`, { total: '5.50', items, payment_methods, redeem: 'maximum' });
    };

    it.each<[string, string, (order: Order) => Promise<unknown>]>([
      ['a hold of 0.00', '20.00', (order) => hold(order, '0.00')],
      ['a lower hold', '14.50', (order) => hold(order, '5.50')],
      ['an amendment that lowers the hold', '14.50', amended],
      ['a cancellation', '20.00', cancel],
      ['a completion that redeems less', '14.50', (order) => complete(order, '5.50')],
      [
        'the expiry of the order',
        '20.00',
        ({ expires_at }) => clock.advance({ ms: Date.parse(expires_at) - clock.ms }),
      ],
    ])(
      'what %s releases is available if its credit has not expired, and expires otherwise',
      async (_, released, release) => {
        await credit('20.00', tonight + 30 * DAY_MS);
        await release(await anOrderHolding('20.00'));
        expect((await wallet()).available).toBe(released);
        expect((await movements()).filter((line) => line.startsWith('expire'))).toEqual([]);

        document = aDocument();
        await credit('20.00', clock.ms + HOUR_MS);
        const order = await anOrderHolding('20.00');
        clock.skip(HOUR_MS);
        await release(order);
        expect((await wallet()).available).toBe('0.00');
        expect((await movements()).filter((line) => line.startsWith('expire'))).toEqual([`expire -${released}`]);
      },
    );

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

  describe('what a hold takes', () => {
    it('a hold takes from the earliest expiry, and from the oldest of the credits that expire together', async () => {
      for (const days of [20, 10, 10, 10]) await credit('10.00', tonight + days * DAY_MS);
      await anOrderHolding('15.00');
      expect(await credits()).toEqual([
        [1000, 1000],
        [1000, 500],
        [1000, 0],
        [1000, 0],
      ]);
      const order = await anOrderHolding('17.00');
      expect(await credits()).toEqual([
        [1000, 1000],
        [1000, 1000],
        [1000, 1000],
        [1000, 200],
      ]);
      expect((await complete(order)).status).toBe(200);
      expect((await movements()).slice(4)).toEqual(['redeem -5.00', 'redeem -10.00', 'redeem -2.00']);
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
