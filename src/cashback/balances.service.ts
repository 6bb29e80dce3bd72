import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { exactCents } from '../common/money.js';
import { AVAILABLE, availableParameters, UNCHANGED_AVAILABLE } from './balance-sql.js';
import { viewWallet } from './wallet-rows.js';

/** A customer of a merchant. */
export interface WalletOwner {
  merchantId: string;
  document: string;
}

/** The balances in an order's response, in centavos. */
export interface OrderBalance {
  /** What the customer can spend, without held amounts. */
  availableCents: number;
  /** The amount held for the order. */
  heldCents: number;
}

const UNCHANGED = `
  SELECT w.document, ${UNCHANGED_AVAILABLE} AS cents FROM wallets w WHERE w.merchant_id = ? AND w.document IN (?)`;

const AVAILABLE_OF_ONE = `SELECT w.document, w.debt_cents, ${AVAILABLE} AS cents FROM wallets w WHERE w.merchant_id = ? AND w.document = ?`;

/** Reads what customers can spend, without a lock and without loading their credits. */
@Injectable()
export class BalancesService {
  /** @returns the available centavos of one customer; 0 if there is no wallet. */
  async availableTo(manager: EntityManager, owner: WalletOwner, now: Date): Promise<number> {
    const available = await this.available(manager, owner.merchantId, [owner.document], now);
    return available.get(owner.document) ?? 0;
  }

  /** @returns the available centavos by document, of the customers that have a wallet. */
  async available(
    manager: EntityManager,
    merchantId: string,
    documents: readonly string[],
    now: Date,
  ): Promise<Map<string, number>> {
    if (documents.length === 0) return new Map();
    const unchanged = await manager.query<AvailableRow[]>(UNCHANGED, [now, merchantId, [...new Set(documents)]]);
    const changed = unchanged.filter(({ cents }) => cents === null).map(({ document }) => document);
    const rows = changed.length === 0 ? unchanged : [...unchanged, ...(await addUp(manager, merchantId, changed, now))];
    return new Map(rows.map(({ document, cents }) => [document, exactCents(cents)]));
  }

  /** @returns the balance of each of these orders. */
  async ofOrders(
    manager: EntityManager,
    merchantId: string,
    orders: readonly { id: string; document: string }[],
    now: Date,
  ): Promise<(order: { id: string; document: string }) => OrderBalance> {
    const documents = orders.map(({ document }) => document);
    const available = await this.available(manager, merchantId, documents, now);
    const ids = orders.map(({ id }) => id);
    const held = await heldBy(manager, merchantId, ids, now);
    return ({ id, document }) => ({ availableCents: available.get(document) ?? 0, heldCents: held.get(id) ?? 0 });
  }
}

interface AvailableRow {
  document: string;
  cents: string | number | null;
}

/** Adds up the wallets whose available balance dates have changed since they were last written. */
async function addUp(
  manager: EntityManager,
  merchantId: string,
  documents: readonly string[],
  now: Date,
): Promise<AvailableRow[]> {
  // One SELECT per document, because servers use the index for a range of dates only for one wallet at a time.
  const sql = documents.map(() => AVAILABLE_OF_ONE).join(' UNION ALL ');
  const parameters = documents.flatMap((document) => [...availableParameters(now), merchantId, document]);
  const rows = await manager.query<(AvailableRow & { debt_cents: string | number })[]>(sql, parameters);
  for (const row of rows)
    if (Number(row.debt_cents) > 0) row.cents = await availableToDebtor(manager, { merchantId, ...row }, now);
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
