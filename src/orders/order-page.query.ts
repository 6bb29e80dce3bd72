import type { EntityManager } from 'typeorm';
import { decodeCursor } from '../common/cursor.js';
import { MINUTE_MS } from '../common/clock.js';
import { FIRST_INSTANT_MS } from '../common/instants.js';
import type { ListOrdersDto } from './dto/list-orders.dto.js';
import type { OrderStatus } from './order-status.js';

/** An order of a page before it is loaded. */
export interface PageRow {
  id: string;
  created_at: Date;
}

/** A condition with its parameters. */
type Condition = [sql: string, ...parameters: unknown[]];

/** Orders in one range of an index, in the order of the index. `rest` filters them. */
interface IndexRange {
  index: 'uq_orders_merchant_external_id' | 'ix_orders_merchant_created' | 'ix_orders_status';
  prefix: Condition[];
  created: { from?: number | undefined; to?: number | undefined };
  rest: Condition[];
}

/**
 * Finds the orders of a page, newest first, without loading them: at most `limit + 1`, to detect whether there are
 * more. The filter becomes a few ranges of an index. Each is read from its end until the page is full, so the number of
 * rows that the database reads does not grow with the number of orders.
 *
 * @throws Problem validation_failed if the cursor is not valid.
 */
export async function findPage(
  manager: EntityManager,
  merchantId: string,
  filter: ListOrdersDto,
  now: Date,
): Promise<PageRow[]> {
  const cursor = filter.cursor === undefined ? undefined : decodeCursor(filter.cursor, 'number', 'string');
  const ranges = (await rangesOf(manager, merchantId, filter, now)).map(withBounds(filter));
  const selects = ranges.flatMap((range) => selectsOf(merchantId, range, cursor, filter.limit + 1));
  if (selects.length === 0) return [];
  const [union, parameters] = [selects.map(([sql]) => sql).join(' UNION ALL '), selects.flatMap(([, ...all]) => all)];
  return manager.query<PageRow[]>(
    `SELECT id, created_at FROM (${union}) found ORDER BY created_at DESC, id DESC LIMIT ?`,
    [...parameters, filter.limit + 1],
  );
}

async function rangesOf(
  manager: EntityManager,
  merchantId: string,
  { external_id: externalId, status }: ListOrdersDto,
  now: Date,
): Promise<IndexRange[]> {
  if (externalId !== undefined) {
    const prefix: Condition[] = [['external_id = ?', Buffer.from(externalId)]];
    const rest = status === undefined ? [] : [storedStatus(status), ...deadline(status, now)];
    return [{ index: 'uq_orders_merchant_external_id', prefix, created: {}, rest }];
  }
  if (status === undefined) return [{ index: 'ix_orders_merchant_created', prefix: [], created: {}, rest: [] }];
  // Orders of every other status are in bucket 0.
  const isByDeadline = status === 'pending' || status === 'expired';
  const buckets = isByDeadline ? await lifetimeBuckets(manager, merchantId) : [0];
  return buckets.map((bucket) => ({
    index: 'ix_orders_status',
    prefix: [storedStatus(status), ['lifetime_bucket = ?', bucket]],
    created: isByDeadline ? createdAround(status, bucket, now) : {},
    rest: deadline(status, now),
  }));
}

const storedStatus = (status: OrderStatus): Condition => ['status = ?', status === 'expired' ? 'pending' : status];

function deadline(status: OrderStatus, now: Date): Condition[] {
  if (status === 'pending') return [['expires_at > ?', now]];
  return status === 'expired' ? [['expires_at <= ?', now]] : [];
}

/**
 * Returns the lifetimes of the merchant's pending orders, as `lifetime_bucket` rounds them: one for each value that
 * `order_ttl_minutes` has had. Each statement finds the next one, because no server can skip through an index by
 * itself.
 */
async function lifetimeBuckets(manager: EntityManager, merchantId: string): Promise<number[]> {
  const buckets: number[] = [];
  for (let last = Number.MIN_SAFE_INTEGER; ;) {
    const [row] = await manager.query<{ next: number | null }[]>(
      "SELECT MIN(lifetime_bucket) AS next FROM orders FORCE INDEX (ix_orders_status) WHERE merchant_id = ? AND status = 'pending' AND lifetime_bucket > ?",
      [merchantId, last],
    );
    if (row?.next === null || row?.next === undefined) return buckets;
    last = Number(row.next);
    buckets.push(last);
  }
}

/**
 * Returns when orders with a lifetime of about `bucket` minutes must have been created to be pending or expired at
 * `now`. For orders within the rounding error, `expires_at` decides.
 */
function createdAround(status: 'pending' | 'expired', bucket: number, now: Date): IndexRange['created'] {
  if (status === 'expired') return bucket <= 0 ? {} : { to: now.getTime() - bucket * MINUTE_MS + 1 };
  const width = 10 ** Math.max(0, String(bucket).length - 2);
  return { from: Math.max(FIRST_INSTANT_MS, now.getTime() - (bucket + width) * MINUTE_MS) };
}

/** Narrows ranges to `created_from` and `created_to`. */
function withBounds({ created_from: from, created_to: to }: ListOrdersDto): (range: IndexRange) => IndexRange {
  const bounds = {
    from: from === undefined ? -Infinity : Date.parse(from),
    to: to === undefined ? Infinity : Date.parse(to),
  };
  return (range) => ({
    ...range,
    created: {
      from: Math.max(range.created.from ?? -Infinity, bounds.from),
      to: Math.min(range.created.to ?? Infinity, bounds.to),
    },
  });
}

/**
 * Returns the statements that read a range from its end, or from the cursor. `(created_at, id) < (?, ?)` becomes two
 * statements, because servers do not read it as two ranges of the index.
 */
function selectsOf(
  merchantId: string,
  { index, prefix, created, rest }: IndexRange,
  cursor: [createdAt: number, id: string] | undefined,
  limit: number,
): Condition[] {
  const { from = -Infinity, to = Infinity } = created;
  const select = (conditions: Condition[]): Condition => {
    const all: Condition[] = [['merchant_id = ?', merchantId], ...prefix, ...conditions, ...rest];
    const sql = `(SELECT id, created_at FROM orders FORCE INDEX (${index}) WHERE ${all.map(([text]) => text).join(' AND ')} ORDER BY created_at DESC, id DESC LIMIT ?)`;
    return [sql, ...all.flatMap(([, ...parameters]) => parameters), limit];
  };
  const between = (before: number): Condition[] => [
    ...(from === -Infinity ? [] : [['created_at >= ?', new Date(from)] satisfies Condition]),
    ...(before === Infinity ? [] : [['created_at < ?', new Date(before)] satisfies Condition]),
  ];
  if (cursor === undefined || cursor[0] >= to) return [select(between(to))];
  const [at, id] = cursor;
  if (at < from) return [];
  return [
    select([
      ['created_at = ?', new Date(at)],
      ['id < ?', id],
    ]),
    select(between(at)),
  ];
}
