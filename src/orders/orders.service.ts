import { Injectable } from '@nestjs/common';
import type { EntityManager } from 'typeorm';
import { BalancesService } from '../cashback/balances.service.js';
import { Clock } from '../common/clock.js';
import type { Recorder } from '../common/domain-event.js';
import { newId } from '../common/ids.js';
import { notFound, Problem } from '../common/problem.js';
import { violatedUniqueKey } from '../database/errors.js';
import { insertRows } from '../database/rows.js';
import { UnitOfWork } from '../database/unit-of-work.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import type { CreateOrderDto } from './dto/create-order.dto.js';
import type { OrderDto } from './dto/order.dto.js';
import { findOrderWithBalance, type OrderWithBalance } from './order-with-balance.js';
import { Order } from './order.entity.js';
import { ContentDigests, type RequestedOrder, differences, readOrder } from './order-content.js';
import { defaultExpiry, expiryProblem } from './order-expiry.js';
import { toOrderDto } from './order.mapper.js';

/** Creates and reads orders. */
@Injectable()
export class OrdersService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly balances: BalancesService,
    private readonly merchants: MerchantsService,
    private readonly digests: ContentDigests,
    private readonly clock: Clock,
  ) {}

  /**
   * Creates an order, or replays the one with this `external_id`. The unique key decides which of several concurrent
   * requests creates it, so no lock is needed.
   *
   * @returns the order in its current state, and whether it existed before.
   * @throws Problem payments_exceed_total; external_id_conflict, which points to each member that differs.
   */
  async create(merchantId: string, request: CreateOrderDto): Promise<{ order: OrderDto; replayed: boolean }> {
    const policy = await this.merchants.policyOf(merchantId);
    const requested = readOrder(request);
    const createdAt = this.clock.now();
    const order = newOrder(requested, { merchantId, policy, contentDigest: this.digests.of(requested) }, createdAt);
    const refusal = requested.requestedExpiry && expiryProblem(requested.requestedExpiry, policy, createdAt);
    // A replay can come after the instant at which the order was to expire, so the refusal waits for that.
    const isNew =
      refusal === undefined &&
      (await this.unitOfWork.statement((manager, record) => insertNew(manager, order, record)));
    const now = this.clock.now();
    const existing = await this.unitOfWork.statement(
      isNew
        ? (manager) => this.#withBalance(manager, order, now)
        : (manager, record) => this.#findSame(manager, { merchantId, ...requested }, now, record),
    );
    if (existing === undefined)
      throw refusal ?? new Error('the order with this external_id is missing, although orders are never deleted');
    return { order: toOrderDto(existing.order, existing.balance, now), replayed: !isNew };
  }

  /** @throws Problem not_found, also for an order of another merchant. */
  get(merchantId: string, id: string): Promise<OrderDto> {
    return this.#get(merchantId, { id });
  }

  /** @throws Problem not_found, also for an order of another merchant. */
  getByExternalId(merchantId: string, externalId: string): Promise<OrderDto> {
    return this.#get(merchantId, { externalId });
  }

  async #get(merchantId: string, key: { id: string } | { externalId: string }): Promise<OrderDto> {
    const now = this.clock.now();
    const found = await this.unitOfWork.statement((manager) => findOrderWithBalance(manager, merchantId, key, now));
    if (found === undefined) throw notFound();
    return toOrderDto(found.order, found.balance, now);
  }

  async #withBalance(manager: EntityManager, order: Order, now: Date): Promise<OrderWithBalance> {
    return { order, balance: { availableCents: await this.balances.availableTo(manager, order, now), heldCents: 0 } };
  }

  /**
   * Finds the order with the same `external_id`; undefined if there is none.
   *
   * @throws Problem external_id_conflict if its content is different.
   */
  async #findSame(
    manager: EntityManager,
    sent: RequestedOrder & Pick<Order, 'merchantId'>,
    now: Date,
    record: Recorder,
  ): Promise<OrderWithBalance | undefined> {
    const existing = await findOrderWithBalance(manager, sent.merchantId, { externalId: sent.externalId }, now);
    if (existing === undefined) return undefined;
    this.#refuseDifferences(sent, existing.order);
    record({ type: 'order.replayed', merchantId: sent.merchantId, orderId: existing.order.id });
    return existing;
  }

  /** A replay has the content that the order was created with or, after changes, its current content. */
  #refuseDifferences(sent: RequestedOrder, existing: Order): void {
    if (this.digests.matches(sent, existing.contentDigest)) return;
    // An erased order has no document. Its digest tells whether the document in the request is the same.
    const asSent = { ...sent, ...existing, document: sent.document };
    const isErased = sent.document !== existing.document && this.digests.matches(asSent, existing.contentDigest);
    const errors = differences(sent, isErased ? asSent : existing);
    if (errors.length === 0) return;
    throw new Problem('external_id_conflict', {
      detail: `order ${existing.id} has this external_id and differs in ${errors.length} member${errors.length === 1 ? '' : 's'}`,
      errors,
    });
  }
}

/** Returns an order as it is created. */
export function newOrder(
  { requestedExpiry, ...content }: RequestedOrder,
  given: Pick<Order, 'merchantId' | 'policy' | 'contentDigest'>,
  now: Date,
): Order {
  return {
    id: newId(now),
    ...given,
    ...content,
    status: 'pending',
    finalPaymentMethods: null,
    redemptionCents: 0,
    earnedCents: 0,
    refundedCents: 0,
    returnedCents: 0,
    clawedBackCents: 0,
    version: 1,
    createdAt: now,
    updatedAt: now,
    expiresAt: requestedExpiry ?? defaultExpiry(given.policy, now),
    completedAt: null,
    cancelledAt: null,
    cashbackAvailableAt: null,
    cashbackExpiresAt: null,
  };
}

/** @returns false if an order with this `external_id` already exists. */
async function insertNew(manager: EntityManager, order: Order, record: Recorder): Promise<boolean> {
  try {
    await insertRows(manager, Order, [order]);
    record({ type: 'order.created', merchantId: order.merchantId, orderId: order.id });
    return true;
  } catch (error) {
    if (violatedUniqueKey(error) !== 'uq_orders_merchant_external_id') throw error;
    return false;
  }
}
