import {
  canEnd,
  isDue,
  iso,
  type ModelContent,
  type ModelOrder,
  type ModelRefund,
  NEXT,
  OPERATIONS,
  orderAnswer,
  statusOf,
  validityOf,
} from './order.js';
import {
  brl,
  least,
  maximumOf,
  type Method,
  MINUTE,
  most,
  MOST_MINUTES,
  type Rules,
  toReceive,
  total,
} from './rules.js';
import { type ModelCredit, ModelWallet } from './wallet.js';

/** The expected response: the status, and the members of the body that the rules determine. */
export interface Expected {
  status: number;
  replayed?: boolean;
  body: Record<string, unknown>;
}

/** What a request says about an order, and who sends it. */
type NewOrder = ModelContent & Pick<ModelOrder, 'key' | 'merchant' | 'customer' | 'externalId' | 'document'>;

/** A grant in the model, with what was taken back of it. */
interface ModelGrant {
  merchant: number;
  customer: number;
  credit: ModelCredit;
  cents: bigint;
  voided: bigint;
}

/** The complete state according to the rules: merchant policies, customer wallets, and orders. */
export class World {
  readonly orders: ModelOrder[] = [];
  readonly grants: ModelGrant[] = [];
  readonly #wallets = new Map<string, ModelWallet>();

  constructor(
    readonly rules: Rules[],
    public now: number,
  ) {}

  wallet(merchant: number, customer: number): ModelWallet {
    const key = `${merchant} ${customer}`;
    const wallet = this.#wallets.get(key) ?? new ModelWallet();
    this.#wallets.set(key, wallet);
    wallet.elapse(this.now);
    return wallet;
  }

  rulesOf(merchant: number): Rules {
    const rules = this.rules[merchant];
    if (rules === undefined) throw new Error(`there is no merchant ${merchant}`);
    return rules;
  }

  create(order: NewOrder): Expected {
    if (total(order.methods.map(({ cents }) => cents)) > order.total) return refused(422, 'payments_exceed_total');
    const created = this.#opened(order);
    this.orders.push(created);
    return { status: 201, replayed: false, body: this.#answer(created) };
  }

  #opened(order: NewOrder): ModelOrder {
    const rules = { ...this.rulesOf(order.merchant) };
    return {
      ...order,
      first: order,
      rules,
      end: 'open',
      redemption: 0n,
      lapsed: 0n,
      earned: 0n,
      refunded: 0n,
      refundedEligible: 0n,
      returned: 0n,
      takenBack: 0n,
      paid: null,
      version: 1,
      createdAt: this.now,
      updatedAt: this.now,
      expiresAt: this.now + rules.ttlMinutes * MINUTE,
      endedAt: null,
      spent: [],
      refunds: new Map(),
    };
  }

