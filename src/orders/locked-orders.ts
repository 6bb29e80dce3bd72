import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import type { OrderBalance } from '../cashback/balances.service.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { formatMoney } from '../common/money.js';
import { Problem } from '../common/problem.js';
import type { OrderDto } from './dto/order.dto.js';
import { Order } from './order.entity.js';
import { toOrderDto } from './order.mapper.js';
import { maximumToRedeem } from './order-quote.js';
import { statusOf } from './order-status.js';
import { nextVersion } from './order-version.js';

/** What the changes of an order have in common. The order and its wallet are locked. */
@Injectable()
export class OrderChanges {
  constructor(private readonly wallets: WalletsService) {}

  /** Sets the order's hold to an amount, until the order expires. @returns false if it already was so. */
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

export function balanceOf(order: Order, wallet: WalletAggregate): OrderBalance {
  return { availableCents: wallet.availableCents, heldCents: wallet.heldForCents(order.id) };
}

/** @throws Problem redemption_exceeds_maximum or redemption_no_longer_available, with the maximum. */
export function refuseOverMaximum(order: Order, wallet: WalletAggregate, amountCents: number): void {
  refuseOverBalance(order, balanceOf(order, wallet), amountCents, wallet.now);
}

/** @throws Problem redemption_exceeds_maximum or redemption_no_longer_available, with the maximum. */
export function refuseOverBalance(order: Order, balance: OrderBalance, amountCents: number, now: Date): void {
  const { maximumCents, limitedBy } = maximumToRedeem(order, balance);
  if (amountCents <= maximumCents) return;
  const maximum = formatMoney(maximumCents);
  // The hold lapsed and another order used the balance. Before that, a smaller amount would not have been refused.
  const isLate = statusOf(order, now) === 'expired' && limitedBy === 'balance';
  throw new Problem(isLate ? 'redemption_no_longer_available' : 'redemption_exceeds_maximum', {
    detail: `at most ${maximum} can be redeemed on this order now`,
    extensions: { maximum, limited_by: limitedBy },
  });
}
