import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import { exactCents } from '../common/money.js';
import { type Batch, Batches } from '../database/batch.js';
import { anyOf, byMerchant } from '../database/by-merchant.js';
import { AVAILABLE, availableParameters, UNCHANGED_AVAILABLE } from './balance-sql.js';
import { viewWallet } from './wallet-rows.js';
import type { WalletOwner } from './wallet.entity.js';

/** The balances in an order's response, in centavos. */
export interface OrderBalance {
  /** What the customer can spend, without held amounts. */
  availableCents: number;
  /** The amount held for the order. */
  heldCents: number;
}

const unchanged = (merchants: number): string =>
  `SELECT w.merchant_id, w.document, ${UNCHANGED_AVAILABLE} AS cents FROM wallets w
    WHERE ${anyOf(merchants, 'w.merchant_id = ? AND w.document IN (?)')}`;

const AVAILABLE_OF_ONE = `
  SELECT w.merchant_id, w.document, w.debt_cents, ${AVAILABLE} AS cents
    FROM wallets w WHERE w.merchant_id = ? AND w.document = ?`;

/** Reads what customers can spend, without a lock and without loading their credits. */
@Injectable()
export class BalancesService {
  readonly #available: Batch<WalletOwner, number>;

  constructor(batches: Batches, clock: Clock) {
    this.#available = batches.create('balances', async (manager, owners) => {
      const available = await availableOf(manager, owners, clock.now());
      return owners.map(available);
    });
  }

  /** @returns the available centavos of one customer; 0 if there is no wallet. Not for use inside a transaction. */
  availableNow(owner: WalletOwner): Promise<number> {
    return this.#available.get(owner);
  }

  /** @returns the available centavos of one customer; 0 if there is no wallet. */
  async availableTo(manager: EntityManager, owner: WalletOwner, now: Date): Promise<number> {
    return (await availableOf(manager, [owner], now))(owner);
  }

  /** @returns the balance of each of these orders. */
  async ofOrders(
    manager: EntityManager,
    merchantId: string,
    orders: readonly (WalletOwner & { id: string })[],
    now: Date,
  ): Promise<(order: WalletOwner & { id: string }) => OrderBalance> {
    const available = await availableOf(manager, orders, now);
    const ids = orders.map(({ id }) => id);
    const held = await heldBy(manager, merchantId, ids, now);
    return (order) => ({ availableCents: available(order), heldCents: held.get(order.id) ?? 0 });
  }
}

interface AvailableRow {
  merchant_id: string;
  document: string;
  cents: string | number | null;
}

const keyOf = (merchantId: string, document: string): string => `${merchantId} ${document}`;

/** @returns the available centavos of a customer; 0 if there is no wallet. */
async function availableOf(
  manager: EntityManager,
  owners: readonly WalletOwner[],
  now: Date,
): Promise<(owner: WalletOwner) => number> {
  if (owners.length === 0) return () => 0;
  const groups = byMerchant(owners, ({ document }) => document);
  const rows = await manager.query<AvailableRow[]>(unchanged(groups.length), [now, ...groups.flat()]);
  const changed = rows.filter(({ cents }) => cents === null);
  const all = changed.length === 0 ? rows : [...rows, ...(await addUp(manager, changed, now))];
  const cents = new Map(all.map((row) => [keyOf(row.merchant_id, row.document), row.cents]));
  return ({ merchantId, document }) => exactCents(cents.get(keyOf(merchantId, document)) ?? 0);
}

/** Adds up the wallets whose available balance dates have changed since they were last written. */
async function addUp(manager: EntityManager, changed: readonly AvailableRow[], now: Date): Promise<AvailableRow[]> {
  // One SELECT per document, because servers use the index for a range of dates only for one wallet at a time.
  const sql = changed.map(() => AVAILABLE_OF_ONE).join(' UNION ALL ');
  const parameters = changed.flatMap((row) => [...availableParameters(now), row.merchant_id, row.document]);
  const rows = await manager.query<(AvailableRow & { debt_cents: string | number })[]>(sql, parameters);
  for (const row of rows)
    if (Number(row.debt_cents) > 0)
      row.cents = await availableToDebtor(manager, { merchantId: row.merchant_id, document: row.document }, now);
  return rows;
}

/** @returns what a customer with a debt can spend: lapsed holds repay the debt first. */
export async function availableToDebtor(manager: EntityManager, owner: WalletOwner, now: Date): Promise<number> {
  return (await viewWallet(manager, owner, now))?.availableCents ?? 0;
}

/** @returns the centavos that orders hold, by order id, of the orders that hold any. */
async function heldBy(
  manager: EntityManager,
  merchantId: string,
  orderIds: readonly string[],
  now: Date,
): Promise<Map<string, number>> {
  if (orderIds.length === 0) return new Map();
  const rows = await manager.query<{ order_id: string; cents: string }[]>(
    'SELECT order_id, SUM(amount_cents) AS cents FROM cashback_holds WHERE merchant_id = ? AND order_id IN (?) AND expires_at > ? GROUP BY order_id',
    [merchantId, orderIds, now],
  );
  return new Map(rows.map(({ order_id, cents }) => [order_id, exactCents(cents)]));
}
