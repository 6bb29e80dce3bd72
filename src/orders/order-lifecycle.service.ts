import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { BalancesService, type OrderBalance } from '../cashback/balances.service.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { cashbackToReceive, validityOf } from '../cashback/quote.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { Clock } from '../common/clock.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { type Fault, Problem } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { CompleteOrderDto, SetRedemptionDto } from './dto/finish-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import { differingPaymentMethods } from './idempotency.js';
import { Order } from './order.entity.js';
import { OrderLock } from './order-lock.js';
import { readPaymentMethods } from './order-input.js';
import { effectivePaymentMethods, maximumToRedeem } from './order-quote.js';
import { invalidTransition, requireTransition, statusOf, wasCompleted } from './order-status.js';
import { toOrderDto } from './order.mapper.js';

/**
 * What happens to an order until it is completed or cancelled. Each use case is one transaction that locks the order's
 * row, then the wallet's; repeating one that has happened returns the same result again.
 */
@Injectable()
export class OrderLifecycleService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderLock,
    private readonly wallets: WalletsService,
    private readonly balances: BalancesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Holds that much of the customer's cashback for a pending order until it expires, in place of an earlier hold.
   *
   * @throws Problem not_found; invalid_transition; redemption_exceeds_maximum, with the maximum.
   */
  setRedemption(merchantId: string, orderId: string, request: SetRedemptionDto): Promise<OrderDto> {
    const amountCents = parseMoney(request.amount);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const wallet = await this.wallets.lock(manager, order, order.id);
      requireTransition(order, 'hold', wallet.now);
      refuseOverMaximum(order, wallet, amountCents);
      if (await this.#holdExactly(manager, order, wallet, amountCents))
        record({ type: 'order.redemption_held', merchantId, orderId, amountCents });
      order.redemptionCents = amountCents;
      return this.#save(manager, order, wallet);
    });
  }

  /**
   * The sale is done: captures the hold (or holds and captures `redeem`), and grants the cashback. It works
   * after `expires_at` too, if the balance still allows it.
   *
   * @throws Problem not_found; invalid_transition, also where it was completed with different values;
   *   payments_exceed_total; redemption_exceeds_maximum; redemption_no_longer_available.
   */
  complete(merchantId: string, orderId: string, request: CompleteOrderDto): Promise<OrderDto> {
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      if (wasCompleted(order)) {
        refuseOtherCompletion(order, request, this.clock.now());
        return this.#view(manager, order);
      }
      const wallet = await this.wallets.lock(manager, order, order.id);
      requireTransition(order, 'complete', wallet.now);
      if (request.payment_methods)
        order.finalPaymentMethods = readPaymentMethods(request.payment_methods, order.totalCents);
      const redeemCents = typeof request.redeem === 'string' ? parseMoney(request.redeem) : order.redemptionCents;
      refuseOverMaximum(order, wallet, redeemCents);
      await this.#holdExactly(manager, order, wallet, redeemCents);
      wallet.capture(order.id);
      const earnedCents = earn(order, wallet, redeemCents);
      record({ type: 'order.completed', merchantId, orderId, redeemedCents: redeemCents, earnedCents });
      return this.#save(manager, order, wallet);
    });
  }

  /**
   * Releases the hold and ends the order.
   *
   * @throws Problem not_found; invalid_transition for an order that has been completed.
   */
  cancel(merchantId: string, orderId: string): Promise<OrderDto> {
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      if (order.cancelledAt !== null) return this.#view(manager, order);
      const wallet = await this.wallets.lock(manager, order, order.id);
      requireTransition(order, 'cancel', wallet.now);
      wallet.releaseHold(order.id);
      record({ type: 'order.cancelled', merchantId, orderId });
      const cancelled: Partial<Order> = { status: 'cancelled', cancelledAt: wallet.now, redemptionCents: 0 };
      return this.#save(manager, Object.assign(order, cancelled), wallet);
    });
  }

  /** Sets the order's hold to an amount. @returns false if it already was that amount. */
  async #holdExactly(
    manager: EntityManager,
    order: Order,
    wallet: WalletAggregate,
    amountCents: number,
  ): Promise<boolean> {
    if (wallet.heldForCents(order.id) === amountCents) return false;
    wallet.releaseHold(order.id);
    if (amountCents === 0) return true;
    await this.wallets.loadAvailable(manager, wallet, amountCents);
    wallet.hold(order, amountCents);
    return true;
  }

  async #save(manager: EntityManager, order: Order, wallet: WalletAggregate): Promise<OrderDto> {
    await this.wallets.save(manager, wallet);
    const { status, completedAt, cancelledAt, redemptionCents, earnedCents, finalPaymentMethods } = order;
    await manager.update(
      Order,
      { id: order.id },
      { status, completedAt, cancelledAt, redemptionCents, earnedCents, finalPaymentMethods },
    );
    return toOrderDto(order, balanceOf(order, wallet), wallet.now);
  }

  /** Returns an order that has no hold, in its current state. */
  async #view(manager: EntityManager, order: Order): Promise<OrderDto> {
    const now = this.clock.now();
    const availableCents = await this.balances.availableTo(manager, order, now);
    return toOrderDto(order, { availableCents, heldCents: 0 }, now);
  }
}

function balanceOf(order: Order, wallet: WalletAggregate): OrderBalance {
  return { availableCents: wallet.availableCents, heldCents: wallet.heldForCents(order.id) };
}

/** Marks the order as completed and adds its cashback. @returns the earned cashback in centavos. */
function earn(order: Order, wallet: WalletAggregate, redeemedCents: number): number {
  const { totalCents, policy } = order;
  const earnedCents = cashbackToReceive(
    { totalCents, redeemedCents, paymentMethods: effectivePaymentMethods(order) },
    policy,
  );
  const completed: Partial<Order> = { completedAt: wallet.now, redemptionCents: redeemedCents, earnedCents };
  Object.assign(order, { status: 'completed', ...completed });
  if (earnedCents === 0) return 0;
  const { availableAt, expiresAt } = validityOf(policy, wallet.now);
  wallet.addCredit({ orderId: order.id }, earnedCents, availableAt, expiresAt);
  return earnedCents;
}

function refuseOverMaximum(order: Order, wallet: WalletAggregate, amountCents: number): void {
  const { maximumCents, limitedBy } = maximumToRedeem(order, balanceOf(order, wallet));
  if (amountCents <= maximumCents) return;
  const maximum = formatMoney(maximumCents);
  // The hold lapsed and another order took the balance, so the same amount may have been accepted before.
  const isLate = statusOf(order, wallet.now) === 'expired' && limitedBy === 'balance';
  throw new Problem(isLate ? 'redemption_no_longer_available' : 'redemption_exceeds_maximum', {
    detail: `at most ${maximum} can be redeemed on this order now`,
    extensions: { maximum, limited_by: limitedBy },
  });
}

/** Completing again with the same values is a replay. With different values it is an error. */
function refuseOtherCompletion(order: Order, request: CompleteOrderDto, now: Date): void {
  const errors: Fault[] = [];
  if (typeof request.redeem === 'string' && parseMoney(request.redeem) !== order.redemptionCents) {
    errors.push({ pointer: '/redeem', detail: `the order was completed with ${formatMoney(order.redemptionCents)}` });
  }
  if (request.payment_methods) {
    errors.push(
      ...differingPaymentMethods(
        readPaymentMethods(request.payment_methods, order.totalCents),
        effectivePaymentMethods(order),
      ),
    );
  }
  if (errors.length > 0) throw invalidTransition(order, now, 'it was already completed with different values', errors);
}
