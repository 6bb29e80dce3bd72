import { afterEach, describe, expect, it } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { startService } from '../support/service.js';
import type { Grant } from '../support/shop.js';
import { useService } from '../support/use-service.js';

// Some tests move the clock by a day.
const { service } = useService({ env: { ACCESS_TOKEN_TTL_SECONDS: '86400', REFRESH_TOKEN_TTL_SECONDS: '864000' } });
afterEach(() => expectInvariants(service));

/** A merchant whose users grant at most 100.00 in a day each. */
const aShop = (): Promise<TestMerchant> => aMerchant(service, { grantDailyMaximumCents: 10_000 });
const users = (shop: TestMerchant, count: number): Promise<TestMerchant[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => aUser(service, shop.id, ['grants'], `Caixa ${at}`)));
const exceeds = (maximum: string): object => ({
  ...{ maximum, limited_by: 'day' },
  errors: [{ pointer: '/amount', detail: `must be at most ${maximum} today` }],
});

function expectGranted(answers: Answer<Grant>[], count: number): void {
  expect(answers.filter(({ status }) => status === 201)).toHaveLength(count);
  for (const answer of answers.filter(({ status }) => status !== 201))
    expect(expectProblem(answer, 422, 'grant_exceeds_maximum')).toMatchObject({ limited_by: 'day' });
}

describe('what API users grant in a day', () => {
  it('a user grants exactly grant_daily_maximum, and a refusal says how much is left', async () => {
    const shop = await aShop();
    await shop.grant({ amount: '99.98' });
    await shop.grant({ amount: '0.03' }).refused(422, 'grant_exceeds_maximum', exceeds('0.02'));
    await shop.grant({ amount: '0.02' });
    await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
  });

  it('a single grant above grant_maximum is limited by that', async () => {
    const shop = await aMerchant(service, { grantMaximumCents: 5000, grantDailyMaximumCents: 10_000 });
    await shop
      .grant({ amount: '50.01' })
      .refused(422, 'grant_exceeds_maximum', { maximum: '50.00', limited_by: 'grant' });
  });

  it('of 50 grants of one user at once to different customers, those that fit are made', async () => {
    const shop = await aShop();
    expectGranted(await atOnce(50, () => shop.grant({ amount: '7.00' }).answer), 14);
    await shop.grant({ amount: '2.01' }).refused(422, 'grant_exceeds_maximum', exceeds('2.00'));
  });

  it('of 50 grants of one user at once to one customer, those that fit are made', async () => {
    const shop = await aShop();
    const document = aDocument();
    expectGranted(await atOnce(50, () => shop.grant({ document, amount: '7.00' }).answer), 14);
    expect((await shop.wallet(document)).available).toBe('98.00');
  });

  it('of 50 grants of five users at once on two instances, all of the merchant grant four times as much', async () => {
    const shop = await aShop();
    const five = await users(shop, 5);
    const second = await startService({ databaseUrl: service.databaseUrl });
    try {
      const there = five.map((user) => user.with(new Client(second, user.tokens.access_token)));
      const answers = await atOnce(50, (at) => [...five, ...there][at % 10]!.grant({ amount: '10.00' }).answer);
      expectGranted(answers, 40);
      const byUser = new Map<string | null, number>();
      for (const { status, body } of answers)
        if (status === 201) byUser.set(body.created_by.user_id, (byUser.get(body.created_by.user_id) ?? 0) + 1);
      expect(Math.max(...byUser.values())).toBeLessThanOrEqual(10);
      for (const user of five)
        await user.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    } finally {
      await second.stop();
    }
  });

  it('a repeated grant counts once, also if nothing is left, and a refused one does not count', async () => {
    const shop = await aShop();
    const given = { external_id: aDocument(), document: aDocument(), amount: '60.00' };
    const grant = await shop.grant(given);
    await atOnce(5, () => shop.grant(given).replayed());
    await shop.grant({ amount: '40.01' }).refused(422, 'grant_exceeds_maximum', exceeds('40.00'));
    await shop.grant({ amount: '40.00', expires_on: '2020-01-01' }).refused(400, 'validation_failed');
    await shop.grant({ ...given, amount: '40.00' }).refused(409, 'external_id_conflict');
    await shop.grant({ amount: '40.00' });
    expect(await shop.grant(given).replayed()).toEqual(grant);
    // Of equal requests at once, one counts.
    const other = await aShop();
    const same = { external_id: aDocument(), document: aDocument(), amount: '60.00' };
    await atOnce(5, () => other.grant(same));
    await other.grant({ amount: '40.00' });
  });

  it('a void gives nothing back, and neither does an erasure', async () => {
    const shop = await aShop();
    const grant = await shop.grant({ amount: '100.00' });
    await shop.voidGrant(grant);
    await shop.erase(grant.document);
    await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
  });

  it('the next day begins at midnight of the merchant, to the millisecond', async () => {
    const shop = await aMerchant(service, { grantDailyMaximumCents: 10_000, timeZone: 'Asia/Tokyo' });
    await shop.grant({ amount: '100.00' });
    const day = 86_400_000;
    const now = +service.clock.now();
    // Tokyo is nine hours ahead, all year.
    const midnight = Math.ceil((now + day * 0.375) / day) * day - day * 0.375;
    service.clock.skip(midnight - now - 60_000);
    const client = (
      await shop.post<{ access_token: string }>('/auth/refresh', { refresh_token: shop.tokens.refresh_token })
    ).access_token;
    const refreshed = shop.with(new Client(service, client));
    await refreshed.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    service.clock.skip(60_000);
    await refreshed.grant({ amount: '100.00' });
    await refreshed.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
  });

  it('the operator is not bounded and does not count, and another merchant has its own bound', async () => {
    const shop = await aShop();
    const other = await aShop();
    const admin = new AdminCommandLine(service);
    const of = ['--merchant', shop.id, '--document', aDocument()];
    for (const id of ['OP-1', 'OP-2'])
      await admin.json('grants', 'create', ...of, '--external-id', id, '--amount', '500.00');
    await shop.grant({ amount: '100.00' });
    const late = await admin.json('grants', 'create', ...of, '--external-id', 'OP-3', '--amount', '0.01');
    expect(late.amount).toBe('0.01');
    expect(await other.grant({ amount: '100.00' })).toMatchObject({ amount: '100.00' });
  });

  it('a change of grant_daily_maximum applies to what was granted before on the day', async () => {
    const shop = await aShop();
    await shop.grant({ amount: '60.00' });
    await shop.setPolicy({ grantDailyMaximumCents: 5000 });
    await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
    await shop.setPolicy({ grantDailyMaximumCents: 7000 });
    await shop.grant({ amount: '10.00' });
    await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', exceeds('0.00'));
  });
});
