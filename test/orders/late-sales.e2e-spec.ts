import { afterEach, describe, expect, it } from '@jest/globals';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { atOnce, Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser, logIn, type TestMerchant } from '../support/factories.js';
import type { Members } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const ZONE = 'America/Sao_Paulo';
const HOUR_MS = 3_600_000;
const clock = new FrozenClock();
const { service } = useService({ clock });
afterEach(() => expectInvariants(service));

/** A merchant that accepts sales of the last three days. */
const aLateMerchant = (policy = {}) => aMerchant(service, { lateSaleDays: 3, ...policy });
const day = (days: number): string => addDays(dayOf(clock.now(), ZONE), days);
const ago = (ms: number): string => new Date(clock.ms - ms).toISOString();
const advance = async (shop: TestMerchant, ms: number): Promise<TestMerchant> => {
  await clock.advance({ ms });
  return shop.with(new Client(service, (await logIn(service, shop.email)).access_token));
};
const sale = (members: Members = {}) => anOrder({ complete: {}, ...members });

describe('sold_at', () => {
  it('a late sale has the rules and the campaign of the instant at which it was sold, and the dates follow it', async () => {
    let shop = await aLateMerchant({ releaseDays: 4 });
    const { from, through } = { from: day(1), through: day(1) };
    const campaign = await shop.campaign({ from, through, rules: { earn_rate: '0.20' } });
    await shop.changePolicy({ validity_days: 100 });
    shop = await advance(shop, +startOfDay(day(2), ZONE) - clock.ms);
    await shop.changePolicy({ earn_rate: '0.01', validity_days: 200 });
    shop = await advance(shop, 24 * HOUR_MS);
    const during = new Date(+startOfDay(from, ZONE) + 12 * HOUR_MS).toISOString();
    const body = sale({ sold_at: during });
    const { data: quoted } = { data: await shop.quote({ total: '150.00', sold_at: during }) };
    expect(quoted.cashback.to_receive).toMatchObject({ amount: '30.00', available_on: day(-2 + 4) });
    const sold = await shop.create(body).changed();
    expect(sold).toMatchObject({ status: 'completed', sold_at: during, campaign_id: campaign.id });
    expect(sold.completed_at).toBe(clock.now().toISOString());
    expect(sold.cashback.to_receive).toMatchObject({
      ...{ amount: '30.00', available_on: day(2), expires_on: day(2 + 99) },
    });
    expect(await shop.create(body).replayed()).toEqual(sold);
    const [entry] = await shop.statement(sold.document);
    expect(entry).toMatchObject({ kind: 'earn', sold_at: during });
    const now = await shop.sell();
    expect(now).toMatchObject({ campaign_id: null, sold_at: null, cashback: { to_receive: { amount: '1.50' } } });
    // Before the campaign, of which nothing is stored later.
    const before = new Date(+startOfDay(from, ZONE) - 1).toISOString();
    expect(await shop.sell({ sold_at: before })).toMatchObject({
      ...{ campaign_id: null, cashback: { to_receive: { amount: '7.50', expires_on: day(-3 + 4 + 99) } } },
    });
  });

  it('a sale of up to five minutes ago, or in five minutes, is one of now', async () => {
    const shop = await aMerchant(service);
    const till = await aUser(service, shop.id);
    for (const ms of [0, 300_000, -300_000]) {
      const { sold_at, cashback } = await till.sell({ sold_at: ago(ms) });
      expect({ sold_at, on: cashback.to_receive.available_on }).toEqual({ sold_at: ago(ms), on: day(8) });
    }
    for (const refused of [
      till.sell({ sold_at: ago(-300_001) }),
      till.quote({ total: '1.00', sold_at: ago(-300_001) }),
    ])
      await refused.refused(400, 'validation_failed', ['/sold_at']);
  });

  it('a sale of longer ago than late_sale_days is 422 with the earliest instant, and leaves nothing', async () => {
    const shop = await aLateMerchant();
    const earliest = ago(72 * HOUR_MS);
    const body = sale({ sold_at: ago(72 * HOUR_MS + 1) });
    for (const _attempt of ['first', 'second'])
      await shop.create(body).refused(422, 'sold_too_long_ago', { earliest, errors: [{ pointer: '/sold_at' }] });
    await shop.quote({ total: '1.00', sold_at: body.sold_at }).refused(422, 'sold_too_long_ago', { earliest });
    // The same ID can be sent again.
    await shop.create({ ...body, sold_at: earliest }).changed();
    const other = await aMerchant(service);
    await other.sell({ sold_at: ago(300_001) }).refused(422, 'sold_too_long_ago', { earliest: ago(300_000) });
  });

  it('a late sale needs the permission late_sales', async () => {
    const shop = await aLateMerchant();
    const till = await aUser(service, shop.id);
    for (const refused of [till.sell({ sold_at: ago(HOUR_MS) }), till.quote({ total: '1.00', sold_at: ago(HOUR_MS) })])
      await refused.refused(403, 'forbidden', { permission: 'late_sales' });
    const offline = await aUser(service, shop.id, ['sell', 'late_sales']);
    await offline.sell({ sold_at: ago(HOUR_MS) }).changed();
  });

  it('a repetition is answered after it would be too late, without the permission, and with the rule off', async () => {
    const shop = await aLateMerchant();
    const body = sale({ sold_at: ago(HOUR_MS) });
    const sold = await shop.create(body);
    await service.app.get(MerchantsService).set(shop.id, { policy: { lateSaleDays: 0 } });
    clock.skip(1_100);
    expect(await (await aUser(service, shop.id)).create(body).replayed()).toEqual(sold);
    const later = await advance(shop, 100 * HOUR_MS);
    expect((await later.create(body).replayed()).id).toBe(sold.id);
    await later.create({ ...body, sold_at: ago(101 * HOUR_MS + 1) }).refused(409, 'external_id_conflict', ['/sold_at']);
    await later.create({ ...body, sold_at: undefined }).refused(409, 'external_id_conflict', ['/sold_at']);
  });

  it('equal late sales at the same time make one order', async () => {
    const shop = await aLateMerchant();
    const body = sale({ sold_at: ago(HOUR_MS) });
    const answers = await atOnce(6, () => shop.create(body).answer);
    expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(1);
    expect((await shop.wallet(body.document)).pending).toBe('7.50');
  });

  it('a sale of an order that is open completes it with its own rules, whenever it was sold', async () => {
    const shop = await aLateMerchant();
    const order = anOrder();
    await shop.create(order);
    await shop.changePolicy({ earn_rate: '0.10' });
    const sold = await shop.create({ ...order, complete: {}, sold_at: ago(HOUR_MS) });
    expect(sold).toMatchObject({ status: 'completed', sold_at: null, cashback: { to_receive: { amount: '7.50' } } });
    expect(await shop.create({ ...order, complete: {}, sold_at: ago(HOUR_MS) }).replayed()).toEqual(sold);
  });

  it('sold_at without complete is 400', async () => {
    const shop = await aLateMerchant();
    await shop.create({ sold_at: ago(0) }).refused(400, 'validation_failed', ['/sold_at']);
    await shop.sell({ sold_at: '2026-11-26' }).refused(400, 'validation_failed', ['/sold_at']);
  });

  it('a late sale redeems by the share of its instant, from the balance of now', async () => {
    let shop = await aLateMerchant({ redeemShareBps: 2000 });
    const document = aDocument();
    const sold_at = clock.now().toISOString();
    shop = await advance(shop, HOUR_MS);
    await shop.changePolicy({ redeem_share: '0.50' });
    await shop.credit(document, '100.00');
    const complete = { redeem: '75.00' };
    await shop.sell({ document, sold_at }, complete).refused(422, 'redemption_exceeds_maximum', { maximum: '30.00' });
    expect((await shop.sell({ document }, complete)).cashback.to_redeem.redeemed).toBe('75.00');
    expect((await shop.sell({ document, sold_at }, { redeem: '25.00' })).cashback.to_redeem.redeemed).toBe('25.00');
  });
});
