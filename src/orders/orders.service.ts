import { Injectable } from '@nestjs/common';
import { BalancesService } from '../cashback/balances.service.js';
import { eligibleTotal } from '../cashback/earned.js';
import { earnAmountProblem } from '../cashback/quote.js';
import { differences, Replays } from '../cashback/replay.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { type Caller } from '../platform/values/caller.js';
import { DomainEvents } from '../platform/values/domain-event.js';
import { differing, externalIdConflict, type Fault, notFound, Problem } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { type Written } from '../platform/values/written.js';
import { newCustomerProblem } from '../cashback/new-customer.js';
import { contentOf, differingExpiry, expiryProblem, readOrder, type RequestedOrder } from './order-content.js';
import { rulesOfSale } from './late-sales.js';
import { OrderLifecycleService } from './order-lifecycle.service.js';
import { CreateOrderDto } from './order-requests.dto.js';
import { type OrderDto, toOrderDto } from './order.dto.js';
import { Order } from './order.entity.js';
import { findOrdersWithBalances, insertOrders, type OrderKey, type OrderWithBalance, sizeOf } from './shared-orders.js';

@Injectable()
export class OrdersService {
  readonly #inserted: Shared<Order, boolean>;
  readonly #byId: Shared<OrderKey, OrderWithBalance | undefined>;
  readonly #byExternalId: Shared<OrderKey, OrderWithBalance | undefined>;

