import { Injectable } from '@nestjs/common';
import { differences } from '../cashback/replay.js';
import { Reads } from '../platform/database/reads.js';
import { UnitOfWork } from '../platform/database/unit-of-work.js';
import { type Caller } from '../platform/values/caller.js';
import { exactCents } from '../platform/values/money.js';
import { externalIdConflict, type Fault, notFound, validationFailed } from '../platform/values/problem.js';
import { readMetadata } from '../platform/values/texts.js';
import { readOptional, type SentRefund, Versions } from './order-content.js';
import { OrderTransactionsService } from './order-transactions.service.js';
import { Order } from './order.entity.js';
import { withQuantities } from './refund-items.js';
import {
  CreateRefundDto,
  type QuoteRefundDto,
  type RefundDto,
  type RefundQuoteDto,
  toRefundQuoteDto,
  toRefundDto,
} from './refund.dto.js';
import { Refund } from './refund.entity.js';
import { externalIdOf } from './refunds.list.js';

/** Full and partial refunds of completed orders. */
@Injectable()
export class RefundsService {
  constructor(
    private readonly unitOfWork: UnitOfWork,
    private readonly reads: Reads,
    private readonly transactions: OrderTransactionsService,
  ) {}

  /**
   * Refunds an amount or items of an order, or replays the refund with this `external_id`. The order's lock serializes
   * concurrent requests, so the first one creates the refund and the others find it.
   *
   * @throws Problem not_found; external_id_conflict; validation_failed; and those of `Order.refund`.
   */
  async create(
    { merchantId, apiUserId: by }: Caller,
    orderId: string,
    request: CreateRefundDto,
    versions: Versions,
  ): Promise<{ refund: RefundDto; replayed: boolean }> {
    const read = readRefund(request);
    const { result, order } = await this.transactions.run(merchantId, orderId, {
      refund: { externalId: read.externalId, isByItems: read.returned !== null },
      needs: (order) => (order.wasCompleted ? { takeBackCents: order.keptCents } : {}),
      perform: (order, wallet, existing, refunds) => {
        const sent = { ...read, returned: withQuantities(order, read.returned) };
        if (existing === undefined)
          return { refund: order.refund(wallet, sent, refunds, { by, versions }), replayed: false };
        refuseDifferences(sent, existing, order);
        return { refund: existing, replayed: true };
      },
    });
    const { refund, replayed } = result;
    return { refund: toRefundDto(refund, order.externalId), replayed };
  }

  /**
   * Returns what a refund would do now, and stores nothing.
   *
   * @throws Problem not_found; validation_failed; and those of `Order.quoteRefund`.
   */
  quote(merchantId: string, orderId: string, request: QuoteRefundDto): Promise<RefundQuoteDto> {
    return this.reads.read(merchantId, readAsked(request), async ({ manager, query: asked, now }) => {
      const order = await manager.findOneBy(Order, { id: orderId, merchantId });
      if (order === null) throw notFound('no order has this ID');
      const [row] = await manager.query<{ cents: string }[]>(EXPIRED, [now, orderId, merchantId]);
      const refunds = asked.returned ? await manager.findBy(Refund, { orderId, merchantId }) : [];
      const sent = { ...asked, returned: withQuantities(order, asked.returned) };
      return toRefundQuoteDto(order.quoteRefund(sent, refunds, exactCents(row?.cents ?? 0)));
    });
  }

  /** @throws Problem not_found, also for a refund of another order or another merchant. */
  get(merchantId: string, orderId: string, refundId: string): Promise<RefundDto> {
    return this.unitOfWork.statement(async (manager) => {
      const externalId = await externalIdOf(manager, merchantId, orderId);
      const refund = await manager.findOneBy(Refund, { id: refundId, merchantId, orderId });
      if (refund === null) throw notFound('no refund of this order has this ID');
      return toRefundDto(refund, externalId);
    });
  }
}

/** How much of what an order earned has expired unspent, written off or not. */
const EXPIRED = `
  SELECT COALESCE((SELECT -SUM(e.amount_cents) FROM cashback_entries e
                    WHERE e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind = 'expire'), 0)
         + IF(c.expires_at <= ?, c.remaining_cents - c.held_cents, 0) AS cents
    FROM cashback_credits c WHERE c.order_id = ? AND c.merchant_id = ?`;

/** @throws Problem validation_failed for an amount beside items. */
function readAsked(request: QuoteRefundDto) {
  const { amount, eligible_amount, items = [], rest = false } = request;
  const isByItems = items.length > 0 || rest;
  const beside = isByItems ? Object.entries({ amount, eligible_amount }) : [];
  const faults = beside.flatMap(([member, value]) => (value === undefined ? [] : [besideItems(member)]));
  if (faults.length > 0) throw validationFailed(faults);
  return {
    amountCents: readOptional(amount) ?? 0,
    eligibleCents: readOptional(eligible_amount),
    takeBackCents: readOptional(request.take_back),
    returned: isByItems ? { items, rest } : null,
  };
}

const besideItems = (member: string): Fault => ({
  pointer: `/${member}`,
  detail: 'must be left out with items or rest',
});

/** Reads a request whose members have been validated individually. @throws Problem validation_failed. */
const readRefund = (request: CreateRefundDto) => ({
  externalId: request.external_id,
  ...readAsked(request),
  reason: request.reason ?? null,
  store: request.store ?? null,
  metadata: readMetadata(request.metadata),
});

const contentOf = (refund: Omit<SentRefund, 'externalId'>) => ({
  amount: refund.returned ? null : refund.amountCents,
  eligible_amount: refund.returned ? null : refund.eligibleCents,
  items: refund.returned?.items ?? [],
  rest: refund.returned?.rest ?? false,
  take_back: refund.takeBackCents,
  reason: refund.reason,
  store: refund.store,
  metadata: refund.metadata ?? {},
});

/** @throws Problem external_id_conflict if the request differs from the refund with its `external_id`. */
function refuseDifferences(sent: SentRefund, existing: Refund, { isErased }: Order): void {
  // An earlier request without the member is the same as one with what that meant.
  const eligibleCents = sent.eligibleCents === null ? existing.requestedEligibleCents : existing.eligibleCents;
  const takeBackCents = sent.takeBackCents === null ? existing.requestedTakeBackCents : existing.dueCents;
  // What an erasure removed is not compared.
  const { reason, metadata } = isErased ? sent : existing;
  const errors = differences(
    contentOf(sent),
    contentOf({ ...existing, eligibleCents, takeBackCents, reason, metadata }),
  );
  if (errors.length > 0) throw externalIdConflict('refund', existing.id, errors);
}
