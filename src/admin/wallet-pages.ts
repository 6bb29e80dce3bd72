import type { EntityManager } from 'typeorm';

/** The number of wallets whose rows a statement of a report reads. */
const PAGE_SIZE = 500;

/**
 * Yields the IDs of a merchant's wallets, page by page, so that no statement of a report takes long. Call it in a
 * snapshot: an erasure changes a wallet's place in the order.
 */
export async function* walletPages(manager: EntityManager, merchantId: string): AsyncGenerator<string[]> {
  for (let last = ''; ;) {
    const page = await manager.query<{ id: string; document: string }[]>(
      'SELECT id, document FROM wallets WHERE merchant_id = ? AND document > ? ORDER BY document LIMIT ?',
      [merchantId, last, PAGE_SIZE],
    );
    if (page.length > 0) yield page.map(({ id }) => id);
    if (page.length < PAGE_SIZE) return;
    last = page.at(-1)!.document;
  }
}
