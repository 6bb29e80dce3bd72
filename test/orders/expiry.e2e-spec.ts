import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { localDate } from '../support/days.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { aSandboxMerchant, SANDBOX } from '../support/sandbox.js';
import { useService } from '../support/use-service.js';
import { startOfDayAfter } from '../support/wallets.js';
import { oneAtOnce } from '../support/shop.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
const { service: sandbox } = useService({ env: SANDBOX });
afterEach(async () => {
  for (const used of [service, sandbox]) await expectInvariants(used);
});

const msBefore = (instant: string | null): string => new Date(Date.parse(instant!) - 1).toISOString();

describe('the expiry of earned cashback', () => {
  it('earned cashback is pending, then available for 180 days, then expired', async () => {
    const shop = await aSandboxMerchant(sandbox);
    const order = await shop.completed();
    const { document } = order;
    const { available_at, expires_at } = order.cashback.to_receive;
    await shop.move({ now: msBefore(available_at) });
    expect(await shop.wallet(document)).toMatchObject({ pending: '7.50', available: '0.00' });
    expect((await shop.order(order)).cashback.to_receive.status).toBe('pending');
    await shop.move({ now: available_at! });
    expect(await shop.wallet(document)).toMatchObject({
      pending: '0.00',
      available: '7.50',
      next_release: null,
      next_expiry: { amount: '7.50', at: expires_at },
    });
    expect((await shop.order(order)).cashback).toMatchObject({
      to_receive: { status: 'available' },
      to_redeem: { available: '7.50' },
    });
    await shop.move({ now: msBefore(expires_at) });
    expect((await shop.wallet(document)).available).toBe('7.50');
    await shop.move({ now: expires_at! });
    expect(await shop.wallet(document)).toMatchObject({ pending: '0.00', available: '0.00', next_expiry: null });
    expect((await shop.create({ document })).cashback.to_redeem).toMatchObject({
      available: '0.00',
      maximum: '0.00',
    });
    expect(await shop.movements(document)).toEqual(['earn 7.50', 'expire -7.50']);
    const [, expiry] = await shop.statement(document);
    expect(expiry).toMatchObject({
      effective_at: expires_at,
      balance: '0.00',
      order_id: null,
    });
  });

  it('cashback can be redeemed by an order completed just before it expires', async () => {
    const document = await merchant.customerWith('20.00', { expiresAt: service.clock.inMinutes(1) });
    const order = await merchant.create({ document });
    await service.clock.advance({ seconds: 55 });
    expect((await merchant.complete(order, { redeem: '20.00' })).cashback.to_redeem.redeemed).toBe('20.00');
  });
});

/** What an order shows that earns nothing unless it is renewed or completed. */
const NOTHING_TO_RECEIVE = {
  ...{ amount: '0.00', limited_by: null, taken_back: '0.00', status: 'none' },
  ...{ available_at: null, available_on: null, expires_at: null, expires_on: null },
};

