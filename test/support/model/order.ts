import type { Content } from './content.js';
import { anId, anything, type Check, inAnyOrder, type Outcome, problem, share } from './expected.js';
import { type Amounts, earnedValidity, maximumOf, rateOf, type Rules, toReceive, type Validity } from './rules.js';
import { brl, cents, instant, sum } from './values.js';
import type { By, Cause, Credit, Part, Wallet } from './wallet.js';

export interface Refund {
  /** The request, with two decimals, and what is known of the response. */
  request: { external_id: string; amount: string; eligible_amount: string | undefined } & Told;
  body: Record<string, unknown>;
  amount: bigint;
  eligible: bigint;
  returned: bigint;
  takenBack: bigint;
}

/** What a refund only keeps. */
export interface Told {
  reason: string | undefined;
  store: string | null;
  metadata: Record<string, string> | undefined;
}

export type Status = 'pending' | 'completed' | 'cancelled' | 'expired' | 'partially_refunded' | 'refunded';

/** The diagram of the README without what time alone does: the statuses and the operations that a status allows. */
const TRANSITIONS: Record<Status, [allowed: string, operations: string]> = {
  pending: ['completed,cancelled', 'hold,amend,complete,cancel'],
  expired: ['pending,completed,cancelled', 'renew,complete,cancel'],
  completed: ['partially_refunded,refunded', 'refund'],
  partially_refunded: ['partially_refunded,refunded', 'refund'],
  refunded: ['', ''],
  cancelled: ['', ''],
};

/** An order as OpenAPI's `OrderDto` describes it. */
export class Order {
  id = '';
  status: Status = 'pending';
  version = 1;
  updatedAt: number;
  completedAt: number | undefined;
  /** The version that was completed. */
  completedVersion: number | undefined;
  cancelledAt: number | undefined;
  completedBy: By = null;
  cancelledBy: By = null;
  cancelReason: string | undefined;
  /** What an expired order held until it expired. */
  lapsed = 0n;
  /** What was redeemed and not returned, and `R` and `G` of cashback.md. */
  redeemed: Part[] = [];
  redeemedAmount = 0n;
  granted = 0n;
  credit: Credit | undefined;
  readonly refunds: Refund[] = [];
  finalPayments: Amounts['payment_methods'] | undefined;
  /** Every content that the order has had, and its first expiry. */
  readonly contents: Content[];
  readonly firstExpiresAt: number;
  /** The last request that held with an `expires_at`. */
  datedHold: { amount: bigint; expiresAt: number } | undefined;

  constructor(
    readonly externalId: string,
    readonly document: string,
    public content: Content,
    readonly createdAt: number,
    public expiresAt: number,
    readonly rules: Rules,
    readonly wallet: Wallet,
    readonly createdBy: By,
  ) {
    [this.updatedAt, this.contents, this.firstExpiresAt] = [createdAt, [content], expiresAt];
  }

  get held(): bigint {
    return this.wallet.held(this.externalId);
  }

  get isOpen(): boolean {
    return this.status === 'pending' || this.status === 'expired';
  }

  get isRefundable(): boolean {
    return this.status === 'completed' || this.status === 'partially_refunded';
  }

  get payments(): Amounts['payment_methods'] {
    return this.finalPayments ?? this.content.payment_methods;
  }

  /** The sum of a member of the refunds. */
  refunded(member: 'amount' | 'eligible' | 'returned' | 'takenBack'): bigint {
    return sum(this.refunds.map((refund) => refund[member]));
  }

  /** "Maximum that can be redeemed on this order now, including the amount held for this order" */
  limits(now: number, content: Amounts = this.content): ReturnType<typeof maximumOf> {
    return maximumOf(this.rules, content, this.wallet.available(now) + this.held);
  }

  /** What lines of this order have in common. */
  cause(at: number, by: By): Cause & { order: string } {
    return { at, by, store: this.content.store, order: this.externalId };
  }

  /** "`version` … increases with each change of the order. `updated_at` is the instant of the last change." */
  changed(at: number): void {
    this.version++;
    this.updatedAt = at;
  }

