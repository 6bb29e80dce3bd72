import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiUsersService } from '../../src/auth/api-users.service.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, logIn, PASSWORD, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service } = useService();
/** A second instance on the same database. */
let second: Service;
let merchant: TestMerchant;
let users: ApiUsersService;

beforeAll(async () => {
  second = await startService({ databaseUrl: service.databaseUrl });
  users = service.app.get(ApiUsersService);
});
afterAll(() => second?.stop());
beforeEach(async () => {
  merchant = await aMerchant(service);
});

let counter = 0;
const aGrant = (): Record<string, unknown> & { document: string } => ({
  external_id: `SORRY-${++counter}`,
  document: aDocument(),
  amount: '80.00',
});

/** Returns a client of a new user of the merchant, which has no permission but orders. */
async function aCashier(): Promise<Client> {
  const email = `cashier-${++counter}@shop.example`;
  await users.create(merchant.id, email, PASSWORD);
  return new Client(service, (await logIn(service, email)).access_token);
}

function expectForbidden(answer: Answer<unknown>): void {
  expectProblem(answer, 403, 'forbidden');
  expect(answer.body).toMatchObject({ permission: 'grants', retryable: false, next_action: 'contact_support' });
  expect(answer.headers.get('www-authenticate')).toBe(
    'Bearer realm="cashback", error="insufficient_scope", scope="grants"',
  );
}

describe('the permission grants', () => {
  it('a new API user has no permission grants: POST /grants and POST /grants/{id}/void return 403, also when repeated', async () => {
    const cashier = await aCashier();
    const content = aGrant();
    const { body: given } = await merchant.client.post('/grants', content);
    for (const _attempt of ['first', 'second']) {
      // Before the body is read, and for a replay too.
      for (const body of [aGrant(), content, {}]) expectForbidden(await cashier.post('/grants', body));
      for (const id of [given.id, '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10'])
        expectForbidden(await cashier.post(`/grants/${id}/void`));
    }
    expect(await merchant.movements(content.document)).toEqual(['grant 80.00']);
  });

  it('an API user without the permission grants can do everything else, also read a grant', async () => {
    const cashier = await aCashier();
    const { body: given } = await merchant.client.post('/grants', aGrant());
    const order = await cashier.post('/orders', anOrder({ document: given.document as string }));
    expect(order.status).toBe(201);
    const redemption = await cashier.put(`/orders/${order.body.id}/redemption`, { amount: '20.00' });
    expect(redemption.status).toBe(200);
    expect((await cashier.post(`/orders/${order.body.id}/complete`)).status).toBe(200);
    expect(await cashier.get(`/grants/${given.id}`)).toMatchObject({ status: 200, body: { remaining: '60.00' } });
    expect((await cashier.post('/wallets/search', { document: given.document })).status).toBe(200);
    await expectInvariants(service);
  });

  it('a permission holds from the next request on, on every instance, with the same token and also for a replay', async () => {
    const clients = [merchant.client, new Client(second, merchant.tokens.access_token)];
    const content = aGrant();
    for (const mayGrant of [true, false, false, true, true]) {
      await users.setMayGrant(merchant.email.toUpperCase(), mayGrant);
      for (const client of clients) {
        expect((await client.post('/grants', content)).status).toBe(mayGrant ? 201 : 403);
        expect((await client.get('/orders')).status).toBe(200);
      }
    }
    expect(await merchant.movements(content.document)).toEqual(['grant 80.00']);
  });

  it('a permission that is withdrawn stays with other users of the merchant and with other merchants', async () => {
    const [other, cashier] = [await aMerchant(service), await aCashier()];
    await users.setMayGrant(merchant.email, false);
    expect((await other.client.post('/grants', aGrant())).status).toBe(201);
    expectForbidden(await merchant.client.post('/grants', aGrant()));
    expectForbidden(await cashier.post('/grants', aGrant()));
    const [row] = await rowsOf(service, "SELECT email FROM api_users WHERE email LIKE 'cashier-%' ORDER BY id DESC");
    await users.setMayGrant(String(row!.email), true);
    expect((await cashier.post('/grants', aGrant())).status).toBe(201);
    expectForbidden(await merchant.client.post('/grants', aGrant()));
  });

  it('concurrent POST /grants requests while the permission is withdrawn are each granted or refused, and later ones refused', async () => {
    const document = aDocument();
    const answers = atOnce(20, () => merchant.client.post('/grants', { ...aGrant(), document, amount: '1.00' }));
    await users.setMayGrant(merchant.email, false);
    const later = await merchant.client.post('/grants', { ...aGrant(), document, amount: '1.00' });
    expectForbidden(later);
    const granted = (await answers).filter(({ status }) => status === 201);
    for (const answer of (await answers).filter(({ status }) => status !== 201)) expectForbidden(answer);
    expect(Number((await merchant.wallet(document)).available)).toBe(granted.length);
    await expectInvariants(service);
  });
});
