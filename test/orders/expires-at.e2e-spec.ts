import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce, Client, sameAtOnce } from '../support/client.js';
import type { TestClock } from '../support/clock.js';
import { expectInvariants, pointersOf } from '../support/expectations.js';
import { aMerchant, anOrder } from '../support/factories.js';
import type { Tokens } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const DAY = 24 * 60;
const inMinutes = (minutes: number): string => new Date(service.clock.now().getTime() + minutes * 60_000).toISOString();

/** Moves the clock and logs in again, because an access token is valid for an hour. */
async function pass(time: Parameters<TestClock['advance']>[0]): Promise<void> {
  await service.clock.advance(time);
  const { email, password } = merchant;
  const { body } = await new Client(service).post<Tokens>('/auth/login', { email, password });
  merchant.client = new Client(service, body.access_token);
}

describe('expires_at of POST /orders', () => {
  it('POST /orders accepts an expires_at, and the order and its hold last until then', async () => {
    const document = await merchant.customerWith('80.00');
    const expiresAt = inMinutes(3 * DAY);
    const order = await merchant.create({ document, expires_at: expiresAt });
    expect(order.expires_at).toBe(expiresAt);
    await merchant.hold(order, '20.00');
    await pass({ days: 2, hours: 23 });
    expect(await merchant.order(order)).toMatchObject({ status: 'pending' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '60.00', held: '20.00' });
    await pass({ hours: 1 });
    expect(await merchant.order(order)).toMatchObject({ status: 'expired' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '80.00', held: '0.00' });
  });

  it.each([
    ['in the past', -1],
    ['now', 0],
    ['less than a minute ahead', 0.9],
    ['more than 7 days ahead', 7 * DAY + 1],
  ])('POST /orders returns 400 with the bounds when expires_at is %s', async (_, minutes) => {
    for (const _attempt of ['first', 'second']) {
      const order = anOrder({ expires_at: inMinutes(minutes) });
      await merchant.create(order).refused(400, 'validation_failed', {
        errors: [
          {
            pointer: '/expires_at',
            detail: expect.stringMatching(/^must be from 1 to 10080 minutes in the future: from .*Z to .*Z$/),
          },
        ],
      });
      expect((await merchant.orders(`external_id=${order.external_id}`)).data).toEqual([]);
    }
  });

  it.each(['2026-11-23', 'tomorrow', 1_800_000_000, true, {}])(
    'POST /orders returns 400 when expires_at is %j',
    async (expires_at) => {
      await merchant.create({ expires_at }).refused(400, 'validation_failed', ['/expires_at']);
    },
  );

  it('the policy of a merchant bounds its expires_at', async () => {
    const shop = await aMerchant(service, { maxOrderTtlMinutes: 60 });
    await shop.create({ expires_at: inMinutes(59) });
    await shop.create({ expires_at: inMinutes(61) }).refused(400, 'validation_failed');
  });

  it('POST /orders replays an order after its expires_at has passed', async () => {
    const order = anOrder({ expires_at: inMinutes(2) });
    const body = await merchant.create(order);
    await pass({ minutes: 3 });
    const again = await merchant.create(order).answer;
    const { updated_at } = again.body;
    const operations = ['renew', 'complete', 'cancel'];
    const nothing = { available_at: null, expires_at: null, available_on: null, expires_on: null };
    const to_receive = { amount: '0.00', limited_by: null, taken_back: '0.00', status: 'none', ...nothing };
    const cashback = { ...body.cashback, to_receive };
    const expired = { ...body, status: 'expired', version: 2, updated_at, operations, cashback };
    expect(again).toMatchObject({ status: 201, body: expired });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });

  it('POST /orders returns 409 when expires_at differs from the earlier request', async () => {
    const order = anOrder({ expires_at: inMinutes(10) });
    await merchant.create(order);
    for (const minutes of [20, -20]) {
      await merchant
        .create({ ...order, expires_at: inMinutes(minutes) })
        .refused(409, 'external_id_conflict', ['/expires_at']);
    }
    const inSaoPaulo = new Date(Date.parse(order.expires_at as string) - 3 * 3_600_000)
      .toISOString()
      .replace('Z', '-03:00');
    await merchant.create({ ...order, expires_at: inSaoPaulo });
  });

  it('POST /orders replays the first request of a renewed order and of an erased customer', async () => {
    const order = anOrder({ expires_at: inMinutes(10) });
    const body = await merchant.create(order);
    await merchant.hold(body, '0.00', inMinutes(60));
    const again = await merchant.create(order).answer;
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    const { pseudonym } = await merchant.erase(order.document);
    expect(await merchant.create(order)).toMatchObject({ document: pseudonym });
    const other = await merchant.create({ ...order, total: '151.00', expires_at: inMinutes(30) }).answer;
    expect(pointersOf(other)).toEqual(['/expires_at', '/total']);
    expect(pointersOf(await merchant.create({ ...order, total: '151.00' }).answer)).toEqual(['/total']);
  });

  it.each([
    ['explicit', 20],
    ['default', undefined],
  ])(
    'POST /orders replays the first cart of an amended order with its first, %s expires_at, its current one, and none',
    async (_, minutes) => {
      const order = anOrder({ expires_at: minutes && inMinutes(minutes) });
      const created = await merchant.create(order);
      const { external_id: _id, document: _document, expires_at: _first, ...cart } = order;
      await merchant.amend(created, { ...cart, total: '151.00' });
      const moved = inMinutes(60);
      await merchant.hold(created, '0.00', moved);
      for (const expires_at of [created.expires_at, moved, undefined]) {
        const replay = await merchant.create({ ...order, expires_at }).answer;
        expect({ expires_at, status: replay.status }).toEqual({ expires_at, status: 201 });
        expect(replay.body).toMatchObject({ id: created.id, total: '151.00', expires_at: moved });
      }
      await merchant.create({ ...order, expires_at: inMinutes(45) }).refused(409, 'external_id_conflict');
    },
  );

  it('POST /orders replays the amended cart of a renewed order with its first, its current, and no expires_at', async () => {
    const [first, moved, another] = [inMinutes(60), inMinutes(120), inMinutes(90)];
    const order = anOrder({ expires_at: first });
    const body = await merchant.create(order);
    const cart = {
      items: [{ id: 'sku-2', price: '90.00' }],
      total: '90.00',
      payment_methods: [{ id: 'pix', amount: '90.00' }],
    };
    await merchant.amend(body, cart);
    const current = await merchant.hold(body, '0.00', moved);
    for (const expires_at of [first, moved, undefined]) {
      expect(await merchant.create({ ...order, ...cart, expires_at }).replayed()).toMatchObject(current);
    }
    await merchant
      .create({ ...order, ...cart, expires_at: another })
      .refused(409, 'external_id_conflict', ['/expires_at']);
  });
});

