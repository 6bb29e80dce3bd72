import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { BalancesService } from '../cashback/balances.service.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { cashbackToReceive, redeemableMaximum } from '../cashback/quote.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { Clock } from '../common/clock.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { type Fault, Problem } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { Metrics } from '../metrics/metrics.js';
import type { CompleteOrderDto, SetRedemptionDto } from './dto/finish-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import { Order } from './order.entity.js';
import { OrderLock } from './order-lock.js';
import { differingPaymentMethods, readPaymentMethods } from './order-input.js';
import { invalidTransition, isOpen, statusOf, wasCompleted } from './order-status.js';
import { effectivePaymentMethods, toOrderDto, validityOf } from './order.mapper.js';

/**
 * What happens to an order until it is finished. Each use case is one transaction that locks the order's
 * row, then the wallet's; repeating one that has happened answers the same again.
 */
@Injectable()
export class OrderLifecycleService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderLock,
    private readonly wallets: WalletsService,
    private readonly balances: BalancesService,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  /**
   * Holds that much of the customer's cashback for a pending order until it expires, in place of an earlier hold.
   *
   * @throws Problem not_found; invalid_transition; redemption_exceeds_maximum, with the maximum.
   */
  setRedemption(merchantId: string, orderId: string, request: SetRedemptionDto): Promise<OrderDto> {
    const amountCents = parseMoney(request.amount);
    return this.unitOfWork.transaction(async (manager) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const now = this.clock.now();
      if (statusOf(order, now) !== 'pending')
        throw invalidTransition(order, now, 'cashback can only be held while it is pending');
      const wallet = await this.wallets.lock(manager, merchantId, order.document, now);
      refuseOverMaximum(order, wallet, amountCents, now);
      holdExactly(order, wallet, amountCents);
      order.redemptionCents = amountCents;
      await this.#save(manager, order, wallet);
      return toOrderDto(order, wallet.availableCents, now);
    });
  }

  /**
   * The sale is done: captures the hold (or holds and captures `redeem`), and grants the cashback. It works
   * after `expires_at` too, if the balance still allows it.
   *
   * @throws Problem not_found; invalid_transition, also where it was completed otherwise before;
   *   payments_exceed_total; redemption_exceeds_maximum; redemption_no_longer_available.
   */
  async complete(merchantId: string, orderId: string, request: CompleteOrderDto): Promise<OrderDto> {
    let completed: Order | undefined;
    const answer = await this.unitOfWork.transaction(async (manager) => {
      completed = undefined;
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const now = this.clock.now();
      if (wasCompleted(order)) {
        refuseOtherCompletion(order, request, now);
        return this.#view(manager, order, now);
      }
      if (!isOpen(order)) throw invalidTransition(order, now, 'it cannot be completed');

      if (request.payment_methods)
        order.finalPaymentMethods = readPaymentMethods(request.payment_methods, order.totalCents);
      const redeemCents = typeof request.redeem === 'string' ? parseMoney(request.redeem) : order.redemptionCents;
      const wallet = await this.wallets.lock(manager, merchantId, order.document, now);
      refuseOverMaximum(order, wallet, redeemCents, now);
      holdExactly(order, wallet, redeemCents);
      wallet.capture(order.id);
      this.#earn(order, wallet, redeemCents, now);
      await this.#save(manager, order, wallet);
      completed = order;
      return toOrderDto(order, wallet.availableCents, now);
    });
    // Counted once it is committed: a use case may run several times.
    if (completed !== undefined) this.metrics.orderCompleted(completed.redemptionCents, completed.earnedCents);
    return answer;
  }

  /**
   * Lets the hold go and ends the order.
   *
   * @throws Problem not_found; invalid_transition for an order that has been completed.
   */
  cancel(merchantId: string, orderId: string): Promise<OrderDto> {
    return this.unitOfWork.transaction(async (manager) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const now = this.clock.now();
      if (order.cancelledAt !== null) return this.#view(manager, order, now);
      if (!isOpen(order)) throw invalidTransition(order, now, 'it cannot be cancelled; refund it instead');
      const wallet = await this.wallets.lock(manager, merchantId, order.document, now);
      wallet.releaseHold(order.id);
      Object.assign(order, { status: 'cancelled', cancelledAt: now, redemptionCents: 0 } satisfies Partial<Order>);
      await this.#save(manager, order, wallet);
      return toOrderDto(order, wallet.availableCents, now);
    });
  }

  #earn(order: Order, wallet: WalletAggregate, redeemedCents: number, now: Date): void {
    const { totalCents, policy } = order;
    const earnedCents = cashbackToReceive(
      { totalCents, redeemedCents, paymentMethods: effectivePaymentMethods(order) },
      policy,
    );
    Object.assign(order, {
      status: 'completed',
      completedAt: now,
      redemptionCents: redeemedCents,
      earnedCents,
    } satisfies Partial<Order>);
    if (earnedCents === 0) return;
    const { availableAt, expiresAt } = validityOf(policy, now);
    wallet.addCredit({ orderId: order.id }, earnedCents, availableAt, expiresAt);
  }

  async #save(manager: EntityManager, order: Order, wallet: WalletAggregate): Promise<void> {
    await this.wallets.save(manager, wallet);
    const { status, completedAt, cancelledAt, redemptionCents, earnedCents, finalPaymentMethods } = order;
    await manager.update(
      Order,
      { id: order.id },
      { status, completedAt, cancelledAt, redemptionCents, earnedCents, finalPaymentMethods },
    );
  }

  async #view(manager: EntityManager, order: Order, now: Date): Promise<OrderDto> {
    return toOrderDto(order, await this.balances.availableTo(manager, order, now), now);
  }
}

/** Makes the hold of an order exactly that much; one that is so already stays as it is. */
function holdExactly(order: Order, wallet: WalletAggregate, amountCents: number): void {
  if (wallet.heldForCents(order.id) === amountCents) return;
  wallet.releaseHold(order.id);
  if (amountCents > 0) wallet.hold(order, amountCents);
}

function refuseOverMaximum(order: Order, wallet: WalletAggregate, amountCents: number, now: Date): void {
  if (amountCents === 0) return;
  const balanceCents = wallet.availableCents + wallet.heldForCents(order.id);
  const { maximumCents, limitedBy } = redeemableMaximum(order.totalCents, balanceCents, order.policy);
  if (amountCents <= maximumCents) return;
  const maximum = formatMoney(maximumCents);
  // The hold has lapsed and somebody else took the balance: asking for less would have been right once.
  const isLate = statusOf(order, now) === 'expired' && limitedBy === 'balance';
  throw new Problem(isLate ? 'redemption_no_longer_available' : 'redemption_exceeds_maximum', {
    detail: `at most ${maximum} can be redeemed on this order now`,
    extensions: { maximum, limited_by: limitedBy },
  });
}

/** Completing again is fine; completing again with other content would be answered with something it did not ask for. */
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
  if (errors.length > 0) throw invalidTransition(order, now, 'it was completed otherwise', errors);
}
