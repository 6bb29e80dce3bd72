import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { Clock } from '../common/clock.js';
import { exactCents } from '../common/money.js';
import { type SharedStatement, SharedStatements } from '../database/shared-statements.js';
import { anyOf, byMerchant } from '../database/by-merchant.js';
import { AVAILABLE, availableParameters, UNCHANGED_AVAILABLE } from './balance-sql.js';
import type { WalletOwner } from './wallet.entity.js';

const unchanged = (merchants: number): string =>
  `SELECT w.merchant_id, w.document, ${UNCHANGED_AVAILABLE} AS cents FROM wallets w
    WHERE ${anyOf(merchants, 'w.merchant_id = ? AND w.document IN (?)')}`;

const AVAILABLE_OF_ONE = `
  SELECT w.merchant_id, w.document, ${AVAILABLE} AS cents
    FROM wallets w WHERE w.merchant_id = ? AND w.document = ?`;

/** Reads what customers can spend, without a lock and without loading their credits. */
@Injectable()
export class BalancesService {
  readonly #available: SharedStatement<WalletOwner, number>;

  constructor(shared: SharedStatements, clock: Clock) {
    this.#available = shared.create('balances', async (manager, owners) => {
      // Requests that share a statement have one instant.
      const available = await availableOf(manager, owners, clock.now(owners[0]?.merchantId));
      return owners.map(available);
    });
  }

  /** @returns the available centavos of one customer; 0 if there is no wallet. Not for use inside a transaction. */
  availableNow(owner: WalletOwner): Promise<number> {
    return this.#available.get(owner);
  }
}

interface AvailableRow {
  merchant_id: string;
  document: string;
  cents: string | number | null;
}

const keyOf = (merchantId: string, document: string): string => `${merchantId} ${document}`;

/** @returns the available centavos of each of these customers; 0 if there is no wallet. */
export async function availableOf(
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
function addUp(manager: EntityManager, changed: readonly AvailableRow[], now: Date): Promise<AvailableRow[]> {
  // One SELECT per document, because servers use the index for a range of dates only for one wallet at a time.
  const sql = changed.map(() => AVAILABLE_OF_ONE).join(' UNION ALL ');
  const parameters = changed.flatMap((row) => [...availableParameters(now), row.merchant_id, row.document]);
  return manager.query<AvailableRow[]>(sql, parameters);
}
