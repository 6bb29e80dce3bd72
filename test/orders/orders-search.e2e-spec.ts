import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectProblem, pointersOf } from '../support/expectations.js';
import {
  aCnpj,
  aCompletedOrder,
  aCreatedOrder,
  aDocument,
  aMerchant,
  type TestMerchant,
} from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { idsOf } from '../support/shop.js';

const { service, merchant } = useService();

const search = (document: unknown, members: object = {}, by: TestMerchant = merchant) =>
  by.searchOrders({ document, ...members });

/** Creates orders of a customer, one second apart. @returns their IDs, newest first. */
async function ordersOf(document: string, number: number): Promise<string[]> {
  const ids: string[] = [];
  for (let at = 0; at < number; at++) {
    await service.clock.advance({ seconds: 1 });
    ids.unshift((await merchant.create({ document })).id);
  }
  return ids;
}

/** The IDs of each page, read to the end. @param between runs after each page. */
async function pagesOf(
  document: string,
  members: object,
  between: () => Promise<unknown> = () => Promise.resolve(),
): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined; ;) {
    const answer = await search(document, { ...members, ...(cursor !== undefined && { cursor }) }).answer;
    expect(answer.status).toBe(200);
    pages.push(idsOf(answer.body));
    if (answer.body.next_cursor === null) return pages;
    cursor = answer.body.next_cursor;
    await between();
  }
}

describe('POST /orders/search', () => {
  it.each([
    ['CPF', aDocument()],
    ['CNPJ', aCnpj()],
  ])(
    "POST /orders/search returns a customer's orders by %s, newest first, each like GET /orders/{id}",
    async (_, of) => {
      await merchant.credit(of, '10.00');
      const first = await merchant.completed({ document: of }, { redeem: '10.00' });
      await service.clock.advance({ seconds: 1 });
      const second = await merchant.create({ document: of });
      await merchant.create();
      for (const _attempt of ['first', 'repeated']) {
        const { status, body } = await search(of).answer;
        const orders = [second.id, first.id].map(async (id) => await merchant.order({ id }));
        expect({ status, body }).toEqual({ status: 200, body: { data: await Promise.all(orders), next_cursor: null } });
      }
    },
  );

  it("POST /orders/search returns only the caller's own orders of a customer", async () => {
    const other = await aMerchant(service);
    const document = aDocument();
    const [mine] = await ordersOf(document, 1);
    expect(idsOf(await search(document, {}, other))).toEqual([]);
    const theirs = await other.create({ document });
    expect(idsOf(await search(document, {}, other))).toEqual([theirs.id]);
    expect(idsOf(await search(document))).toEqual([mine]);
  });

  it('POST /orders/search pages return each existing order once while new orders are created', async () => {
    const document = aDocument();
    const ids = await ordersOf(document, 7);
    const pages = await pagesOf(document, { limit: 3 }, () => ordersOf(document, 2));
    expect(pages.flat()).toEqual(ids);
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1]);
  });

  it('POST /orders/search pages neither lose nor repeat orders of several statuses created in the same millisecond', async () => {
    const document = aDocument();
    const created = await atOnce(12, (at) => (at % 2 ? aCreatedOrder : aCompletedOrder)(merchant, { document }));
    await service.dataSource.query('UPDATE orders SET created_at = ? WHERE document = ?', [
      service.clock.now(),
      document,
    ]);
    const seen = (await pagesOf(document, { limit: 5 })).flat();
    expect(seen).toEqual(
      created
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
  });

  it('POST /orders/search returns 20 orders by default, and no next_cursor when the last page is exactly full', async () => {
    const document = aDocument();
    await atOnce(21, () => merchant.create({ document }));
    const { body } = await search(document).answer;
    expect(body.data).toHaveLength(20);
    expect(body.next_cursor).toEqual(expect.any(String));
    expect((await search(document, { limit: 21 })).next_cursor).toBeNull();
    expect((await search(document, { limit: 100 })).data).toHaveLength(21);
  });

  it('a page of POST /orders/search ends before 1 MiB and the next one continues at next_cursor', async () => {
    const document = aDocument();
    const items = Array.from({ length: 360 }, (_, n) => ({
      id: `sku-${n}`,
      price: '1.00',
      description: 'x'.repeat(500),
    }));
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift((await merchant.create({ document, items })).id);
    const { body } = await search(document, { limit: 100 }).answer;
    expect(Buffer.byteLength(JSON.stringify(body))).toBeLessThan(1024 * 1024);
    expect(body.data.length).toBeLessThan(7);
    expect((await pagesOf(document, { limit: 100 })).flat()).toEqual(ids);
  });

  it('POST /orders/search does not find the orders of an erased customer, and finds those created later', async () => {
    const document = aDocument();
    await ordersOf(document, 2);
    await merchant.erase(document);
    expect(await search(document)).toEqual({ data: [], next_cursor: null });
    const later = await ordersOf(document, 1);
    expect(idsOf(await search(document))).toEqual(later);
  });

  it('erasing a customer with more orders than a statement changes erases all of them', async () => {
    const document = aDocument();
    const { id } = await merchant.create({ document });
    const columns =
      'merchant_id, status, document, total_cents, items, payment_methods, policy, held_cents, redeemed_cents, lapsed_cents, earned_cents, refunded_cents, refunded_eligible_cents, returned_cents, taken_back_cents, kept_cents, lost_cents, content_digest, version, created_at, updated_at, expires_at, created_by';
    await service.dataSource.query(
      `INSERT INTO orders (id, external_id, ${columns})
       WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 64)
       SELECT UUID(), UUID(), ${columns} FROM orders JOIN k a JOIN k b WHERE id = ? LIMIT 4000`,
      [id],
    );
    expect(await merchant.erase(document)).toMatchObject({ orders: 4001 });
    expect((await search(document)).data).toEqual([]);
  });

  it.each([
    ['/document', { document: '529.982.247.25' }],
    ['/document', { document: undefined }],
    ['/document', { document: '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10' }],
    ['/status', { status: 'pending' }],
    ['/status', { status: 'pending,expired' }],
    ['/status', { status: [] }],
    ['/status', { status: ['open'] }],
    ['/status', { status: ['pending', null] }],
    ['/status', { status: [['pending']] }],
    ['/status', { status: Array(7).fill('pending') }],
    ['/limit', { limit: 0 }],
    ['/limit', { limit: 101 }],
    ['/limit', { limit: 1.5 }],
    ['/limit', { limit: '5' }],
    ['/cursor', { cursor: '' }],
    ['/cursor', { cursor: 5 }],
    ['/cursor', { cursor: 'abc' }],
    ['/cursor', { cursor: Buffer.from('["orders","a","b"]').toString('base64url') }],
    ['/external_id', { external_id: 'PED-1001' }],
  ])('POST /orders/search returns 400 with the pointer %s for %j', async (pointer, members) => {
    const answer = await search(aDocument(), members).answer;
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual([pointer]);
  });

  it('POST /orders/search returns 400 with every invalid member at once, and for a document in the URL', async () => {
    const answer = await search('1', { status: ['x'], limit: 0, cursor: 1 }).answer;
    expect(pointersOf(answer)).toEqual(['/cursor', '/document', '/limit', '/status']);
    const inUrl = await merchant.client.post(`/orders/search?document=${aDocument()}`, { document: aDocument() });
    expectProblem(inUrl, 400, 'validation_failed');
    await merchant.orders(`document=${aDocument()}`).refused(400, 'validation_failed');
  });
});
