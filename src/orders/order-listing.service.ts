import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { readUserNames } from '../auth/user-names.service.js';
import { availableOf } from '../cashback/balances.service.js';
import { Clock } from '../platform/values/time.js';
import { type DatedRow, loadFound } from '../platform/database/pages.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { type OrderPageDto } from './order-lists.dto.js';
import { Order } from './order.entity.js';
import { authorsOf, toOrderDto } from './order.dto.js';
import { cursorAfter, findPage, type OrderFilter } from './order-page.query.js';

/** A page ends before its body exceeds this size, so that large orders do not exhaust the memory of the process. */
const MAX_PAGE_BYTES = 1024 * 1024;

/**
 * Upper bound for the members of fixed length in an order's JSON. Items and payment methods are never longer in the
 * response than in their columns, apart from the quantity.
 */
const FIXED_BYTES = 2048;

/** An item without a quantity has `,"quantity":1` in the response only. */
const QUANTITY_BYTES = 13;

/** The number of orders whose sizes are read first: the default page size. */
const FIRST_PART = 20;

@Injectable()
export class OrderListingService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns a page of the merchant's or a customer's orders, the latest creation, update or completion first.
   *
   * @throws Problem validation_failed if the cursor is not valid, or the filters cannot be combined.
   */
  list(merchantId: string, filter: OrderFilter): Promise<OrderPageDto> {
    return this.unitOfWork.snapshot(async (manager) => {
      const now = this.clock.now(merchantId);
      const found = await findPage(manager, merchantId, filter);
      const page = found.slice(0, await pageLength(manager, merchantId, found, filter.limit));
      const last = page.length < found.length ? page.at(-1) : undefined;
      const orders = await loadFound(manager, Order, merchantId, page);
      const availableIn = await availableOf(manager, orders, now);
      const whoIs = await readUserNames(manager, orders.flatMap(authorsOf));
      return {
        data: orders.map((order) => toOrderDto(order, availableIn(order), now, whoIs)),
        next_cursor: last === undefined ? null : cursorAfter(filter, last),
      };
    });
  }
}

/**
 * Returns how many of the found orders fit into a page: at least one, if any was found. The sizes of later orders are
 * read only if the first ones do not fill the page, because reading the size of a large order takes the server a
 * millisecond.
 */
async function pageLength(
  manager: EntityManager,
  merchantId: string,
  found: DatedRow[],
  limit: number,
): Promise<number> {
  const wanted = found.slice(0, limit);
  let bytes = 0;
  for (const part of [wanted.slice(0, FIRST_PART), wanted.slice(FIRST_PART)]) {
    const sizes = await jsonSizes(manager, merchantId, part);
    for (const row of part) {
      bytes += FIXED_BYTES + (sizes.get(row.id) ?? 0);
      if (bytes > MAX_PAGE_BYTES) return Math.max(1, wanted.indexOf(row));
    }
  }
  return wanted.length;
}

async function jsonSizes(manager: EntityManager, merchantId: string, rows: DatedRow[]): Promise<Map<string, number>> {
  if (rows.length === 0) return new Map();
  const sizes = await manager.query<{ id: string; bytes: string | number }[]>(
    'SELECT id, LENGTH(items) + ? * JSON_LENGTH(items) + LENGTH(payment_methods) + COALESCE(LENGTH(final_payment_methods), 0) + COALESCE(LENGTH(metadata), 0) AS bytes FROM orders WHERE merchant_id = ? AND id IN (?)',
    [QUANTITY_BYTES, merchantId, rows.map((row) => row.id)],
  );
  return new Map(sizes.map(({ id, bytes }) => [id, Number(bytes)]));
}
