import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import { anOrder, PASSWORD } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import type { Tokens } from '../support/shop.js';

const { service, merchant } = useService();

const inMinutes = (minutes: number): string => new Date(Date.now() + minutes * 60_000).toISOString();
const CART = {
  total: '90.00',
  items: [{ id: 'sku-2', price: '90.00' }],
  payment_methods: [{ id: 'pix', amount: '90.00' }],
};

describe('POST /orders after JWT_SECRET changed and the old secret left JWT_SECRET_PREVIOUS', () => {
  let changed: BuiltService;
  let client: Client;

  beforeAll(async () => {
    changed = await startBuiltService(service.databaseUrl, { JWT_SECRET: 'the-secret-after-the-change-9876543210' });
    const { body } = await new Client(changed).post<Tokens>('/auth/login', {
      email: merchant.email,
      password: PASSWORD,
    });
    client = new Client(changed, body.access_token);
  });
  afterAll(() => changed?.stop());

  const expectReplay = (again: Answer<unknown>, body: unknown): void => {
    expect(again).toMatchObject({ status: 201, body });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  };

  it.each([
    ['without expires_at', undefined],
    ['with expires_at', inMinutes(60)],
  ])('POST /orders %s replays the first content of an order whose expiry has moved', async (_, expires_at) => {
    const order = anOrder({ expires_at });
    const body = await merchant.create(order);
    const moved = { amount: '0.00', expires_at: inMinutes(120) };
    const { body: current } = await merchant.client.put(`/orders/${body.id}/redemption`, moved);
    expectReplay(await client.post('/orders', order), current);
    const other = await client.post('/orders', { ...order, expires_at: inMinutes(90) });
    expectProblem(other, 409, 'external_id_conflict');
    expect(pointersOf(other)).toEqual(['/expires_at']);
  });

  it('POST /orders replays the current content of an amended order, and returns 409 for its first content', async () => {
    const order = anOrder({ expires_at: inMinutes(60) });
    const body = await merchant.create(order);
    const current = await merchant.amend(body, CART);
    expectReplay(await client.post('/orders', { ...order, ...CART }), current);
    expectProblem(await client.post('/orders', order), 409, 'external_id_conflict');
  });

  it('POST /orders returns 409 for the content of an order whose customer was erased', async () => {
    const order = anOrder();
    await merchant.create(order);
    await merchant.erase(order.document);
    await merchant.create(order);
    const answer = await client.post('/orders', order);
    expectProblem(answer, 409, 'external_id_conflict');
    expect(pointersOf(answer)).toEqual(['/document']);
  });
});
