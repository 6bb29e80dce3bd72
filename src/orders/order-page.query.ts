import type { EntityManager } from 'typeorm';
import { decodeCursor, encodeCursor } from '../platform/database/pages.js';
import { validationFailed } from '../platform/values/problem.js';
import {
  type Condition,
  type DatedRow,
  findDated,
  type IndexRange,
  periodOf,
  positionOf,
} from '../platform/database/pages.js';
import type { ListOrdersDto } from './order-lists.dto.js';
import type { SearchOrdersDto } from './order-lists.dto.js';
import { COMPLETED_STATUSES, ORDER_STATUSES } from './order-transitions.js';

/** The orders to list. With `document`, only the status is a filter, and the request has its members in its body. */
export type OrderFilter = ListOrdersDto & Partial<Pick<SearchOrdersDto, 'document'>>;

/** What a list is sorted by, and the filters of that instant. */
const SORTS = {
  created: ['created_from', 'created_to'],
  updated: ['updated_from', 'updated_to'],
  completed: ['completed_from', 'completed_to'],
} as const;
type Sort = keyof typeof SORTS;

/** Filters that exclude others, because no index has both. The first that a request has decides. */
const EXCLUSIVE: [filters: readonly (keyof ListOrdersDto)[], excluded: readonly (keyof ListOrdersDto)[]][] = [
  [['store'], ['external_id', 'status', ...SORTS.updated, ...SORTS.completed]],
  [SORTS.updated, ['status', ...SORTS.created, ...SORTS.completed]],
  [SORTS.completed, SORTS.created],
];

/**
 * Finds the orders of a page without loading them: at most `limit + 1`, to detect whether there are more. They are
 * sorted by creation or, if the filter has updates or completions, by these, newest first.
 *
 * @throws Problem validation_failed if the cursor is not valid, or the filters cannot be combined.
 */
export async function findPage(manager: EntityManager, merchantId: string, filter: OrderFilter): Promise<DatedRow[]> {
  refuseExcluded(filter);
  const sort = sortOf(filter);
  const [from, to] = SORTS[sort];
  return findDated(manager, {
    table: 'orders',
    column: `${sort}_at`,
    order: 'DESC',
    merchantId,
    ranges: rangesOf(filter),
    period: periodOf(filter[from], filter[to]),
    after: startOf(filter),
    limit: filter.limit + 1,
  });
}

/** Returns the index ranges that have the orders of a filter, apart from its period. */
function rangesOf(filter: OrderFilter): IndexRange[] {
  const { document, external_id: externalId, status, store } = filter;
  if (document !== undefined)
    return Array.from(new Set(status ?? ORDER_STATUSES), (one) => ({
      index: 'ix_orders_customer',
      prefix: [
        ['document = ?', document],
        ['status = ?', one],
      ],
    }));
  if (externalId !== undefined) {
    const prefix: Condition[] = [['external_id = ?', Buffer.from(externalId)]];
    if (status !== undefined) prefix.push(['status IN (?)', status]);
    return [{ index: 'uq_orders_merchant_external_id', prefix }];
  }
  if (store !== undefined) return [{ index: 'ix_orders_store', prefix: [['store = ?', store]] }];
  const sort = sortOf(filter);
  if (sort === 'updated') return [{ index: 'ix_orders_updated', prefix: [] }];
  const byCompletion = sort === 'completed';
  if (status === undefined && !byCompletion) return [{ index: 'ix_orders_merchant_created', prefix: [] }];
  const statuses = byCompletion ? COMPLETED_STATUSES.filter((one) => status?.includes(one) ?? true) : new Set(status);
  const index = byCompletion ? 'ix_orders_completion' : 'ix_orders_status';
  return Array.from(statuses, (one) => ({ index, prefix: [['status = ?', one]] }));
}

export function cursorAfter(filter: OrderFilter, row: DatedRow): string {
  return encodeCursor(listOf(filter), positionOf(row));
}

function startOf(filter: OrderFilter): [at: number, id: string] | undefined {
  if (filter.cursor === undefined) return undefined;
  const place = filter.document === undefined ? { parameter: 'cursor' } : { pointer: '/cursor' };
  return decodeCursor(listOf(filter), filter.cursor, ['number', 'string'], place);
}

/** A cursor by creation is not valid by completion, and one of a customer's orders not in all of them. */
function listOf(filter: OrderFilter): string {
  if (filter.document !== undefined) return 'customer orders';
  const sort = sortOf(filter);
  return sort === 'created' ? 'orders' : `${sort} orders`;
}

function sortOf(filter: Partial<OrderFilter>): Sort {
  const has = (sort: Sort): boolean => SORTS[sort].some((name) => filter[name] !== undefined);
  return (['updated', 'completed'] as const).find(has) ?? 'created';
}

function refuseExcluded(filter: OrderFilter): void {
  const isGiven = (name: keyof ListOrdersDto): boolean => filter[name] !== undefined;
  const [filters, excluded] = EXCLUSIVE.find(([names]) => names.some(isGiven)) ?? [[], []];
  const errors = excluded
    .filter(isGiven)
    .map((parameter) => ({ parameter, detail: `cannot be combined with ${filters.join(' or ')}` }));
  if (errors.length > 0) throw validationFailed(errors);
}
