import { describe, expect, it } from '@jest/globals';
import { openApiDocument } from '../../src/platform/openapi/document.js';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { atOnce, Client } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { expectLimited } from '../support/rate-limits.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { aSandboxMerchant, NEXT_YEAR, SANDBOX } from '../support/sandbox.js';
import { startService } from '../support/service.js';
import type { PolicyRules, Tokens } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const OPERATIONS = [
  ['POST', '/sandbox/merchants'],
  ['GET', '/sandbox/clock'],
  ['PUT', '/sandbox/clock'],
] as const;

const SANDBOX_SCHEMAS = /Sandbox|Clock/;

interface Created {
  id: string;
  name: string;
  policy: Omit<PolicyRules, 'upcoming' | 'campaign' | 'base'>;
  user: { id: string; name: string; email: string; password: string; permissions: string[] };
}

describe('a live service', () => {
  const { service, merchant } = useService();

  it.each(OPERATIONS)('%s %s does not exist', async (method, path) => {
    const { token } = merchant.client;
    const answer = await new Client(service).send(method, path, {
      ...(method !== 'GET' && { body: { name: 'Loja' } }),
      token,
    });
    expectProblem(answer, 404, 'route_not_found');
  });

  it('its document has nothing of a sandbox', () => {
    const { paths, components, tags, info } = openApiDocument(service.app);
    expect(Object.keys(paths).filter((path) => path.includes('sandbox'))).toEqual([]);
    expect(Object.keys(components?.schemas ?? {}).filter((name) => SANDBOX_SCHEMAS.test(name))).toEqual([]);
    expect(tags?.map(({ name }) => name)).not.toContain('sandbox');
    expect(info.description).not.toContain('sandbox');
  });

  it('a sandbox does not start on its database, and it goes on', async () => {
    const started = startService({ env: SANDBOX, databaseUrl: service.databaseUrl });
    await expect(started).rejects.toThrow('the database is live: start the service without SANDBOX');
    await merchant.create();
  });
});