describe('expired orders', () => {
  it('an order expires at its expires_at and its hold becomes available to the customer', async () => {
    const shop = await aSandboxMerchant(sandbox);
    const document = aDocument();
    await shop.granted(document, '80.00');
    const order = await shop.create({ document });
    await shop.hold(order, '20.00');
    await shop.move({ now: msBefore(order.expires_at) });
    expect(await shop.order(order)).toMatchObject({
      status: 'pending',
      cashback: { to_redeem: { held: '20.00', available: '60.00' } },
    });
    await shop.move({ now: order.expires_at });
    expect(await shop.order(order)).toMatchObject({
      status: 'expired',
      amount_to_pay: '150.00',
      cashback: {
        to_redeem: { held: '0.00', lapsed: '20.00', available: '80.00', maximum: '75.00' },
        to_receive: NOTHING_TO_RECEIVE,
      },
    });
    expect(await shop.wallet(document)).toMatchObject({ held: '0.00', available: '80.00' });
  });

  it('an expired order shows nothing to receive wherever it is read, and its amount again once it is renewed or completed', async () => {
    const [renewed, completed] = [await merchant.create(), await merchant.create()];
    expect(renewed.cashback.to_receive).toMatchObject({ amount: '7.50', status: 'quoted' });
    await service.clock.advance({ minutes: 30 });
    for (const { id, external_id, document } of [renewed, completed]) {
      const order = await merchant.order({ id });
      expect(order).toMatchObject({ status: 'expired', operations: ['renew', 'complete', 'cancel'] });
      expect(order.cashback.to_receive).toEqual(NOTHING_TO_RECEIVE);
      expect(await merchant.orderByExternalId(external_id)).toEqual(order);
      expect((await merchant.searchOrders({ document })).data).toEqual([order]);
      expect((await merchant.orders(`external_id=${external_id}`)).data).toEqual([order]);
      const expiry = (await eventsOf(service, merchant)).find(
        ({ type, data }) => type === 'order.expired' && data.order?.id === id,
      );
      expect(expiry!.data.order!.cashback.to_receive).toEqual(NOTHING_TO_RECEIVE);
    }
    expect((await merchant.hold(renewed, '0.00')).cashback.to_receive).toMatchObject({
      amount: '7.50',
      status: 'quoted',
    });
    expect((await merchant.complete(completed)).cashback.to_receive).toMatchObject({
      amount: '7.50',
      status: 'pending',
    });
  });

  it('a refund of an order that is past its expires_at says that the order has expired, also before a sweep', async () => {
    const order = await merchant.create();
    service.clock.skip(30 * 60_000);
    for (const _attempt of ['first', 'second']) {
      await merchant
        .refund(order, '1.00')
        .refused(409, 'invalid_transition', { current_status: 'expired', operations: ['renew', 'complete', 'cancel'] });
    }
  });

  it('a new order can redeem the cashback that an expired order held', async () => {
    const order = await merchant.orderWith('50.00');
    await merchant.hold(order, '50.00');
    await service.clock.advance({ minutes: 30 });
    const next = await merchant.create({ document: order.document });
    expect(next.cashback.to_redeem).toMatchObject({ available: '50.00', maximum: '50.00' });
    expect((await merchant.hold(next, '50.00')).cashback.to_redeem).toMatchObject({ held: '50.00', available: '0.00' });
    expect(await merchant.movements(order.document)).toEqual(['grant 50.00']);
  });

  it('completing an expired order without redeem returns 409 with what it held, and changes nothing', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    await service.clock.advance({ minutes: 30 });
    const expired = await merchant.order(order);
    const lapsed = {
      ...{ lapsed: '20.00', maximum: '75.00', next_action: 'fix_request' },
      detail: expect.stringContaining('send redeem "20.00" if the customer was charged less, or "0.00" if not'),
    };
    await atOnce(5, (index) =>
      merchant.complete(order, [undefined, {}, { redeem: null }][index % 3]).refused(409, 'redemption_lapsed', lapsed),
    );
    expect(await merchant.order(order)).toEqual(expired);
    expect(await merchant.complete(order, { redeem: '0.00' })).toMatchObject({
      status: 'completed',
      amount_to_pay: '150.00',
      cashback: { to_redeem: { redeemed: '0.00', lapsed: '0.00' }, to_receive: { amount: '7.50' } },
    });
  });

  it('an expired order that held nothing is completed without redeem', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    await merchant.hold(order, '0.00');
    await service.clock.advance({ minutes: 30 });
    expect((await merchant.order(order)).cashback.to_redeem.lapsed).toBe('0.00');
    expect(await merchant.complete(order)).toMatchObject({ amount_to_pay: '150.00' });
  });

  it('an expired order can be completed and holds its cashback again', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    await service.clock.advance({ days: 2 });
    const body = await merchant.complete(order, { redeem: '20.00' });
    expect(body).toMatchObject({
      status: 'completed',
      cashback: { to_redeem: { redeemed: '20.00', available: '60.00' }, to_receive: { amount: '6.50' } },
    });
    expect(body.cashback.to_receive.available_at).toBe(startOfDayAfter(body.completed_at, 8));
    expect(await merchant.complete(order)).toMatchObject(body);
    expect(await merchant.wallet(order.document)).toMatchObject({
      available: '60.00',
      held: '0.00',
      pending: '6.50',
    });
  });

  it('an expired order can be completed with a different redemption from the one it held', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '20.00');
    await service.clock.advance({ days: 2 });
    expect((await merchant.complete(order, { redeem: '75.00' })).cashback.to_redeem).toMatchObject({
      redeemed: '75.00',
      available: '5.00',
    });
  });

  it('an expired order can be completed with the remaining balance when another order redeemed part of its hold', async () => {
    const order = await merchant.orderWith('50.00');
    await merchant.hold(order, '40.00');
    await service.clock.advance({ minutes: 30 });
    await merchant.completed({ document: order.document }, { redeem: '35.00' });
    for (const request of [{ redeem: '40.00' }, { redeem: '15.01' }]) {
      await merchant
        .complete(order, request)
        .refused(409, 'redemption_no_longer_available', { maximum: '15.00', limited_by: 'balance' });
    }
    expect(await merchant.order(order)).toMatchObject({
      status: 'expired',
      cashback: { to_redeem: { maximum: '15.00' } },
    });
    expect((await merchant.complete(order, { redeem: '15.00' })).cashback.to_redeem).toMatchObject({
      redeemed: '15.00',
      available: '0.00',
    });
  });

  it('completing an expired order returns 422 when the redemption exceeds the share of the total', async () => {
    const order = await merchant.orderWith('80.00');
    await service.clock.advance({ minutes: 30 });
    await merchant
      .complete(order, { redeem: '75.01' })
      .refused(422, 'redemption_exceeds_maximum', { maximum: '75.00', limited_by: 'order_share' });
  });

  it('only one of 10 expired orders that are completed at once redeems the balance', async () => {
    const first = await merchant.orderWith('20.00');
    const others = await atOnce(9, () => merchant.create({ document: first.document }));
    const orders = [first, ...others];
    await merchant.hold(first, '20.00');
    await service.clock.advance({ minutes: 30 });
    await oneAtOnce(10, (index) => merchant.complete(orders[index]!, { redeem: '20.00' }), 409, {
      ...{ code: 'redemption_no_longer_available', maximum: '0.00', next_action: 'fix_request' },
      detail: expect.stringContaining('first decide who pays the difference'),
    });
    expect((await merchant.wallet(first.document)).available).toBe('0.00');
  });
});

