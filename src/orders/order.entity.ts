import { Column, Entity, ForeignKey, Index } from 'typeorm';
import { cashbackToReceive, type EarnedCashback } from '../cashback/earned.js';
import {
  earnAmountProblem,
  redeemableMaximum,
  type RedeemableMaximum,
  refuseAboveMaximum,
  refuseBelowMinimum,
  type Spendable,
} from '../cashback/quote.js';
import { type RefundAmounts, refundAmounts, type RefundParts, refundParts } from '../cashback/refund-parts.js';
import { differences } from '../cashback/replay.js';
import { type Validity, validityOf } from '../cashback/validity.js';
import type { Cause } from '../cashback/cause.js';
import type { WalletAggregate } from '../cashback/wallet-aggregate.js';
import type { WalletSums } from '../cashback/wallet-sums.js';
import { Merchant } from '../merchants/merchant.entity.js';
import { type Policy, policyTransformer } from '../merchants/policy.js';
import {
  ByColumn,
  CentsColumn,
  DigestColumn,
  ExactTextColumn,
  IdColumn,
  InstantColumn,
  PrimaryId,
  TextColumn,
  WordColumn,
} from '../platform/database/columns.js';
import { NOT_VOIDED, noteVoid } from '../platform/database/voidable.js';
import type { By } from '../platform/values/caller.js';
import type { OrderEventType } from '../platform/values/domain-event.js';
import { newId } from '../platform/values/ids.js';
import { differing, type HoldingOrder, Problem } from '../platform/values/problem.js';
import type { Metadata } from '../platform/values/texts.js';
import {
  type AmendedContent,
  type AskedRefund,
  type Completion,
  contentOf,
  defaultExpiry,
  hadHold,
  newExpiry,
  NOTHING_YET,
  type OrderItem,
  type OrderPaymentMethod,
  type Origin,
  refusePaymentsAbove,
  type RequestedOrder,
  type SentRefund,
} from './order-content.js';
import { lateSince } from './late-sales.js';
import { refuseLapsed, refuseOtherCompletion, refuseUncovered, requireVersion } from './order-refusals.js';
import {
  COMPLETED_STATUSES,
  invalidTransition,
  type OrderStatus,
  type OrderTransition,
  requireTransition,
  type StatusAfter,
} from './order-transitions.js';
import { amountsOfItems } from './refund-items.js';
import { afterRefund, isLatest, notVoidable } from './refund-voids.js';
import type { Refund } from './refund.entity.js';

type OrderEvent = { madeBy: By } & (
  | { type: Exclude<OrderEventType, OtherEvent>; refund?: never; previousWallet?: never }
  | { type: 'order.refunded' | 'order.refund_voided'; refund: Refund; previousWallet?: never }
  | { type: 'order.customer_changed'; refund?: never; previousWallet: WalletSums }
);
type OtherEvent = 'order.created' | 'order.refunded' | 'order.refund_voided' | 'order.customer_changed';

/** A change of an order: its event, and the order and the sums of the wallet after it. */
export type OrderChange = OrderEvent & { order: Order; wallet: WalletSums };

/**
 * An order of a customer. Only its methods change it: each asks the table of transitions, moves cashback in the wallet,
 * and makes a new version. Content that a request can set must also go into `contentOf`.
 *
 * A request that changes nothing is not refused for its versions, unless a different version was completed.
 */
@Entity('orders')
@Index('uq_orders_merchant_external_id', ['merchantId', 'externalId'], { unique: true })
@Index('ix_orders_merchant_created', ['merchantId', 'createdAt', 'id'])
@Index('ix_orders_completion', ['merchantId', 'status', 'completedAt', 'id'])
@Index('ix_orders_status', ['merchantId', 'status', 'createdAt', 'id'])
@Index('ix_orders_customer', ['merchantId', 'document', 'status', 'createdAt', 'id'])
@Index('ix_orders_expiry', ['status', 'expiresAt'])
@Index('ix_orders_updated', ['merchantId', 'updatedAt', 'id'])
@Index('ix_orders_user', ['merchantId', 'completedBy', 'createdAt', 'id'])
@Index('ix_orders_campaign', ['merchantId', 'campaignId', 'createdAt', 'id'])
@Index('ix_orders_store', ['merchantId', 'store', 'createdAt', 'id'])
export class Order {
  @PrimaryId()
  id!: string;

