import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { walletData } from '../cashback/wallet-events.js';
import type { WalletSums } from '../cashback/wallet-summary.js';
import { WalletsService } from '../cashback/wallets.service.js';
import type { FeedEvent, OrderEventType, Recorder } from '../common/domain-event.js';
import { notFound, Problem } from '../common/problem.js';
import type { OrderDto } from './dto/order.dto.js';
import { Order } from './order.entity.js';
import { toOrderDto } from './order.mapper.js';

/** A change of an order: its columns, and what the event of it says apart from the order and the wallet. */
export interface OrderChange {
  event: OrderEventType;
  values: Partial<Order>;
  more?: object;
}

/** Locks orders and saves their changes. The order's row is always locked first, before the wallet's. */
@Injectable()
export class LockedOrders {
  constructor(private readonly wallets: WalletsService) {}

  /** @throws Problem not_found, also for an order of another merchant. */
  async findForUpdate(manager: EntityManager, merchantId: string, id: string): Promise<Order> {
    const order = await manager.findOne(Order, { where: { id, merchantId }, lock: { mode: 'pessimistic_write' } });
    if (order === null) throw notFound('no order has this ID');
    return order;
  }

  /**
   * Locks the wallet of a locked order. An order that is due expires first: its hold is released.
   *
   * @returns the wallet, with the order's holds.
   */
  async lockWallet(manager: EntityManager, record: Recorder, order: Order): Promise<WalletAggregate> {
    const wallet = await this.wallets.lock(manager, order, order);
    if (order.status === 'pending' && order.expiresAt <= wallet.now) {
      wallet.releaseHold(order);
      const { redemptionCents: lapsedCents } = order;
      Object.assign(order, { status: 'expired', redemptionCents: 0, lapsedCents, ...nextVersion(order, wallet.now) });
      record(orderEvent('order.expired', order, toOrderDto(order, wallet.availableCents, wallet.now), wallet.sums));
    }
    return wallet;
  }

  /** Sets the order's hold to an amount. @returns false if nothing changed. */
  async holdExactly(
    manager: EntityManager,
    order: Order,
    wallet: WalletAggregate,
    amountCents: number,
  ): Promise<boolean> {
    if (wallet.heldCents === amountCents) return false;
    await this.wallets.loadAvailable(manager, wallet, amountCents);
    wallet.replaceHold(order, amountCents);
    return true;
  }

  /**
   * Saves the wallet and, if the order changes or has expired, its next version.
   *
   * @param change what changes, and the event of it; undefined for an order that did not change, apart from having
   *   expired.
   * @returns the order in its new state.
   */
  async save(
    manager: EntityManager,
    record: Recorder,
    order: Order,
    wallet: WalletAggregate,
    change?: OrderChange,
  ): Promise<OrderDto> {
    await this.wallets.save(manager, record, wallet);
    if (change !== undefined)
      Object.assign(order, { lapsedCents: 0, ...change.values, ...nextVersion(order, wallet.now) });
    const dto = toOrderDto(order, wallet.availableCents, wallet.now);
    if (change !== undefined) record(orderEvent(change.event, order, dto, wallet.sums, change.more));
    if (change !== undefined || order.status === 'expired') {
      // An order that was due has expired in memory only.
      const { id, merchantId, status, redemptionCents, lapsedCents, version, updatedAt } = order;
      const changed = { ...change?.values, status, redemptionCents, lapsedCents, version, updatedAt };
      await manager.update(Order, { id, merchantId }, changed);
    }
    return dto;
  }
}

/**
 * Returns the event of an order's new version. The items are many, and only an amendment changes them.
 *
 * @param dto the order in that version, at `updated_at`.
 * @param sums the customer's wallet.
 * @param more what the event says apart from the order and the wallet.
 */
export function orderEvent(
  type: OrderEventType,
  { merchantId, id: subjectId, updatedAt: at }: Order,
  dto: OrderDto,
  sums: WalletSums,
  more: object = {},
): FeedEvent {
  const { document: _, items: _items, ...shown } = dto;
  const order = { ...shown, metadata: {} };
  return { type, merchantId, subjectId, at, data: { order, ...more, wallet: walletData(sums) } };
}

function nextVersion({ version }: Order, now: Date): Pick<Order, 'version' | 'updatedAt'> {
  return { version: version + 1, updatedAt: now };
}

/**
 * @param versions the versions that the caller allows; undefined allows any.
 * @throws Problem precondition_failed.
 */
export function requireVersion({ version }: Order, versions: readonly string[] | undefined): void {
  if (versions === undefined || versions.includes(String(version))) return;
  throw new Problem('precondition_failed', {
    detail: `the order is at version ${version}: If-Match does not name "${version}" (a weak tag never matches)`,
  });
}