describe('a sandbox', () => {
  const { service } = useService({ env: SANDBOX });
  const create = (body: object): ReturnType<Client['post']> => new Client(service).post('/sandbox/merchants', body);

  it('says first what it is, and describes its operations', () => {
    const { paths, info } = openApiDocument(service.app);
    expect(info.description?.trim()).toMatch(/^\*\*This is a sandbox\.\*\*/);
    for (const [method, path] of OPERATIONS) expect(paths[path]).toHaveProperty(method.toLowerCase());
  });

  it('only a new merchant needs no token', async () => {
    for (const [method, path] of OPERATIONS.slice(1)) {
      const body = { on: `${NEXT_YEAR + 3}-01-01` };
      expectProblem(
        await new Client(service).send(method, path, method === 'PUT' ? { body } : {}),
        401,
        'missing_token',
      );
    }
  });

  it('a live service does not start on its database', async () => {
    const started = startService({ databaseUrl: service.databaseUrl });
    await expect(started).rejects.toThrow('the database is a sandbox: start the service with SANDBOX=true');
  });

  it('a second instance of the sandbox starts on its database', async () => {
    const second = await startService({ env: SANDBOX, databaseUrl: service.databaseUrl });
    expect((await new Client(second).get('/health/ready')).status).toBe(200);
    await second.stop();
  });

  it('creates a merchant whose API user may do everything, and each request another one', async () => {
    const answers = await atOnce(3, () => new Client(service).post<Created>('/sandbox/merchants', { name: 'Loja' }));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
    for (const { status, body } of answers) {
      expect(status).toBe(201);
      const { email, password } = body.user;
      const login = await new Client(service).post<Tokens>('/auth/login', { email, password });
      const client = new Client(service, login.body.access_token);
      expect((await client.get('/me')).body).toEqual({
        user_id: body.user.id,
        name: 'API',
        email,
        permissions: PERMISSIONS,
        grants_left_today: '5000.00',
        merchant: { id: body.id, name: 'Loja' },
      });
      const { policy } = body;
      const now = { ...policy, version: 1, campaign: null, base: policy, upcoming: [] };
      expect((await client.get<PolicyRules>('/policy')).body).toEqual(now);
      expect((await client.get<{ data: unknown[] }>('/users')).body.data).toHaveLength(1);
    }
  });

  it('creates a merchant with all rules that GET /policy has', async () => {
    const policy = {
      earn_rate: '0.0725',
      earn_rates_by_payment_method: { pix: '0.10', boleto: '0.00' },
      earn_minimum_total: '10.00',
      earn_maximum: '50.00',
      earn_rate_maximum: '0.20',
      redeem_share: '1.00',
      redeem_minimum_total: '20.00',
      redeem_minimum: '5.00',
      release_days: 0,
      validity_days: 30,
      order_ttl_minutes: 15,
      max_order_ttl_minutes: 60,
      grant_maximum: '100.00',
      grant_daily_maximum: '200.00',
      document_check_digits: true,
      late_sale_days: 0,
      earn_rate_ceiling: '0.30',
      redeem_share_ceiling: '0.60',
      time_zone: 'America/Manaus',
    };
    const { body } = await new Client(service).post<Created>('/sandbox/merchants', { name: 'Loja', policy });
    expect(body.policy).toEqual(policy);
    const { email, password } = body.user;
    const login = await new Client(service).post<Tokens>('/auth/login', { email, password });
    const client = new Client(service, login.body.access_token);
    expect((await client.get<PolicyRules>('/policy')).body).toMatchObject(policy);
    expectProblem(await client.post('/orders', anOrder({ document: '52998224724' })), 400, 'validation_failed');
    expect((await client.post('/orders', anOrder({ document: '529.982.247-25' }))).status).toBe(201);
    const standard = await new Client(service).post<Created>('/sandbox/merchants', { name: 'Loja' });
    expect(standard.body.policy).toMatchObject({ document_check_digits: false });
    const again = await new Client(service).post<Created>('/sandbox/merchants', {
      name: 'Loja',
      policy: { ...policy, earn_maximum: null, earn_rate_maximum: null },
    });
    expect(again.body.policy).toMatchObject({ earn_maximum: null, earn_rate_maximum: null, earn_rate: '0.0725' });
  });

  it.each([
    [{}, ['/name']],
    [{ name: '' }, ['/name']],
    [{ name: 'Loja ' }, ['/name']],
    [{ name: 'Lo\nja' }, ['/name']],
    [{ name: 'Loja', policy: [] }, ['/policy']],
    [{ name: 'Loja', policy: { earn_rate: '5%' } }, ['/policy/earn_rate']],
    [{ name: 'Loja', policy: { earn_rate: 0.05 } }, ['/policy/earn_rate']],
    [{ name: 'Loja', policy: { redeem_share: '1.01' } }, ['/policy/redeem_share']],
    [{ name: 'Loja', policy: { earn_maximum: '1,00' } }, ['/policy/earn_maximum']],
    [
      { name: 'Loja', policy: { release_days: -1, validity_days: 0 } },
      ['/policy/release_days', '/policy/validity_days'],
    ],
    [{ name: 'Loja', policy: { release_days: 1.5 } }, ['/policy/release_days']],
    [{ name: 'Loja', policy: { time_zone: 'Mars' } }, ['/policy/time_zone']],
    [
      { name: 'Loja', policy: { earn_rates_by_payment_method: { pix: '7' } } },
      ['/policy/earn_rates_by_payment_method'],
    ],
    [
      { name: 'Loja', policy: { earn_rates_by_payment_method: { pix: '0.07', PIX: '0.05' } } },
      ['/policy/earn_rates_by_payment_method'],
    ],
    ...['pix ', 'p\u200bix', '\u0007', '.', ''].map((method): [object, string[]] => [
      { name: 'Loja', policy: { earn_rates_by_payment_method: { [method]: '0.07' } } },
      ['/policy/earn_rates_by_payment_method'],
    ]),
    [{ name: 'Loja', policy: { earn_rates: {} } }, ['/policy/earn_rates']],
    [{ name: 'Loja', policy: { document_check_digits: 'true' } }, ['/policy/document_check_digits']],
    [{ name: 'Loja', policy: { order_ttl_minutes: 60, max_order_ttl_minutes: 30 } }, ['/policy/order_ttl_minutes']],
  ])('refuses %j', async (body, pointers) => {
    const { errors } = expectProblem(await create(body), 400, 'validation_failed');
    expect(errors?.map(({ pointer }) => pointer).sort()).toEqual(pointers);
  });

  it('a merchant of a sandbox sees nothing of another one', async () => {
    const [one, other] = await atOnce(2, async () => {
      const { body } = await new Client(service).post<Created>('/sandbox/merchants', { name: 'Loja' });
      const { email, password } = body.user;
      const login = await new Client(service).post<Tokens>('/auth/login', { email, password });
      return new Client(service, login.body.access_token);
    });
    const document = aDocument();
    await one!.post('/grants', { external_id: 'G-1', document, amount: '5.00' });
    const { body } = await other!.post<{ available: string }>('/wallets/search', { body: { document } });
    expect(body.available).not.toBe('5.00');
  });

  it('a network sends at most 1,000 KiB for each request per second that RATE_LIMIT allows, in a day', async () => {
    const env = { ...SANDBOX, RATE_LIMIT: '1', TRUST_PROXY: 'loopback' };
    const limited = await startService({ env, databaseUrl: service.databaseUrl });
    try {
      const shop = await aSandboxMerchant(limited);
      const other = await aSandboxMerchant(limited);
      const send = (address: string, { client } = shop) =>
        client.send('POST', '/orders', {
          raw: JSON.stringify({ padding: 'x'.repeat(249 * 1024) }),
          headers: { 'x-forwarded-for': address },
        });
      // What is too large is not read, and without a length there is no body.
      const bytes = (length: string | undefined) => {
        const authorization = `Bearer ${other.tokens.access_token}`;
        const from = { authorization, 'x-forwarded-for': '192.0.2.3', 'content-type': 'application/json' };
        return sendBytes(limited, aRequest('POST /orders', { ...from, 'content-length': length }));
      };
      expectProblem(await bytes('102400001'), 413, 'payload_too_large');
      for (let count = 0; count < 4; count++) expectProblem(await bytes(undefined), 400, 'validation_failed');
      expectProblem(await send('192.0.2.3', other), 400, 'validation_failed');
      for (let count = 0; count < 4; count++) expectProblem(await send('192.0.2.1'), 400, 'validation_failed');
      const refused = await send('192.0.2.1');
      expectLimited(refused, '"sandbox-kib";q=1000;w=86400', 86_400);
      expectProblem(await send('192.0.2.2'), 400, 'validation_failed');
      expect((await shop.client.get('/orders', { headers: { 'x-forwarded-for': '192.0.2.1' } })).status).toBe(200);
    } finally {
      await limited.stop();
    }
  });

  it('a network creates at most 1,000 merchants a day', async () => {
    const limited = await startService({ env: SANDBOX, databaseUrl: service.databaseUrl });
    try {
      const client = new Client(limited);
      // A request that is refused counts, too.
      for (let round = 0; round < 20; round++) await atOnce(50, () => client.post('/sandbox/merchants', {}));
      const answer = await client.post('/sandbox/merchants', { name: 'Loja' });
      expectProblem(answer, 429, 'too_many_requests');
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(80_000);
    } finally {
      await limited.stop();
    }
  });
});
