import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { PolicyChanges } from '../../src/merchants/campaign.entity.js';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { atOnce, Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aMerchant, anOrder, aUser, logIn, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import {
  type Call,
  type CampaignOfShop,
  idsOf,
  type Members,
  oneAtOnce,
  type Order,
  type Page,
} from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';
const clock = new FrozenClock();
const { service } = useService({ clock });

/** The clock's sweep stays that of the first instance. */
const secondInstance = async (): Promise<Service> => {
  const { sweep } = clock;
  const second = await startService({ clock, databaseUrl: service.databaseUrl });
  clock.sweep = sweep;
  return second;
};

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

  it('of two changes of one version at the same time, on two instances, one is made and the other is 412', async () => {
    const second = await secondInstance();
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

  it('PATCH /policy changes the merchant of the caller only', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
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

describe('campaigns of a user with the permission rules', () => {
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
      // Of those that overlap at the same time, one is made.
      await oneAtOnce(3, (at) => shop.campaign({ ...days(20 + at, 23), name: `Other ${at}` }), 400, {
        code: 'validation_failed',
      });
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
      const second = await secondInstance();
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

    it('the campaigns and the days of one merchant are free of those of others', async () => {
      const [shop, other] = [await aMerchant(service), await aMerchant(service)];
      await shop.campaign(days(1, 2));
      const own = await other.campaign(days(1, 2)).changed();
      expect((await other.get<Page<CampaignOfShop>>('/campaigns')).data).toEqual([own]);
    });
  });
});

describe('campaigns of the operator', () => {
  /** A day of the merchant, from today on. */
  const inDays = (days: number): string => addDays(dayOf(clock.now(), ZONE), days);
  const dates = (from: number, through: number): string[] => ['--from', inDays(from), '--through', inDays(through)];
  /** The command line has the clock of this machine, so its days are checked in this process. */
  const setVersion = (shop: TestMerchant, [, fromDay, , throughDay]: string[], changes?: PolicyChanges) =>
    shop.setVersion({ fromDay: fromDay!, throughDay: throughDay! }, changes);
  /** Moves the clock to a bit before or after the beginning of a day. */
  const moveTo = async (shop: TestMerchant, day: string, ms: number): Promise<TestMerchant> => {
    await clock.advance({ ms: +startOfDay(day, ZONE) + ms - clock.ms });
    return shop.with(new Client(service, (await logIn(service, shop.email)).access_token));
  };
  const earns = ({ cashback }: Order): string => cashback.to_receive.amount;
  const ofHundred = { total: '100.00', payment_methods: [{ id: 'pix', amount: '100.00' }] };

  describe('dated policies', () => {
    it('a version begins at its first midnight and ends after its last day, over the base of the moment', async () => {
      let shop = await aMerchant(service, { earnRatesByPaymentMethod: { pix: 700 } });
      const weekend = dates(2, 3);
      await setVersion(shop, weekend, { earnRateBps: 1000, earnRatesByPaymentMethod: { pix: 1200 } });
      await shop.setPolicy({ earnMaximumCents: 1_150 });
      shop = await moveTo(shop, inDays(2), -1);
      const before = await shop.create(ofHundred);
      expect(await shop.policy()).toMatchObject({
        earn_rate: '0.05',
        campaign: null,
        base: { earn_rate: '0.05', earn_rates_by_payment_method: { pix: '0.07' }, earn_maximum: '11.50' },
        upcoming: [
          {
            from: weekend[1],
            through: weekend[3],
            begins_at: startOfDay(weekend[1]!, ZONE).toISOString(),
            rules: { earn_rate: '0.10', earn_rates_by_payment_method: { pix: '0.12' } },
          },
        ],
      });
      clock.skip(1);
      const first = await shop.create(ofHundred);
      const { base, ...running } = await shop.policy();
      const campaign = { name: `${weekend[1]} to ${weekend[3]}`, from: weekend[1], through: weekend[3] };
      expect(running).toMatchObject({ earn_rate: '0.10', earn_maximum: '11.50', campaign, upcoming: [] });
      expect(first.campaign_id).toBe(running.campaign!.id);
      expect(before.campaign_id).toBeNull();
      expect(base).toMatchObject({ earn_rate: '0.05', earn_rates_by_payment_method: { pix: '0.07' } });
      expect((await (await aMerchant(service)).policy()).campaign).toBeNull();
      expect([before, first, await shop.create({ ...ofHundred, payment_methods: [] })].map(earns)).toEqual([
        '7.00',
        '11.50',
        '10.00',
      ]);
      shop = await moveTo(shop, weekend[3]!, 24 * 3600_000 - 1);
      const last = await shop.create(ofHundred);
      clock.skip(1);
      const after = await shop.create(ofHundred);
      expect([last, after].map(earns)).toEqual(['11.50', '7.00']);
      // An order keeps the rules of its creation.
      expect([await shop.complete(last), await shop.complete(after)].map(earns)).toEqual(['11.50', '7.00']);
    });

    it('two instances begin a version at the same order, a millisecond before and after midnight', async () => {
      const second = await secondInstance();
      let shop = await aMerchant(service);
      await setVersion(shop, dates(1, 1), { earnRateBps: 1000 });
      shop = await moveTo(shop, inDays(1), -1);
      const shops = [shop, shop.with(new Client(second, shop.client.token))];
      // Both have kept the policy of before.
      for (const one of shops) expect((await one.policy()).earn_rate).toBe('0.05');
      const createAll = () => atOnce(10, async (index) => earns(await shops[index % 2]!.create(ofHundred)));
      expect(new Set(await createAll())).toEqual(new Set(['5.00']));
      clock.skip(1);
      expect(new Set(await createAll())).toEqual(new Set(['10.00']));
      await second.stop();
    });

    it('the order of a day that the base policy would refuse is measured by the rules of that day', async () => {
      let shop = await aMerchant(service, { redeemMinimumTotalCents: 100_000 });
      await setVersion(shop, dates(1, 1), { redeemMinimumTotalCents: 0, maxOrderTtlMinutes: 60, orderTtlMinutes: 60 });
      shop = await moveTo(shop, inDays(1), 0);
      expectProblem(await shop.create({ expires_at: clock.inMinutes(61) }).answer, 400, 'validation_failed');
      const order = await shop.orderWith('20.00');
      expect(order.cashback.to_redeem.maximum).toBe('20.00');
      await expect(setVersion(shop, dates(3, 3), { orderTtlMinutes: 20_000 })).rejects.toMatchObject({
        code: 'validation_failed',
      });
    });
  });
});

describe('late sales', () => {
  const HOUR_MS = 3_600_000;

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
      for (const refused of [
        till.sell({ sold_at: ago(HOUR_MS) }),
        till.quote({ total: '1.00', sold_at: ago(HOUR_MS) }),
      ])
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
      await later
        .create({ ...body, sold_at: ago(101 * HOUR_MS + 1) })
        .refused(409, 'external_id_conflict', ['/sold_at']);
      await later.create({ ...body, sold_at: undefined }).refused(409, 'external_id_conflict', ['/sold_at']);
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
  });
});

it('reconcile finds nothing after the tests of this file', () => expectInvariants(service));