  /** Repeats an external_id: returns the order in its current state, or the members that differ. */
  createAgain(order: ModelOrder, pointers: string[]): Expected {
    if (pointers.length > 0) return refused(409, 'external_id_conflict', { pointers });
    return { status: 201, replayed: true, body: this.#answer(order) };
  }

  look(order: ModelOrder): Expected {
    return { status: 200, body: this.#answer(order) };
  }

  get due(): ModelOrder[] {
    return this.orders.filter((order) => isDue(order, this.now)).sort((a, b) => a.expiresAt - b.expiresAt);
  }

  /** Expires all orders whose time has come. */
  sweep(): void {
    for (const order of this.due) this.#expire(order);
  }

  /** An order that is due expires, whether the sweep or an operation comes first. */
  #expire(order: ModelOrder): void {
    if (!isDue(order, this.now)) return;
    this.wallet(order.merchant, order.customer).releaseHold(order.key, this.now);
    Object.assign(order, { end: 'expired', lapsed: order.redemption, redemption: 0n });
    this.#changed(order);
  }

  /** The amount that can be redeemed on the order now, including its own hold. */
  maximum(order: ModelOrder): { cents: bigint; limitedBy: unknown } {
    const wallet = this.wallet(order.merchant, order.customer);
    return maximumOf(order.total, order.eligible, wallet.available(this.now) + wallet.held(order.key), order.rules);
  }

  /** @param until when the order is to expire, if the request says so. */
  hold(order: ModelOrder, cents: bigint, until?: number): Expected {
    this.#expire(order);
    const status = statusOf(order);
    if (status !== 'pending' && status !== 'expired') return this.#impossible(order);
    const expiresAt = until ?? (status === 'expired' ? this.now + order.rules.ttlMinutes * MINUTE : order.expiresAt);
    // A repeat after its own expiry.
    if (status === 'expired' && until === order.expiresAt && cents === order.lapsed) return this.look(order);
    const isSame = status === 'pending' && expiresAt === order.expiresAt;
    if (!isSame && until !== undefined && (until < this.now + MINUTE || until > this.now + MOST_MINUTES * MINUTE))
      return refused(400, 'validation_failed', { pointers: ['/expires_at'] });
    const tooMuch = this.#overMaximum({ ...order, end: 'open' }, cents);
    if (tooMuch) return tooMuch;
    if (isSame && cents === order.redemption) return this.look(order);
    this.#reserve(this.wallet(order.merchant, order.customer), order, cents);
    Object.assign(order, { end: 'open', redemption: cents, lapsed: 0n, expiresAt });
    return this.#changed(order);
  }

  /** @param version the version that If-Match names, if the request has it. */
  amend(order: ModelOrder, content: ModelContent, isLowered: boolean, version?: number): Expected {
    if (total(content.methods.map(({ cents }) => cents)) > content.total) return refused(422, 'payments_exceed_total');
    this.#expire(order);
    if (statusOf(order) !== 'pending') return this.#impossible(order);
    const isStale = version !== undefined && version !== order.version;
    if (isStale && !isSameContent(content, order)) return refused(412, 'precondition_failed');
    const amended = { ...order, ...content };
    const most = this.maximum(amended).cents;
    const tooMuch = isLowered ? undefined : this.#overMaximum(amended, order.redemption);
    if (tooMuch) return tooMuch;
    const redemption = least(order.redemption, most);
    if (isSameContent(content, order) && redemption === order.redemption) return this.look(order);
    this.#reserve(this.wallet(order.merchant, order.customer), order, redemption);
    Object.assign(order, content, { redemption });
    return this.#changed(order);
  }

  maximumOfQuote(merchant: number, customer: number | null, { total: most, eligible }: ModelContent) {
    const available = customer === null ? most : this.wallet(merchant, customer).available(this.now);
    return maximumOf(most, eligible, available, this.rulesOf(merchant));
  }

  /** What an order would say; without a customer, only the rules limit what is redeemed. */
  quote(merchant: number, customer: number | null, content: ModelContent, redeemed: bigint): Expected {
    if (total(content.methods.map(({ cents }) => cents)) > content.total) return refused(422, 'payments_exceed_total');
    const order = this.#opened({ ...content, merchant, customer: 0, key: '', externalId: '', document: '' });
    const maximum = this.maximumOfQuote(merchant, customer, content);
    if (redeemed > maximum.cents)
      return refused(422, 'redemption_exceeds_maximum', {
        maximum: brl(maximum.cents),
        limited_by: maximum.limitedBy,
      });
    const available = customer === null ? redeemed : this.wallet(merchant, customer).available(this.now);
    const held = orderAnswer({ ...order, redemption: redeemed }, available - redeemed, this.now);
    const { payment_methods, amount_to_pay } = held;
    const to_redeem = customer === null ? null : held.cashback.to_redeem;
    const to_receive = held.cashback.to_receive;
    return { status: 200, body: { cashback: { to_redeem, to_receive }, payment_methods, amount_to_pay } };
  }

  complete(order: ModelOrder, redeem: bigint | undefined, methods: Method[] | undefined): Expected {
    const named = total((methods ?? []).map(({ cents }) => cents));
    if (order.end === 'completed') return this.#completeAgain(order, redeem, methods);
    if (order.end === 'cancelled') return this.#impossible(order);
    this.#expire(order);
    if (redeem === undefined && order.lapsed > 0n)
      return refused(409, 'redemption_lapsed', { lapsed: brl(order.lapsed), maximum: brl(this.maximum(order).cents) });
    const redeemed = redeem ?? order.redemption;
    const tooMuch = this.#overMaximum(order, redeemed);
    if (tooMuch) return tooMuch;
    // What the customer pays is compared only where the completion says it.
    if (methods && named + redeemed > order.total)
      return refused(422, 'payments_exceed_total', {
        total: brl(order.total),
        redeemed: brl(redeemed),
        payments: brl(named),
      });

    const wallet = this.wallet(order.merchant, order.customer);
    this.#reserve(wallet, order, redeemed);
    order.spent = wallet.capture(order.key);
    order.paid = methods ?? null;
    order.earned = toReceive({ ...order, methods: methods ?? order.methods, redeemed }, order.rules);
    Object.assign(order, { end: 'completed', endedAt: this.now, redemption: redeemed, lapsed: 0n });
    const { availableAt, expiresAt } = validityOf(this.now, order.rules);
    if (order.earned > 0n) wallet.addCredit(order.key, order.earned, availableAt, expiresAt);
    return this.#changed(order);
  }

  cancel(order: ModelOrder): Expected {
    if (order.end === 'completed') return this.#impossible(order);
    this.#expire(order);
    if (canEnd(order)) {
      this.wallet(order.merchant, order.customer).releaseHold(order.key, this.now);
      Object.assign(order, { end: 'cancelled', endedAt: this.now, redemption: 0n, lapsed: 0n });
      return this.#changed(order);
    }
    return this.look(order);
  }

  /** What the eligible part of a refund can be: the rest of the order bounds it, and so does the ineligible rest. */
  eligibleBounds(order: ModelOrder, cents: bigint): { from: bigint; to: bigint } {
    const ineligibleRest = order.total - order.eligible - (order.refunded - order.refundedEligible);
    return { from: most(0n, cents - ineligibleRest), to: least(cents, order.eligible - order.refundedEligible) };
  }

  /** @param asked the eligible part; null if the request does not say. */
  refund(order: ModelOrder, externalId: string, cents: bigint, asked: bigint | null): Expected {
    const before = order.refunds.get(externalId);
    if (before !== undefined) return refundAgain(externalId, before, cents, asked);
    this.#expire(order);
    const left = order.total - order.refunded;
    if (order.end !== 'completed' || left === 0n) return this.#impossible(order);
    if (cents > left)
      return refused(422, 'refund_exceeds_total', { minimum: '0.01', maximum: brl(left), pointers: ['/amount'] });
    const { from, to } = this.eligibleBounds(order, cents);
    const share =
      (order.eligible * (order.refunded + cents)) / order.total - (order.eligible * order.refunded) / order.total;
    const usual = least(most(from, share), to);
    const eligible = asked ?? usual;
    if (eligible < from || eligible > to)
      return refused(422, 'refund_exceeds_total', {
        minimum: brl(from),
        maximum: brl(to),
        pointers: ['/eligible_amount'],
      });

    const wallet = this.wallet(order.merchant, order.customer);
    const kept = (): bigint =>
      order.eligible === 0n ? 0n : (order.earned * (order.eligible - order.refundedEligible)) / order.eligible;
    const keptBefore = kept();
    // Nothing is taken back for what expired unspent, less what earlier refunds did not take back for that reason.
    const waived = wallet.expiredOf(order.key) - (order.earned - keptBefore - order.takenBack);
    order.refunded += cents;
    order.refundedEligible += eligible;
    const returned = (order.redemption * order.refunded) / order.total - order.returned;
    const due = keptBefore - kept();
    const takenBack = due > waived ? due - (waived > 0n ? waived : 0n) : 0n;
    this.#changed(order);
    order.returned += returned;
    order.takenBack += takenBack;
    wallet.restore(returned, order.spent, this.now, order.rules.zone);
    wallet.clawBack(order.key, takenBack);
    const refund = { cents, eligible, isUsual: eligible === usual, returned, takenBack, at: this.now };
    order.refunds.set(externalId, refund);
    return { status: 201, replayed: false, body: refundAnswer(externalId, refund) };
  }

  grant(merchant: number, customer: number, cents: bigint, availableAt: number, expiresAt: number): void {
    const credit = this.wallet(merchant, customer).addCredit(null, cents, availableAt, expiresAt);
    this.grants.push({ merchant, customer, credit, cents, voided: 0n });
  }

  /** Takes back what is left of the grant; what is held or redeemed is not left. */
  void(grant: ModelGrant): Expected {
    // Lapsed holds return, and what has expired is gone.
    this.wallet(grant.merchant, grant.customer);
    grant.voided += grant.credit.remaining;
    grant.credit.remaining = 0n;
    return { status: 200, body: { amount: brl(grant.cents), remaining: brl(0n), voided: brl(grant.voided) } };
  }

  search(merchant: number, customer: number): Expected {
    const wallet = this.wallet(merchant, customer);
    const next = (amount: { cents: bigint; at: number } | null): unknown =>
      amount && { amount: brl(amount.cents), at: iso(amount.at) };
    return {
      status: 200,
      body: {
        available: brl(wallet.available(this.now)),
        pending: brl(wallet.pending(this.now)),
        held: brl(wallet.held()),
        debt: brl(wallet.debt),
        next_release: next(wallet.nextRelease(this.now)),
        next_expiry: next(wallet.nextExpiry(this.now)),
      },
    };
  }

  #completeAgain(order: ModelOrder, redeem: bigint | undefined, methods: Method[] | undefined): Expected {
    if (methods && total(methods.map(({ cents }) => cents)) > order.total) return refused(422, 'payments_exceed_total');
    const kept = order.paid ?? order.methods;
    if (redeem !== undefined && redeem !== order.redemption) return this.#impossible(order);
    return methods && text(methods) !== text(kept) ? this.#impossible(order) : this.look(order);
  }

