import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { availableOf } from '../cashback/balances.service.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { cashbackToReceive } from '../cashback/quote.js';
import { type Validity, validityOf } from '../cashback/validity.js';
import { Clock } from '../common/clock.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { type Fault, Problem, validationFailed } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { AmendOrderDto } from './dto/create-order.dto.js';
import type { CompleteOrderDto, SetRedemptionDto } from './dto/finish-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import { readContent, readPaymentMethods } from './order-content.js';
import { differences, differingPaymentMethods } from './order-replay.js';
import type { Order } from './order.entity.js';
import { Refund } from './refund.entity.js';
import { LockedOrders, requireVersion } from './locked-orders.js';
import {
  effectivePaymentMethods,
  maximumToRedeem,
  refuseLapsed,
  refuseOverMaximum,
  totalsOf,
} from './order-cashback.js';
import { defaultExpiry, expiryProblem, invalidTransition, requireTransition, wasCompleted } from './order-status.js';
import { toOrderDto } from './order.mapper.js';

/**
 * What happens to an order until it is completed or cancelled. Each use case is one transaction that locks the order's
 * row, then the wallet's; repeating one that has happened returns the same result again.
 *
 * `versions` are the versions of the order that the caller allows to change; undefined allows any. A request that
 * changes nothing is not refused for its versions, unless another version was completed.
 */
@Injectable()
export class OrderLifecycleService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: LockedOrders,
    private readonly clock: Clock,
  ) {}

  /**
   * Holds cashback for an order until it expires, in place of an earlier hold. An expired order becomes pending again.
   *
   * @throws Problem not_found; invalid_transition; validation_failed if `expires_at` is out of bounds;
   *   precondition_failed; redemption_exceeds_maximum, with the maximum.
   */
  hold(
    merchantId: string,
    orderId: string,
    request: SetRedemptionDto,
    versions?: readonly string[],
  ): Promise<OrderDto> {
    const amountCents = parseMoney(request.amount);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const wallet = await this.orders.lockWallet(manager, record, order);
      requireTransition(order, order.status === 'expired' ? 'renew' : 'hold');
      if (isLastHold(order, amountCents, request.expires_at)) return this.orders.save(manager, record, order, wallet);
      const expiresAt = newExpiry(order, request.expires_at, wallet.now);
      const isMoved = +expiresAt !== +order.expiresAt;
      const isChanged = wallet.heldCents !== amountCents;
      if (isMoved || isChanged) requireVersion(order, versions);
      refuseOverMaximum({ ...order, status: 'pending' }, wallet, amountCents, '/amount');
      await this.orders.holdExactly(manager, order, wallet, amountCents);
      if (!isMoved && !isChanged) return this.orders.save(manager, record, order, wallet);
      const event = !isChanged
        ? 'order.renewed'
        : amountCents > 0
          ? 'order.redemption_held'
          : 'order.redemption_released';
      const values = { status: 'pending', redemptionCents: amountCents, expiresAt } as const;
      return this.orders.save(manager, record, order, wallet, { event, values });
    });
  }

  /**
   * Replaces the content of a pending order, which keeps its policy, its expiry and, if it can, its hold. The content
   * that it already has changes nothing.
   *
   * @throws Problem payments_exceed_total; not_found; validation_failed for the identity of another order;
   *   invalid_transition; precondition_failed; redemption_exceeds_maximum, with the maximum, if the hold is above it
   *   and is not to be lowered.
   */
  amend(merchantId: string, orderId: string, request: AmendOrderDto, versions?: readonly string[]): Promise<OrderDto> {
    const content = readContent(request);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      refuseOtherIdentity(order, request);
      const wallet = await this.orders.lockWallet(manager, record, order);
      requireTransition(order, 'amend');
      const amended = { ...order, ...content };
      const isChanged = differences(amended, order).length > 0;
      if (isChanged) requireVersion(order, versions);
      const redemptionCents = heldAfter(amended, wallet, request.redeem === 'maximum');
      const isLowered = await this.orders.holdExactly(manager, order, wallet, redemptionCents);
      if (!isChanged && !isLowered) return this.orders.save(manager, record, order, wallet);
      const values = { ...content, redemptionCents };
      return this.orders.save(manager, record, order, wallet, { event: 'order.amended', values });
    });
  }

  /**
   * Completes the sale: captures the hold (or holds and captures `redeem`), and grants the cashback. It works after
   * `expires_at` too, if the balance still allows it.
   *
   * @throws Problem not_found; invalid_transition, also where it was completed with different values;
   *   precondition_failed; payments_exceed_total; redemption_lapsed; redemption_exceeds_maximum;
   *   redemption_no_longer_available.
   */
  complete(
    merchantId: string,
    orderId: string,
    request: CompleteOrderDto,
    versions?: readonly string[],
  ): Promise<OrderDto> {
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      if (wasCompleted(order)) {
        refuseOtherCompletion(order, request);
        await requireCompletedVersion(manager, order, versions);
        return this.#view(manager, order);
      }
      const wallet = await this.orders.lockWallet(manager, record, order);
      requireTransition(order, 'complete');
      requireVersion(order, versions);
      if (request.redeem === undefined) refuseLapsed(order, wallet.availableCents);
      const redeemCents = request.redeem === undefined ? order.redemptionCents : parseMoney(request.redeem);
      refuseOverMaximum(order, wallet, redeemCents, '/redeem', UNDERPAID);
      if (request.payment_methods)
        order.finalPaymentMethods = readPaymentMethods(request.payment_methods, order.totalCents, redeemCents);
      await this.orders.holdExactly(manager, order, wallet, redeemCents);
      wallet.capture(order.id);
      const validity = validityOf(order.policy, wallet.now);
      const earnedCents = earn(order, wallet, redeemCents, validity);
      const completed: Partial<Order> = {
        status: 'completed',
        completedAt: wallet.now,
        redemptionCents: redeemCents,
        earnedCents,
        finalPaymentMethods: order.finalPaymentMethods,
        cashbackAvailableAt: validity.availableAt,
        cashbackExpiresAt: validity.expiresAt,
      };
      return this.orders.save(manager, record, order, wallet, { event: 'order.completed', values: completed });
    });
  }

  /**
   * Releases the hold and ends the order.
   *
   * @throws Problem not_found; invalid_transition for an order that has been completed; precondition_failed.
   */
  cancel(merchantId: string, orderId: string, versions?: readonly string[]): Promise<OrderDto> {
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      if (order.cancelledAt !== null) return this.#view(manager, order);
      const wallet = await this.orders.lockWallet(manager, record, order);
      requireTransition(order, 'cancel');
      requireVersion(order, versions);
      wallet.releaseHold(order);
      const values: Partial<Order> = { status: 'cancelled', cancelledAt: wallet.now, redemptionCents: 0 };
      return this.orders.save(manager, record, order, wallet, { event: 'order.cancelled', values });
    });
  }

  async #view(manager: EntityManager, order: Order): Promise<OrderDto> {
    const now = this.clock.now();
    const availableIn = await availableOf(manager, [order], now);
    return toOrderDto(order, availableIn(order), now);
  }
}

