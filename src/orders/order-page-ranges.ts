import type { EntityManager } from 'typeorm';
import { MINUTE_MS } from '../common/clock.js';
import { FIRST_INSTANT_MS } from '../common/instants.js';
import type { ListOrdersDto } from './dto/list-orders.dto.js';
import { COMPLETED_STATUSES, ORDER_STATUSES, type OrderStatus } from './order-status.js';

/** A condition with its parameters. */
export type Condition = [sql: string, ...parameters: unknown[]];

/** Milliseconds, `to` excluded. */
export interface Bounds {
  from?: number | undefined;
  to?: number | undefined;
}

/** Orders in one range of an index, in the order of the index. `rest` filters them. */
export interface IndexRange {
  index: 'uq_orders_merchant_external_id' | 'ix_orders_merchant_created' | 'ix_orders_status' | 'ix_orders_completion';
  prefix: Condition[];
  bounds: Bounds;
  rest: Condition[];
}

/**
 * Returns the index ranges to scan for orders sorted by creation. They may also contain orders outside the filter's
 * period.
 */
export async function rangesByCreation(
  manager: EntityManager,
  merchantId: string,
  { external_id: externalId, status }: ListOrdersDto,
  now: Date,
): Promise<IndexRange[]> {
  if (externalId !== undefined) return [rangeOf(externalId, status, now)];
  const statuses = new Set(status ?? ORDER_STATUSES);
  if (statuses.size === ORDER_STATUSES.length)
    return [{ index: 'ix_orders_merchant_created', prefix: [], bounds: {}, rest: [] }];
  const [isPending, isExpired] = [statuses.delete('pending'), statuses.delete('expired')];
  const byDeadline = isPending || isExpired ? await lifetimeBuckets(manager, merchantId) : [];
  const one = isPending && isExpired ? undefined : isPending ? 'pending' : 'expired';
  return [
    ...byDeadline.map((bucket) => ({
      ...bucketOf('pending', bucket),
      ...(one && { bounds: createdAround(one, bucket, now), rest: deadline(one, now) }),
    })),
    // Orders of every other status are in bucket 0.
    ...Array.from(statuses, (other) => bucketOf(other, 0)),
  ];
}

/** Returns the index ranges to scan for orders sorted by completion. */
export function rangesByCompletion({ external_id: externalId, status }: ListOrdersDto, now: Date): IndexRange[] {
  if (externalId !== undefined) return [rangeOf(externalId, status, now)];
  return COMPLETED_STATUSES.filter((one) => status === undefined || status.includes(one)).map((one) => ({
    index: 'ix_orders_completion',
    prefix: [storedStatus(one)],
    bounds: {},
    rest: [],
  }));
}

/** Returns the range of the one order with this external ID. */
function rangeOf(externalId: string, statuses: readonly OrderStatus[] | undefined, now: Date): IndexRange {
  const prefix: Condition[] = [['external_id = ?', Buffer.from(externalId)]];
  const rest = statuses === undefined ? [] : [anyOf(statuses.map((one) => [storedStatus(one), ...deadline(one, now)]))];
  return { index: 'uq_orders_merchant_external_id', prefix, bounds: {}, rest };
}

const bucketOf = (status: OrderStatus, bucket: number): IndexRange => ({
  index: 'ix_orders_status',
  prefix: [storedStatus(status), ['lifetime_bucket = ?', bucket]],
  bounds: {},
  rest: [],
});

function anyOf(alternatives: Condition[][]): Condition {
  const texts = alternatives.map((conditions) => conditions.map(([sql]) => sql).join(' AND '));
  return [`(${texts.join(' OR ')})`, ...alternatives.flat().flatMap(([, ...parameters]) => parameters)];
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
function createdAround(status: 'pending' | 'expired', bucket: number, now: Date): Bounds {
  if (status === 'expired') return bucket <= 0 ? {} : { to: now.getTime() - bucket * MINUTE_MS + 1 };
  const width = 10 ** Math.max(0, String(bucket).length - 2);
  return { from: Math.max(FIRST_INSTANT_MS, now.getTime() - (bucket + width) * MINUTE_MS) };
}
