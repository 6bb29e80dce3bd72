import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { refundParts } from '../cashback/quote.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { Clock } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { Problem } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { CreateRefundDto } from './dto/finish-order.dto.js';
import type { RefundDto } from './dto/refund.dto.js';
import { Order } from './order.entity.js';
import { OrderLock } from './order-lock.js';
import { requireTransition } from './order-status.js';
import { Refund } from './refund.entity.js';

/** Full and partial refunds of completed orders. */
@Injectable()
export class RefundsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: OrderLock,
    private readonly wallets: WalletsService,
    private readonly clock: Clock,
  ) {}

  /**
   * Refunds an amount of an order, or replays the refund with this `external_id`.
   *
   * @throws Problem not_found; invalid_transition; external_id_conflict; refund_exceeds_total, with the maximum.
   */
  create(
    merchantId: string,
    orderId: string,
    request: CreateRefundDto,
  ): Promise<{ refund: RefundDto; replayed: boolean }> {
    const amountCents = parseMoney(request.amount);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      // The order's lock serializes concurrent requests, so the first one creates the refund and the others find it.
      const existing = await manager.findOneBy(Refund, { orderId: order.id, externalId: request.external_id });
      if (existing !== null) return { refund: toRefundDto(replay(existing, amountCents)), replayed: true };

      requireTransition(order, 'refund', this.clock.now());
      refuseOverTotal(order, amountCents);
      const wallet = await this.wallets.lock(manager, order);
      const refund = await this.#refund(manager, order, wallet, request.external_id, amountCents);
      record({ type: 'order.refunded', merchantId, orderId, amountCents });
      return { refund: toRefundDto(refund), replayed: false };
    });
  }

  async #refund(
    manager: EntityManager,
    order: Order,
    wallet: WalletAggregate,
    externalId: string,
    amountCents: number,
  ): Promise<Refund> {
    const { returnedCents, clawedBackCents } = refundParts(
      { ...order, redeemedCents: order.redemptionCents },
      amountCents,
    );
    const refund: Refund = {
      id: newId(wallet.now),
      orderId: order.id,
      externalId,
      amountCents,
      returnedCents,
      clawedBackCents,
      createdAt: wallet.now,
    };
    await manager.insert(Refund, refund);

    const cause = { orderId: order.id, refundId: refund.id };
    if (returnedCents > 0)
      wallet.restore(returnedCents, await this.wallets.loadRedeemed(manager, wallet, order.id), cause);
    if (clawedBackCents > 0) {
      await this.wallets.loadForClawback(manager, wallet, clawedBackCents, order.id);
      wallet.clawBack(clawedBackCents, cause);
    }
    await this.wallets.save(manager, wallet);

    await manager.update(Order, { id: order.id }, totalsAfter(order, refund));
    return refund;
  }
}

function totalsAfter(order: Order, { amountCents, returnedCents, clawedBackCents }: Refund): Partial<Order> {
  const refundedCents = order.refundedCents + amountCents;
  return {
    status: refundedCents === order.totalCents ? 'refunded' : 'partially_refunded',
    refundedCents,
    returnedCents: order.returnedCents + returnedCents,
    clawedBackCents: order.clawedBackCents + clawedBackCents,
  };
}

function replay(existing: Refund, amountCents: number): Refund {
  if (existing.amountCents === amountCents) return existing;
  throw new Problem('external_id_conflict', {
    detail: `refund ${existing.id} has this external_id and differs in 1 member`,
    errors: [{ pointer: '/amount', detail: 'differs from the earlier request' }],
  });
}

function refuseOverTotal(order: Order, amountCents: number): void {
  const leftCents = order.totalCents - order.refundedCents;
  if (amountCents <= leftCents) return;
  const maximum = formatMoney(leftCents);
  throw new Problem('refund_exceeds_total', {
    detail: `at most ${maximum} of this order can be refunded`,
    extensions: { maximum },
  });
}

function toRefundDto(refund: Refund): RefundDto {
  return {
    id: refund.id,
    external_id: refund.externalId,
    order_id: refund.orderId,
    amount: formatMoney(refund.amountCents),
    cashback_returned: formatMoney(refund.returnedCents),
    cashback_taken_back: formatMoney(refund.clawedBackCents),
    amount_to_pay_back: formatMoney(refund.amountCents - refund.returnedCents),
    created_at: refund.createdAt,
  };
}
