import type { Campaign, InForce } from './campaigns.js';
import type { Content } from './content.js';
import { anId, type Check, inAnyOrder, type Outcome, pointersTo, problem, share } from './expected.js';
import { type Amounts, type Earned, earnedValidity, maximumOf, rateOf } from './rules.js';
import { type Rules, toReceive, type Validity } from './rules.js';
import { brl, cents, instant, sum } from './values.js';
import type { By, Cause, Credit, Part, Wallet } from './wallet.js';

export interface Refund {
  /** The request, with two decimals, and what is known of the response. */
  request: { external_id: string; items?: Back['items'] | undefined; rest?: boolean | undefined } & Record<
    'amount' | 'eligible_amount' | 'take_back',
    string | undefined
  > &
    Told;
  body: Record<string, unknown>;
  /** What came back; undefined if the request has an amount. */
  back: Required<Back> | undefined;
  amount: bigint;
  eligible: bigint;
  returned: bigint;
  takenBack: bigint;
  /** What the customer loses of the earned cashback, taken back or not. */
  due: bigint;
  /** The credits that the order redeemed from, and what it returned of each. */
  parts: Part[];
  voided: Voided | undefined;
}

/** When something was first voided, by whom, and why. */
export interface Voided {
  at: number;
  by: By;
  reason: string | undefined;
}

/** "voided_at, voided_by, void_reason" */
export const voidedView = (voided: Voided | undefined): object => ({
  voided_at: voided ? instant(voided.at) : null,
  ...{ voided_by: voided?.by ?? null, void_reason: voided?.reason ?? null },
});

/** Items with their quantities, and whether what the total has beyond them. */
export interface Back {
  items: { id: string; quantity?: number | undefined }[];
  rest: boolean;
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
  completed: ['partially_refunded,refunded', 'refund,change_customer'],
  partially_refunded: ['partially_refunded,refunded', 'refund,change_customer'],
  refunded: ['', 'change_customer'],
  cancelled: ['', ''],
};

/** The correction of an order's customer. */
export interface Move {
  request: { document: string; reason: string };
  moved: bigint;
  notMoved: bigint;
  /** How many refunds there were before it. */
  refunds: number;
  at: number;
  by: By;
}

/** A content that the order has had, and its customer. */
export interface Cart {
  content: Content;
  document: string;
}

/**
 * "`operations` is what can be done now": a customer is corrected once, and not if the order redeemed cashback.
 * "`operations` of a completed order of 0.00 has no `refund`"
 */
function operationsOf({ status, redeemedAmount, move, isZero }: Order): Check[] {
  const isFinal = redeemedAmount > 0n || move !== undefined;
  const impossible = [...(isFinal ? ['change_customer'] : []), ...(isZero ? AFTER_REFUND : [])];
  return TRANSITIONS[status].map((names) =>
    inAnyOrder(names.split(',').filter((name) => name !== '' && !impossible.includes(name))),
  );
}

