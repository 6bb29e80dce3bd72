import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { type RefundedOrder, type RefundParts, refundParts } from '../cashback/refund-parts.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { decodeCursor, pageOf, type PageRequest } from '../common/cursor.js';
import type { Recorder } from '../common/domain-event.js';
import { newId } from '../common/ids.js';
import { notFound } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { CreateRefundDto, RefundDto, RefundPageDto } from './dto/refund.dto.js';
import { LockedOrders, requireVersion } from './locked-orders.js';
import { Order } from './order.entity.js';
import { toRefundDto } from './order.mapper.js';
import { isOpen, requireTransition } from './order-status.js';
import { amountsOf, readRefund, refuseDifferences, type RequestedRefund } from './refund-content.js';
import { Refund } from './refund.entity.js';

/** Full and partial refunds of completed orders. */
@Injectable()
export class RefundsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: LockedOrders,
    private readonly wallets: WalletsService,
  ) {}

  /**
   * Refunds an amount of an order, or replays the refund with this `external_id`.
   *
   * @param versions the versions of the order that the caller allows to change; undefined allows any.
   * @throws Problem not_found; invalid_transition; external_id_conflict; precondition_failed; refund_exceeds_total,
   *   with the bounds.
   */
  create(
    merchantId: string,
    orderId: string,
    request: CreateRefundDto,
    versions?: readonly string[],
  ): Promise<{ refund: RefundDto; replayed: boolean }> {
    const sent = readRefund(request);
    return this.unitOfWork.transaction(async (manager, record) => {
      const order = await this.orders.findForUpdate(manager, merchantId, orderId);
      // The order's lock serializes concurrent requests, so the first one creates the refund and the others find it.
      const existing = await manager.findOneBy(Refund, { orderId, merchantId, externalId: sent.externalId });
      if (existing !== null) {
        refuseDifferences(sent, existing);
        return { refund: toRefundDto(existing), replayed: true };
      }

      // An order that is due expires first, so that the refusal names the status that it has.
      if (isOpen(order)) await this.orders.lockWallet(manager, record, order);
      requireTransition(order, 'refund');
      requireVersion(order, versions);
      return { refund: await this.#refund(manager, record, order, sent), replayed: false };
    });
  }

  /**
   * Returns a page of an order's refunds, newest first.
   *
   * @throws Problem not_found, also for an order of another merchant; validation_failed if the cursor is not one of
   *   this service.
   */
  list(merchantId: string, orderId: string, { limit, cursor }: PageRequest): Promise<RefundPageDto> {
    const list = `refunds ${orderId}`;
    const before = cursor === undefined ? undefined : decodeCursor(list, cursor, ['number', 'string']);
    return this.unitOfWork.statement(async (manager) => {
      await requireOrder(manager, merchantId, orderId);
      const rows = await refundsBefore(manager, { merchantId, orderId }, before, limit + 1);
      const { page, next_cursor } = pageOf(list, rows, limit, ({ createdAt, id }) => [createdAt.getTime(), id]);
      return { data: page.map(toRefundDto), next_cursor };
    });
  }

  /** @throws Problem not_found, also for a refund of another order or another merchant. */
  get(merchantId: string, orderId: string, refundId: string): Promise<RefundDto> {
    return this.unitOfWork.statement(async (manager) => {
      await requireOrder(manager, merchantId, orderId);
      const refund = await manager.findOneBy(Refund, { id: refundId, merchantId, orderId });
      if (refund === null) throw notFound('no refund of this order has this ID');
      return toRefundDto(refund);
    });
  }

  /** Returns the cashback that a refund moves, and loads the credits from which it is taken back. */
  async #parts(
    manager: EntityManager,
    order: Order & RefundedOrder,
    wallet: WalletAggregate,
    amounts: Pick<Refund, 'amountCents' | 'eligibleCents'>,
  ): Promise<RefundParts> {
    const parts = refundParts(order, amounts);
    if (parts.takenBackCents === 0) return parts;
    await this.wallets.loadForClawback(manager, wallet, parts.takenBackCents, order.id);
    return refundParts(order, amounts, await this.wallets.expiredUnspent(manager, wallet, order.id));
  }

  async #refund(manager: EntityManager, record: Recorder, order: Order, sent: RequestedRefund): Promise<RefundDto> {
    const refunded = { ...order, redeemedCents: order.redemptionCents };
    const amounts = amountsOf(refunded, sent);
    const wallet = await this.wallets.lock(manager, order, order);
    const { returnedCents, takenBackCents } = await this.#parts(manager, refunded, wallet, amounts);
    const refund: Refund = {
      id: newId(wallet.now),
      orderId: order.id,
      merchantId: order.merchantId,
      externalId: sent.externalId,
      ...amounts,
      returnedCents,
      takenBackCents,
      createdAt: wallet.now,
    };
    await manager.insert(Refund, refund);

    const cause = { orderId: order.id, refundId: refund.id };
    if (returnedCents > 0)
      wallet.restore(returnedCents, await this.wallets.loadRedeemed(manager, wallet, order.id), cause, order.policy);
    if (takenBackCents > 0) wallet.clawBack(takenBackCents, cause);
    const shown = toRefundDto(refund);
    await this.orders.save(manager, record, order, wallet, {
      event: 'order.refunded',
      values: totalsAfter(order, refund),
      more: { refund: shown },
    });
    return shown;
  }
}

/** @throws Problem not_found, also for an order of another merchant. */
async function requireOrder(manager: EntityManager, merchantId: string, id: string): Promise<void> {
  if (!(await manager.existsBy(Order, { id, merchantId }))) throw notFound('no order has this ID');
}

/** Reads refunds of an order, newest first, as one range of an index. @param before where the previous page ended. */
function refundsBefore(
  manager: EntityManager,
  of: { merchantId: string; orderId: string },
  before: [createdAt: number, id: string] | undefined,
  limit: number,
): Promise<Refund[]> {
  const page = manager.createQueryBuilder(Refund, 'r').where('r.orderId = :orderId AND r.merchantId = :merchantId', of);
  if (before !== undefined)
    page.andWhere('r.createdAt <= :at AND (r.createdAt < :at OR r.id < :id)', {
      at: new Date(before[0]),
      id: before[1],
    });
  return page.orderBy('r.createdAt', 'DESC').addOrderBy('r.id', 'DESC').limit(limit).getMany();
}

function totalsAfter(order: Order, refund: Refund): Partial<Order> {
  const refundedCents = order.refundedCents + refund.amountCents;
  return {
    status: refundedCents === order.totalCents ? 'refunded' : 'partially_refunded',
    refundedCents,
    refundedEligibleCents: order.refundedEligibleCents + refund.eligibleCents,
    returnedCents: order.returnedCents + refund.returnedCents,
    takenBackCents: order.takenBackCents + refund.takenBackCents,
  };
}
