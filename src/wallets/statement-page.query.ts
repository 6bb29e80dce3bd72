import type { EntityManager } from 'typeorm';
import { Entry } from '../cashback/entry.entity.js';
import { Hold } from '../cashback/hold.entity.js';
import type { Wallet } from '../cashback/wallet.entity.js';
import { decodeCursor, encodeCursor, pageOf, type PageRequest } from '../common/cursor.js';

/** A page of a statement; `summary` leaves out what was held and released again. */
export interface StatementRequest extends PageRequest {
  readonly summary?: boolean | undefined;
}

/** The number of entries that are read for a page of a summary, however few of them are in it. */
const READ_FOR_SUMMARY = 1000;

/** The open hold that an entry of kind `hold` or `release` is a part of. */
const OPEN_HOLD =
  "e.kind IN ('hold', 'release') AND h.orderId = e.orderId AND h.creditId = e.creditId AND h.merchantId = e.merchantId AND h.entrySeq <= e.seq";

/**
 * Finds a page of a statement, newest first. A summary has entries of the kinds `hold` and `release` only if they are
 * part of an open hold; the others add up to zero for each order and credit.
 *
 * @throws Problem validation_failed if the cursor is not valid.
 */
export async function findEntries(
  manager: EntityManager,
  { id, merchantId, lastSeq }: Pick<Wallet, 'id' | 'merchantId' | 'lastSeq'>,
  { limit, cursor, summary = false }: StatementRequest,
): Promise<{ page: Entry[]; next_cursor: string | null }> {
  const list = `entries ${id}`;
  const [before = lastSeq + 1] = cursor === undefined ? [] : decodeCursor(list, cursor, ['number']);
  const from = summary ? before - READ_FOR_SUMMARY : 1;
  const query = manager
    .createQueryBuilder(Entry, 'e')
    .where('e.walletId = :id AND e.merchantId = :merchantId', { id, merchantId })
    .andWhere('e.seq < :before AND e.seq >= :from', { before, from })
    .orderBy('e.seq', 'DESC')
    .limit(limit + 1);
  if (summary)
    query.leftJoin(Hold, 'h', OPEN_HOLD).andWhere("(e.kind NOT IN ('hold', 'release') OR h.orderId IS NOT NULL)");
  const { page, next_cursor } = pageOf(list, await query.getMany(), limit, ({ seq }) => [seq]);
  return { page, next_cursor: next_cursor ?? (from > 1 ? encodeCursor(list, [from]) : null) };
}
