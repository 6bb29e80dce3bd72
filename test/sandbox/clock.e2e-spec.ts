import { describe, expect, it } from '@jest/globals';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { expectProblem } from '../support/expectations.js';
import { atOnce } from '../support/client.js';
import { readFeed } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aSandboxMerchant, type Move, SANDBOX, type SandboxShop, NEXT_YEAR } from '../support/sandbox.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const DAY_MS = 86_400_000;
const MONTHLY = { release_days: 8, validity_days: 30 };

/** An instant some days ahead of this machine's clock. */
const inDays = (days: number): string => new Date(Date.now() + days * DAY_MS).toISOString();

const put = (shop: SandboxShop, target: unknown): ReturnType<typeof shop.put<Move>> =>
  shop.put<Move>('/sandbox/clock', target);

describe('the clock of a merchant of a sandbox', () => {
  const { service } = useService({ env: SANDBOX });

  it('runs until the first move, and then stands still for everything of the merchant', async () => {
    const [shop, other] = [await aSandboxMerchant(service), await aSandboxMerchant(service)];
    const before = Date.now();
    const running = await shop.get<{ now: string; frozen: boolean; moving: boolean }>('/sandbox/clock');
    expect(running).toEqual({ now: expect.any(String), frozen: false, moving: false });
    expect(Date.parse(running.now)).toBeGreaterThanOrEqual(before);
    const now = inDays(1);
    expect(await shop.move({ now })).toEqual({ now, done: true, first_sequence: null, last_sequence: null });
    expect(await shop.get('/sandbox/clock')).toEqual({ now, frozen: true, moving: false });
    const order = await shop.completed();
    expect(order).toMatchObject({ created_at: now, completed_at: now });
    expect(await shop.refund(order, '10.00')).toMatchObject({ created_at: now });
    const events = await shop.eventsUntil({ now: inDays(1.5) });
    expect(events.map(({ type, timestamp }) => [type, timestamp])).toEqual([]);
    expect((await readFeed(shop)).map(({ timestamp }) => timestamp)).toEqual([now, now, now]);
    expect(await other.get('/sandbox/clock')).toMatchObject({ frozen: false });
    expect(Date.parse((await other.create()).created_at)).toBeLessThan(Date.parse(now));
  });

  it('whether cashback is announced to expire does not depend on other customers of the merchant', async () => {
    const announced = async (others: boolean): Promise<object[]> => {
      const shop = await aSandboxMerchant(service, { redeem_share: '1.00' });
      const held = aDocument();
      await shop.move({ on: `${NEXT_YEAR}-01-05` });
      const expires_on = `${NEXT_YEAR}-01-20`;
      await shop.granted(held, '50.00', { expires_on });
      if (others) await shop.granted(aDocument(), '10.00', { expires_on });
      // All of it is held on the day of the announcement, and released by the order's end.
      const order = await shop.create({ document: held, expires_at: `${NEXT_YEAR}-01-11T15:00:00.000Z` });
      await shop.hold(order, '50.00');
      await shop.move({ on: `${NEXT_YEAR}-01-11` });
      await shop.hold(order, '50.00', `${NEXT_YEAR}-01-16T15:00:00.000Z`);
      const events = await shop.eventsUntil({ on: `${NEXT_YEAR}-01-18` });
      return events.filter(({ type, data }) => type === 'cashback.expiring' && data.amount === '50.00');
    };
    expect(await announced(true)).toEqual([]);
    expect(await announced(false)).toEqual([]);
  });

  it('reconcile finds nothing where a customer has more than a hundred lines at one instant', async () => {
    const shop = await aSandboxMerchant(service, { grant_daily_maximum: '5000.00' });
    const document = aDocument();
    await shop.move({ on: `${NEXT_YEAR}-01-10` });
    const grants = Array.from({ length: 130 }, (_, at) => ({ external_id: `G-${at}`, document, amount: '1.00' }));
    for (const grant of grants) await shop.post('/grants', grant);
    await expectInvariants(service);
  });

  it('the same move again is the same response and changes nothing', async () => {
    const shop = await aSandboxMerchant(service, MONTHLY);
    await shop.completed();
    const target = { on: new Date(Date.now() + 100 * DAY_MS).toISOString().slice(0, 10) };
    const first = await shop.move(target);
    expect(first).toMatchObject({ done: true, first_sequence: 3, last_sequence: 5 });
    await shop.create();
    expect(await put(shop, target)).toEqual(first);
    expect(await put(shop, { now: first.now })).toEqual(first);
  });

  it('a move backwards is refused, and the clock goes on running', async () => {
    const shop = await aSandboxMerchant(service);
    await put(shop, { now: inDays(-1) }).refused(409, 'clock_backwards', ['/now']);
    await put(shop, { on: `${NEXT_YEAR - 2}-01-01` }).refused(409, 'clock_backwards', ['/on']);
    expect(await shop.get('/sandbox/clock')).toMatchObject({ frozen: false });
    const now = inDays(10);
    await shop.move({ now });
    await put(shop, { now: inDays(9) }).refused(409, 'clock_backwards', { now });
    expect(await shop.get('/sandbox/clock')).toEqual({ now, frozen: true, moving: false });
  });

  it('a target that is missing, double, no instant or too far away is refused', async () => {
    const shop = await aSandboxMerchant(service);
    await put(shop, {}).refused(400, 'validation_failed', ['']);
    await put(shop, { now: inDays(1), on: `${NEXT_YEAR}-01-01` }).refused(400, 'validation_failed', ['']);
    await put(shop, { now: 'tomorrow' }).refused(400, 'validation_failed', ['/now']);
    await put(shop, { on: `${NEXT_YEAR + 3}-02-30` }).refused(400, 'validation_failed', ['/on']);
    await put(shop, { now: inDays(6 * 366) }).refused(400, 'validation_failed', ['/now']);
    await put(shop, { days: 1 }).refused(400, 'validation_failed', ['/days']);
    expect(await shop.get('/sandbox/clock')).toMatchObject({ frozen: false });
  });

  it('a clock ends in 2200, and everything works there', async () => {
    const shop = await aSandboxMerchant(service, MONTHLY);
    const end = '2200-01-01T00:00:00.000Z';
    await shop.move({ now: inDays(1) });
    // As if it had moved five years at a time until now.
    await rowsOf(service, 'UPDATE sandbox_clocks SET stands_at = ?, target = ? WHERE merchant_id = ?', [
      ...Array<Date>(2).fill(new Date('2199-06-01T00:00:00.000Z')),
      shop.id,
    ]);
    for (const target of [{ now: '2200-01-01T00:00:00.001Z' }, { on: '2200-01-01' }, { on: '2201-01-01' }]) {
      const answer = await put(shop, target).answer;
      const [fault] = expectProblem(answer, 400, 'validation_failed').errors;
      expect(fault).toEqual({ pointer: `/${Object.keys(target)[0]}`, detail: `must be at most ${end}` });
    }
    expect(await shop.move({ now: end })).toMatchObject({ now: end, done: true });
    const order = await shop.completed({ document: aDocument() });
    expect(order.completed_at).toBe(end);
    expect((await shop.client.get('/reports/expiring')).status).toBe(200);
  });

  it('a clock moves five years at a time', async () => {
    const shop = await aSandboxMerchant(service, MONTHLY);
    const document = aDocument();
    await shop.completed({ document });
    await shop.granted(document, '5.00');
    const until = inDays(5 * 365);
    expect(await shop.move({ now: until })).toMatchObject({ now: until, last_sequence: 8 });
    const order = await shop.completed({ document });
    expect(order.completed_at).toBe(until);
    expect(await shop.move({ now: inDays(10 * 365) })).toMatchObject({ first_sequence: 11, last_sequence: 13 });
    expect(await shop.wallet(document)).toMatchObject({ available: '0.00', pending: '0.00' });
  });

  it('a clock that stands still does not keep the sweeps from other merchants', async () => {
    const shop = await aSandboxMerchant(service, { order_ttl_minutes: 1 });
    await shop.move({ now: new Date(Date.now() + 1000).toISOString() });
    await atOnce(20, () => shop.create());
    // As if three hundred orders of the first one were due.
    await rowsOf(service, 'UPDATE orders SET expires_at = expires_at - INTERVAL 1 HOUR WHERE merchant_id = ?', [
      shop.id,
    ]);
    const other = await aSandboxMerchant(service);
    const order = await other.create();
    await rowsOf(service, 'UPDATE orders SET expires_at = ? WHERE id = ?', [new Date(Date.now() - 1000), order.id]);
    await service.app.get(SweepsService).doAll();
    const { data } = await shop.orders('status=pending&limit=100');
    expect(data).toHaveLength(20);
    expect((await rowsOf(service, 'SELECT status FROM orders WHERE id = ?', [order.id]))[0]).toEqual({
      status: 'expired',
    });
  });

  it('what was due and not done when the clock was first moved is done first', async () => {
    const shop = await aSandboxMerchant(service, { ...MONTHLY, release_days: 1 });
    const document = aDocument();
    await shop.completed({ document });
    await rowsOf(
      service,
      `UPDATE cashback_credits SET created_at = created_at - INTERVAL 3 DAY, available_at = ?, expires_at = ?
        WHERE merchant_id = ?`,
      [new Date(Date.now() - 1000), new Date(Date.now() + DAY_MS), shop.id],
    );
    const events = await shop.eventsUntil({ now: inDays(0.5) });
    expect(events.map(({ type }) => type)).toEqual(['cashback.available']);
    await rowsOf(
      service,
      'UPDATE cashback_credits SET created_at = created_at + INTERVAL 3 DAY WHERE merchant_id = ?',
      [shop.id],
    );
  });

  it('many customers can have the same date', async () => {
    const shop = await aSandboxMerchant(service);
    await shop.move({ on: `${NEXT_YEAR}-01-01` });
    const dates = { available_on: `${NEXT_YEAR}-01-05`, expires_on: `${NEXT_YEAR}-02-01` };
    await atOnce(121, () => shop.granted(aDocument(), '1.00', dates));
    await atOnce(30, () => shop.create());
    const events = await shop.eventsUntil({ on: `${NEXT_YEAR}-03-01` });
    const types = events.map(({ type }) => type);
    expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
      'order.expired',
      'cashback.available',
      'cashback.expiring',
      'cashback.expired',
    ]);
    expect(types).toHaveLength(30 + 3 * 121);
  });

  it('a move is done when all days that are over are closed', async () => {
    const shop = await aSandboxMerchant(service, { release_days: 0 });
    await shop.move({ on: `${NEXT_YEAR}-01-01` });
    const day = (number: number): string => new Date(Date.UTC(NEXT_YEAR, 0, number)).toISOString().slice(0, 10);
    await atOnce(220, (number) => shop.granted(aDocument(), '1.00', { expires_on: day(2 + number) }));
    const move = await shop.move({ on: `${NEXT_YEAR + 1}-03-01` });
    const { data: months } = await shop.get<{ data: { closed: boolean; expired: string }[] }>(
      `/reports/ledger?from=${NEXT_YEAR}-01-01&to=${NEXT_YEAR}-12-31&by=month`,
    );
    expect(months.map(({ closed }) => closed)).toEqual(Array(12).fill(true));
    expect(await put(shop, { now: move.now })).toEqual(move);
  });
});