const AFTER_REFUND = ['refund', 'partially_refunded', 'refunded'];

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
  move: Move | undefined;
  /** All refunds, also those that were voided. */
  readonly allRefunds: Refund[] = [];
  finalPayments: Amounts['payment_methods'] | undefined;
  /** Every content that the order has had, and its first expiry. */
  readonly carts: Cart[];
  readonly firstExpiresAt: number;
  readonly rules: Rules;
  readonly campaign: Campaign | undefined;
  /** The last request that held with an `expires_at`. */
  datedHold: { amount: bigint; expiresAt: number } | undefined;

  constructor(
    readonly externalId: string,
    public document: string,
    public content: Content,
    readonly createdAt: number,
    public expiresAt: number,
    /** The rules of its creation, and the campaign that they are from. */
    inForce: InForce,
    public wallet: Wallet,
    readonly createdBy: By,
    /** When the sale in one request that made it was made, as that said. */
    readonly soldAt?: number,
  ) {
    [this.rules, this.campaign] = [inForce.rules, inForce.campaign];
    [this.updatedAt, this.carts, this.firstExpiresAt] = [createdAt, [{ content, document }], expiresAt];
  }

  /** When it was sold, if the sale arrived late. */
  get lateAt(): number | undefined {
    return lateAt(this.soldAt, this.createdAt);
  }

  get held(): bigint {
    return this.wallet.held(this.externalId);
  }

  get isOpen(): boolean {
    return this.status === 'pending' || this.status === 'expired';
  }

  get isZero(): boolean {
    return cents(this.content.total) === 0n;
  }

  get isRefundable(): boolean {
    return !this.isZero && (this.status === 'completed' || this.status === 'partially_refunded');
  }

  /** Those that count: "it counts in nothing" if it was voided. */
  get refunds(): Refund[] {
    return this.allRefunds.filter(({ voided }) => voided === undefined);
  }

  get payments(): Amounts['payment_methods'] {
    return this.finalPayments ?? this.content.payment_methods;
  }

  get cart(): Cart {
    return { content: this.content, document: this.document };
  }

  /** "`L` is what is left of the earned cashback, less what was taken back or waived" */
  get left(): bigint {
    return this.granted - this.refunded('due');
  }

  /**
   * What refunds need not take back: what has expired unspent, stayed with the first customer, or what "debits took of
   * an order's *own* credit and was not restored", less what they did not take back so far.
   */
  get lost(): bigint {
    const waived = this.refunded('due') - this.refunded('takenBack');
    const { expired, debited } = this.credit ?? { expired: 0n, debited: 0n };
    return expired + debited + (this.move?.notMoved ?? 0n) - waived;
  }

  /** Why a refund cannot be voided now. */
  obstacle(refund: Refund, at: number): string | undefined {
    // "it is the order's latest change. Refunds that were voided since, with their voids, do not count"
    const isMoved = this.move !== undefined && this.allRefunds.indexOf(refund) < this.move.refunds;
    if (isMoved || this.refunds.at(-1) !== refund) return 'later_change';
    return this.wallet.obstacle({ ...this.cause(at, null), refund: refund.request.external_id });
  }

  refundView(refund: Refund, at: number): Record<string, unknown> {
    const { body, voided } = refund;
    const voidable = voided === undefined && this.obstacle(refund, at) === undefined;
    return { ...body, voidable, ...voidedView(voided) };
  }

  /** The sum of a member of the refunds. */
  refunded(member: 'amount' | 'eligible' | 'returned' | 'takenBack' | 'due'): bigint {
    return sum(this.refunds.map((refund) => refund[member]));
  }

  /** "Maximum that can be redeemed on this order now, including the amount held for this order" */
  limits(now: number, content: Amounts = this.content): ReturnType<typeof maximumOf> {
    const { wallet, held } = this;
    return maximumOf(this.rules, content, wallet.available(now) + held, wallet.isFrozen ? held : undefined);
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

  /** @param names of the members whose values make it impossible */
  invalidTransition(...names: string[]): Outcome {
    const [allowed, operations] = operationsOf(this);
    const said = { current_status: this.status, allowed, operations };
    return problem('invalid_transition', said, names.length > 0 ? pointersTo(...names) : undefined);
  }

  view(now: number): Record<string, unknown> {
    const { content, rules, held } = this;
    const paid = { ...content, payment_methods: this.payments };
    const limits = this.isOpen ? this.limits(now) : { maximum: 0n, limitedBy: null };
    const date = (at: number | undefined): string | null => (at === undefined ? null : instant(at));
    // "An order expires within seconds after `expires_at`, or at once when an operation on it comes first".
    const expired: Check = (at) => String(at) >= instant(this.expiresAt) && String(at) <= instant(now);
    const [amount, returned] = [this.refunded('amount'), this.refunded('returned')];
    return {
      ...{ ...content, payment_methods: paymentsView(rules, paid) },
      ...{ external_id: this.externalId, document: this.document, currency: 'BRL' },
      ...{ id: this.id || anId, status: this.status, version: this.version },
      // "`amount_to_pay` is `total` less what is held or redeemed."
      amount_to_pay: brl(cents(content.total) - held - this.redeemedAmount),
      cashback: {
        to_redeem: {
          ...{ available: brl(this.wallet.available(now)), ...limitsView(limits), held: brl(held) },
          ...{ lapsed: brl(this.lapsed), redeemed: brl(this.redeemedAmount), returned: brl(returned) },
        },
        to_receive:
          this.status === 'pending' ? quotedToReceive(rules, content, held, this.createdAt) : this.#received(now),
      },
      refunded: { amount: brl(amount), amount_to_pay_back: brl(amount - returned) },
      operations: operationsOf(this)[1],
      ...{ created_at: date(this.createdAt), completed_at: date(this.completedAt) },
      ...{ expires_at: date(this.expiresAt), cancelled_at: date(this.cancelledAt) },
      ...{ created_by: this.createdBy, completed_by: this.completedBy, cancelled_by: this.cancelledBy },
      ...{ campaign_id: this.campaign?.id ?? null, sold_at: date(this.soldAt) },
      cancel_reason: this.cancelReason,
      ...{ customer_changed_at: date(this.move?.at), customer_changed_by: this.move?.by ?? null },
      customer_change_reason: this.move?.request.reason ?? null,
      updated_at: this.status === 'expired' ? expired : date(this.updatedAt),
    };
  }

  #received(now: number): Record<string, unknown> {
    // "Null, like the other dates, if the order was cancelled." "An order that expired shows no amount to receive …,
    // like a cancelled one."
    if (this.completedAt === undefined) return { amount: '0.00', limited_by: null, taken_back: '0.00', status: 'none' };
    const { content, rules, payments, redeemedAmount } = this;
    const { limitedBy } = toReceive(rules, { ...content, payment_methods: payments }, redeemedAmount);
    const dates = earnedValidity(this.rules, this.completedAt, this.lateAt);
    const takenBack = this.refunded('takenBack');
    // "Otherwise it is the first that is true"
    const status = [
      this.granted === 0n && 'none',
      takenBack === this.granted && 'taken_back',
      now >= dates.expiresAt && 'expired',
      takenBack > 0n && 'partially_taken_back',
      now < dates.availableAt ? 'pending' : 'available',
    ].find(Boolean);
    const amount = brl(this.granted);
    return { amount, limited_by: limitedBy, taken_back: brl(takenBack), status, ...datesView(dates) };
  }
}

