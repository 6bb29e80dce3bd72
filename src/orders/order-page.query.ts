import type { EntityManager } from 'typeorm';
import { decodeCursor, encodeCursor } from '../common/cursor.js';
import { validationFailed } from '../common/problem.js';
import type { ListOrdersDto } from './dto/list-orders.dto.js';
import type { SearchOrdersDto } from './dto/search-orders.dto.js';
import { COMPLETED_STATUSES, ORDER_STATUSES } from './order-transitions.js';

/** A condition with its parameters. */
type Condition = [sql: string, ...parameters: unknown[]];

/** The orders to list. With `document`, only the status is a filter, and the request has its members in its body. */
export type OrderFilter = ListOrdersDto & Partial<Pick<SearchOrdersDto, 'document'>>;

/** Orders in one range of an index, in the order of the index. */
interface IndexRange {
  index:
    | 'uq_orders_merchant_external_id'
    | 'ix_orders_merchant_created'
    | 'ix_orders_status'
    | 'ix_orders_completion'
    | 'ix_orders_customer';
  prefix: Condition[];
}

/** An order of a page before it is loaded. */
export interface PageRow {
  id: string;
  /** By which the page is sorted: the creation or the completion. */
  sorted_at: Date;
}

/** Milliseconds, `to` excluded. */
interface Period {
  from: number;
  to: number;
}

/** Where a page begins: after the order with this instant and ID. */
type Start = [at: number, id: string];

/**
 * Finds the orders of a page without loading them: at most `limit + 1`, to detect whether there are more. They are
 * sorted by creation or, if the filter has completions, by completion, newest first. Each status is one range of an
 * index, which is read from its end until the page is full, so the number of rows that the database reads does not grow
 * with the number of orders.
 *
 * @throws Problem validation_failed if the cursor is not valid, or the filter has creations and completions.
 */
export async function findPage(manager: EntityManager, merchantId: string, filter: OrderFilter): Promise<PageRow[]> {
  const byCompletion = isByCompletion(filter);
  if (byCompletion) refuseCreationBounds(filter);
  const start = startOf(filter);
  const [column, from, to] = byCompletion
    ? (['completed_at', filter.completed_from, filter.completed_to] as const)
    : (['created_at', filter.created_from, filter.created_to] as const);
  const period = {
    from: from === undefined ? -Infinity : Date.parse(from),
    to: to === undefined ? Infinity : Date.parse(to),
  };
  const selects = rangesOf(filter).flatMap((range) =>
    selectsOf(merchantId, column, range, period, start, filter.limit + 1),
  );
  if (selects.length === 0) return [];
  const [union, parameters] = [selects.map(([sql]) => sql).join(' UNION ALL '), selects.flatMap(([, ...all]) => all)];
  return manager.query<PageRow[]>(
    `SELECT id, sorted_at FROM (${union}) found ORDER BY sorted_at DESC, id DESC LIMIT ?`,
    [...parameters, filter.limit + 1],
  );
}

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
  const byCompletion = isByCompletion(filter);
  if (status === undefined && !byCompletion) return [{ index: 'ix_orders_merchant_created', prefix: [] }];
  const statuses = byCompletion ? COMPLETED_STATUSES.filter((one) => status?.includes(one) ?? true) : new Set(status);
  const index = byCompletion ? 'ix_orders_completion' : 'ix_orders_status';
  return Array.from(statuses, (one) => ({ index, prefix: [['status = ?', one]] }));
}

export function cursorAfter(filter: OrderFilter, { id, sorted_at: at }: PageRow): string {
  return encodeCursor(listOf(filter), [at.getTime(), id]);
}

function startOf(filter: OrderFilter): Start | undefined {
  if (filter.cursor === undefined) return undefined;
  const place = filter.document === undefined ? { parameter: 'cursor' } : { pointer: '/cursor' };
  return decodeCursor(listOf(filter), filter.cursor, ['number', 'string'], place);
}

/** A cursor by creation is not valid by completion, and one of a customer's orders not in all of them. */
function listOf(filter: OrderFilter): string {
  if (filter.document !== undefined) return 'customer orders';
  return isByCompletion(filter) ? 'completed orders' : 'orders';
}

const isByCompletion = ({ completed_from: from, completed_to: to }: Partial<OrderFilter>): boolean =>
  from !== undefined || to !== undefined;

/** No index has the orders that were created in one period and completed in another. */
function refuseCreationBounds(filter: OrderFilter): void {
  const errors = (['created_from', 'created_to'] as const)
    .filter((parameter) => filter[parameter] !== undefined)
    .map((parameter) => ({ parameter, detail: 'cannot be combined with completed_from or completed_to' }));
  if (errors.length > 0) throw validationFailed(errors);
}

/**
 * Returns the statements that read a range from its end, or from the start of the page. `(created_at, id) < (?, ?)`
 * becomes two statements, because servers do not read it as two ranges of the index.
 */
function selectsOf(
  merchantId: string,
  column: 'created_at' | 'completed_at',
  { index, prefix }: IndexRange,
  { from, to }: Period,
  start: Start | undefined,
  limit: number,
): Condition[] {
  const select = (conditions: Condition[]): Condition => {
    const all: Condition[] = [['merchant_id = ?', merchantId], ...prefix, ...conditions];
    const sql = `(SELECT id, ${column} AS sorted_at FROM orders FORCE INDEX (${index}) WHERE ${all.map(([text]) => text).join(' AND ')} ORDER BY ${column} DESC, id DESC LIMIT ?)`;
    return [sql, ...all.flatMap(([, ...parameters]) => parameters), limit];
  };
  const between = (before: number): Condition[] => [
    ...(from === -Infinity ? [] : [[`${column} >= ?`, new Date(from)] satisfies Condition]),
    ...(before === Infinity ? [] : [[`${column} < ?`, new Date(before)] satisfies Condition]),
  ];
  if (start === undefined || start[0] >= to) return [select(between(to))];
  const [at, id] = start;
  if (at < from) return [];
  return [
    select([
      [`${column} = ?`, new Date(at)],
      ['id < ?', id],
    ]),
    select(between(at)),
  ];
}
