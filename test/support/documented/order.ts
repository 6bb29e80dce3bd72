import { instant } from './days.js';
import { brl, min, sum } from './money.js';
import { type Check, countReached, eitherOf, numerically, unchecked, within } from './comparison.js';
import { earnedValidity, type LimitedBy, maximumOf, type Payment, rateOf, type Rules, toReceive } from './rules.js';
import type { Credit, Part, Wallet } from './wallet.js';

export interface Item {
  id: string;
  price: bigint;
  description?: string;
  quantity: number;
}

/** What a caller can create an order with, or amend it to. */
export interface Content {
  items: Item[];
  total: bigint;
  eligible: bigint;
  payments: Payment[];
  metadata: Record<string, string>;
}

export interface Refund {
  id?: string;
  externalId: string;
  amount: bigint;
  eligible: bigint;
  /** Whether the request had `eligible_amount`. */
  explicit: boolean;
  returned: bigint;
  takenBack: bigint;
  at: number;
}

export type Status = 'pending' | 'completed' | 'cancelled' | 'expired' | 'partially_refunded' | 'refunded';

/** An order as OpenAPI's `OrderDto` describes it. */
export class Order {
  id = '';
  status: Status = 'pending';
  version = 1;
  lapsed = 0n;
  /** What a read may still say of an order that has expired before the service has written it. */
  due: { held: bigint; version: number; updatedAt: number } | undefined;
  /** "The content that the order was created with", and its first `expires_at`. */
  readonly first: { content: Content; expiresAt: number };
  updatedAt: number;
  completedAt: number | undefined;
  cancelledAt: number | undefined;
  redeemed: Part[] = [];
  redeemedAmount = 0n;
  granted = 0n;
  credit: Credit | undefined;
  readonly refunds: Refund[] = [];
  /** The body that completed it, and the payment methods that it named. */
  completion: string | undefined;
  finalPayments: Payment[] | undefined;
  /** Every content that the order has had, and the last hold that named an `expires_at`. */
  readonly contents: Content[];
  datedHold: { amount: bigint; expiresAt: number } | undefined;

  constructor(
    readonly externalId: string,
    readonly document: string,
    public content: Content,
    readonly createdAt: number,
    public expiresAt: number,
    readonly rules: Rules,
    readonly wallet: Wallet,
  ) {
    this.first = { content, expiresAt };
    this.contents = [content];
    this.updatedAt = createdAt;
  }

  get held(): bigint {
    return this.wallet.heldFor(this.externalId);
  }

  get isOpen(): boolean {
    return this.status === 'pending' || this.status === 'expired';
  }

  get returned(): bigint {
    return sum(this.refunds.map(({ returned }) => returned));
  }

  get takenBack(): bigint {
    return sum(this.refunds.map(({ takenBack }) => takenBack));
  }

  /** "Maximum that can be redeemed on this order now, including the amount held for it" */
  maximum(now: number, content = this.content): { maximum: bigint; limitedBy: LimitedBy } {
    return maximumOf(this.rules, content, this.wallet.available(now) + this.held);
  }

  /** "`version` … increases with each change of the order. `updated_at` is the instant of the last change." */
  changed(at: number): void {
    this.due = undefined;
    this.version++;
    this.updatedAt = at;
  }

  /** "When the order expires, what it held is released, and the order shows it as `lapsed`." */
  expire(): void {
    const { held, version, updatedAt } = this;
    this.lapsed = held;
    if (held > 0n) countReached('a hold lapses');
    this.status = 'expired';
    this.wallet.release(this.externalId, this.expiresAt);
    this.changed(this.expiresAt);
    this.due = { held, version, updatedAt };
  }

  /** The members `current_status`, `allowed` and `operations` of a 409 `invalid_transition`. */
  transitions(): Record<string, unknown> {
    // The diagram of the README, without what time alone does; "`hold`, `renew`, `amend`, `complete`, `cancel`,
    // `refund`"
    const by: Record<Status, [Status[], string[]]> = {
      pending: [
        ['completed', 'cancelled'],
        ['hold', 'amend', 'complete', 'cancel'],
      ],
      expired: [
        ['pending', 'completed', 'cancelled'],
        ['renew', 'complete', 'cancel'],
      ],
      completed: [['partially_refunded', 'refunded'], ['refund']],
      partially_refunded: [['partially_refunded', 'refunded'], ['refund']],
      refunded: [[], []],
      cancelled: [[], []],
    };
    const [allowed, operations] = by[this.status];
    return {
      current_status: this.status,
      allowed: sameElements(allowed),
      operations: sameElements(operations),
    };
  }

  /** "An order expires within seconds after `expires_at`, or at once when an operation comes first" */
  view(now: number): unknown {
    const view = this.#view(now);
    if (!this.due) return view;
    const { held, version, updatedAt } = this.due;
    const { content } = this;
    const pending = {
      ...view,
      ...{ status: 'pending', version, updated_at: instant(updatedAt), amount_to_pay: brl(content.total - held) },
      cashback: {
        to_redeem: { ...view.cashback.to_redeem, held: brl(held), lapsed: '0.00' },
        to_receive: quotedToReceive(this.rules, content, held, this.createdAt),
      },
    };
    return eitherOf('an order that is due to expire', view, pending);
  }