/** Returns whether an expired order had exactly this hold: a request that is repeated after its own `expires_at`. */
function isLastHold(order: Order, amountCents: number, requested: string | undefined): boolean {
  const isSame = requested !== undefined && Date.parse(requested) === +order.expiresAt;
  return order.status === 'expired' && isSame && amountCents === order.lapsedCents;
}

/** Returns when the order expires after the request. @throws Problem validation_failed if that is out of bounds. */
function newExpiry(order: Order, requested: string | undefined, now: Date): Date {
  const isExpired = order.status === 'expired';
  if (requested === undefined) return isExpired ? defaultExpiry(order.policy, now) : order.expiresAt;
  const expiresAt = new Date(requested);
  // A repeated request can come later than one minute before the instant that it sets.
  const isRepeated = !isExpired && +expiresAt === +order.expiresAt;
  const problem = isRepeated ? undefined : expiryProblem(expiresAt, order.policy, now);
  if (problem !== undefined) throw problem;
  return expiresAt;
}

/** Returns what an amended order holds, in centavos. @throws Problem redemption_exceeds_maximum. */
function heldAfter(amended: Order, wallet: WalletAggregate, isLowered: boolean): number {
  if (isLowered) return Math.min(amended.redemptionCents, maximumToRedeem(amended, wallet.availableCents).maximumCents);
  refuseOverMaximum(amended, wallet, amended.redemptionCents);
  return amended.redemptionCents;
}

/** A smaller `redeem` completes an order whose customer has perhaps been charged less than the rest. */
const UNDERPAID = ': if the customer was charged less, first decide who pays the difference';

/** Adds the cashback of an order that is being completed. @returns the earned cashback in centavos. */
function earn(order: Order, wallet: WalletAggregate, redeemedCents: number, validity: Validity): number {
  const { availableAt, expiresAt } = validity;
  const earnedCents = cashbackToReceive({ ...totalsOf(order), redeemedCents }, order.policy);
  if (earnedCents > 0) wallet.addCredit({ orderId: order.id }, earnedCents, availableAt, expiresAt);
  return earnedCents;
}

/** An amendment may repeat what identifies an order, and cannot change it. */
function refuseOtherIdentity(order: Order, { external_id, document }: AmendOrderDto): void {
  const faults: Fault[] = [];
  if (external_id !== undefined && external_id !== order.externalId)
    faults.push({ pointer: '/external_id', detail: 'must be the external_id of the order, which cannot be changed' });
  if (document !== undefined && document !== order.document)
    faults.push({ pointer: '/document', detail: 'must be the document of the order, which cannot be changed' });
  if (faults.length > 0) throw validationFailed(faults);
}

/**
 * A repeat names the version that was completed. With another version it is another request, perhaps for a second
 * charge.
 *
 * @throws Problem precondition_failed.
 */
async function requireCompletedVersion(
  manager: EntityManager,
  { id: orderId, merchantId, version }: Order,
  versions: readonly string[] | undefined,
): Promise<void> {
  if (versions === undefined) return;
  // Since then, only refunds have changed the order.
  const completed = version - 1 - (await manager.countBy(Refund, { orderId, merchantId }));
  if (versions.includes(String(completed))) return;
  throw new Problem('precondition_failed', {
    detail: `version ${completed} of the order was completed, and If-Match does not name "${completed}"; if the customer was charged again, pay that back`,
  });
}

const DIFFERENT_COMPLETION =
  'it was already completed with different values; if the customer was charged again, pay that back';

/** Completing again with the same values is a replay. With different values it is an error. */
function refuseOtherCompletion(order: Order, request: CompleteOrderDto): void {
  const errors: Fault[] = [];
  if (request.redeem !== undefined && parseMoney(request.redeem) !== order.redemptionCents) {
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
  if (errors.length > 0) throw invalidTransition(order, DIFFERENT_COMPLETION, errors);
}