  @IdColumn('merchant_id')
  @ForeignKey(() => Merchant, { name: 'fk_orders_merchant' })
  merchantId!: string;

  @ExactTextColumn('external_id')
  externalId!: string;

  @WordColumn('status')
  status!: OrderStatus;

  @WordColumn('document', 36)
  document!: string;

  /** Where it is made; null if that is not known. */
  @TextColumn('store', 100)
  store!: string | null;

  @CentsColumn('total_cents')
  totalCents!: number;

  /** The part of the total on which cashback is earned and redeemed; null if that is the whole total. */
  @CentsColumn('eligible_total_cents', { nullable: true })
  eligibleTotalCents!: number | null;

  /** What the order earns if nothing is redeemed, instead of the policy's rates; null if they decide. */
  @CentsColumn('earn_amount_cents', { nullable: true })
  earnAmountCents!: number | null;

  @Column({ name: 'items', type: 'json' })
  items!: OrderItem[];

  /** As sent when the order was created or last amended. A replay is compared with them. */
  @Column({ name: 'payment_methods', type: 'json' })
  paymentMethods!: OrderPaymentMethod[];

  /** The payment methods sent at completion, if any. */
  @Column({ name: 'final_payment_methods', type: 'json', nullable: true })
  finalPaymentMethods!: OrderPaymentMethod[] | null;

  /** What the caller keeps with the order; null if it is empty. */
  @Column({ name: 'metadata', type: 'json', nullable: true })
  metadata!: Metadata | null;

  /** The rules at the order's creation. Neither an amendment nor a later policy of the merchant changes them. */
  @Column({ name: 'policy', type: 'json', transformer: policyTransformer })
  policy!: Policy;

  /** What a pending order holds. */
  @CentsColumn('held_cents')
  heldCents!: number;

  /** The amount that an expired order held until it expired. */
  @CentsColumn('lapsed_cents')
  lapsedCents!: number;

  /** What a completed order redeemed. */
  @CentsColumn('redeemed_cents')
  redeemedCents!: number;

  /** Cashback that a completed order earned. */
  @CentsColumn('earned_cents')
  earnedCents!: number;

  @CentsColumn('refunded_cents')
  refundedCents!: number;

  /** The part of `refundedCents` that concerned what the order earned cashback on. */
  @CentsColumn('refunded_eligible_cents')
  refundedEligibleCents!: number;

  /** Redeemed cashback that refunds returned to the customer. */
  @CentsColumn('returned_cents')
  returnedCents!: number;

  /** Earned cashback that refunds took back. */
  @CentsColumn('taken_back_cents')
  takenBackCents!: number;

  /** What is left of the earned cashback: what refunds neither took back nor waived because it had expired. */
  @CentsColumn('kept_cents')
  keptCents!: number;

  /** What was neither taken back nor moved when the order's customer was corrected: spent or expired. */
  @CentsColumn('lost_cents')
  lostCents!: number;

  /** Digest of the content that the order was created with (`contentOf`). */
  @DigestColumn('content_digest')
  contentDigest!: Buffer;

  /** Starts at 1 and increases with each change of the order. */
  @Column({ name: 'version', type: 'int' })
  version!: number;

  /** The version that was completed; null before. */
  @Column({ name: 'completed_version', type: 'int', nullable: true })
  completedVersion!: number | null;

  @InstantColumn('created_at')
  createdAt!: Date;

  /** When it was sold, if its request said so: it can have arrived late. */
  @InstantColumn('sold_at', { nullable: true })
  soldAt!: Date | null;

  /** The campaign whose rules it has; null without one. */
  @IdColumn('campaign_id', { nullable: true })
  campaignId!: string | null;

  /** When the order last changed. */
  @InstantColumn('updated_at')
  updatedAt!: Date;

