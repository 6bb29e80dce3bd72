import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type WalletAggregate } from '../cashback/wallet-aggregate.js';
import { loadCredits, type NeededCredits } from '../cashback/wallet-credits.js';
import { ownerKey } from '../cashback/wallet.entity.js';
import { unlessRefused } from '../cashback/wallet.store.js';
import { anyOf } from '../platform/database/by-merchant.js';
import { columnNames, type Row, toEntity } from '../platform/database/rows.js';
import {
  AGAIN,
  isDone,
  type Outcome,
  outcomeOf,
  type Shared,
  type SharedRequest,
  SharedStatements,
  type SharedUseCases,
} from '../platform/database/shared.js';
import { notFound } from '../platform/values/problem.js';
import { type Order } from './order.entity.js';
import { type LoadedOrder, OrderStore } from './order.store.js';
import { Refund } from './refund.entity.js';

/** What happens to an order in a transaction. */
export interface OrderUseCase<T> {
  /** The refund that is made, unless it exists already. */
  refund?: { externalId: string; isByItems: boolean };
  /** The credits that it needs of the wallet, besides what the order holds. */
  needs?: (order: Order, wallet: WalletAggregate) => Omit<NeededCredits, 'wallet' | 'orderId'>;
  /**
   * Throws a problem only before it has changed anything.
   *
   * @param refund the refund that exists already.
   * @param refunds if it is by items, all of the order that are.
   */
  perform: (order: Order, wallet: WalletAggregate, refund: Refund | undefined, refunds: readonly Refund[]) => T;
}

interface KeyedUseCase extends OrderUseCase<unknown> {
  merchantId: string;
  orderId: string;
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
 * A transaction locks the orders, reads the refunds that exist, claims and locks the wallets, expires what is due,
 * loads the credits that each use case `needs`, lets each `perform`, and saves and records what changed. A use case
 * ends with a value or its error; it is sent again, alone, if another transaction has locked what it needs, and with
 * others after a wallet that was missing exists.
 */
@Injectable()
export class OrderTransactionsService {
  readonly #shared: Shared<KeyedUseCase, Performed<unknown>>;

  constructor(
    shared: SharedStatements,
    private readonly orders: OrderStore,
  ) {
    this.#shared = shared.createTransaction(
      'order_use_cases',
      ({ orderId }) => orderId,
      (useCases) => this.#perform(useCases),
    );
  }

  /** An order that is due expires first. @throws Problem not_found, also for an order of another merchant. */
  run<T>(merchantId: string, orderId: string, useCase: OrderUseCase<T>): Promise<Performed<T>> {
    return this.#shared.get({ merchantId, orderId, ...useCase }) as Promise<Performed<T>>;
  }

  async #perform({ manager, record, requests, onLocked }: SharedUseCases<KeyedUseCase>): Promise<Outcomes> {
    const keys = requests.map(({ key }) => key);
    const locked = await this.orders.lock(manager, keys, onLocked);
    const orders = new Map(locked.map((order) => [order.id, order]));
    const refunded = keys.filter(({ orderId }) => orders.get(orderId)?.refundedCents);
    const useCases = new UseCases(keys, await existingRefunds(manager, refunded));
    const claimed = claimWallets(requests, orders);
    const { loaded, withoutWallet } = await this.orders.withWallets(manager, claimed, onLocked, useCases.isNewRefund);
    // An order that is due goes alone: it does not expire if its use case is refused, and others may have its wallet.
    const ready = loaded.filter(({ order, wallet }) => onLocked === undefined || !order.isDue(wallet.now));
    for (const { order, wallet } of ready) order.expireIfDue(wallet);
    await loadCredits(manager, ready.map(useCases.needsOf));
    const outcomes = new Map(ready.map(({ order, wallet }) => [order.id, useCases.perform(order, wallet)]));
    const done = ready.filter(({ order }) => isDone(outcomes.get(order.id)!));
    await this.orders.save(manager, record, done);
    return keys.map(({ orderId }) => {
      const order = orders.get(orderId);
      if (order === undefined) return onLocked === undefined ? { error: notFound('no order has this ID') } : 'locked';
      // Another transaction in this process has the wallet of those that are not claimed.
      if (!claimed.includes(order)) return AGAIN;
      const other = withoutWallet.get(ownerKey(order)) ?? 'locked';
      return outcomes.get(orderId) ?? unlessRefused(other, (empty) => useCases.perform(order, empty));
    });
  }
}

type Outcomes = Outcome<Performed<unknown>>[];

/** Claims the wallets of orders, in the order of arrival. @returns the orders of those that have them. */
function claimWallets(requests: readonly SharedRequest<KeyedUseCase>[], orders: ReadonlyMap<string, Order>): Order[] {
  return requests.flatMap((request) => {
    const order = orders.get(request.key.orderId);
    return order !== undefined && request.claim(ownerKey(order)) ? [order] : [];
  });
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
    const made = refunds.filter((refund) => this.#keys.get(refund.orderId)?.refund?.externalId === refund.externalId);
    this.#refunds = new Map(made.map((refund) => [refund.orderId, refund]));
  }

  readonly isNewRefund = ({ id, wasCompleted }: Order): boolean =>
    wasCompleted && this.#keys.get(id)!.refund !== undefined && !this.#refunds.has(id);

  readonly needsOf = ({ order, wallet }: LoadedOrder): NeededCredits => {
    const needs = this.#refunds.has(order.id) ? undefined : this.#keys.get(order.id)!.needs?.(order, wallet);
    return { wallet, orderId: order.id, ...needs };
  };

  perform(order: Order, wallet: WalletAggregate): Outcome<Performed<unknown>> {
    return outcomeOf(() => {
      order.expireIfDue(wallet);
      const refunds = this.refunds.filter(({ orderId }) => orderId === order.id);
      const result = this.#keys.get(order.id)!.perform(order, wallet, this.#refunds.get(order.id), refunds);
      return { order, wallet, result };
    });
  }
}

/** Reads the refunds that exist already. The lock of the order, which comes before, keeps others from making any. */
async function existingRefunds(manager: EntityManager, keys: readonly KeyedUseCase[]): Promise<Refund[]> {
  const made = keys.flatMap(({ merchantId, orderId, refund }) =>
    refund === undefined ? [] : [[merchantId, orderId, Buffer.from(refund.externalId), refund.isByItems]],
  );
  if (made.length === 0) return [];
  const sql = `
    SELECT ${columnNames(manager, Refund).join(', ')} FROM refunds
     WHERE ${anyOf(made.length, 'merchant_id = ? AND order_id = ? AND (external_id = ? OR (? AND returned_items IS NOT NULL))')}`;
  const rows = await manager.query<Row[]>(sql, made.flat());
  return rows.map((row) => toEntity(manager, Refund, row));
}
