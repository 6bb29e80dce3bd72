import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type WalletAggregate } from '../cashback/wallet-aggregate.js';
import { loadCredits, loadMoved, type NeededCredits } from '../cashback/wallet-credits.js';
import { ownerKey } from '../cashback/wallet.entity.js';
import { outcomeOf, WalletStore } from '../cashback/wallet.store.js';
import { violatedUniqueKey } from '../platform/database/errors.js';
import { columnNames, type Row, toEntity } from '../platform/database/rows.js';
import {
  isDone,
  type Outcome,
  type Shared,
  SharedStatements,
  type SharedUseCases,
} from '../platform/database/shared.js';
import { notFound } from '../platform/values/problem.js';
import { type Order } from './order.entity.js';
import { copyOf, type LoadedOrder, OrderStore } from './order.store.js';
import { isLatest } from './refund-voids.js';
import { Refund } from './refund.entity.js';
import { existingKeys, externalKey, sizeOf } from './shared-orders.js';

/** What happens to an order in a transaction. */
export interface OrderUseCase<T> {
  /** The refund that is made, unless it exists already; or the one to undo. */
  refund?: { externalId: string; isByItems: boolean } | { id: string };
  /** The credits that it needs of the wallet, besides what the order holds. */
  needs?: (order: Order, wallet: WalletAggregate) => Omit<NeededCredits, 'wallet' | 'orderId'>;
  /**
   * Throws a problem only before it has changed anything.
   *
   * @param refund the refund that exists already.
   * @param refunds others of the order: if it is by items, all that are; if it is undone, all that came later.
   */
  perform: (order: Order, wallet: WalletAggregate, refund: Refund | undefined, refunds: readonly Refund[]) => T;
}

interface KeyedUseCase extends OrderUseCase<unknown> {
  merchantId: string;
  orderId: string;
  /** The order, if it is not stored yet. */
  newOrder?: Readonly<Order>;
}

/** An order and its wallet after a use case, and its result. */
interface Performed<T> {
  order: Order;
  wallet: WalletAggregate;
  result: T;
}

/**
 * Runs use cases of orders: each loads an order with its wallet, changes both, and saves them. Use cases of different
 * orders that come at the same time share a transaction. Those of one wallet perform there in the order of arrival.
 *
 * A transaction locks the orders, reads the refunds that exist, locks the wallets, expires what is due, loads the
 * credits that each use case `needs`, lets each `perform`, and saves and records what changed. A use case ends with a
 * value or its error; it is sent again, behind that lock, if another transaction has locked what it needs, and after a
 * wallet that was missing exists. A new order is inserted if its use case is not refused.
 */
@Injectable()
export class OrderTransactionsService {
  readonly #shared: Shared<KeyedUseCase, Performed<unknown> | undefined>;

  constructor(
    shared: SharedStatements,
    private readonly orders: OrderStore,
    private readonly wallets: WalletStore,
  ) {
    this.#shared = shared.createTransaction(
      'order_use_cases',
      ({ merchantId, orderId, newOrder }) =>
        newOrder === undefined ? orderId : `${merchantId} ${newOrder.externalId}`,
      (useCases) => this.#perform(useCases),
      ({ newOrder }) => (newOrder === undefined ? 1 : sizeOf(newOrder)),
    );
  }

  /** An order that is due expires first. @throws Problem not_found, also for an order of another merchant. */
  async run<T>(merchantId: string, orderId: string, useCase: OrderUseCase<T>): Promise<Performed<T>> {
    return (await this.#get({ merchantId, orderId, ...useCase })) as Performed<T>;
  }

  /** @returns undefined if the merchant has an order with this external ID; the unique key decides. */
  async runNew<T>(newOrder: Readonly<Order>, useCase: OrderUseCase<T>): Promise<Performed<T> | undefined> {
    const { merchantId, id: orderId } = newOrder;
    try {
      return (await this.#get({ merchantId, orderId, newOrder, ...useCase })) as Performed<T> | undefined;
    } catch (error) {
      if (violatedUniqueKey(error) === 'uq_orders_merchant_external_id') return undefined;
      throw error;
    }
  }

  #get(key: KeyedUseCase): Promise<Performed<unknown> | undefined> {
    return this.wallets.creating(() => this.#shared.get(key));
  }

  async #perform({ manager, record, keys, onLocked }: SharedUseCases<KeyedUseCase>): Promise<Outcomes> {
    const created = await newOrders(manager, keys);
    const locked = await this.orders.lock(
      manager,
      keys.filter(({ newOrder }) => newOrder === undefined),
      onLocked,
    );
    const orders = new Map([...locked, ...created.values()].map((order) => [order.id, order]));
    const useCases = new UseCases(keys, await existingRefunds(manager, keys, orders));
    // In the order of arrival.
    const found = keys.flatMap(({ orderId }) => orders.get(orderId) ?? []);
    const loaded = await this.orders.withWallets(manager, found, onLocked, {
      isRefund: useCases.isNewRefund,
      isNew: ({ id }) => created.has(id),
    });
    // An order that is due goes alone: it does not expire if its use case is refused, and others may have its wallet.
    const due = loaded.filter(({ order, wallet }) => keys.length > 1 && order.isDue(wallet.now));
    const ready = loaded.filter((one) => !due.includes(one));
    for (const { order, wallet } of ready) order.expireIfDue(wallet);
    await loadCredits(manager, ready.map(useCases.needsOf));
    for (const { order, wallet } of ready) {
      const refund = useCases.undoneBy(order);
      if (refund !== undefined) await loadMoved(manager, wallet, { orderId: order.id, refundId: refund.id });
    }
    const outcomes = new Map(ready.map(({ order, wallet }) => [order.id, useCases.perform(order, wallet)]));
    const done = ready.filter(({ order }) => isDone(outcomes.get(order.id)!));
    await this.orders.save(manager, record, done);
    return keys.map(({ orderId, newOrder }) => {
      const order = orders.get(orderId);
      if (order === undefined && newOrder !== undefined) return { value: undefined };
      if (order === undefined)
        return onLocked === undefined ? { error: notFound('no order has this ID') } : { behind: orderId };
      return outcomes.get(orderId) ?? { behind: due.some((one) => one.order === order) ? orderId : ownerKey(order) };
    });
  }
}

