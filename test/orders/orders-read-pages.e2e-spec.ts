import { describe, expect, it } from '@jest/globals';
import { aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const MIB = 1024 * 1024;

const { service } = useService();

/** An order of about 250 KiB, which is close to the limit of a request body. */
const aLargeOrder = (): Record<string, unknown> =>
  anOrder({
    items: Array.from({ length: 360 }, (_, n) => ({
      id: `sku-${n}`,
      price: '1.00',
      description: 'é"'.repeat(165) + 'x'.repeat(9),
    })),
  });

interface Page {
  bytes: number;
  ids: string[];
}

async function pagesOf(merchant: TestMerchant, query: string): Promise<Page[]> {
  const pages = await merchant.client.pages(`/orders?${query}`);
  return pages.map((body) => ({
    bytes: Buffer.byteLength(JSON.stringify(body)),
    ids: body.data.map(({ id }: { id: string }) => id),
  }));
}

describe('the pages of GET /orders', () => {
  it('the pages of GET /orders contain each matching order exactly once', async () => {
    const merchant = await aMerchant(service);
    const byStatus: Record<string, string[]> = { expired: [], pending: [], completed: [], cancelled: [] };
    for (let n = 0; n < 9; n++) byStatus.expired?.push((await merchant.create()).id);
    await service.clock.advance({ minutes: 31 });
    const from = service.clock.now().toISOString();
    for (let n = 0; n < 7; n++) {
      byStatus.pending?.push((await merchant.create()).id);
      byStatus.completed?.push((await merchant.completed()).id);
      const { id } = await merchant.create();
      await merchant.cancel({ id });
      byStatus.cancelled?.push(id);
    }
    const walk = async (query: string): Promise<string[]> =>
      (await pagesOf(merchant, `limit=2&${query}`)).flatMap(({ ids }) => ids).sort();
    for (const [status, ids] of Object.entries(byStatus)) expect(await walk(`status=${status}`)).toEqual(ids.sort());
    expect(await walk(`status=pending&created_from=${from}`)).toEqual(byStatus.pending);
    expect(await walk(`status=expired&created_to=${from}`)).toEqual(byStatus.expired);
    expect(await walk('')).toEqual(Object.values(byStatus).flat().sort());
  });

  it('a page of GET /orders ends before 1 MiB and the next one continues at next_cursor', async () => {
    const merchant = await aMerchant(service);
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift((await merchant.create(aLargeOrder())).id);
    for (const query of ['limit=100', 'limit=100&status=pending']) {
      const pages = await pagesOf(merchant, query);
      expect(pages.filter(({ bytes }) => bytes > MIB)).toEqual([]);
      // Each page is full: one more order of 250 KiB would exceed 1 MiB.
      expect(pages.slice(0, -1).filter(({ bytes }) => bytes < 0.7 * MIB)).toEqual([]);
      expect(pages.flatMap((page) => page.ids)).toEqual(ids);
    }
  });

  it('a page of GET /orders can contain 100 orders of usual size', async () => {
    const merchant = await aMerchant(service);
    for (let n = 0; n < 101; n++) await merchant.create();
    expect((await pagesOf(merchant, 'limit=100')).map(({ ids }) => ids.length)).toEqual([100, 1]);
  });
});