  @InstantColumn('expires_at')
  expiresAt!: Date;

  /** The expiry that the order was created with, which a later hold can move; null if the request had none. */
  @InstantColumn('requested_expires_at', { nullable: true })
  requestedExpiresAt!: Date | null;

  @InstantColumn('completed_at', { nullable: true })
  completedAt!: Date | null;

  @InstantColumn('cancelled_at', { nullable: true })
  cancelledAt!: Date | null;

  /** When the customer of the completed order was corrected. */
  @InstantColumn('customer_changed_at', { nullable: true })
  customerChangedAt!: Date | null;

  /** When the earned cashback becomes available; null before completion. */
  @InstantColumn('cashback_available_at', { nullable: true })
  cashbackAvailableAt!: Date | null;

  /** When that cashback expires; null like `cashbackAvailableAt`. */
  @InstantColumn('cashback_expires_at', { nullable: true })
  cashbackExpiresAt!: Date | null;

  @ByColumn('created_by')
  createdBy!: string;

  @ByColumn('completed_by', { nullable: true })
  completedBy!: By;

  @ByColumn('cancelled_by', { nullable: true })
  cancelledBy!: By;

  @TextColumn('cancel_reason', 500)
  cancelReason!: string | null;

  @ByColumn('customer_changed_by', { nullable: true })
  customerChangedBy!: By;

  /** Why the customer was corrected; null after one of the two customers was erased. */
  @TextColumn('customer_change_reason', 500)
  customerChangeReason!: string | null;

  readonly #changes: OrderChange[] = [];

  static create(
    content: RequestedOrder,
    given: Pick<Order, 'merchantId' | 'policy' | 'campaignId' | 'contentDigest' | 'createdBy'>,
    now: Date,
  ): Order {
    return Object.assign(new Order(), given, content, {
      ...NOTHING_YET,
      id: newId(now),
      createdAt: now,
      updatedAt: now,
      expiresAt: content.requestedExpiresAt ?? defaultExpiry(given.policy, now),
    });
  }

  get isOpen(): boolean {
    return this.status === 'pending' || this.status === 'expired';
  }

  /** Whether the customer was erased: a pseudonym, which is a UUID, replaced the document. */
  get isErased(): boolean {
    return this.document.includes('-');
  }

  get wasCompleted(): boolean {
    return COMPLETED_STATUSES.includes(this.status);
  }

  /** How the order was paid or, while it is open, will be paid. */
  get effectivePaymentMethods(): OrderPaymentMethod[] {
    return this.finalPaymentMethods ?? this.paymentMethods;
  }

  /** What has changed since the order was loaded. */
  get changes(): readonly OrderChange[] {
    return this.#changes;
  }

  /**
   * Returns the maximum that can be redeemed now: nothing once the order is completed or cancelled.
   *
   * @param balance what the customer can spend.
   */
  maximum(balance: Spendable): RedeemableMaximum {
    if (!this.isOpen) return { maximumCents: 0, limitedBy: null };
    return redeemableMaximum(this, { ...balance, heldCents: this.heldCents }, this.policy);
  }

  /** Whether it ended without a sale. An expired order can still be renewed or completed. */
  get isOver(): boolean {
    return this.status === 'cancelled' || this.status === 'expired';
  }

