import { Injectable } from '@nestjs/common';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { ContentDigests, differences, readContent } from './order-content.js';
import type { AmendOrderDto } from './dto/amend-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import { balanceOf, OrderChanges, refuseOverMaximum } from './order-changes.js';
import { OrderLock } from './order-lock.js';
import { maximumToRedeem } from './order-quote.js';
import { requireTransition } from './order-status.js';
import { requireVersion } from './order-version.js';
import type { Order } from './order.entity.js';

/** Replaces the content of pending orders. */
@Injectable()
export class AmendmentsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderLock,
    private readonly wallets: WalletsService,
    private readonly changes: OrderChanges,
    private readonly digests: ContentDigests,
  ) {}

  /**
   * Replaces the content of a pending order, which keeps its policy, its expiry and, if it can, its hold. The content
   * that it already has changes nothing.
   *
   * @param versions the versions of the order that the caller allows; undefined allows any.
   * @throws Problem payments_exceed_total; not_found; invalid_transition; precondition_failed;
   *   redemption_exceeds_maximum, with the maximum, if the hold is above it and is not to be lowered.
   */
  amend(merchantId: string, orderId: string, request: AmendOrderDto, versions?: readonly string[]): Promise<OrderDto> {
    const content = readContent(request);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      const wallet = await this.wallets.lock(manager, order, order.id);
      requireTransition(order, 'amend', wallet.now);
      requireVersion(order, versions);
      const amended = { ...order, ...content };
      const isChanged = differences(amended, order).length > 0;
      const redemptionCents = heldAfter(amended, wallet, request.redeem === 'maximum');
      const isLowered = await this.changes.holdExactly(manager, order, wallet, redemptionCents);
      if (!isChanged && !isLowered) return this.changes.save(manager, order, wallet, {});
      record({ type: 'order.amended', merchantId, orderId });
      if (isLowered) record({ type: 'order.redemption_held', merchantId, orderId, amountCents: redemptionCents });
      // The first content replays later, so an order of a release without digests gets its digest before the change.
      const contentDigest = order.contentDigest ?? this.digests.of(order);
      return this.changes.save(manager, order, wallet, { ...content, contentDigest, redemptionCents });
    });
  }
}

/** Returns what an amended order holds, in centavos. @throws Problem redemption_exceeds_maximum. */
function heldAfter(amended: Order, wallet: WalletAggregate, isLowered: boolean): number {
  if (isLowered)
    return Math.min(amended.redemptionCents, maximumToRedeem(amended, balanceOf(amended, wallet)).maximumCents);
  refuseOverMaximum(amended, wallet, amended.redemptionCents);
  return amended.redemptionCents;
}
