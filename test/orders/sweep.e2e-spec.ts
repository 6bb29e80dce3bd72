import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CreditExpiryService } from '../../src/cashback/credit-expiry.service.js';
import { OrderExpiryService } from '../../src/orders/order-expiry.service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { numberEvents } from '../support/events.js';
import { expectInvariants, expectProblem, type Problem } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import type { Order } from '../support/shop.js';

const { service } = useService();
let merchant: TestMerchant;
let second: Service;

beforeAll(async () => {
  second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
});
afterAll(() => second.stop());
beforeEach(async () => {
  merchant = await aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 0 });
});

const HALF_AN_HOUR = 30 * 60_000;
const sweep = (at: Service = service): Promise<void> => numberEvents(at);

/** Creates orders of one customer that hold 10.00 each. */
async function ordersHolding(count: number, document = aDocument()): Promise<Order[]> {
  await merchant.credit(document, String(10 * count));
  const orders = await atOnce(count, () => merchant.create({ document }));
  for (const order of orders) await merchant.hold(order, '10.00');
  return orders;
}

describe('the sweep of orders that are due', () => {
  it('an order that is due is pending and holds cashback until the sweep, which expires it once', async () => {
    const [order] = await ordersHolding(1);
    service.clock.skip(HALF_AN_HOUR);
    expect(await merchant.order(order!)).toMatchObject({
      status: 'pending',
      cashback: { to_redeem: { held: '10.00' } },
    });
    expect((await merchant.wallet(order!.document)).held).toBe('10.00');
    await sweep();
    const expired = await merchant.order(order!);
    expect(expired).toMatchObject({ status: 'expired', version: 3, cashback: { to_redeem: { lapsed: '10.00' } } });
    await sweep();
    expect(await merchant.order(order!)).toEqual(expired);
    expect(await merchant.wallet(order!.document)).toMatchObject({ available: '10.00', held: '0.00' });
    expect(await merchant.movements(order!.document)).toEqual(['grant 10.00']);
    await expectInvariants(service);
  });

  it.each<[string, (order: Order) => Promise<Answer<unknown>>, number]>([
    ['complete with redeem', (order) => merchant.complete(order, { redeem: '4.00' }).answer, 200],
    ['complete without redeem', (order) => merchant.complete(order).answer, 409],
    ['cancel', (order) => merchant.cancel(order).answer, 200],
    ['hold', (order) => merchant.hold(order, '3.00').answer, 200],
    [
      'amend',
      (order) => merchant.amend(order, { total: '90.00', items: order.items, payment_methods: [] }).answer,
      409,
    ],
  ])('the result is the same whether %s or the sweep comes first', async (_name, operate, status) => {
    const [first, swept] = [(await ordersHolding(1))[0]!, (await ordersHolding(1))[0]!];
    service.clock.skip(HALF_AN_HOUR);
    const answers = [await operate(first)];
    await sweep();
    answers.push(await operate(swept));
    const seen = await Promise.all(
      [first, swept].map(async (order, at) => {
        const { version, status: now, cashback } = await merchant.order(order);
        const { code, detail } = answers[at]!.body as Problem;
        return { status: answers[at]!.status, code, detail, version, now, cashback: cashback.to_redeem };
      }),
    );
    expect(seen[0]).toEqual(seen[1]);
    expect(seen[0]!.status).toBe(status);
    expect(await merchant.movements(first.document)).toEqual(await merchant.movements(swept.document));
    await expectInvariants(service);
  });

  it('sweeps of two instances and operations at the same time expire each order once', async () => {
    const orders = await ordersHolding(24);
    service.clock.skip(HALF_AN_HOUR);
    const [answers] = await Promise.all([
      atOnce(12, (at) =>
        at % 2 === 0 ? merchant.complete(orders[at]!, { redeem: '10.00' }).answer : merchant.cancel(orders[at]!).answer,
      ),
      sweep(),
      sweep(second),
      sweep(),
    ]);
    await sweep();
    // An order that comes before the sweep of the others finds less than it held: then it is refused.
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 409, 'redemption_no_longer_available');
    const rows = await rowsOf(
      service,
      'SELECT status, COUNT(*) AS orders FROM orders WHERE document = ? GROUP BY status',
      [orders[0]!.document],
    );
    expect(rows.map(({ status }) => status)).not.toContain('pending');
    const redeemed = (await merchant.movements(orders[0]!.document)).filter((entry) => entry === 'redeem -10.00');
    const completed = answers.filter(({ body }) => body.status === 'completed');
    expect(redeemed).toHaveLength(completed.length);
    expect((await merchant.wallet(orders[0]!.document)).held).toBe('0.00');
    expect(await rowsOf(service, 'SELECT * FROM cashback_holds WHERE merchant_id = ?', [merchant.id])).toEqual([]);
    await expectInvariants(service);
  });

  it('the sweep leaves an order that another transaction has locked for the next time', async () => {
    const [locked, other] = await ordersHolding(2);
    service.clock.skip(HALF_AN_HOUR);
    const lock = await lockOrder(service.databaseUrl, locked!.id);
    await service.app
      .get(OrderExpiryService)
      .run()
      .finally(() => lock.release());
    expect([(await merchant.order(locked!)).status, (await merchant.order(other!)).status]).toEqual([
      'pending',
      'expired',
    ]);
    await sweep();
    expect((await merchant.order(locked!)).status).toBe('expired');
  });

  it('a sweep that is hours late expires a backlog of several batches, and what was held returns', async () => {
    const document = aDocument();
    const holding = await ordersHolding(5, document);
    for (let some = 0; some < 450; some += 25) await atOnce(25, () => merchant.create({ document }));
    service.clock.skip(6 * HALF_AN_HOUR);
    await Promise.all([sweep(), sweep(second)]);
    await sweep();
    const rows = await rowsOf(
      service,
      'SELECT status, MIN(version) AS least, MAX(version) AS most, COUNT(*) AS orders FROM orders WHERE document = ? GROUP BY status',
      [document],
    );
    expect(rows).toEqual([{ status: 'expired', least: 2, most: 3, orders: 455 }]);
    expect(holding).toHaveLength(5);
    expect(await merchant.wallet(document)).toMatchObject({ available: '50.00', held: '0.00' });
    await expectInvariants(service);
  });
});

