import { Injectable } from '@nestjs/common';
import { BalancesService } from '../cashback/balances.service.js';
import { earnAmountProblem, eligibleTotal } from '../cashback/quote.js';
import { Replays } from '../cashback/replay.js';
import { MerchantsService } from '../merchants/merchants.service.js';
import { type Shared, SharedStatements } from '../platform/database/shared.js';
import { type Caller } from '../platform/values/caller.js';
import { DomainEvents } from '../platform/values/domain-event.js';
import { externalIdConflict, notFound } from '../platform/values/problem.js';
import { Clock } from '../platform/values/time.js';
import { contentOf, differingExpiry, expiryProblem, readOrder, type RequestedOrder } from './order-content.js';
import { CreateOrderDto } from './order-requests.dto.js';
import { type OrderDto, toOrderDto } from './order.dto.js';
import { Order } from './order.entity.js';
import { findOrdersWithBalances, insertOrders, type OrderKey, type OrderWithBalance } from './shared-orders.js';

@Injectable()
export class OrdersService {
  readonly #inserted: Shared<Order, boolean>;
  readonly #byId: Shared<OrderKey, OrderWithBalance | undefined>;
  readonly #byExternalId: Shared<OrderKey, OrderWithBalance | undefined>;

  constructor(
    shared: SharedStatements,
    private readonly events: DomainEvents,
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
   * requests creates it, so no lock is needed.
   *
   * @returns the order in its current state, and whether it existed before.
   * @throws Problem payments_exceed_total; earn_amount_exceeds_maximum; external_id_conflict, which points to each
   *   member that differs.
   */
  async create(
    { merchantId, apiUserId: createdBy }: Caller,
    request: CreateOrderDto,
  ): Promise<{ order: OrderDto; replayed: boolean }> {
    const requested = readOrder(request);
    const createdAt = this.clock.now(merchantId);
    const policy = await this.merchants.policyOf(merchantId, createdAt);
    const contentDigest = this.replays.digest(contentOf(requested));
    const order = Order.create(requested, { merchantId, policy, contentDigest, createdBy }, createdAt);
    const { requestedExpiresAt } = requested;
    const refusal =
      (requestedExpiresAt === null ? undefined : expiryProblem(requestedExpiresAt, policy, createdAt)) ??
      earnAmountProblem(requested, policy);
    if (refusal === undefined) {
      // A new order does not change the balance, so neither statement waits for the other.
      const [isNew, availableCents] = await Promise.all([this.#inserted.get(order), this.balances.availableNow(order)]);
      const now = this.clock.now(merchantId);
      if (isNew) return { order: viewOf({ order, availableCents, now }), replayed: false };
    }
    // A replay can come after the instant at which the order was to expire, or under another policy.
    const existing = await this.#findSame({ merchantId, ...requested });
    if (existing === undefined)
      throw refusal ?? new Error('the order with this external_id is missing, although orders are never deleted');
    return { order: viewOf(existing), replayed: true };
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
    const differences = this.replays.differencesFromStored(contentOf(sent), stored, ['document', 'metadata']);
    // The whole total is eligible by default: where only `total` differs, the same amount may be sent or not.
    const isSameEligible = eligibleTotal(sent) === eligibleTotal(existing);
    const errors = [
      ...differences.filter(({ pointer }) => !(isSameEligible && pointer === '/eligible_total')),
      ...differingExpiry(sent.requestedExpiresAt, existing),
    ];
    if (errors.length > 0) throw externalIdConflict('order', existing.id, errors);
  }
}

/** How much of a statement an order takes. */
const sizeOf = ({ items, paymentMethods }: Order): number => items.length + paymentMethods.length;

const viewOf = ({ order, availableCents, now }: OrderWithBalance): OrderDto => toOrderDto(order, availableCents, now);