  constructor(
    shared: SharedStatements,
    private readonly events: DomainEvents,
    private readonly lifecycle: OrderLifecycleService,
    private readonly balances: BalancesService,
    private readonly merchants: MerchantsService,
    private readonly replays: Replays,
    private readonly clock: Clock,
  ) {
    // Requests that share a statement have one instant.
    const now = (keys: readonly OrderKey[]): Date => clock.now(keys[0]?.merchantId);
    this.#inserted = shared.createStatement('new_orders', insertOrders, { sizeOf, recordsEvents: true });
    this.#byId = shared.createStatement('orders', (manager, keys) =>
      findOrdersWithBalances(manager, 'id', keys, now(keys)),
    );
    this.#byExternalId = shared.createStatement('orders_by_external_id', (manager, keys) =>
      findOrdersWithBalances(manager, 'external_id', keys, now(keys)),
    );
  }

  /**
   * Creates an order, or replays the one with this `external_id`. The unique key decides which of several concurrent
   * requests creates it, so no lock is needed. With `complete`, the order is also completed, also one that exists.
   *
   * @returns the order in its current state.
   * @throws Problem payments_exceed_total; earn_amount_exceeds_maximum; external_id_conflict, which points to each
   *   member that differs; validation_failed for a document that a new customer cannot have; those of
   *   `Order.complete`; sold_too_long_ago and forbidden for a late sale.
   */
  async create(caller: Caller, request: CreateOrderDto): Promise<Written<OrderDto>> {
    const { merchantId, apiUserId: createdBy } = caller;
    const requested = readOrder(request);
    const createdAt = this.clock.now(merchantId);
    const { rules, refusal: ofSale } = await rulesOfSale(this.merchants, caller, requested.soldAt, createdAt);
    const { policy, campaignId } = rules;
    const contentDigest = this.replays.digest(contentOf(requested));
    const order = Order.create(requested, { merchantId, policy, campaignId, contentDigest, createdBy }, createdAt);
    const { requestedExpiresAt } = requested;
    let refusal =
      ofSale ??
      newCustomerProblem(requested.document, policy) ??
      (requestedExpiresAt === null ? undefined : expiryProblem(requestedExpiresAt, policy, createdAt)) ??
      earnAmountProblem(requested, policy);
    const { complete } = request;
    if (refusal === undefined && complete !== undefined) {
      try {
        const sold = await within('/complete', this.lifecycle.sell(caller, order, complete));
        if (sold !== undefined) return { dto: sold, replayed: false };
      } catch (error) {
        // The same request may have spent the cashback while this one waited for the wallet.
        if (!(error instanceof Problem)) throw error;
        refusal = error;
      }
    } else if (refusal === undefined) {
      // A new order does not change the balance, so neither statement waits for the other.
      const [isNew, balance] = await Promise.all([this.#inserted.get(order), this.balances.availableNow(order)]);
      const now = this.clock.now(merchantId);
      if (isNew) return { dto: viewOf({ order, balance, now }), replayed: false };
    }
    // A replay can come after the instant at which the order was to expire, or under another policy.
    const existing = await this.#findSame({ merchantId, ...requested });
    if (existing === undefined)
      throw refusal ?? new Error('the order with this external_id is missing, although orders are never deleted');
    if (complete === undefined) return { dto: viewOf(existing), replayed: true };
    refuseAmended(requested, existing.order);
    return within('/complete', this.lifecycle.complete(caller, existing.order.id, complete, undefined));
  }

  /** @throws Problem not_found, also for an order of another merchant. */
  async get(merchantId: string, id: string): Promise<OrderDto> {
    const found = await this.#byId.get({ merchantId, value: id });
    if (found === undefined) throw notFound('no order has this ID');
    return viewOf(found);
  }

  /** @throws Problem not_found, also for an order of another merchant. */
  async getByExternalId(merchantId: string, externalId: string): Promise<OrderDto> {
    const found = await this.#byExternalId.get({ merchantId, value: externalId });
    if (found === undefined) throw notFound('no order has this external_id');
    return viewOf(found);
  }

  /**
   * Finds the order with the same `external_id`; undefined if there is none.
   *
   * @throws Problem external_id_conflict if its content is different.
   */
  async #findSame(sent: RequestedOrder & Pick<Order, 'merchantId'>): Promise<OrderWithBalance | undefined> {
    const { merchantId, externalId } = sent;
    const existing = await this.#byExternalId.get({ merchantId, value: externalId });
    if (existing === undefined) return undefined;
    this.#refuseDifferences(sent, existing.order);
    this.events.publish({ type: 'order.replayed', merchantId, orderId: existing.order.id });
    return existing;
  }

  /** A replay has the content that the order was created with or, after changes, its current content. */
  #refuseDifferences(sent: RequestedOrder, existing: Order): void {
    const stored = { content: contentOf(existing), digest: existing.contentDigest };
    const faults = this.replays.differencesFromStored(contentOf(sent), stored, ['document', 'metadata']);
    refuse([...faults, ...differingExpiry(sent.requestedExpiresAt, existing)], sent, existing);
  }
}

/** What is completed is what the request says, also if the order was created with it and amended since. */
function refuseAmended(sent: RequestedOrder, existing: Order): void {
  // After an amendment nobody knows whether the customer who was erased is the one of the request.
  const isAmended = existing.isOpen && existing.version > 1;
  const { document, metadata } = existing.isErased && !isAmended ? existing : sent;
  const faults = differences(contentOf({ ...sent, document, metadata }), contentOf(existing));
  // A sale completes an order that was made before it, which does not know when.
  if (existing.soldAt !== null && +existing.soldAt !== Number(sent.soldAt)) faults.push(differing('/sold_at'));
  refuse(faults, sent, existing);
}

/** The whole total is eligible by default: where only `total` differs, the same eligible amount may be sent or not. */
function refuse(faults: readonly Fault[], sent: RequestedOrder, existing: Order): void {
  const isSameEligible = eligibleTotal(sent) === eligibleTotal(existing);
  const errors = faults.filter(({ pointer }) => !(isSameEligible && pointer === '/eligible_total'));
  if (errors.length > 0) throw externalIdConflict('order', existing.id, errors);
}

/** What the problems of a member of a request point to. */
async function within<T>(pointer: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw error instanceof Problem ? error.within(pointer) : error;
  }
}

const viewOf = ({ order, balance, now }: OrderWithBalance): OrderDto => toOrderDto(order, balance, now);