describe('the sweep of expired credits', () => {
  it('the sweep writes off the rest of expired credits once, dated with their expiry', async () => {
    const document = aDocument();
    const expiresAt = service.clock.inMinutes(10);
    await merchant.credit(document, '20.00', { expiresAt });
    const [order] = await ordersHolding(1, document);
    service.clock.skip(HALF_AN_HOUR / 2);
    expect(await merchant.wallet(document)).toMatchObject({ available: '10.00', held: '10.00', pending: '0.00' });
    await Promise.all([sweep(), sweep(second)]);
    expect(await merchant.wallet(document)).toMatchObject({ available: '10.00', held: '10.00', pending: '0.00' });
    expect(await merchant.movements(document)).toEqual(['grant 20.00', 'grant 10.00', 'expire -10.00']);
    expect((await merchant.statement(document)).at(-1)).toMatchObject({ effective_at: expiresAt.toISOString() });
    expect(order!.document).toBe(document);
    await expectInvariants(service);
  });

  it('a wallet with more expired credits than one transaction writes off loses them in several', async () => {
    const document = aDocument();
    for (let at = 0; at < 6; at++)
      await atOnce(100, () => merchant.credit(document, '1.00', { expiresAt: service.clock.inMinutes(5) }));
    service.clock.skip(HALF_AN_HOUR);
    const { id } = await merchant.wallet(document);
    await service.app.get(CreditExpiryService).run();
    const open = async (): Promise<number> =>
      (await rowsOf(service, 'SELECT 1 FROM cashback_credits WHERE wallet_id = ? AND is_open = 1', [id])).length;
    expect(await open()).toBe(100);
    expect((await merchant.wallet(document)).available).toBe('0.00');
    await sweep();
    expect(await open()).toBe(0);
    await expectInvariants(service);
  });
});

describe('the lag of sweeps', () => {
  it('the metrics show how long what is due may have waited for this instance', async () => {
    await sweep();
    service.clock.skip(90_000);
    const lagOf = async (name: string): Promise<number> => {
      const { body } = await new Client(service).get<string>('/metrics');
      return Number(new RegExp(`^\\w+\\{state="${name}"\\} ([\\d.]+)$`, 'm').exec(body)?.[1]);
    };
    for (const name of ['orders', 'credits', 'available', 'expiring', 'ledger_sums'])
      expect(await lagOf(name)).toBeGreaterThanOrEqual(90);
    await sweep();
    for (const name of ['orders', 'credits', 'ledger_sums']) expect(await lagOf(name)).toBeLessThan(90);
  });
});
