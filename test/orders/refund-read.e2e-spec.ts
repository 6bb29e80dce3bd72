import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aMerchant } from '../support/factories.js';
import { idsOf, type Order, type Page, type Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const UNKNOWN = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';

/** Refunds an order by one amount after the other. @returns the refunds as they were answered, oldest first. */
async function aRefundedOrder(amounts: string[]): Promise<{ order: Order; refunds: Refund[] }> {
  const document = await merchant.customerWith('15.00');
  const order = await merchant.completed({ document }, { redeem: '15.00' });
  const refunds: Refund[] = [];
  for (const [at, amount] of amounts.entries()) refunds.push(await refund(order, `DEV-${at + 1}`, amount));
  return { order, refunds };
}

/** The refunds of an order when all were made: only the last one can be undone. */
const now = (refunds: Refund[]): Refund[] =>
  refunds.map((created, at) => ({ ...created, voidable: at === refunds.length - 1 }));

const refund = (order: { id: string }, external_id: string, amount: string) =>
  merchant.refund(order, amount, { external_id });
const list = (order: { id: string }, query = ''): Promise<Answer<Page<Refund>>> =>
  merchant.client.get(`/orders/${order.id}/refunds${query}`);

describe('GET /orders/{id}/refunds', () => {
  it('GET /orders/{id}/refunds returns the refunds as they were created, newest first, and says that only the last one can be undone', async () => {
    const { order, refunds } = await aRefundedOrder(['50.00', '10.01', '89.99']);
    for (const _attempt of ['first', 'second'])
      expect(await list(order)).toMatchObject({
        status: 200,
        body: { data: now(refunds).toReversed(), next_cursor: null },
      });
  });

  it('GET /orders/{id}/refunds returns an empty list for an order without refunds, whatever its status', async () => {
    for (const order of [await merchant.create(), await merchant.completed()])
      expect((await list(order)).body).toEqual({ data: [], next_cursor: null });
  });

  it('GET /orders/{id}/refunds pages return each existing refund once while new refunds are added', async () => {
    const { order, refunds } = await aRefundedOrder(['1.00', '2.00', '3.00', '4.00', '5.00']);
    const seen: string[] = [];
    let cursor = '';
    for (;;) {
      const { body } = await list(order, `?limit=2${cursor}`);
      expect(body.data.length).toBeLessThanOrEqual(2);
      seen.push(...idsOf(body));
      if (body.next_cursor === null) break;
      await refund(order, `LATE-${seen.length}`, '0.01');
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(refunds.map(({ id }) => id).reverse());
  });

  it('GET /orders/{id}/refunds pages return each refund once when refunds have the same creation date', async () => {
    const { order } = await aRefundedOrder([]);
    await atOnce(7, (at) => refund(order, `DEV-${at}`, '1.00').answer);
    const written = await rowsOf(service, 'SELECT id, created_at FROM refunds WHERE order_id = ?', [order.id]);
    await service.dataSource.query(
      'UPDATE refunds r JOIN (SELECT MIN(created_at) AS first FROM refunds WHERE order_id = ?) f SET r.created_at = f.first WHERE r.order_id = ?',
      [order.id, order.id],
    );
    const pages = await merchant.client.pages(`/orders/${order.id}/refunds?limit=3`);
    const seen = pages.flatMap(({ data }) => data).map(({ external_id }) => external_id as string);
    expect(seen.sort()).toEqual(['DEV-0', 'DEV-1', 'DEV-2', 'DEV-3', 'DEV-4', 'DEV-5', 'DEV-6']);
    // The events have the dates of the refunds.
    for (const { id, created_at } of written)
      await service.dataSource.query('UPDATE refunds SET created_at = ? WHERE id = ? AND order_id = ?', [
        created_at,
        id,
        order.id,
      ]);
  });

  it('GET /orders/{id}/refunds returns 404 for an order of another merchant and for an unknown order', async () => {
    const { order } = await aRefundedOrder(['50.00']);
    const other = await aMerchant(service);
    await other.refunds(order).refused(404, 'not_found');
    for (const id of [UNKNOWN, 'null', '1']) expectProblem(await list({ id }), 404, 'not_found');
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=2e0'],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["refunds",1]').toString('base64url')}`],
    [
      'cursor',
      `cursor=${Buffer.from('["refunds 0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`,
    ],
  ])('GET /orders/{id}/refunds returns 400 when %s is invalid: %s', async (parameter, query) => {
    const { order } = await aRefundedOrder([]);
    const answer = await list(order, `?${query}`);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body).toMatchObject({ errors: [{ parameter }] });
  });
});

describe('GET /orders/{id}/refunds/{refund_id}', () => {
  it('GET /orders/{id}/refunds/{refund_id} returns the refund as it was created, also after later refunds, and whether it can be undone', async () => {
    const { order, refunds } = await aRefundedOrder(['50.00', '10.01']);
    for (const created of now(refunds)) {
      const read = await merchant.client.get(`/orders/${order.id}/refunds/${created.id.toUpperCase()}`);
      expect(read).toMatchObject({ status: 200, body: created });
    }
  });

  it('GET /orders/{id}/refunds/{refund_id} returns 404 for a refund of another order or another merchant', async () => {
    const { order, refunds } = await aRefundedOrder(['50.00']);
    const another = await aRefundedOrder(['50.00']);
    const stranger = await aMerchant(service);
    const path = `/orders/${order.id}/refunds/${refunds[0]!.id}`;
    for (const answer of [
      await stranger.client.get(path),
      await merchant.client.get(`/orders/${another.order.id}/refunds/${refunds[0]!.id}`),
      await merchant.client.get(`/orders/${order.id}/refunds/${UNKNOWN}`),
      await merchant.client.get(`/orders/${order.id}/refunds/DEV-1`),
    ])
      expectProblem(answer, 404, 'not_found');
  });
});
