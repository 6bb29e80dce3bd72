import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { BalancesService } from '../cashback/balances.service.js';
import { after, Clock, MINUTE_MS } from '../common/clock.js';
import { newId } from '../common/ids.js';
import { notFound, Problem } from '../common/problem.js';
import { violatedUniqueKey } from '../database/errors.js';
import { insertRow } from '../database/rows.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { Policy } from '../merchants/policy.js';
import { Metrics } from '../metrics/metrics.js';
import type { CreateOrderDto } from './dto/create-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import { findOrderWithBalance, type OrderWithBalance } from './order-with-balance.js';
import { Order } from './order.entity.js';
import { differences, readOrder, type RequestedOrder } from './order-input.js';
import { toOrderDto } from './order.mapper.js';

/** Creates and reads an order. Lists are in `order-listing.service.ts`, changes in `order-lifecycle.service.ts` and `refunds.service.ts`. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly balances: BalancesService,
    private readonly merchants: MerchantsService,
    private readonly metrics: Metrics,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates an order, or replays the one with this `external_id`: the unique key decides, so of many
   * at once one creates. No lock is taken, and with the token's look-up it is three statements.
   *
   * @returns the order as it now stands, and whether it was there before.
   * @throws Problem payments_exceed_total; external_id_conflict, pointing at each member that differs.
   */
  async create(merchantId: string, request: CreateOrderDto): Promise<{ order: OrderDto; replayed: boolean }> {
    const policy = await this.merchants.policyOf(merchantId);
    const order = newOrder(merchantId, policy, readOrder(request), this.clock.now());
    const isNew = await this.unitOfWork.statement((manager) => insertNew(manager, order));
    const now = this.clock.now();
    const kept = await this.unitOfWork.statement(
      isNew ? (manager) => this.#withBalance(manager, order, now) : (manager) => findSame(manager, order, now),
    );
    this.metrics.orderCreated(!isNew);
    return { order: toOrderDto(kept.order, kept.availableCents, now), replayed: !isNew };
  }

  /** @throws Problem not_found, also for an order of another merchant. */
  async get(merchantId: string, id: string): Promise<OrderDto> {
    const now = this.clock.now();
    const kept = await this.unitOfWork.statement((manager) => findOrderWithBalance(manager, merchantId, { id }, now));
    if (kept === undefined) throw notFound();
    return toOrderDto(kept.order, kept.availableCents, now);
  }

  async #withBalance(manager: EntityManager, order: Order, now: Date): Promise<OrderWithBalance> {
    return { order, availableCents: await this.balances.availableTo(manager, order, now) };
  }
}

function newOrder(merchantId: string, policy: Policy, requested: RequestedOrder, now: Date): Order {
  const { externalId, document, totalCents, items, paymentMethods } = requested;
  return {
    id: newId(now),
    merchantId,
    externalId,
    status: 'pending',
    document,
    totalCents,
    items,
    paymentMethods,
    finalPaymentMethods: null,
    policy,
    redemptionCents: 0,
    earnedCents: 0,
    refundedCents: 0,
    returnedCents: 0,
    clawedBackCents: 0,
    createdAt: now,
    expiresAt: after(now, policy.orderTtlMinutes * MINUTE_MS),
    completedAt: null,
    cancelledAt: null,
  };
}

/** @returns whether it is new: false where there is an order with this `external_id`. */
async function insertNew(manager: EntityManager, order: Order): Promise<boolean> {
  try {
    await insertRow(manager, Order, order);
    return true;
  } catch (error) {
    if (violatedUniqueKey(error) !== 'uq_orders_merchant_external_id') throw error;
    return false;
  }
}

/** The order that has the `external_id` of one that was sent. @throws Problem external_id_conflict where they differ. */
async function findSame(manager: EntityManager, sent: Order, now: Date): Promise<OrderWithBalance> {
  const kept = await findOrderWithBalance(manager, sent.merchantId, { externalId: sent.externalId }, now);
  if (kept === undefined) throw new Error('an order that refused another is not there: orders are never deleted');
  refuseDifferences(sent, kept.order);
  return kept;
}

function refuseDifferences(sent: RequestedOrder, kept: Order): void {
  const errors = differences(sent, kept);
  if (errors.length === 0) return;
  throw new Problem('external_id_conflict', {
    detail: `order ${kept.id} has this external_id and differs in ${errors.length} member${errors.length === 1 ? '' : 's'}`,
    errors,
  });
}