type Outcomes = Outcome<Performed<unknown> | undefined>[];

/** Makes the new orders whose external IDs are not used yet, by their IDs. */
async function newOrders(manager: EntityManager, keys: readonly KeyedUseCase[]): Promise<ReadonlyMap<string, Order>> {
  // The transaction can run again, so each has orders of its own.
  const made = keys.flatMap(({ newOrder }) => (newOrder === undefined ? [] : copyOf(newOrder)));
  if (made.length === 0) return new Map();
  const existing = await existingKeys(manager, made);
  return new Map(made.flatMap((order) => (existing.has(externalKey(order)) ? [] : [[order.id, order]])));
}

/** The use cases of a transaction, each of an order of its own. */
class UseCases {
  readonly #keys: ReadonlyMap<string, KeyedUseCase>;
  readonly #refunds: ReadonlyMap<string, Refund>;

  constructor(
    keys: readonly KeyedUseCase[],
    private readonly refunds: readonly Refund[],
  ) {
    this.#keys = new Map(keys.map((key) => [key.orderId, key]));
    const named = refunds.filter((one) => isNamed(one, this.#keys.get(one.orderId)?.refund));
    this.#refunds = new Map(named.map((refund) => [refund.orderId, refund]));
  }

  readonly isNewRefund = ({ id, wasCompleted }: Order): boolean => {
    const { refund } = this.#keys.get(id)!;
    return wasCompleted && refund !== undefined && 'externalId' in refund && !this.#refunds.has(id);
  };

  readonly needsOf = ({ order, wallet }: LoadedOrder): NeededCredits => {
    const needs = this.#refunds.has(order.id) ? undefined : this.#keys.get(order.id)!.needs?.(order, wallet);
    return { wallet, orderId: order.id, ...needs };
  };

  /** The refund that a use case undoes, if it can be: what an earlier one moved can be in another wallet. */
  undoneBy({ id, version }: Order): Refund | undefined {
    const { refund } = this.#keys.get(id)!;
    const found = refund !== undefined && 'id' in refund ? this.#refunds.get(id) : undefined;
    const isPossible = found?.voidedAt === null && isLatest(found, version, this.#others(found));
    return isPossible ? found : undefined;
  }

  #others({ id, orderId }: Refund): Refund[] {
    return this.refunds.filter((refund) => refund.orderId === orderId && refund.id !== id);
  }

  perform(order: Order, wallet: WalletAggregate): Outcome<Performed<unknown>> {
    return outcomeOf(wallet, () => {
      order.expireIfDue(wallet);
      const named = this.#refunds.get(order.id);
      const others =
        named === undefined ? this.refunds.filter(({ orderId }) => orderId === order.id) : this.#others(named);
      const result = this.#keys.get(order.id)!.perform(order, wallet, named, others);
      return { order, wallet, result };
    });
  }
}

const isNamed = (refund: Refund, sought: OrderUseCase<unknown>['refund']): boolean =>
  sought !== undefined && ('id' in sought ? refund.id === sought.id : refund.externalId === sought.externalId);

/** The refund with an external ID or, with a flag, all of items. */
const MADE = 'merchant_id = ? AND order_id = ? AND (external_id = ? OR (? AND returned_items IS NOT NULL))';
/** A refund, and those that came after it. */
const UNDONE =
  'merchant_id = ? AND order_id = ? AND version >= (SELECT r.version FROM refunds r WHERE r.merchant_id = ? AND r.id = ?)';

/**
 * Reads the refunds that exist already, undone ones, too. The lock of the order, which comes before, keeps others from
 * making any.
 */
async function existingRefunds(
  manager: EntityManager,
  keys: readonly KeyedUseCase[],
  orders: ReadonlyMap<string, Order>,
): Promise<Refund[]> {
  const conditions: string[] = [];
  const parameters: unknown[] = [];
  for (const { merchantId, orderId, refund } of keys) {
    const { version = 0, completedVersion = null } = orders.get(orderId) ?? {};
    // Each refund made a version after the completed one.
    if (refund === undefined || completedVersion === null || version === completedVersion + 1) continue;
    conditions.push(`(${'id' in refund ? UNDONE : MADE})`);
    parameters.push(merchantId, orderId);
    if ('id' in refund) parameters.push(merchantId, refund.id);
    else parameters.push(Buffer.from(refund.externalId), refund.isByItems);
  }
  if (conditions.length === 0) return [];
  const sql = `SELECT ${columnNames(manager, Refund).join(', ')} FROM refunds WHERE ${conditions.join(' OR ')}`;
  const rows = await manager.query<Row[]>(sql, parameters);
  return rows.map((row) => toEntity(manager, Refund, row));
}
