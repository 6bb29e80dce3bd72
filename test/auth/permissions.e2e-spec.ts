import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DEFAULT_PERMISSIONS, type Permission, PERMISSIONS } from '../../src/platform/values/caller.js';
import { type Answer, atOnce, Client } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser, type TestMerchant } from '../support/factories.js';
import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { changeUser } from '../support/users.js';

const { service } = useService();
/** A second instance on the same database. */
let second: Service;
let merchant: TestMerchant;

beforeAll(async () => {
  second = await startService({ databaseUrl: service.databaseUrl });
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

const setPermissions = (user: TestMerchant, permissions: Permission[]) => changeUser(service, user, { permissions });

function expectForbidden(answer: Answer<unknown>, permission: Permission = 'grants'): void {
  expectProblem(answer, 403, 'forbidden');
  expect(answer.body).toMatchObject({ permission, retryable: false, next_action: 'contact_support' });
  expect(answer.headers.get('www-authenticate')).toBe(
    `Bearer realm="cashback", error="insufficient_scope", scope="${permission}"`,
  );
}

/** @param permission the one that the API user lacks; undefined if it lacks none */
function expectAllowedUnless(answer: Answer<unknown>, permission: Permission | undefined): void {
  if (permission === undefined) expect({ status: answer.status, body: answer.body }).not.toMatchObject({ status: 403 });
  else expectForbidden(answer, permission);
}

interface Operation {
  security: Record<string, Permission[]>[];
  description: string;
  responses: Record<string, unknown>;
}

/** An operation that needs a token, and the permissions of which it needs one; none if it is free. */
interface Guarded {
  method: string;
  path: string;
  needed: Permission[];
  documented: Operation;
}

async function guardedOperations(): Promise<Guarded[]> {
  const { body } = await new Client(service).get<{ paths: Record<string, Record<string, Operation>> }>('/docs-json');
  const operations = Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, documented]) => {
      const needed = documented.security.flatMap((alternative) => Object.values(alternative).flat());
      // A generated client reads several as alternatives.
      if (needed.length > 0) expect(documented.security).not.toContainEqual({ bearer: [] });
      return { method: method.toUpperCase(), path: path.replace(/\{\w+\}/g, UNKNOWN), needed, documented };
    }),
  );
  return operations.filter(({ documented }) => documented.security.length > 0);
}

const UNKNOWN = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';

/** What every API user may do, whatever its permissions are. */
const FREE = [
  'GET /campaigns',
  'GET /campaigns/{id}',
  'GET /debits/{id}',
  'GET /grants/{id}',
  'GET /me',
  'GET /orders/by-external-id/{external_id}',
  'GET /orders/{id}',
  'GET /orders/{id}/refunds',
  'GET /orders/{id}/refunds/{refund_id}',
  'GET /orders/{id}/timeline',
  'GET /policy',
  'GET /policy/history',
  'GET /wallets/{id}',
  'GET /wallets/{id}/credits',
  'GET /wallets/{id}/entries',
  'GET /wallets/{id}/expiring',
  'POST /auth/logout',
  'POST /auth/password',
  'POST /wallets/search',
];