/** "before completion, calculated as if the order had been completed at its creation" */
/** "Up to five minutes ago, or in the future, it is a sale of now." */
export const lateAt = (soldAt: number | undefined, now: number): number | undefined =>
  soldAt !== undefined && soldAt < now - 300_000 ? soldAt : undefined;

export function quotedToReceive(
  rules: Rules,
  amounts: Amounts,
  redeemed: bigint,
  at: number,
  soldAt?: number,
): Record<string, unknown> {
  const earned: Earned = toReceive(rules, amounts, redeemed);
  const said = { amount: brl(earned.amount), limited_by: earned.limitedBy, taken_back: '0.00', status: 'quoted' };
  return { ...said, ...datesView(earnedValidity(rules, at, soldAt)) };
}

function datesView({ availableAt, expiresAt, availableOn, expiresOn }: Validity): Record<string, string> {
  const instants = { available_at: instant(availableAt), expires_at: instant(expiresAt) };
  return { ...instants, available_on: availableOn, expires_on: expiresOn };
}

/** "null if the order has an `earn_amount`" */
export const paymentsView = (rules: Rules, { payment_methods, earn_amount }: Amounts): unknown[] =>
  payment_methods.map((payment) => {
    return { ...payment, earn_rate: earn_amount === null ? share(rateOf(rules, payment.id)) : null };
  });

/** "`redeem_minimum`: the least that can be redeemed at once" */
export function belowMinimum({ redeemMinimum }: Rules, amount: bigint, name: string): Outcome | false {
  const isBelow = amount > 0n && amount < redeemMinimum;
  return isBelow && problem('redemption_below_minimum', { minimum: brl(redeemMinimum) }, pointersTo(name));
}

export const limitsView = ({ maximum, limitedBy }: ReturnType<typeof maximumOf>): object => ({
  ...{ maximum: brl(maximum), limited_by: limitedBy },
});
