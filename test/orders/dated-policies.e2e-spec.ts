import { afterEach, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import type { PolicyChanges } from '../../src/merchants/campaign.entity.js';
import { AdminCommandLine } from '../support/admin.js';
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
const admin = new AdminCommandLine(service);
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

describe('`merchant set --from --through`', () => {
  const command = async (...options: string[]): Promise<string[]> => [
    'merchant',
    'set',
    (await admin.json('merchant', 'create', '--name', 'Loja', '--earn-rate', '5%', '--earn-rate', 'pix=7%')).id,
    ...options,
  ];
  const far = ['--from', '2097-11-27', '--through', '2097-11-29'];

  it('`merchant set` with days stores, changes, lists and removes rules, and keeps the base policy', async () => {
    const set = await command();
    const id = set[2]!;
    const rules = [...far, '--earn-rate', '10%', '--earn-rate', 'pix=12%', '--earn-maximum', '50.00'];
    for (const _attempt of ['first', 'second'])
      expect(await admin.json(...set, ...rules)).toMatchObject({
        merchant_id: id,
        from: '2097-11-27',
        through: '2097-11-29',
        changes: { earn_rate: '10%', earn_rates_by_payment_method: { pix: '12%' }, earn_maximum: '50.00' },
      });
    // A general rate replaces all rates of methods.
    const general = await admin.json(...set, ...far, '--earn-rate', '8%');
    expect(general.changes).toEqual({ earn_rate: '8%', earn_rates_by_payment_method: {} });
    expect(await admin.list('merchant', 'dates', id)).toMatchObject([
      { from: '2097-11-27', through: '2097-11-29', changes: general.changes },
    ]);
    expect(await admin.json(...set, ...far, '--remove')).toEqual({
      merchant_id: id,
      removed: { from: '2097-11-27', through: '2097-11-29', changes: general.changes },
    });
    expect(await admin.list('merchant', 'dates', id)).toEqual([]);
    const [merchant] = (await admin.list('merchant', 'list')).filter((one) => one.id === id);
    expect(merchant).toMatchObject({ policy: { earn_rate: '5%', earn_rates_by_payment_method: { pix: '7%' } } });
  });

  it.each([
    [['--from', '2097-11-27'], '--from and --through belong together'],
    [['--through', '2097-11-27', '--earn-rate', '1%'], '--from and --through belong together'],
    [['--remove'], '--from and --through belong together'],
    [[...far], 'name at least one rule'],
    [[...far, '--time-zone', 'UTC'], 'have no days'],
    [[...far, '--name', 'Other', '--earn-rate', '1%'], 'have no days'],
    [['--from', '2020-01-01', '--through', '2020-01-02', '--earn-rate', '1%'], 'must be today or later'],
    [[...far, '--remove'], 'no campaign has these days'],
  ])('`merchant set` with %j is refused', async (options, message) => {
    expect(await admin.refusal(...(await command(...options)))).toContain(message);
  });
});
