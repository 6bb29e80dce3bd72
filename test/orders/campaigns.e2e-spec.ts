import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { atOnce, Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants } from '../support/expectations.js';
import { aMerchant, aUser, logIn, type TestMerchant } from '../support/factories.js';
import { startService } from '../support/service.js';
import { type Call, type CampaignOfShop, idsOf, type Order, type Page } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';
const clock = new FrozenClock();
const { service } = useService({ clock });
afterEach(() => expectInvariants(service));

const inDays = (days: number): string => addDays(dayOf(clock.now(), ZONE), days);
const days = (from: number, through: number) => ({ from: inDays(from), through: inDays(through) });
const earns = ({ cashback }: Order): string => cashback.to_receive.amount;
const moveTo = async (shop: TestMerchant, day: string, ms = 0): Promise<TestMerchant> => {
  await clock.advance({ ms: +startOfDay(day, ZONE) + ms - clock.ms });
  return shop.with(new Client(service, (await logIn(service, shop.email)).access_token));
};
/** An instance keeps a policy for a second of its process, which the clock of the test does not move. */
const inAMinute = async (): Promise<void> => {
  await sleep(1_050);
  clock.skip(60_000);
};

describe('campaigns', () => {
  it('a campaign is upcoming, runs from its first midnight, and is over; orders keep its ID and its rules', async () => {
    let shop = await aMerchant(service, { earnRatesByPaymentMethod: { credit_card: 700 } });
    const rules = { earn_rate: '0.10', earn_minimum_total: '100.00', earn_maximum: '50.00' };
    const weekend = days(1, 2);
    const campaign = await shop.campaign({ name: 'Black Friday', ...weekend, rules }).changed();
    expect(campaign).toEqual({
      ...{ id: campaign.id, name: 'Black Friday', ...weekend, status: 'upcoming', ended_by: null },
      begins_at: startOfDay(weekend.from, ZONE).toISOString(),
      ends_at: startOfDay(inDays(3), ZONE).toISOString(),
      rules: { ...rules, earn_rates_by_payment_method: {} },
      ...{ created_at: clock.now().toISOString(), created_by: shop.by },
      ...{ changed_at: clock.now().toISOString(), changed_by: shop.by },
    });
    expect(await shop.policy()).toMatchObject({
      campaign: null,
      upcoming: [{ id: campaign.id, name: 'Black Friday' }],
    });
    expect(await shop.create()).toMatchObject({ campaign_id: null });
    shop = await moveTo(shop, weekend.from);
    expect(await shop.readCampaign(campaign)).toMatchObject({ status: 'running' });
    expect((await shop.policy()).campaign).toEqual({ id: campaign.id, name: 'Black Friday', ...weekend });
    const order = await shop.create();
    expect(order).toMatchObject({ campaign_id: campaign.id, cashback: { to_receive: { amount: '15.00' } } });
    expect(earns(await shop.create({ total: '99.99' }))).toBe('0.00');
    expect(earns(await shop.create({ total: '900.00' }))).toBe('50.00');
    shop = await moveTo(shop, inDays(2));
    expect(await shop.readCampaign(campaign)).toMatchObject({ status: 'over' });
    expect(await shop.complete(order)).toMatchObject({
      ...{ campaign_id: campaign.id, cashback: { to_receive: { amount: '15.00' } } },
    });
    expect(await shop.policy()).toMatchObject({ campaign: null, upcoming: [] });
  });

  it('the same campaign again, also at the same time, returns the one that is there', async () => {
    const shop = await aMerchant(service);
    const bodies = await atOnce(4, () => shop.campaign(days(1, 2)).answer);
    expect(new Set(bodies.map(({ body }) => body.id)).size).toBe(1);
    expect(bodies.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
    expect((await shop.campaign(days(1, 2)).replayed()).id).toBe(bodies[0]!.body.id);
    expect(await rowsOf(service, 'SELECT id FROM policy_versions WHERE merchant_id = ?', [shop.id])).toHaveLength(1);
  });

  it('campaigns that overlap, are over, or have other faults are refused, and name the member', async () => {
    const shop = await aMerchant(service);
    await shop.campaign(days(3, 5));
    for (const wrong of [days(1, 3), days(5, 9), days(4, 4), days(2, 6), days(-1, 1), days(2, 1)])
      await shop.campaign({ ...wrong, name: 'Other' }).refused(400, 'validation_failed', ['/from']);
    for (const [rules, members] of [
      [{ earn_rate: '0.21' }, ['/rules/earn_rate']],
      [{ earn_rates_by_payment_method: { pix: '0.50' } }, ['/rules/earn_rates_by_payment_method']],
      [{ redeem_share: '0.60' }, ['/rules/redeem_share']],
      [{ order_ttl_minutes: 20_000 }, ['/rules/order_ttl_minutes']],
      [{ grant_maximum: '1.00' }, ['/rules/grant_maximum']],
      [{ document_check_digits: true }, ['/rules/document_check_digits']],
      [{ earn_rate: 0.1 }, ['/rules/earn_rate']],
    ] as const)
      await shop.campaign({ ...days(10, 11), rules }).refused(400, 'validation_failed', members);
    await shop.campaign({ ...days(10, 11), name: '' }).refused(400, 'validation_failed', ['/name']);
    expect((await shop.get<Page<CampaignOfShop>>('/campaigns')).data).toHaveLength(1);
  });

  it('a campaign of today begins in a minute, and can be changed and deleted before it begins', async () => {
    const shop = await aMerchant(service);
    const campaign = await shop.campaign(days(0, 0));
    expect(campaign.begins_at).toBe(clock.inMinutes(1).toISOString());
    const changed = await shop.changeCampaign(campaign, { ...days(2, 3), name: 'Later' }).changed();
    expect(changed).toMatchObject({ id: campaign.id, name: 'Later', ...days(2, 3), status: 'upcoming' });
    expect(await shop.changeCampaign(campaign, { ...days(2, 3), name: 'Later' }).replayed()).toEqual(changed);
    await shop.changeCampaign(campaign, days(-1, 3)).refused(400, 'validation_failed', ['/from']);
    await shop.endCampaign(campaign).refused(409, 'campaign_status_conflict', { campaign_status: 'upcoming' });
    await shop.deleteCampaign(campaign).changed();
    await shop.deleteCampaign(campaign).refused(404, 'not_found');
    await shop.readCampaign(campaign).refused(404, 'not_found');
    expect(await shop.policy()).toMatchObject({ campaign: null, upcoming: [] });
  });

  it('a campaign that is about to begin can be ended, not deleted: another instance may have begun it', async () => {
    let shop = await aMerchant(service);
    const campaign = await shop.campaign(days(1, 2));
    shop = await moveTo(shop, inDays(1), -4_000);
    await shop.deleteCampaign(campaign).refused(409, 'campaign_status_conflict', { campaign_status: 'running' });
    expect(await shop.endCampaign(campaign).changed()).toMatchObject({ ends_at: clock.inMinutes(1).toISOString() });
  });

  it('a campaign that would end before it begins is refused: one of today in its last minute, and a last day that is over by then', async () => {
    let shop = await aMerchant(service);
    const campaign = await shop.campaign({ name: 'Five days', ...days(0, 4) });
    shop = await moveTo(shop, inDays(2), -30_000);
    const tooLate = (call: Call<unknown>) => call.refused(400, 'validation_failed', ['/through']);
    await tooLate(shop.changeCampaign(campaign, { name: 'Five days', from: campaign.from, through: inDays(0) }));
    await shop.endCampaign(campaign);
    await tooLate(shop.campaign({ name: 'Tonight', ...days(0, 0) }));
    expect(await shop.readCampaign(campaign)).toMatchObject({ status: 'running', name: 'Five days' });
    expect(earns(await shop.create())).toBe('15.00');
    shop = await moveTo(shop, inDays(1), 40_000);
    expect(await shop.readCampaign(campaign)).toMatchObject({ status: 'over' });
    expect(earns(await shop.create())).toBe('7.50');
  });

  it('a campaign that another user changes before it begins was still made by the first one', async () => {
    const shop = await aMerchant(service);
    const made = await shop.campaign({ name: 'Weekend', ...days(1, 2) });
    clock.skip(60_000);
    const other = await aUser(service, shop.id, ['rules'], 'Marketing');
    const changed = await other.changeCampaign(made, { name: 'Weekend', ...days(1, 3) });
    const { created_at, created_by } = made;
    expect(changed).toMatchObject({ created_at, created_by, changed_by: other.by });
    expect(changed.changed_at > created_at).toBe(true);
    expect(await shop.readCampaign(made)).toEqual(changed);
  });

  it('a campaign that runs changes and ends in a minute, at the same order on two instances, without a gap', async () => {
    // The clock's sweep stays that of the first instance.
    const { sweep } = clock;
    const second = await startService({ clock, databaseUrl: service.databaseUrl });
    clock.sweep = sweep;
    let shop = await aMerchant(service);
    const campaign = await shop.campaign({ ...days(1, 5), rules: { earn_rate: '0.20' } });
    shop = await moveTo(shop, inDays(2));
    const shops = [shop, shop.with(new Client(second, shop.client.token))];
    const ofAll = async (): Promise<string[]> => Promise.all(shops.map(async (one) => earns(await one.create())));
    await shop.changeCampaign(campaign, days(0, 4)).refused(400, 'validation_failed', ['/from']);
    const own = { from: campaign.from, through: inDays(2) };
    await shop.changeCampaign(campaign, { ...own, rules: { earn_rate: '0.08' } }).changed();
    clock.skip(30_000);
    // Corrected before it held: nothing but the first rate holds until then.
    await shop.changeCampaign(campaign, own).changed();
    await sleep(1_050);
    clock.skip(59_999);
    expect(await ofAll()).toEqual(['30.00', '30.00']);
    clock.skip(1);
    expect(await ofAll()).toEqual(['15.00', '15.00']);
    expect(await shop.readCampaign(campaign)).toMatchObject({
      ...{ status: 'running', through: own.through, begins_at: campaign.begins_at },
    });
    const ended = await shop.endCampaign(campaign).changed();
    expect(ended).toMatchObject({ status: 'running', ends_at: clock.inMinutes(1).toISOString(), ended_by: shop.by });
    expect(await shop.endCampaign(campaign).replayed()).toEqual(ended);
    await shop.changeCampaign(campaign, days(0, 9)).refused(409, 'campaign_status_conflict');
    await inAMinute();
    expect(await ofAll()).toEqual(['7.50', '7.50']);
    await shop.deleteCampaign(campaign).refused(409, 'campaign_status_conflict', { campaign_status: 'over' });
    // The rest of its days is free.
    await shop.campaign({ ...days(1, 1), name: 'Other' }).changed();
    const [first] = (await shop.get<Page<CampaignOfShop>>('/campaigns')).data;
    expect(first!.name).toBe('Other');
    await second.stop();
  });

  it('a ceiling that is lowered below a campaign that runs ends nothing; a later change must be below it', async () => {
    let shop = await aMerchant(service);
    const campaign = await shop.campaign({ ...days(1, 5), rules: { earn_rate: '0.20' } });
    shop = await moveTo(shop, inDays(1));
    await service.app.get(MerchantsService).set(shop.id, { policy: { earnRateCeilingBps: 1000 } });
    expect(earns(await shop.create())).toBe('30.00');
    const own = { from: campaign.from, through: campaign.through };
    await shop
      .changeCampaign(campaign, { ...own, name: 'Other', rules: { earn_rate: '0.20' } })
      .refused(400, 'validation_failed', ['/rules/earn_rate']);
    await shop.changeCampaign(campaign, own).changed();
    await shop.endCampaign(campaign).changed();
  });

  it('a rate above the ceiling is refused in a campaign, also if it is that of the base', async () => {
    const shop = await aMerchant(service, { earnRateBps: 3000 });
    await shop
      .campaign({ ...days(1, 2), rules: { earn_rate: '0.30' } })
      .refused(400, 'validation_failed', ['/rules/earn_rate']);
    await expect(
      shop.setVersion({ fromDay: inDays(1), throughDay: inDays(1) }, { grantMaximumCents: 1 }),
    ).rejects.toThrow('1 member is not valid');
  });

  it('a sale that arrives just after midnight has the campaign of the instant at which it was sold', async () => {
    let shop = await aMerchant(service);
    const campaign = await shop.campaign(days(1, 1));
    shop = await moveTo(shop, inDays(2), 30_000);
    const sold_at = new Date(clock.ms - 60_000).toISOString();
    expect(await shop.sell({ sold_at })).toMatchObject({ campaign_id: campaign.id });
    expect(await shop.sell()).toMatchObject({ campaign_id: null });
  });

  it('a merchant has at most 100 campaigns that are not over', async () => {
    const shop = await aMerchant(service);
    for (let day = 1; day <= 100; day++) await shop.campaign(days(day, day));
    await shop.campaign(days(101, 101)).refused(400, 'validation_failed', ['/from']);
  });

  it('GET /campaigns lists each campaign once, newest first, in pages', async () => {
    const shop = await aMerchant(service);
    const made: string[] = [];
    for (const at of [20, 10, 30]) {
      clock.skip(1);
      made.unshift((await shop.campaign(days(at, at))).id);
    }
    await shop.changeCampaign({ id: made[1]! }, { ...days(10, 10), name: 'Renamed', rules: { earn_rate: '0.07' } });
    const first = await shop.get<Page<CampaignOfShop>>('/campaigns?limit=2');
    const last = await shop.get<Page<CampaignOfShop>>(`/campaigns?limit=2&cursor=${first.next_cursor}`);
    expect([...idsOf(first), ...idsOf(last)]).toEqual(made);
    expect(last.next_cursor).toBeNull();
    expect(first.data[1]).toMatchObject({ name: 'Renamed', rules: { earn_rate: '0.07' } });
  });

  it("campaigns need the permission rules to be changed, none to be read, and other merchants' are 404", async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const campaign = await shop.campaign(days(1, 2));
    const cashier = await aUser(service, shop.id);
    expect(await cashier.readCampaign(campaign)).toMatchObject({ id: campaign.id });
    for (const refused of [
      cashier.campaign(days(4, 4)),
      cashier.changeCampaign(campaign, days(4, 4)),
      cashier.endCampaign(campaign),
      cashier.deleteCampaign(campaign),
    ])
      await refused.refused(403, 'forbidden', { permission: 'rules' });
    for (const refused of [
      other.readCampaign(campaign),
      other.changeCampaign(campaign, days(4, 4)),
      other.endCampaign(campaign),
      other.deleteCampaign(campaign),
    ])
      await refused.refused(404, 'not_found');
    expect((await other.get<Page<CampaignOfShop>>('/campaigns')).data).toEqual([]);
    // The days of one merchant are free for others.
    await other.campaign(days(1, 2)).changed();
  });
});