  /** "When the order expires, what it held is released, and the order shows it as `lapsed`." */
  expire(): void {
    this.lapsed = this.held;
    this.status = 'expired';
    this.wallet.hold(this.cause(this.expiresAt, null), 0n);
    this.changed(this.expiresAt);
  }

  invalidTransition(): Outcome {
    const [allowed, operations] = TRANSITIONS[this.status].map((names) => inAnyOrder(names.split(',').filter(Boolean)));
    return problem('invalid_transition', { current_status: this.status, allowed, operations });
  }

  view(now: number): Record<string, unknown> {
    const { content, rules, held } = this;
    const limits = this.isOpen ? this.limits(now) : { maximum: 0n, limitedBy: null };
    const date = (at: number | undefined): string | null => (at === undefined ? null : instant(at));
    // "An order expires within seconds after `expires_at`, or at once when an operation on it comes first".
    const expired: Check = (at) => String(at) >= instant(this.expiresAt) && String(at) <= instant(now);
    const [amount, returned] = [this.refunded('amount'), this.refunded('returned')];
    return {
      ...{ ...content, payment_methods: paymentsView(rules, this.payments) },
      ...{ external_id: this.externalId, document: this.document, currency: 'BRL' },
      ...{ id: this.id || anId, status: this.status, version: this.version },
      // "`amount_to_pay` is `total` less what is held or redeemed."
      amount_to_pay: brl(cents(content.total) - held - this.redeemedAmount),
      cashback: {
        to_redeem: {
          ...{ available: brl(this.wallet.available(now)), ...limitsView(limits), held: brl(held) },
          ...{ lapsed: brl(this.lapsed), redeemed: brl(this.redeemedAmount), returned: brl(returned) },
        },
        to_receive: this.isOpen ? quotedToReceive(rules, content, held, this.createdAt) : this.#received(now),
      },
      refunded: { amount: brl(amount), amount_to_pay_back: brl(amount - returned) },
      ...{ created_at: date(this.createdAt), completed_at: date(this.completedAt) },
      ...{ expires_at: date(this.expiresAt), cancelled_at: date(this.cancelledAt) },
      ...{ created_by: this.createdBy, completed_by: this.completedBy, cancelled_by: this.cancelledBy },
      cancel_reason: this.cancelReason,
      updated_at: this.status === 'expired' ? expired : date(this.updatedAt),
    };
  }

  #received(now: number): Record<string, unknown> {
    // "Null, like the other dates, if the order was cancelled."
    if (this.completedAt === undefined) return { amount: anything, taken_back: '0.00', status: 'none' };
    const dates = earnedValidity(this.rules, this.completedAt);
    const takenBack = this.refunded('takenBack');
    // "Otherwise it is the first that is true"
    const status = [
      this.granted === 0n && 'none',
      takenBack === this.granted && 'taken_back',
      now >= dates.expiresAt && 'expired',
      takenBack > 0n && 'partially_taken_back',
      now < dates.availableAt ? 'pending' : 'available',
    ].find(Boolean);
    return { amount: brl(this.granted), taken_back: brl(takenBack), status, ...datesView(dates) };
  }
}

/** "before completion, calculated as if the order had been completed at its creation" */
export function quotedToReceive(rules: Rules, amounts: Amounts, redeemed: bigint, at: number): Record<string, unknown> {
  const amount = brl(toReceive(rules, amounts, redeemed));
  return { amount, taken_back: '0.00', status: 'quoted', ...datesView(earnedValidity(rules, at)) };
}

function datesView({ availableAt, expiresAt, expiresOn }: Validity): Record<string, string> {
  return { available_at: instant(availableAt), expires_at: instant(expiresAt), expires_on: expiresOn };
}

export const paymentsView = (rules: Rules, payments: Amounts['payment_methods']): unknown[] =>
  payments.map((payment) => ({ ...payment, earn_rate: share(rateOf(rules, payment.id)) }));

export const limitsView = ({ maximum, limitedBy }: ReturnType<typeof maximumOf>): object => ({
  ...{ maximum: brl(maximum), limited_by: limitedBy },
});
