import { Injectable } from '@nestjs/common';
import { IsNull } from 'typeorm';
import { Replays } from '../cashback/replay.js';
import { GONE } from '../cashback/wallet-credits.js';
import { Reads } from '../platform/database/reads.js';
import { type Caller } from '../platform/values/caller.js';
import { exactCents } from '../platform/values/money.js';
import { externalIdConflict, type Fault, notFound, validationFailed } from '../platform/values/problem.js';
import { readMetadata } from '../platform/values/texts.js';
import { type Written } from '../platform/values/written.js';
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
import { readVoidable } from './refund-voids.js';
import { externalIdOf } from './refunds.list.js';

/** Full and partial refunds of completed orders. */
@Injectable()
export class RefundsService {
  constructor(
    private readonly reads: Reads,
    private readonly transactions: OrderTransactionsService,
    private readonly replays: Replays,
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
  ): Promise<Written<RefundDto>> {
    const read = readRefund(request);
    const { result, order } = await this.transactions.run(merchantId, orderId, {
      refund: { externalId: read.externalId, isByItems: read.returned !== null },
      needs: (order) => (order.wasCompleted ? { takeBackCents: order.keptCents } : {}),
      perform: (order, wallet, existing, others) => {
        const sent = { ...read, returned: withQuantities(order, read.returned) };
        if (existing !== undefined) {
          this.#refuseDifferences(sent, existing);
          return { replayed: existing };
        }
        const refund = order.refund(wallet, sent, others.filter(isStanding), { by, versions });
        refund.contentDigest = this.replays.digest(storedContent(refund));
        return toRefundDto(refund, order.externalId, wallet.obstacleTo(refund.id) === undefined);
      },
    });
    if (!('replayed' in result)) return { dto: result, replayed: false };
    return { dto: await this.get(merchantId, order.id, result.replayed.id), replayed: true };
  }

  /**
   * Undoes a refund, or returns it if it was undone before.
   *
   * @throws Problem not_found; and those of `Order.voidRefund`.
   */
  async void(
    { merchantId, apiUserId: by }: Caller,
    orderId: string,
    id: string,
    reason: string | null,
    versions: Versions,
  ): Promise<Written<RefundDto>> {
    const { result } = await this.transactions.run(merchantId, orderId, {
      refund: { id },
      perform: (order, wallet, refund, later) => {
        if (refund === undefined) throw notFound(NO_REFUND);
        const replayed = refund.voidedAt !== null;
        if (!replayed) order.voidRefund(wallet, refund, later, reason, { by, versions });
        return { dto: toRefundDto(refund, order.externalId, false), replayed };
      },
    });
    return result;
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
      const [row] = await manager.query<{ cents: string }[]>(GONE_OF_ORDER, [now, orderId, merchantId]);
      const where = { orderId, merchantId, voidedAt: IsNull() };
      const refunds = asked.returned ? await manager.findBy(Refund, where) : [];
      const sent = { ...asked, returned: withQuantities(order, asked.returned) };
      return toRefundQuoteDto(order.quoteRefund(sent, refunds, exactCents(row?.cents ?? 0)));
    });
  }

  /** @throws Problem not_found, also for a refund of another order or another merchant. */
  get(merchantId: string, orderId: string, refundId: string): Promise<RefundDto> {
    return this.reads.read(merchantId, { orderId }, async (asked) => {
      const externalId = await externalIdOf(asked.manager, merchantId, orderId);
      const refund = await asked.manager.findOneBy(Refund, { id: refundId, merchantId, orderId });
      if (refund === null) throw notFound(NO_REFUND);
      const voidable = await readVoidable(asked, [refund]);
      return toRefundDto(refund, externalId, voidable.has(refund.id));
    });
  }

  /** @throws Problem external_id_conflict if the request differs from the refund with its `external_id`. */
  #refuseDifferences(sent: SentRefund, existing: Refund): void {
    // A request with what an earlier one without the member meant is the same.
    const { requestedEligibleCents, requestedTakeBackCents } = existing;
    const eligibleCents = sent.eligibleCents === existing.eligibleCents ? requestedEligibleCents : sent.eligibleCents;
    const takeBackCents = sent.takeBackCents === existing.dueCents ? requestedTakeBackCents : sent.takeBackCents;
    const errors = this.replays.differencesFromStored(
      contentOf({ ...sent, eligibleCents, takeBackCents }),
      { content: storedContent(existing), digest: existing.contentDigest },
      ['reason', 'metadata'],
    );
    if (errors.length > 0) throw externalIdConflict('refund', existing.id, errors);
  }
}

const NO_REFUND = 'no refund of this order has this ID';

const isStanding = ({ voidedAt }: Refund): boolean => voidedAt === null;

/** How much of what an order earned has expired unspent, written off or not, or debits took. */
const GONE_OF_ORDER = `
  SELECT COALESCE((SELECT -SUM(e.amount_cents) FROM cashback_entries e
                    WHERE e.credit_id = c.id AND e.merchant_id = c.merchant_id AND e.kind IN (${GONE})), 0)
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

/** What was asked for; what says a default is as if it was left out. */
const storedContent = (refund: Refund) =>
  contentOf({
    ...refund,
    eligibleCents: refund.requestedEligibleCents,
    takeBackCents: refund.requestedTakeBackCents,
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
