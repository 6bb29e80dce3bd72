import { type EntityManager } from 'typeorm';
import { entitiesOf, list } from '../platform/database/lists.js';
import { type ListOf } from '../platform/database/reads.js';
import { parseMoney } from '../platform/values/money.js';
import { bringUpToDate, nextExpiries, readAt } from './wallet-sums.js';
import { type CustomerDto, type ListCustomersDto, toCustomerDto } from './wallet.dto.js';
import { Wallet } from './wallet.entity.js';

/** The merchant's customers with a balance or a debt, by the ID of their wallet. */
export const CUSTOMERS: ListOf<ListCustomersDto, CustomerDto> = ({ manager, merchantId, query, timeZone, now }) => {
  const minimumCents = query.balance_minimum === undefined ? 0 : parseMoney(query.balance_minimum);
  const wallets = new Map<string, Wallet>();
  return list({
    name: 'customers',
    entity: Wallet,
    isSmall: true,
    order: 'ASC',
    ranges: [{ index: 'ix_wallets_merchant', prefix: [] }],
    select: async (found) => {
      const read = entitiesOf(manager, Wallet, found);
      for (const wallet of await selectWallets(manager, read, minimumCents, now)) wallets.set(wallet.id, wallet);
      return found.filter(({ id }) => wallets.has(id));
    },
    present: async (read) => {
      const page = read.map(({ id }) => wallets.get(id)!);
      const expiries = await nextExpiries(manager, page, now);
      const orders = await lastOrders(manager, merchantId, page);
      return page.map((wallet) =>
        toCustomerDto(wallet, expiries.get(wallet.id), orders.get(wallet.id) ?? null, timeZone),
      );
    },
  });
};

/** Returns the wallets that have at least the minimum, or something if that is 0, with their current sums. */
async function selectWallets(
  manager: EntityManager,
  wallets: Wallet[],
  minimumCents: number,
  now: Date,
): Promise<Wallet[]> {
  const hasEnough = (cents: number, { debtCents }: Wallet): boolean =>
    cents >= minimumCents && (cents > 0 || debtCents > 0);
  // The balance can also contain what has expired and is not written off.
  const candidates = wallets.filter((wallet) => hasEnough(wallet.balanceCents, wallet));
  await bringUpToDate(
    manager,
    candidates.map((wallet) => [wallet, readAt(wallet, now)]),
  );
  return candidates.filter((wallet) =>
    hasEnough(wallet.availableCents + wallet.pendingCents + wallet.heldCents, wallet),
  );
}

/** The orders of a customer with one status are a range of the index. */
const LAST_ORDERS = ['pending', 'expired', 'completed', 'cancelled', 'partially_refunded', 'refunded']
  .map(
    (status) =>
      `(SELECT o.created_at FROM orders o FORCE INDEX (ix_orders_customer)
         WHERE o.merchant_id = w.merchant_id AND o.document = w.document AND o.status = '${status}'
         ORDER BY o.created_at DESC LIMIT 1) AS ${status}`,
  )
  .join(', ');

/** Returns when the latest order of each customer was created, by the ID of the wallets. */
async function lastOrders(
  manager: EntityManager,
  merchantId: string,
  wallets: readonly Wallet[],
): Promise<ReadonlyMap<string, Date | null>> {
  if (wallets.length === 0) return new Map();
  const ids = wallets.map(({ id }) => id);
  const rows = await manager.query<({ id: string } & Record<string, Date | string | null>)[]>(
    `SELECT w.id, ${LAST_ORDERS} FROM wallets w WHERE w.merchant_id = ? AND w.id IN (?)`,
    [merchantId, ids],
  );
  return new Map(
    rows.map(({ id, ...byStatus }) => {
      const instants = Object.values(byStatus).filter((at) => at instanceof Date);
      return [id, instants.sort((a, b) => +b - +a)[0] ?? null];
    }),
  );
}
