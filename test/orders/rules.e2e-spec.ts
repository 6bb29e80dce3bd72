import { afterEach, describe, expect, it } from '@jest/globals';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants } from '../support/expectations.js';
import { aMerchant, aUser } from '../support/factories.js';
import { startService } from '../support/service.js';
import { oneAtOnce, type Page } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const clock = new FrozenClock();
const { service } = useService({ clock });
afterEach(() => expectInvariants(service));

interface Version {
  version: number;
  since: string;
  by: object;
  reason: string | null;
  changes: Record<string, unknown>;
}

const versions = (count: string) => ({ headers: { 'if-match': count } });

describe('PATCH /policy', () => {
  it('PATCH /policy changes only the members that it has, for new orders, and says that a repetition changed nothing', async () => {
    const shop = await aMerchant(service);
    const before = await shop.create();
    const changed = await shop.changePolicy({ earn_rate: '0.10', release_days: 2 }, versions('"1"')).changed();
    expect(changed).toMatchObject({ version: 2, earn_rate: '0.10', release_days: 2, validity_days: 180 });
    expect(changed.base).toMatchObject({ earn_rate: '0.10', release_days: 2 });
    // Its version is over, but it changes nothing.
    expect(await shop.changePolicy({ earn_rate: '0.10' }, versions('"1"')).replayed()).toEqual(changed);
    expect((await shop.create()).cashback.to_receive.amount).toBe('15.00');
    expect((await shop.complete(before)).cashback.to_receive.amount).toBe('7.50');
  });

  it('PATCH /policy returns 412 for another version, and changes nothing', async () => {
    const shop = await aMerchant(service);
    await shop
      .changePolicy({ earn_rate: '0.10' }, versions('"2"'))
      .refused(412, 'policy_changed', { detail: expect.stringContaining('the rules are at version 1') });
    expect(await shop.policy()).toMatchObject({ version: 1, earn_rate: '0.05' });
  });

  it('of two changes of one version at the same time, on two instances, one is made and the other is 412', async () => {
    const second = await startService({ clock, databaseUrl: service.databaseUrl });
    const shop = await aMerchant(service);
    const shops = [shop, shop.with(new Client(second, shop.client.token))];
    const rates = ['0.06', '0.07', '0.08', '0.09'];
    const made = await oneAtOnce(
      4,
      (at) => shops[at % 2]!.changePolicy({ earn_rate: rates[at] }, versions('"1"')),
      412,
      { code: 'policy_changed' },
    );
    expect(made.version).toBe(2);
    expect(await rowsOf(service, 'SELECT version FROM policy_bases WHERE merchant_id = ?', [shop.id])).toHaveLength(2);
    await second.stop();
  });

  it('null turns off what can be off, and leaves out what cannot', async () => {
    const shop = await aMerchant(service, { earnMaximumCents: 5000, earnRateMaximumBps: 1000 });
    expect(await shop.changePolicy({ earn_maximum: null, earn_rate: null })).toMatchObject({
      ...{ earn_maximum: null, earn_rate: '0.05', earn_rate_maximum: '0.10' },
    });
  });

  it.each([
    ['time_zone', 'UTC'],
    ['grant_maximum', '5.00'],
    ['grant_daily_maximum', '5.00'],
    ['late_sale_days', 1],
    ['earn_rate_ceiling', '1.00'],
    ['redeem_share_ceiling', '1.00'],
  ])('PATCH /policy refuses %s, which only the operator sets', async (member, value) => {
    const shop = await aMerchant(service);
    await shop.changePolicy({ [member]: value }).refused(400, 'validation_failed', [`/${member}`]);
    expect((await shop.policy()).version).toBe(1);
  });

  it.each([
    [{ earn_rate: '0.2001' }, ['/earn_rate']],
    [{ earn_rates_by_payment_method: { pix: '0.05', boleto: '0.21' } }, ['/earn_rates_by_payment_method']],
    [{ earn_rate_maximum: '0.30', redeem_share: '0.51' }, ['/earn_rate_maximum', '/redeem_share']],
    [{ order_ttl_minutes: 20_000 }, ['/order_ttl_minutes']],
    [{ max_order_ttl_minutes: 10 }, ['/max_order_ttl_minutes']],
    [{ earn_rate: '5%' }, ['/earn_rate']],
    [{ reason: undefined, earn_rate: '0.06' }, ['/reason']],
  ])(
    'PATCH /policy with %j names the members above a ceiling, in contradiction, or not valid',
    async (rules, members) => {
      const shop = await aMerchant(service);
      await shop.changePolicy(rules).refused(400, 'validation_failed', members);
    },
  );

  it('a base above the ceiling, which the operator set, stays when other rules change', async () => {
    const shop = await aMerchant(service, { earnRateBps: 5000, lateSaleDays: 2 });
    expect(await shop.changePolicy({ earn_rate: '0.50', validity_days: 90 })).toMatchObject({ earn_rate: '0.50' });
    await shop.changePolicy({ release_days: 1 }).refused(400, 'validation_failed', ['/release_days']);
  });

  it('PATCH /policy refuses what contradicts a rule of a campaign that is not over, and names that one', async () => {
    const shop = await aMerchant(service);
    const day = addDays(dayOf(clock.now(), 'America/Sao_Paulo'), 2);
    const rules = { max_order_ttl_minutes: 60 };
    const campaign = await shop.campaign({ from: day, through: day, name: 'Black', rules });
    const problem = await shop
      .changePolicy({ order_ttl_minutes: 61 })
      .refused(400, 'validation_failed', ['/order_ttl_minutes']);
    expect(problem).toMatchObject({
      errors: [{ detail: expect.stringContaining('which is 60 in the campaign "Black"') }],
    });
    await shop.changePolicy({ order_ttl_minutes: 60, earn_rate: '0.06' });
    await shop.deleteCampaign(campaign);
    await shop.changePolicy({ order_ttl_minutes: 61 });
  });

  it('PATCH /policy needs the permission rules, and changes the merchant of the caller only', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const cashier = await aUser(service, shop.id);
    await cashier.changePolicy({ earn_rate: '0.06' }).refused(403, 'forbidden', { permission: 'rules' });
    await shop.changePolicy({ earn_rate: '0.06' });
    expect((await other.policy()).earn_rate).toBe('0.05');
  });
});

describe('GET /policy/history', () => {
  it('GET /policy/history says who changed what, when and why, newest first, in pages', async () => {
    const shop = await aMerchant(service, { earnRateBps: 700 });
    const createdAt = clock.now().toISOString();
    clock.skip(60_000);
    await shop.changePolicy({ earn_rate: '0.08', reason: 'December' });
    clock.skip(60_000);
    await service.app.get(MerchantsService).set(shop.id, { policy: { lateSaleDays: 3 } });
    const { data, next_cursor } = await shop.get<Page<Version>>('/policy/history?limit=2');
    const operator = { user_id: null, name: 'operator' };
    expect(data).toEqual([
      { version: 3, since: clock.now().toISOString(), by: operator, reason: null, changes: { late_sale_days: 3 } },
      { version: 2, since: expect.any(String), by: shop.by, reason: 'December', changes: { earn_rate: '0.08' } },
    ]);
    const last = await shop.get<Page<Version>>(`/policy/history?limit=2&cursor=${next_cursor}`);
    expect(last).toMatchObject({ data: [{ version: 1, since: createdAt, by: operator }], next_cursor: null });
    expect(last.data[0]!.changes).toMatchObject({ earn_rate: '0.07', validity_days: 180 });
    const other = await aMerchant(service);
    expect((await other.get<Page<Version>>('/policy/history')).data).toHaveLength(1);
  });
});
