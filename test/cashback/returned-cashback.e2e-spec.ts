import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { localDate, startOfDayAfter } from '../support/days.js';
import { expectInvariants } from '../support/expectations.js';
import { aCompletedOrder, aDocument, grant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Credit, Grant, Members, Order, Refund, Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { type Row, rowsOf, statementOf } from '../support/wallets.js';

const DAY_MS = 86_400_000;
const ZONE = 'America/Sao_Paulo';
const clock = new FrozenClock();
const { service, merchant: inSaoPaulo } = useService({
  clock,
  merchant: (started) => aShop(ZONE, started),
});
afterEach(() => expectInvariants(service));

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
  grant(service, merchant, document, amount, { expiresAt: new Date(expiresAt) });
const completed = (redeem: string, members: Members = {}): Promise<Order> =>
  aCompletedOrder(merchant, { document, total: '100.00', ...members }, { redeem });
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
    const lines = (await statementOf(merchant, document)).filter(({ kind }) => kind === 'return');
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