  #overMaximum(order: ModelOrder, cents: bigint): Expected | undefined {
    const maximum = this.maximum(order);
    if (cents === 0n || cents <= maximum.cents) return undefined;
    const isLate = statusOf(order) === 'expired' && maximum.limitedBy === 'balance';
    const extensions = { maximum: brl(maximum.cents), limited_by: maximum.limitedBy };
    return isLate
      ? refused(409, 'redemption_no_longer_available', extensions)
      : refused(422, 'redemption_exceeds_maximum', extensions);
  }

  /** Sets the hold of the order to this amount. An equal hold keeps its credits. */
  #reserve(wallet: ModelWallet, order: ModelOrder, cents: bigint): void {
    if (wallet.held(order.key) === cents) return;
    wallet.replaceHold(order.key, cents, this.now, order.rules.zone);
  }

  #changed(order: ModelOrder): Expected {
    order.version++;
    order.updatedAt = this.now;
    return this.look(order);
  }

  #impossible(order: ModelOrder): Expected {
    const status = statusOf(order);
    return refused(409, 'invalid_transition', {
      current_status: status,
      allowed: NEXT[status],
      operations: OPERATIONS[status],
    });
  }

  #answer(order: ModelOrder): Record<string, unknown> {
    return orderAnswer(order, this.wallet(order.merchant, order.customer).available(this.now), this.now);
  }
}