describe('expires_at of PUT /orders/{id}/redemption', () => {
  it('PUT /orders/{id}/redemption with expires_at moves the expiry of a pending order and of its hold', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    const expiresAt = inMinutes(2 * DAY);
    const body = await merchant.hold(order, '20.00', expiresAt);
    expect(body).toMatchObject({ status: 'pending', expires_at: expiresAt, version: 3 });
    await pass({ days: 1 });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '60.00', held: '20.00' });
    expect(await merchant.hold(order, '10.00')).toMatchObject({ expires_at: expiresAt, version: 4 });
    await pass({ days: 1 });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
  });

  it('a repeated renewal changes nothing, also in its last minute', async () => {
    const order = await merchant.orderWith('80.00');
    await pass({ minutes: 31 });
    const expiresAt = inMinutes(10);
    const body = await merchant.hold(order, '20.00', expiresAt);
    await pass({ minutes: 9, seconds: 30 });
    expect(await merchant.hold(order, '20.00', expiresAt)).toMatchObject(body);
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '60.00', held: '20.00' });
  });

  it('a repeated hold returns the expired order after its expires_at, and neither renews nor changes it', async () => {
    const order = await merchant.orderWith('80.00');
    const expiresAt = inMinutes(10);
    expect(await merchant.hold(order, '20.00', expiresAt)).toMatchObject({ status: 'pending', expires_at: expiresAt });
    for (const minutes of [10, 24 * 60]) {
      await pass({ minutes });
      const expired = await merchant.order(order);
      expect(expired).toMatchObject({ status: 'expired', cashback: { to_redeem: { held: '0.00' } } });
      const answers = await atOnce(5, () => merchant.hold(order, '20.00', expiresAt).answer);
      for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: expired });
      expect(await merchant.order(order)).toEqual(expired);
    }
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '80.00', held: '0.00' });
    expect(await merchant.movements(order.document)).toEqual(['grant 80.00']);
  });

  it('a hold with a past expires_at is 400 where it is not a repeat: another amount, or another instant', async () => {
    const order = await merchant.orderWith('80.00');
    const [replaced, expiresAt] = [inMinutes(5), inMinutes(10)];
    await merchant.hold(order, '10.00', replaced);
    await merchant.hold(order, '20.00', expiresAt);
    await pass({ minutes: 11 });
    const expired = await merchant.order(order);
    for (const [amount, at] of [
      ['10.00', expiresAt],
      ['0.00', expiresAt],
      ['20.00', replaced],
      ['10.00', replaced],
    ] as const) {
      await merchant.hold(order, amount, at).refused(400, 'validation_failed', ['/expires_at']);
    }
    expect(await merchant.order(order)).toEqual(expired);
    const foreign = await aMerchant(service);
    await foreign.hold(order, '20.00', expiresAt).refused(404, 'not_found');
    expect(await merchant.hold(order, '20.00')).toMatchObject({ status: 'pending', amount_to_pay: '130.00' });
  });

  it.each([-1, 0, 7 * DAY + 1])(
    'PUT /orders/{id}/redemption returns 400 when expires_at is %d minutes ahead, and changes nothing',
    async (minutes) => {
      const order = await merchant.create();
      for (const advance of [0, 31]) {
        await pass({ minutes: advance });
        const before = await merchant.order(order).answer;
        await merchant.hold(order, '0.00', inMinutes(minutes)).refused(400, 'validation_failed', {
          errors: [
            { pointer: '/expires_at', detail: expect.stringContaining('from 1 to 10080 minutes in the future') },
          ],
        });
        expect(await merchant.order(order)).toEqual(before.body);
      }
    },
  );

  it('10 concurrent renewals of an order hold its cashback once', async () => {
    const order = await merchant.orderWith('80.00');
    await pass({ minutes: 31 });
    const expiresAt = inMinutes(60);
    const body = await sameAtOnce(10, () => merchant.hold(order, '70.00', expiresAt));
    expect(body).toMatchObject({ version: 3, cashback: { to_redeem: { held: '70.00' } } });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '10.00', held: '70.00' });
  });
});
