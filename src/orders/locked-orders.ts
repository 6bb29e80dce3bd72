import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { notFound, Problem } from '../common/problem.js';
import type { OrderDto } from './dto/order.dto.js';
import { balanceOf } from './order-cashback.js';
import { Order } from './order.entity.js';
import { toOrderDto } from './order.mapper.js';

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

  /** Sets the order's hold to an amount, until the order expires. @returns false if nothing changed. */
  async holdExactly(
    manager: EntityManager,
    order: Order,
    wallet: WalletAggregate,
    amountCents: number,
  ): Promise<boolean> {
    if (wallet.holdsExactly(order, amountCents)) return false;
    await this.wallets.loadAvailable(manager, wallet, amountCents);
    wallet.replaceHold(order, amountCents);
    return true;
  }

  /** Saves the wallet and, if the order changes, its next version. @returns the order in its new state. */
  async save(
    manager: EntityManager,
    order: Order,
    wallet: WalletAggregate,
    changes: Partial<Order>,
  ): Promise<OrderDto> {
    await this.wallets.save(manager, wallet);
    if (Object.keys(changes).length > 0) {
      const changed = { ...changes, ...nextVersion(order, wallet.now) };
      await manager.update(Order, { id: order.id, merchantId: order.merchantId }, changed);
      Object.assign(order, changed);
    }
    return toOrderDto(order, balanceOf(order, wallet), wallet.now);
  }
}

/** Returns the members that every change of an order changes too. The clocks of two instances can differ. */
function nextVersion({ version, updatedAt }: Order, now: Date): Pick<Order, 'version' | 'updatedAt'> {
  return { version: version + 1, updatedAt: updatedAt > now ? updatedAt : now };
}

/**
 * @param versions the versions that the caller allows; undefined allows any.
 * @throws Problem precondition_failed.
 */
export function requireVersion({ version }: Order, versions: readonly string[] | undefined): void {
  if (versions === undefined || versions.includes(String(version))) return;
  throw new Problem('precondition_failed', { detail: `the order is at version ${version}, which is not in If-Match` });
}