const text = (methods: Method[]): string => JSON.stringify(methods.map(({ id, cents }) => [id, String(cents)]));

/** The items follow from the total. */
function isSameContent(a: ModelContent, b: ModelContent): boolean {
  return a.total === b.total && a.eligible === b.eligible && text(a.methods) === text(b.methods);
}

function refused(status: number, code: string, extensions: Record<string, unknown> = {}): Expected {
  return { status, body: { code, ...extensions } };
}

/** A repeated external_id: the refund, or the members that differ. A member that is not sent means the usual part. */
function refundAgain(externalId: string, before: ModelRefund, cents: bigint, asked: bigint | null): Expected {
  const isSamePart = asked === null ? before.isUsual : asked === before.eligible;
  const pointers = [...(before.cents === cents ? [] : ['/amount']), ...(isSamePart ? [] : ['/eligible_amount'])];
  if (pointers.length > 0) return refused(409, 'external_id_conflict', { pointers });
  return { status: 201, replayed: true, body: refundAnswer(externalId, before) };
}

function refundAnswer(externalId: string, refund: ModelRefund): Record<string, unknown> {
  const { cents, eligible, returned, takenBack, at } = refund;
  return {
    external_id: externalId,
    amount: brl(cents),
    eligible_amount: brl(eligible),
    cashback_returned: brl(returned),
    cashback_taken_back: brl(takenBack),
    amount_to_pay_back: brl(cents - returned),
    created_at: iso(at),
  };
}
