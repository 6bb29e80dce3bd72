import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import type { PolicyChanges } from '../../src/merchants/campaign.entity.js';
import { atOnce, Client } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aMerchant, logIn, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const ZONE = 'America/Sao_Paulo';
const clock = new FrozenClock();
const { service } = useService({ clock });
afterEach(() => expectInvariants(service));

/** A day of the merchant, from today on. */
const inDays = (days: number): string => addDays(dayOf(clock.now(), ZONE), days);
const dates = (from: number, through: number): string[] => ['--from', inDays(from), '--through', inDays(through)];
/** The command line has the clock of this machine, so its days are checked in this process. */
const setVersion = (shop: TestMerchant, [, fromDay, , throughDay]: string[], changes?: PolicyChanges) =>
  shop.setVersion({ fromDay: fromDay!, throughDay: throughDay! }, changes);
/** The clock's sweep stays that of the first instance. */
const secondInstance = async (): Promise<Service> => {
  const { sweep } = clock;
  const second = await startService({ clock, databaseUrl: service.databaseUrl });
  clock.sweep = sweep;
  return second;
};
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

  it('a version that is stored during its first day begins a minute later', async () => {
    const shop = await aMerchant(service);
    await setVersion(shop, dates(0, 0), { earnRateBps: 1000 });
    expect((await shop.policy()).upcoming[0]!.begins_at).toBe(clock.inMinutes(1).toISOString());
    clock.skip(59_999);
    expect(earns(await shop.create(ofHundred))).toBe('5.00');
    clock.skip(1);
    expect(earns(await shop.create(ofHundred))).toBe('10.00');
  });

  it('a version can be changed and removed until it begins', async () => {
    const shop = await aMerchant(service);
    const days = dates(1, 2);
    for (const earnRateBps of [1000, 1000, 2000]) await setVersion(shop, days, { earnRateBps });
    expect((await shop.policy()).upcoming).toMatchObject([{ rules: { earn_rate: '0.20' } }]);
    await setVersion(shop, days);
    expect((await shop.policy()).upcoming).toEqual([]);
    await expect(setVersion(shop, days)).rejects.toThrow('no campaign has this ID');
  });

  it('a version that has begun is replaced or ended a minute later, on all instances at the same order', async () => {
    let shop = await aMerchant(service);
    const days = dates(1, 3);
    await setVersion(shop, days, { earnRateBps: 5000 });
    shop = await moveTo(shop, inDays(2), 0);
    const second = await secondInstance();
    const shops = [shop, shop.with(new Client(second, shop.client.token))];
    /** An instance keeps a policy for a second of its process, which the clock of the test does not move. */
    const inAMinute = async (): Promise<void> => {
      await sleep(1_050);
      clock.skip(59_999);
    };
    const earned = () => Promise.all(shops.map(async (one) => earns(await one.create(ofHundred))));
    expect(await earned()).toEqual(['50.00', '50.00']);
    // The right rate, at the same time from two terminals.
    await Promise.all([1000, 1000].map((earnRateBps) => setVersion(shop, days, { earnRateBps })));
    await inAMinute();
    expect(await earned()).toEqual(['50.00', '50.00']);
    clock.skip(1);
    expect(await earned()).toEqual(['10.00', '10.00']);
    await setVersion(shop, days);
    await expect(setVersion(shop, days)).rejects.toThrow('no campaign has this ID');
    await inAMinute();
    expect(await earned()).toEqual(['10.00', '10.00']);
    clock.skip(1);
    expect(await earned()).toEqual(['5.00', '5.00']);
    // The rest of its days is free for others.
    await setVersion(shop, dates(0, 0), { earnRateBps: 700 });
    await inAMinute();
    clock.skip(1);
    expect(await earned()).toEqual(['7.00', '7.00']);
    await second.stop();
  });

  it('a version of days that are over cannot be changed', async () => {
    let shop = await aMerchant(service);
    const days = dates(1, 1);
    await setVersion(shop, days, { earnRateBps: 1000 });
    shop = await moveTo(shop, inDays(2), 0);
    await expect(setVersion(shop, days, { earnRateBps: 1 })).rejects.toMatchObject({ code: 'campaign_status_conflict' });
  });

  it('versions that overlap, or of days that are over, are refused, also at the same time', async () => {
    const shop = await aMerchant(service);
    await setVersion(shop, dates(3, 5), { earnRateBps: 1 });
    for (const days of [dates(1, 3), dates(5, 9), dates(4, 4), dates(2, 6), dates(3, 4), dates(3, 6)])
      await expect(setVersion(shop, days, { earnRateBps: 2 })).rejects.toMatchObject({
        errors: [
          {
            detail: `overlaps with the campaign "${inDays(3)} to ${inDays(5)}" from ${inDays(3)} through ${inDays(5)}: change, end or delete that one first`,
          },
        ],
      });
    for (const days of [dates(-1, 1), dates(2, 1)])
      await expect(setVersion(shop, days, { earnRateBps: 2 })).rejects.toMatchObject({ code: 'validation_failed' });
    await setVersion(shop, dates(1, 2), { earnRateBps: 2 });
    await setVersion(shop, dates(6, 6), { earnRateBps: 2 });
    const races = await Promise.allSettled(
      [20, 21, 22].map((from) => setVersion(shop, dates(from, 23), { earnRateBps: from })),
    );
    expect(races.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await shop.policy()).upcoming).toHaveLength(4);
    const other = await aMerchant(service);
    await setVersion(other, dates(4, 4), { earnRateBps: 2 });
    expect((await other.policy()).upcoming).toHaveLength(1);
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
