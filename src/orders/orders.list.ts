import { availableOf } from '../cashback/balances.service.js';
import {
  type Condition,
  firstMebibyte,
  type Found,
  type IndexRange,
  list,
  periodOf,
  selectBy,
} from '../platform/database/lists.js';
import { type Asked, type ListOf } from '../platform/database/reads.js';
import { validationFailed } from '../platform/values/problem.js';
import { type ListOrdersDto, type SearchOrdersDto } from './order-lists.dto.js';
import { COMPLETED_STATUSES, ORDER_STATUSES } from './order-transitions.js';
import { type OrderDto, toOrderDto } from './order.dto.js';
import { Order } from './order.entity.js';

/** The orders to list. With `document`, only the status is a filter, and the request has its members in its body. */
type OrderFilter = ListOrdersDto & Partial<Pick<SearchOrdersDto, 'document'>>;

/** What a list is sorted by, and the filters of that instant. */
const SORTS = {
  created: ['created_from', 'created_to'],
  updated: ['updated_from', 'updated_to'],
  completed: ['completed_from', 'completed_to'],
} as const;
type Sort = keyof typeof SORTS;

/** Filters that have an index by creation, with their columns. By completion, what is read is selected. */
const INDEXED = {
  store: ['ix_orders_store', 'store'],
  user_id: ['ix_orders_user', 'completed_by'],
  campaign_id: ['ix_orders_campaign', 'campaign_id'],
} as const;
const INDEXED_FILTERS = Object.keys(INDEXED) as (keyof typeof INDEXED)[];

/** Filters that exclude others, because no index has both. */
const EXCLUSIVE: [filters: readonly (keyof ListOrdersDto)[], excluded: readonly (keyof ListOrdersDto)[]][] = [
  ...INDEXED_FILTERS.map((name, at): (typeof EXCLUSIVE)[number] => [
    [name],
    ['external_id', 'status', ...INDEXED_FILTERS.slice(at + 1), ...SORTS.updated],
  ]),
  [SORTS.updated, ['status', ...SORTS.created, ...SORTS.completed]],
  [SORTS.completed, SORTS.created],
];

/**
 * Upper bound for the members of fixed length in an order's JSON. Items and payment methods are never longer in the
 * response than in their columns, apart from the quantity.
 */
const FIXED_BYTES = 2048;

/** An item without a quantity has `,"quantity":1` in the response only. */
const QUANTITY_BYTES = 13;

/** The number of orders whose sizes are read first: the default page size. */
const FIRST_PART = 20;

/** The merchant's or a customer's orders, the latest creation, update or completion first. */
export const ORDERS: ListOf<OrderFilter, OrderDto> = (asked) => {
  const { manager, query, now } = asked;
  refuseExcluded(query);
  const sort = sortOf(query);
  const [from, to] = SORTS[sort];
  const filter = sort === 'completed' ? indexedOf(query) : undefined;
  return list({
    name: nameOf(query),
    entity: Order,
    instant: `${sort}_at`,
    order: 'DESC',
    ranges: rangesOf(query),
    period: periodOf(query[from], query[to]),
    ...(query.document !== undefined && { place: { pointer: '/cursor' } }),
    ...(filter && { select: (found) => selectBy(asked, Order, found, filter.condition) }),
    fit: (found) => firstThatFit(asked, found),
    present: async (orders) => {
      const availableIn = await availableOf(manager, orders, now);
      return orders.map((order) => toOrderDto(order, availableIn(order), now));
    },
  });
};

/** Returns the index ranges that have the orders of a filter, apart from its period. */
function rangesOf(filter: OrderFilter): IndexRange[] {
  const { document, external_id: externalId, status } = filter;
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
  const sort = sortOf(filter);
  const indexed = indexedOf(filter);
  if (indexed !== undefined && sort === 'created') return [{ index: indexed.index, prefix: [indexed.condition] }];
  if (sort === 'updated') return [{ index: 'ix_orders_updated', prefix: [] }];
  const byCompletion = sort === 'completed';
  if (status === undefined && !byCompletion) return [{ index: 'ix_orders_merchant_created', prefix: [] }];
  const statuses = byCompletion ? COMPLETED_STATUSES.filter((one) => status?.includes(one) ?? true) : new Set(status);
  const index = byCompletion ? 'ix_orders_completion' : 'ix_orders_status';
  return Array.from(statuses, (one) => ({ index, prefix: [['status = ?', one]] }));
}

/** Returns the one of these filters that a request has. */
function indexedOf(filter: OrderFilter): { index: string; condition: Condition } | undefined {
  const name = INDEXED_FILTERS.find((one) => filter[one] !== undefined);
  if (name === undefined) return undefined;
  const [index, column] = INDEXED[name];
  return { index, condition: [`${column} = ?`, filter[name]] };
}

/** A cursor by creation is not valid by completion, and one of a customer's orders not in all of them. */
function nameOf(filter: OrderFilter): string {
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
  const excluded = new Set(EXCLUSIVE.flatMap(([, names]) => names));
  const errors = [...excluded].filter(isGiven).flatMap((parameter) => {
    const [filters] = EXCLUSIVE.find(([names, others]) => others.includes(parameter) && names.some(isGiven)) ?? [];
    return filters === undefined ? [] : [{ parameter, detail: `cannot be combined with ${filters.join(' or ')}` }];
  });
  if (errors.length > 0) throw validationFailed(errors);
}

/**
 * Returns the first orders that fit into a page. The sizes of later ones are read only if the first ones do not fill
 * it, because reading the size of a large order takes the server a millisecond.
 */
async function firstThatFit(asked: Asked, wanted: readonly Found[]): Promise<readonly Found[]> {
  const sizes = new Map<string, number>();
  let rows: Found[] = [];
  for (const part of [wanted.slice(0, FIRST_PART), wanted]) {
    if (rows.length < sizes.size || part.length === sizes.size) break;
    for (const [id, bytes] of await jsonSizes(asked, part.slice(sizes.size))) sizes.set(id, bytes);
    rows = firstMebibyte(part, ({ id }) => FIXED_BYTES + (sizes.get(id) ?? 0));
  }
  return rows;
}

async function jsonSizes({ manager, merchantId }: Asked, rows: readonly Found[]): Promise<Map<string, number>> {
  if (rows.length === 0) return new Map();
  const sizes = await manager.query<{ id: string; bytes: string | number }[]>(
    'SELECT id, LENGTH(items) + ? * JSON_LENGTH(items) + LENGTH(payment_methods) + COALESCE(LENGTH(final_payment_methods), 0) + COALESCE(LENGTH(metadata), 0) AS bytes FROM orders WHERE merchant_id = ? AND id IN (?)',
    [QUANTITY_BYTES, merchantId, rows.map((row) => row.id)],
  );
  return new Map(sizes.map(({ id, bytes }) => [id, Number(bytes)]));
}
