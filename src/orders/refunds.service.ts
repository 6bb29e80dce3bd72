import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { refundParts } from '../cashback/quote.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import { WalletsService } from '../cashback/wallets.service.js';
import { Clock } from '../common/clock.js';
import { decodeCursor, pageOf, type PageRequest } from '../common/cursor.js';
import { newId } from '../common/ids.js';
import { formatMoney, parseMoney } from '../common/money.js';
import { notFound, Problem } from '../common/problem.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import type { CreateRefundDto, RefundDto, RefundPageDto } from './dto/refund.dto.js';
import { LockedOrders } from './locked-orders.js';
import { Order } from './order.entity.js';
import { toRefundDto } from './order.mapper.js';
import { requireTransition } from './order-status.js';
import { Refund } from './refund.entity.js';

/** Full and partial refunds of completed orders. */
@Injectable()
export class RefundsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly orders: LockedOrders,
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
      const existing = await manager.findOneBy(Refund, { orderId, merchantId, externalId: request.external_id });
      if (existing !== null) return { refund: toRefundDto(replay(existing, amountCents)), replayed: true };

      requireTransition(order, 'refund', this.clock.now());
      refuseOverTotal(order, amountCents);
      const wallet = await this.wallets.lock(manager, order);
      const refund = await this.#refund(manager, order, wallet, request.external_id, amountCents);
      record({ type: 'order.refunded', merchantId, orderId, amountCents });
      return { refund: toRefundDto(refund), replayed: false };
    });
  }

  /**
   * Returns a page of an order's refunds, newest first.
   *
   * @throws Problem not_found, also for an order of another merchant; validation_failed if the cursor is not one of
   *   this service.
   */
  list(merchantId: string, orderId: string, { limit, cursor }: PageRequest): Promise<RefundPageDto> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, 'number', 'string');
    return this.unitOfWork.statement(async (manager) => {
      await requireOrder(manager, merchantId, orderId);
      const rows = await refundsBefore(manager, { merchantId, orderId }, before, limit + 1);
      const { page, next_cursor } = pageOf(rows, limit, ({ createdAt, id }) => [createdAt.getTime(), id]);
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
    order: Order,
    wallet: WalletAggregate,
    amountCents: number,
  ): Promise<ReturnType<typeof refundParts>> {
    const refunded = { ...order, redeemedCents: order.redemptionCents };
    const parts = refundParts(refunded, amountCents);
    if (parts.clawedBackCents === 0) return parts;
    await this.wallets.loadForClawback(manager, wallet, parts.clawedBackCents, order.id);
    return refundParts(refunded, amountCents, await this.wallets.expiredUnspent(manager, wallet, order.id));
  }

  async #refund(
    manager: EntityManager,
    order: Order,
    wallet: WalletAggregate,
    externalId: string,
    amountCents: number,
  ): Promise<Refund> {
    const { returnedCents, clawedBackCents } = await this.#parts(manager, order, wallet, amountCents);
    const refund: Refund = {
      id: newId(wallet.now),
      orderId: order.id,
      merchantId: order.merchantId,
      externalId,
      amountCents,
      returnedCents,
      clawedBackCents,
      createdAt: wallet.now,
    };
    await manager.insert(Refund, refund);

    const cause = { orderId: order.id, refundId: refund.id };
    if (returnedCents > 0)
      wallet.restore(returnedCents, await this.wallets.loadRedeemed(manager, wallet, order.id), cause, order.policy);
    if (clawedBackCents > 0) wallet.clawBack(clawedBackCents, cause);
    await this.orders.save(manager, order, wallet, totalsAfter(order, refund));
    return refund;
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