  #view(now: number): { cashback: { to_redeem: object; to_receive: unknown } } & Record<string, unknown> {
    const { content } = this;
    const { maximum, limitedBy } = this.isOpen ? this.maximum(now) : { maximum: 0n, limitedBy: null };
    return {
      ...{ external_id: this.externalId, document: this.document, currency: 'BRL' },
      ...{ id: this.id === '' ? identifier : this.id, status: this.status, version: this.version },
      ...{ total: brl(content.total), eligible_total: brl(content.eligible) },
      // "`amount_to_pay` is `total` less what is held or redeemed."
      amount_to_pay: brl(content.total - this.held - this.redeemedAmount),
      items: content.items.map((item) => ({ ...item, price: brl(item.price) })),
      payment_methods: paymentsView(this.rules, this.finalPayments ?? content.payments),
      metadata: content.metadata,
      cashback: {
        to_redeem: {
          ...{ available: brl(this.wallet.available(now)), maximum: brl(maximum), limited_by: limitedBy },
          // "Amount that an expired order held until it expired; "0.00" otherwise."
          ...{ held: brl(this.held), lapsed: brl(this.status === 'expired' ? this.lapsed : 0n) },
          ...{ redeemed: brl(this.redeemedAmount), returned: brl(this.returned) },
        },
        to_receive: this.#toReceive(now),
      },
      refunded: {
        amount: brl(sum(this.refunds.map(({ amount }) => amount))),
        amount_to_pay_back: brl(sum(this.refunds.map(({ amount, returned }) => amount - returned))),
      },
      ...{ created_at: instant(this.createdAt), updated_at: this.#updatedView(now) },
      expires_at: instant(this.expiresAt),
      completed_at: this.completedAt === undefined ? null : instant(this.completedAt),
      cancelled_at: this.cancelledAt === undefined ? null : instant(this.cancelledAt),
    };
  }

  /** "An order expires within seconds after `expires_at`, or at once when an operation comes first". */
  #updatedView(now: number): unknown {
    if (this.status !== 'expired') return instant(this.updatedAt);
    return within('updated_at of an expired order', instant(this.expiresAt), instant(now));
  }

  #toReceive(now: number): unknown {
    if (this.isOpen) return quotedToReceive(this.rules, this.content, this.held, this.createdAt);
    const dates = earnedValidity(this.rules, this.completedAt ?? this.createdAt);
    if (this.status === 'cancelled' || this.granted === 0n) {
      return {
        amount: this.status === 'cancelled' ? unchecked('to_receive.amount of a cancelled order') : '0.00',
        ...{ taken_back: '0.00', status: 'none' },
        // "Null, like the other dates, if the order was cancelled."
        ...datesView(dates, (date) => (this.status === 'cancelled' ? null : date)),
      };
    }
    return {
      ...{ amount: brl(this.granted), taken_back: brl(this.takenBack), status: this.#receivedStatus(now, dates) },
      ...datesView(dates),
    };
  }

  /** OpenAPI, `ToReceiveStatus`: "Otherwise the first that is true". */
  #receivedStatus(now: number, { availableAt, expiresAt }: { availableAt: number; expiresAt: number }): unknown {
    if (this.takenBack === this.granted) return 'taken_back';
    if (now >= expiresAt) return 'expired';
    if (this.takenBack > 0n) return 'partially_taken_back';
    return now < availableAt ? 'pending' : 'available';
  }
}

/** `to_receive` before completion: "calculated as if the order had been completed at its creation". */
export function quotedToReceive(rules: Rules, content: Content, redeemed: bigint, at: number): Record<string, unknown> {
  const amount = toReceive(rules, content, redeemed);
  const dates = earnedValidity(rules, at);
  return {
    ...{ amount: brl(amount), taken_back: '0.00', status: 'quoted' },
    ...datesView(dates, (date) => (amount > 0n ? date : eitherOf('to_receive dates of a quote of 0.00', date, null))),
  };
}

function datesView(
  { availableAt, expiresAt, expiresOn }: { availableAt: number; expiresAt: number; expiresOn: string },
  show: (date: string) => unknown = (date) => date,
): Record<string, unknown> {
  return {
    ...{ available_at: show(instant(availableAt)), expires_at: show(instant(expiresAt)), expires_on: show(expiresOn) },
  };
}

/** "Rates and shares are decimal strings: "0.05" is 5 %". */
export const paymentsView = (rules: Rules, payments: Payment[]): unknown[] =>
  payments.map(({ id, amount }) => ({
    ...{ id, amount: brl(amount), earn_rate: numerically(Number(rateOf(rules, id)) / 10_000) },
  }));

export function refundView(order: Order, refund: Refund): Record<string, unknown> {
  return {
    ...{ id: refund.id ?? identifier, external_id: refund.externalId, order_id: order.id },
    ...{ amount: brl(refund.amount), eligible_amount: brl(refund.eligible) },
    ...{ cashback_returned: brl(refund.returned), cashback_taken_back: brl(refund.takenBack) },
    // "money to pay back: `F` less what was returned"
    ...{ amount_to_pay_back: brl(refund.amount - refund.returned), created_at: instant(refund.at) },
  };
}

/** An ID that the response is the first to tell. */
export const identifier: Check = (value) => (/^[0-9a-f-]{36}$/.test(String(value)) ? undefined : 'is not a UUID');

const sameElements =
  (expected: string[]): Check =>
  (value) =>
    Array.isArray(value) && [...value].sort().join() === [...expected].sort().join()
      ? undefined
      : `is ${JSON.stringify(value)}, not ${expected.join()}`;

/** What a refund returns: "to the credits it came from, latest expiry first". */
export function partsToReturn(order: Order, amount: bigint): Part[] {
  const parts: Part[] = [];
  const latestFirst = [...order.redeemed].sort(
    (a, b) => b.credit.expiresAt - a.credit.expiresAt || b.credit.n - a.credit.n,
  );
  for (const part of latestFirst) {
    const returned = min(part.amount, amount);
    if (returned === 0n) continue;
    part.amount -= returned;
    amount -= returned;
    parts.push({ credit: part.credit, amount: returned });
  }
  return parts;
}