  /** What the customer earns for the order, or has earned; nothing once it is over. */
  get earned(): EarnedCashback {
    if (this.isOver) return { earnedCents: 0, limitedBy: null };
    if (this.isOpen) return this.#earned(this.effectivePaymentMethods, this.heldCents);
    return { ...this.#earned(this.effectivePaymentMethods, this.redeemedCents), earnedCents: this.earnedCents };
  }

  /** When the earned cashback can be spent. An open order has the dates as if it were completed at its creation. */
  get validity(): Validity {
    const { cashbackAvailableAt: availableAt, cashbackExpiresAt: expiresAt } = this;
    if (availableAt === null || expiresAt === null) return validityOf(this.policy, this.createdAt);
    return { availableAt, expiresAt };
  }

  isDue(now: Date): boolean {
    return this.status === 'pending' && this.expiresAt <= now;
  }

  /** Expires the order, if it is due: what it held is released. */
  expireIfDue(wallet: WalletAggregate): void {
    if (!this.isDue(wallet.now)) return;
    wallet.hold(this.#cause(null), 0, this.expiresAt);
    const { heldCents: lapsedCents } = this;
    const values = { status: 'expired', heldCents: 0, lapsedCents } as const;
    this.#nextVersion('expire', { type: 'order.expired', madeBy: null }, wallet, values);
  }

  /**
   * Holds an amount until the order expires, in place of an earlier hold. An expired order becomes pending again.
   *
   * @throws Problem invalid_transition; validation_failed if the expiry is out of bounds; precondition_failed;
   *   redemption_below_minimum; redemption_exceeds_maximum.
   */
  hold(wallet: WalletAggregate, amountCents: number, requested: Date | undefined, origin: Origin): void {
    const transition = this.status === 'expired' ? 'renew' : 'hold';
    requireTransition(this, transition);
    if (hadHold(this, amountCents, requested)) return;
    const expiresAt = newExpiry(this, requested, wallet.now);
    const isChanged = this.heldCents !== amountCents;
    if (!isChanged && +expiresAt === +this.expiresAt) return;
    requireVersion(this, origin);
    refuseBelowMinimum(this.policy, amountCents, '/amount');
    refuseAboveMaximum(this.maximum(wallet.spendable), amountCents, '/amount');
    wallet.hold(this.#cause(origin.by), amountCents);
    const type = amountCents > 0 ? 'order.redemption_held' : 'order.redemption_released';
    const values = { status: 'pending', heldCents: amountCents, expiresAt } as const;
    const event = { type: isChanged ? type : 'order.renewed', madeBy: origin.by } as const;
    this.#nextVersion(transition, event, wallet, values);
  }

  /**
   * Replaces the content. The order keeps its policy, its expiry and, if it can, its hold.
   *
   * @param wallet of the customer of the new content.
   * @param lowersHold whether a hold above the new maximum is lowered.
   * @throws Problem invalid_transition; earn_amount_exceeds_maximum; precondition_failed; redemption_exceeds_maximum.
   */
  amend(wallet: WalletAggregate, content: AmendedContent, lowersHold: boolean, origin: Origin): void {
    requireTransition(this, 'amend');
    if (content.document !== undefined && content.document !== this.document && this.heldCents > 0)
      throw invalidTransition(this, HOLDS_OF_CUSTOMER, [differing('/document')]);
    const problem = earnAmountProblem(content, this.policy);
    if (problem !== undefined) throw problem;
    const isChanged = differences(contentOf({ ...this, ...content }), contentOf(this)).length > 0;
    if (isChanged) requireVersion(this, origin);
    const balance = { ...wallet.spendable, heldCents: this.heldCents };
    const maximum = redeemableMaximum(content, balance, this.policy);
    if (!lowersHold) refuseAboveMaximum(maximum, this.heldCents);
    const heldCents = Math.min(this.heldCents, maximum.maximumCents);
    if (!isChanged && heldCents === this.heldCents) return;
    wallet.hold({ ...this.#cause(origin.by), store: content.store }, heldCents);
    const event = { type: 'order.amended', madeBy: origin.by } as const;
    this.#nextVersion('amend', event, wallet, { ...content, heldCents });
  }

  /**
   * Completes the sale: redeems the hold or the given amount, and earns the cashback. It works after the order expired
   * too, if the balance still allows it. Completing again with the same values changes nothing.
   *
   * @throws Problem invalid_transition, also if it was completed with different values; precondition_failed;
   *   payments_exceed_total; redemption_lapsed; redemption_below_minimum; redemption_exceeds_maximum;
   *   redemption_no_longer_available.
   */
  complete(wallet: WalletAggregate, sent: Completion, origin: Origin): void {
    if (this.wasCompleted) return refuseOtherCompletion(this, sent, origin);
    requireTransition(this, 'complete');
    requireVersion(this, origin);
    const maximum = this.maximum(wallet.spendable);
    if (sent.redeemCents === undefined) refuseLapsed(this, maximum);
    const redeemedCents = sent.redeemCents ?? this.heldCents;
    refuseBelowMinimum(this.policy, redeemedCents, '/redeem');
    refuseUncovered(this, maximum, redeemedCents);
    if (sent.paymentMethods) refusePaymentsAbove(this.totalCents, sent.paymentMethods, redeemedCents);
    const finalPaymentMethods = sent.paymentMethods ?? null;
    const { earnedCents } = this.#earned(finalPaymentMethods ?? this.paymentMethods, redeemedCents);
    const validity = validityOf(this.policy, wallet.now, lateSince(this.soldAt, this.createdAt));
    const cause = this.#cause(origin.by);
    wallet.hold(cause, redeemedCents);
    wallet.redeem(cause);
    if (earnedCents > 0) wallet.earn(cause, earnedCents, validity);
    this.#nextVersion('complete', { type: 'order.completed', madeBy: origin.by }, wallet, {
      status: 'completed',
      heldCents: 0,
      redeemedCents,
      earnedCents,
      keptCents: earnedCents,
      finalPaymentMethods,
      completedAt: wallet.now,
      completedBy: origin.by,
      completedVersion: this.version,
      cashbackAvailableAt: validity.availableAt,
      cashbackExpiresAt: validity.expiresAt,
    });
  }

  /**
   * Releases the hold and ends the order. Cancelling again changes nothing, also not the reason.
   *
   * @throws Problem invalid_transition; precondition_failed.
   */
  cancel(wallet: WalletAggregate, cancelReason: string | null, origin: Origin): void {
    if (this.cancelledAt !== null) return;
    requireTransition(this, 'cancel');
    requireVersion(this, origin);
    wallet.hold(this.#cause(origin.by), 0);
    this.#nextVersion('cancel', { type: 'order.cancelled', madeBy: origin.by }, wallet, {
      status: 'cancelled',
      heldCents: 0,
      cancelledAt: wallet.now,
      cancelledBy: origin.by,
      cancelReason,
    });
  }

  /**
   * Returns what a refund does.
   *
   * @param refunds the earlier ones, for a refund of items.
   * @param goneCents how much of the earned cashback has expired unspent, or debits took.
   * @throws Problem invalid_transition; refund_exceeds_total, with the bounds; validation_failed for items.
   */
  quoteRefund(sent: AskedRefund, refunds: readonly Refund[], goneCents: number): RefundAmounts & RefundParts {
    requireTransition(this, 'refund');
    const asked = { ...sent, ...(sent.returned && amountsOfItems(this, sent.returned, refunds)) };
    const amounts = refundAmounts(this, asked, this.policy.earnRateMaximumBps);
    return { ...amounts, ...refundParts(this, amounts, goneCents + this.lostCents) };
  }

  /**
   * Refunds an amount: returns redeemed cashback, and takes earned cashback back. What the order redeemed and earned
   * must be loaded in the wallet.
   *
   * @param refunds the earlier ones, for a refund of items.
   * @throws Problem precondition_failed; and those of `quoteRefund`.
   */
  refund(wallet: WalletAggregate, sent: SentRefund, refunds: readonly Refund[], origin: Origin): Refund {
    requireTransition(this, 'refund');
    requireVersion(this, origin);
    const amounts = this.quoteRefund(sent, refunds, wallet.goneUnspent(this.id));
    const { id: orderId, merchantId, returnedCents: returnedBeforeCents } = this;
    const { externalId, returned, reason, store, metadata } = sent;
    const refund: Refund = {
      ...{ id: newId(wallet.now), orderId, merchantId, externalId, version: this.version + 1, ...amounts, returned },
      ...{ reason, store, metadata, createdAt: wallet.now, createdBy: origin.by, contentDigest: null, ...NOT_VOIDED },
    };
    const cause = { ...this.#cause(origin.by), refundId: refund.id, store: store ?? this.store };
    wallet.refund(cause, { returnedBeforeCents, ...amounts, timeZone: this.policy.timeZone });
    const after = afterRefund(this, refund, 'made');
    const status = after.refundedCents === this.totalCents ? 'refunded' : 'partially_refunded';
    const values = { status, ...after } as const;
    this.#nextVersion('refund', { type: 'order.refunded', madeBy: origin.by, refund }, wallet, values);
    return refund;
  }

  /**
   * Undoes a refund: the order and the wallet have what they had before it. What it has moved must be loaded.
   *
   * @param later refunds of the order that were made after it.
   * @throws Problem refund_not_voidable; precondition_failed.
   */
  voidRefund(
    wallet: WalletAggregate,
    refund: Refund,
    later: readonly Refund[],
    reason: string | null,
    origin: Origin,
  ): void {
    const obstacle = isLatest(refund, this.version, later) ? wallet.obstacleTo(refund.id) : 'later_change';
    if (obstacle !== undefined) throw notVoidable(obstacle);
    requireVersion(this, origin);
    wallet.undo({ ...this.#cause(origin.by), refundId: refund.id, store: refund.store ?? this.store });
    noteVoid(refund, wallet.now, origin.by, reason);
    const after = afterRefund(this, refund, 'undone');
    const status = after.refundedCents === 0 ? 'completed' : 'partially_refunded';
    const event = { type: 'order.refund_voided', madeBy: origin.by, refund } as const;
    this.#nextVersion('void_refund', event, wallet, { status, ...after });
  }

  /**
   * Corrects the customer of a completed order. What is left of the earned cashback moves to another customer, with the
   * same dates. The first customer keeps what is spent, so later refunds take it back from nobody.
   *
   * @param heldBy the orders that hold a part of the earned cashback.
   * @throws Problem invalid_transition, also if it redeemed cashback or was corrected before; precondition_failed;
   *   cashback_held; wallet_frozen.
   */
  changeCustomer(
    wallets: { from: WalletAggregate; to: WalletAggregate },
    heldBy: readonly HoldingOrder[],
    reason: string,
    origin: Origin,
  ): { movedCents: number } {
    requireTransition(this, 'change_customer');
    requireVersion(this, origin);
    if (heldBy.length > 0) throw new Problem('cashback_held', { held_by: [...heldBy] });
    const { from, to } = wallets;
    if (from.row.frozen) throw new Problem('wallet_frozen');
    const moved = from.moveOut(this.#cause(origin.by), this.keptCents);
    if (moved !== undefined) to.moveIn(this.#cause(origin.by), moved);
    const movedCents = moved?.amountCents ?? 0;
    const { document } = to.row;
    const event = { type: 'order.customer_changed', madeBy: origin.by, previousWallet: { ...from.row } } as const;
    const lostCents = this.earnedCents - this.takenBackCents - movedCents;
    this.#nextVersion('change_customer', event, to, {
      document,
      lostCents,
      customerChangedAt: to.now,
      customerChangedBy: origin.by,
      customerChangeReason: reason,
    });
    return { movedCents };
  }

  #cause(by: By): Cause {
    return { orderId: this.id, by, store: this.store };
  }

  #earned(paymentMethods: OrderPaymentMethod[], redeemedCents: number): EarnedCashback {
    const { totalCents, eligibleTotalCents, earnAmountCents } = this;
    const paid = { totalCents, eligibleTotalCents, earnAmountCents, paymentMethods, redeemedCents };
    return cashbackToReceive(paid, this.policy);
  }

  /** Asks the table again, so that no method can forget it. */
  #nextVersion<T extends OrderTransition>(
    transition: T,
    event: OrderEvent,
    { row, now }: WalletAggregate,
    values: Partial<Order> & { status?: StatusAfter<T> },
  ): void {
    requireTransition(this, transition);
    Object.assign(this, { lapsedCents: 0, ...values, version: this.version + 1, updatedAt: now });
    const order = Object.assign(new Order(), this);
    this.#changes.push({ ...event, order, wallet: { ...row } });
  }
}

const HOLDS_OF_CUSTOMER = 'it holds cashback of its customer: release it before you change the document';
