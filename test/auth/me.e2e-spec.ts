import { describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { MerchantsService } from '../../src/merchants/merchants.service.js';
import { Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { changeUser } from '../support/users.js';

const { service, merchant } = useService();

const me = (shop: TestMerchant) => shop.send<Record<string, unknown>>('GET', '/me', {}, 200);

describe('GET /me', () => {
  it('GET /me returns the API user of the token with its permissions and its merchant, also when repeated', async () => {
    const merchants = service.app.get(MerchantsService);
    for (const shop of [
      merchant,
      await aUser(service, merchant.id, ['refund', 'sell'], 'Caixa 3'),
      await aUser(service, merchant.id, [], 'Caixa 4'),
      await aMerchant(service),
    ]) {
      const first = await me(shop);
      expect(first).toEqual({
        user_id: shop.userId,
        name: shop.name,
        email: shop.email,
        permissions: expect.any(Array),
        grants_left_today: shop.name === 'Caixa 3' || shop.name === 'Caixa 4' ? null : '5000.00',
        merchant: { id: shop.id, name: (await merchants.get(shop.id)).name },
      });
      expect(await me(shop)).toEqual(first);
    }
    expect(await me(merchant)).toMatchObject({ permissions: PERMISSIONS });
  });

  it('GET /me shows changes of the user and of the merchant in the next request', async () => {
    const cashier = await aUser(service, merchant.id, ['sell'], 'Caixa 1');
    expect(await me(cashier)).toMatchObject({ name: 'Caixa 1', permissions: ['sell'] });
    const change = { name: 'Caixa 2', permissions: ['refund'], disabled: false };
    await merchant.put(`/users/${cashier.userId}`, change);
    await service.app.get(MerchantsService).set(merchant.id, { name: 'Loja nova', policy: {} });
    expect(await me(cashier)).toMatchObject({
      name: 'Caixa 2',
      permissions: ['refund'],
      merchant: { name: 'Loja nova' },
    });
    await changeUser(service, cashier, { permissions: [] });
    expect(await me(cashier)).toMatchObject({ permissions: [] });
  });

  it('GET /me says what the user can still grant today, of its own and of the merchant’s maximum', async () => {
    const shop = await aMerchant(service, { grantMaximumCents: 100_000, grantDailyMaximumCents: 10_000 });
    const left = async (user: TestMerchant) => (await me(user)).grants_left_today;
    const [first, ...others] = await Promise.all(
      Array.from({ length: 5 }, (_, at) => aUser(service, shop.id, ['grants'], `Marketing ${at}`)),
    );
    expect(await left(shop)).toBe('100.00');
    const grant = await shop.grant({ amount: '40.01' });
    await shop.voidGrant(grant);
    await shop.grant({ amount: '59.99' });
    await shop.grant({ amount: '0.01' }).refused(422, 'grant_exceeds_maximum', { maximum: '0.00' });
    expect([await left(shop), await left(first!)]).toEqual(['0.00', '100.00']);
    for (const user of others.slice(1)) await user.grant({ amount: '90.00' });
    // Of four times 100.00, 370.00 are granted.
    expect([await left(others[0]!), await left(others[1]!)]).toEqual(['30.00', '10.00']);
    await others[0]!.grant({ amount: '30.01' }).refused(422, 'grant_exceeds_maximum', { maximum: '30.00' });
    await shop.setPolicy({ grantDailyMaximumCents: 9_000 });
    expect([await left(others[0]!), await left(others[1]!)]).toEqual(['0.00', '0.00']);
    const other = await aMerchant(service, { grantDailyMaximumCents: 10_000 });
    expect(await left(other)).toBe('100.00');
  });

  it('GET /me says that everything can be granted again on the next day', async () => {
    const shop = await aMerchant(service, { grantDailyMaximumCents: 10_000 });
    await shop.grant({ amount: '100.00' });
    expect(await me(shop)).toMatchObject({ grants_left_today: '0.00' });
    await service.dataSource.query("UPDATE grant_totals SET day = '2020-01-01' WHERE merchant_id = ?", [shop.id]);
    expect(await me(shop)).toMatchObject({ grants_left_today: '100.00' });
  });

  it('GET /me returns 401 without a token, with an unknown one, after a logout and for a disabled user', async () => {
    expectProblem(await new Client(service).get('/me'), 401, 'missing_token');
    const unknown = `cbat_${merchant.userId}`;
    expectProblem(await new Client(service, unknown).get('/me'), 401, 'invalid_token');
    const [first, second] = [await aUser(service, merchant.id), await aUser(service, merchant.id)];
    await first.post('/auth/logout');
    await changeUser(service, second, { isDisabled: true });
    for (const shop of [first, second]) await me(shop).refused(401, 'invalid_token');
  });

  it('GET /me refuses parameters', async () => {
    await merchant.get(`/me?user_id=${merchant.userId}`).refused(400, 'validation_failed', {
      errors: [{ parameter: 'user_id' }],
    });
  });
});