describe('the permissions of API users', () => {
  it('each operation returns 403 to an API user without its permission, and not to one that has only this one', async () => {
    const lacking = new Map<Permission, Client>();
    const having = new Map<Permission, Client>();
    for (const permission of PERMISSIONS) {
      const others = PERMISSIONS.filter((other) => other !== permission);
      lacking.set(permission, (await aUser(service, merchant.id, others)).client);
      having.set(permission, (await aUser(service, merchant.id, [permission])).client);
    }
    const operations = (await guardedOperations()).filter(({ needed }) => needed.length > 0);
    expect(operations.length).toBeGreaterThan(20);
    for (const { method, path, needed, documented } of operations) {
      expect(documented.description).toMatch(new RegExp(`Needs the permission .*\`${needed[0]!}\``));
      expect(documented.responses).toHaveProperty('403');
      for (const permission of PERMISSIONS) {
        const without = await lacking.get(permission)!.send(method, path);
        expectAllowedUnless(without, needed.every((one) => one === permission) ? permission : undefined);
        const only = await having.get(permission)!.send(method, path);
        expectAllowedUnless(only, needed.includes(permission) ? undefined : needed[0]);
      }
    }
  });

  it('an API user without any permission can read one order, refund, grant, debit or wallet, the policy and itself, and nothing else', async () => {
    const { client } = await aUser(service, merchant.id, []);
    const free: string[] = [];
    for (const { method, path, needed, documented } of await guardedOperations()) {
      expect({ path, forbidden: '403' in documented.responses }).toEqual({ path, forbidden: needed.length > 0 });
      if (path === '/auth/logout') continue;
      const answer = await client.send(method, path);
      expectAllowedUnless(answer, needed[0]);
      if (needed.length === 0)
        free.push(`${method} ${path.replace(/\/by-external-id\/.*/, '/by-external-id/{external_id}')}`);
    }
    expect((await client.post('/auth/logout')).status).toBe(204);
    const named = free.map((one) =>
      one.replace(new RegExp(`refunds/${UNKNOWN}`), 'refunds/{refund_id}').replace(UNKNOWN, '{id}'),
    );
    expect([...named, 'POST /auth/logout'].sort()).toEqual(FREE);
  });

  it('a new API user may sell and refund by default', async () => {
    const { client } = await aUser(service, merchant.id);
    const order = await client.post('/orders', anOrder());
    expect(order.status).toBe(201);
    expect((await client.post(`/orders/${order.body.id}/complete`)).status).toBe(200);
    const refund = { external_id: 'DEV-1', amount: '150.00' };
    expect((await client.post(`/orders/${order.body.id}/refunds`, refund)).status).toBe(201);
    expect(DEFAULT_PERMISSIONS).toEqual(['sell', 'refund']);
    expectForbidden(await client.post('/grants', aGrant()));
    await expectInvariants(service);
  });
});

describe('the permission grants', () => {
  it('without the permission grants, POST /grants and POST /grants/{id}/void return 403, also when repeated', async () => {
    const { client: cashier } = await aUser(service, merchant.id);
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

  it('a permission holds from the next request on, on every instance, with the same token and also for a replay', async () => {
    const clients = [merchant.client, new Client(second, merchant.tokens.access_token)];
    const content = aGrant();
    for (const mayGrant of [true, false, false, true, true]) {
      await setPermissions(merchant, mayGrant ? ['sell', 'grants'] : ['sell']);
      for (const client of clients) {
        expect((await client.post('/grants', content)).status).toBe(mayGrant ? 201 : 403);
        expect((await client.get('/orders')).status).toBe(200);
      }
    }
    expect(await merchant.movements(content.document)).toEqual(['grant 80.00']);
  });

  it('a permission that is withdrawn stays with other users of the merchant and with other merchants', async () => {
    const [other, cashier] = [await aMerchant(service), await aUser(service, merchant.id)];
    await setPermissions(merchant, []);
    expect((await other.client.post('/grants', aGrant())).status).toBe(201);
    expectForbidden(await merchant.client.post('/grants', aGrant()));
    expectForbidden(await cashier.client.post('/grants', aGrant()));
    await setPermissions(cashier, ['grants']);
    expect((await cashier.client.post('/grants', aGrant())).status).toBe(201);
    expectForbidden(await merchant.client.post('/grants', aGrant()));
  });

  it('concurrent POST /grants requests while the permission is withdrawn are each granted or refused, and later ones refused', async () => {
    const document = aDocument();
    const answers = atOnce(20, () => merchant.client.post('/grants', { ...aGrant(), document, amount: '1.00' }));
    await setPermissions(merchant, []);
    const later = await merchant.client.post('/grants', { ...aGrant(), document, amount: '1.00' });
    expectForbidden(later);
    const granted = (await answers).filter(({ status }) => status === 201);
    for (const answer of (await answers).filter(({ status }) => status !== 201)) expectForbidden(answer);
    expect(Number((await merchant.wallet(document)).available)).toBe(granted.length);
    await expectInvariants(service);
  });
});
