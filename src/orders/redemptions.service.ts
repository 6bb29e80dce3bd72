import { Injectable } from '@nestjs/common';
import { WalletsService } from '../cashback/wallets.service.js';
import { parseMoney } from '../common/money.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { SetRedemptionDto } from './dto/finish-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import type { Order } from './order.entity.js';
import { OrderChanges, refuseOverMaximum } from './order-changes.js';
import { defaultExpiry, expiryProblem } from './order-expiry.js';
import { OrderLock } from './order-lock.js';
import { requireTransition, statusOf } from './order-status.js';

/** Holds cashback for orders, and renews orders that have expired. */
@Injectable()
export class RedemptionsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderLock,
    private readonly wallets: WalletsService,
    private readonly changes: OrderChanges,
  ) {}

  /**
   * Holds cashback for an order until it expires, in place of an earlier hold. An expired order becomes pending again.
   *
   * @throws Problem not_found; invalid_transition; validation_failed if `expires_at` is out of bounds;
   *   redemption_exceeds_maximum, with the maximum.
   */
  hold(merchantId: string, orderId: string, request: SetRedemptionDto): Promise<OrderDto> {
    const amountCents = parseMoney(request.amount);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const wallet = await this.wallets.lock(manager, order, order.id);
      const isExpired = statusOf(order, wallet.now) === 'expired';
      requireTransition(order, isExpired ? 'renew' : 'hold', wallet.now);
      const expiresAt = newExpiry(order, request.expires_at, isExpired, wallet.now);
      const isMoved = +expiresAt !== +order.expiresAt;
      order.expiresAt = expiresAt;
      refuseOverMaximum(order, wallet, amountCents);
      const isChanged = await this.changes.holdExactly(manager, order, wallet, amountCents);
      if (isMoved) record({ type: 'order.renewed', merchantId, orderId, expiresAt });
      if (isChanged) record({ type: 'order.redemption_held', merchantId, orderId, amountCents });
      return this.changes.save(manager, order, wallet, {
        ...((isChanged || isMoved) && { redemptionCents: amountCents }),
        ...(isMoved && { expiresAt }),
      });
    });
  }
}

/** Returns when the order expires after the request. @throws Problem validation_failed if that is out of bounds. */
function newExpiry(order: Order, requested: string | undefined, isExpired: boolean, now: Date): Date {
  if (typeof requested !== 'string') return isExpired ? defaultExpiry(order.policy, now) : order.expiresAt;
  const expiresAt = new Date(requested);
  // A repeated request can come later than one minute before the instant that it sets.
  const isRepeated = !isExpired && +expiresAt === +order.expiresAt;
  const problem = isRepeated ? undefined : expiryProblem(expiresAt, order.policy, now);
  if (problem !== undefined) throw problem;
  return expiresAt;
}