describe('cashback that expires while it is held', () => {
  it('cashback that expires while it is held can be redeemed', async () => {
    const order = await merchant.orderWith('20.00', {}, { expiresAt: service.clock.inMinutes(10) });
    await merchant.hold(order, '20.00');
    await service.clock.advance({ minutes: 20 });
    expect((await merchant.order(order)).cashback.to_redeem).toMatchObject({
      held: '20.00',
      available: '0.00',
      maximum: '20.00',
    });
    expect((await merchant.complete(order)).cashback.to_redeem).toMatchObject({ redeemed: '20.00', available: '0.00' });
  });

  it('cashback that expires while it is held expires at once when its order expires after it', async () => {
    const expiresAt = service.clock.inMinutes(10);
    const order = await merchant.orderWith('30.00', {}, { expiresAt });
    await merchant.hold(order, '20.00');
    await service.clock.advanceTo(order.expires_at);
    expect(await merchant.wallet(order.document)).toMatchObject({
      ...{ available: '0.00', held: '0.00', next_expiry: null },
    });
    expect((await merchant.order(order)).cashback.to_redeem).toMatchObject({ available: '0.00', lapsed: '20.00' });
    await merchant.complete(order, { redeem: '20.00' }).refused(409, 'redemption_no_longer_available');
    await merchant.complete(order, { redeem: '0.00' });
    expect(await merchant.movements(order.document)).toEqual([
      ...['grant 30.00', 'expire -10.00', 'expire -20.00', 'earn 7.50'],
    ]);
    const [, first, second] = await merchant.statement(order.document);
    expect([first!.effective_at, second!.effective_at]).toEqual(Array(2).fill(expiresAt.toISOString()));
  });

  it('wallets and orders show expired cashback the same way before and after it is written off', async () => {
    const order = await merchant.orderWith('30.00', {}, { expiresAt: service.clock.inMinutes(10) });
    const other = await merchant.create({ document: order.document });
    await merchant.hold(order, '12.00');
    service.clock.skip(11 * 60_000);
    const seen = async (): Promise<unknown> => [
      await merchant.wallet(order.document),
      (await merchant.order(order)).cashback,
      (await merchant.order(other)).cashback,
    ];
    const before = await seen();
    expect(before).toMatchObject([
      { available: '0.00', held: '12.00' },
      { to_redeem: { available: '0.00', held: '12.00', maximum: '12.00' } },
      { to_redeem: { available: '0.00', maximum: '0.00' } },
    ]);
    await service.clock.advance({});
    expect(await merchant.movements(order.document)).toEqual(['grant 30.00', 'expire -18.00']);
    expect(await seen()).toEqual(before);
  });

  it('cashback keeps its own expiry date when the hold expires first', async () => {
    const expiresAt = service.clock.inMinutes(45);
    const order = await merchant.orderWith('20.00', {}, { expiresAt });
    await merchant.hold(order, '20.00');
    await service.clock.advance({ minutes: 40 });
    expect((await merchant.wallet(order.document)).next_expiry).toEqual({
      amount: '20.00',
      at: expiresAt.toISOString(),
      expires_on: localDate(+expiresAt - 1, 'America/Sao_Paulo'),
    });
    await service.clock.advance({ minutes: 10 });
    expect((await merchant.wallet(order.document)).available).toBe('0.00');
  });
});
