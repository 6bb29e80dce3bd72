import type { Credit } from '../../src/cashback/credit.entity.js';
import type { Entry } from '../../src/cashback/entry.entity.js';
import type { Hold } from '../../src/cashback/credit.entity.js';
import type { Claim } from '../../src/cashback/cause.js';
import { WalletAggregate } from '../../src/cashback/wallet-aggregate.js';
import { freeCents } from '../../src/cashback/parts.js';
import type { Wallet } from '../../src/cashback/wallet.entity.js';
import { newId } from '../../src/platform/values/ids.js';
import { formatMoney, sumCents } from '../../src/platform/values/money.js';

/** The rows of one customer, for tests of the rules without a database. */
export class WalletInMemory {
  readonly entries: Entry[] = [];
  claims: Claim[] = [];
  readonly #credits = new Map<string, Credit>();
  readonly #holds = new Map<string, Hold[]>();
  readonly #row: Wallet;

  constructor(public now = new Date('2026-11-20T12:00:00Z')) {
    const cents = { debtCents: 0, balanceCents: 0, availableCents: 0, pendingCents: 0, heldCents: 0 };
    const dates = { availableAsOf: now, availableUntil: now, createdAt: now };
    const freeze = { frozen: false, freezeChangedAt: null, freezeChangedBy: null, freezeReason: null };
    const of = { id: newId(now), merchantId: newId(now), document: '52998224725' };
    this.#row = { ...of, ...cents, ...dates, ...freeze, lastSeq: 0 };
  }

  /**
   * Does an operation as in a transaction: what it changes is kept only if it succeeds.
   *
   * @param orderId the order that a refund concerns.
   */
  change<T>(operate: (wallet: WalletAggregate) => T, orderId?: string): T {
    const wallet = this.#open(orderId);
    const result = operate(wallet);
    Object.assign(this.#row, wallet.row);
    for (const credit of wallet.changedCredits) this.#credits.set(credit.id, credit);
    for (const orderId of wallet.endedHolds) this.#holds.delete(orderId);
    for (const hold of wallet.newHolds) this.#holds.set(hold.orderId, [...this.holdsOf(hold.orderId), hold]);
    this.entries.push(...wallet.entries);
    this.claims = wallet.claims.filter(({ amountCents }) => amountCents > 0);
    return result;
  }

  holdsOf(orderId: string): Hold[] {
    return this.#holds.get(orderId) ?? [];
  }

  get holds(): Hold[] {
    return [...this.#holds.values()].flat();
  }

  get credits(): Credit[] {
    return [...this.#credits.values()];
  }

  /** The row with its sums at the current instant. */
  get sums(): Wallet {
    const free = (isCounted: (credit: Credit) => boolean): number =>
      sumCents(this.credits.filter(isCounted).map(freeCents));
    const availableCents = free(({ availableAt, expiresAt }) => availableAt <= this.now && this.now < expiresAt);
    return { ...this.#row, availableCents, pendingCents: free(({ availableAt }) => availableAt > this.now) };
  }

  /** The entries in short form, such as `earn 7.50`. */
  get movements(): string[] {
    return this.entries.map(({ kind, amountCents }) => `${kind} ${formatMoney(amountCents)}`);
  }

  /** Opens the wallet with all credits and holds, and with what an order redeemed and earned. */
  #open(orderId: string | undefined): WalletAggregate {
    const wallet = new WalletAggregate(this.sums, this.now);
    const loaded = wallet.load(this.credits.map((credit) => ({ ...credit })));
    for (const [holder, holds] of this.#holds) wallet.loadHold(holder, holds);
    wallet.claims.push(...this.claims.map((claim) => ({ ...claim })));
    if (orderId === undefined) return wallet;
    const own = loaded.find((credit) => credit.orderId === orderId);
    const redeemed = this.entries.filter((entry) => entry.orderId === orderId && entry.kind === 'redeem');
    const expired = this.entries.filter(({ creditId, kind }) => creditId === own?.id && kind === 'expire');
    wallet.loadRefundable(orderId, {
      redeemed: new Map(
        redeemed.map(({ creditId, amountCents }) => [loaded.find(({ id }) => id === creditId)!, -amountCents]),
      ),
      goneCents: -sumCents(expired.map(({ amountCents }) => amountCents)),
    });
    return wallet;
  }
}
