import type { Client } from '../client.js';
import { brl } from './money.js';
import { eitherOf, numerically, unchecked } from './comparison.js';
import { instant, localDate, startOfDay } from './days.js';
import type { Dice } from './dice.js';
import { identifier, type Order } from './order.js';
import type { Rules, Validity } from './rules.js';
import { type Credit, Wallet } from './wallet.js';

export interface Grant {
  id?: string;
  externalId: string;
  document: string;
  amount: bigint;
  reason: string | undefined;
  metadata: Record<string, string>;
  from: string | undefined;
  to: string | undefined;
  validity: Validity;
  credit: Credit;
  createdAt: number;
  voided: bigint;
  voidedAt: number | undefined;
}

/** One merchant, what it has done in a sequence, and what it should see. */
export class Shop {
  readonly orders: Order[] = [];
  readonly grants: Grant[] = [];
  readonly #wallets = new Map<string, Wallet>();

  constructor(
    readonly name: string,
    readonly rules: Rules,
    readonly client: () => Promise<Client>,
  ) {}

  wallet(document: string): Wallet {
    let wallet = this.#wallets.get(document);
    if (!wallet) this.#wallets.set(document, (wallet = new Wallet(this.rules.timeZone)));
    return wallet;
  }

  /** Lets expire what is due, in the order of time: "The dates decide exactly." */
  settle(now: number): void {
    for (;;) {
      const pending = this.orders.filter(({ status }) => status === 'pending');
      const at = Math.min(
        ...[...this.#wallets.values()].map((wallet) => wallet.nextCreditExpiry()),
        ...pending.map(({ expiresAt }) => expiresAt),
      );
      if (at > now) return;
      for (const wallet of this.#wallets.values()) wallet.expire(at);
      for (const order of pending.filter(({ expiresAt }) => expiresAt === at)) {
        order.expire();
      }
    }
  }

  /** An order, usually a recent one, so that several operations meet. */
  anOrder(dice: Dice): Order {
    return dice.pick(dice.once(5) ? this.orders : this.orders.slice(-3));
  }

  /** The dates at which holds lapse. */
  lapses(): number[] {
    return this.orders.flatMap(({ status, held, expiresAt }) => (status === 'pending' && held > 0n ? [expiresAt] : []));
  }

  /** The dates of what can happen next, for time to pass to exactly there. */
  dates(now: number): number[] {
    const credits = [...this.#wallets.values()].flatMap((wallet) => wallet.credits);
    return [
      ...this.orders.flatMap(({ status, expiresAt }) => (status === 'pending' ? [expiresAt] : [])),
      ...credits.flatMap(({ availableAt, expiresAt }) => [availableAt, expiresAt]),
    ].filter((at) => at > now);
  }

  walletView(document: string, now: number): Record<string, unknown> {
    const wallet = this.wallet(document);
    const show = (next: { amount: bigint; at: number } | null): unknown =>
      next && { amount: brl(next.amount), at: instant(next.at) };
    return {
      // "null for an unknown customer": the documents do not say whether an order makes a customer known.
      id: wallet.id ?? (wallet.entries.length > 0 ? identifier : unchecked('wallet id without entries')),
      ...{ available: brl(wallet.available(now)), pending: brl(wallet.pending(now)) },
      ...{ held: brl(wallet.held()), debt: brl(wallet.debt) },
      ...{ next_release: show(wallet.nextRelease(now)), next_expiry: show(wallet.nextExpiry(now)) },
    };
  }

  grantView(grant: Grant): Record<string, unknown> {
    const { validity, credit, createdAt } = grant;
    const { timeZone } = this.rules;
    const today = localDate(createdAt, timeZone);
    const expiry = credit.reinstated
      ? {
          expires_at: eitherOf('grant.expires_at, reinstated', instant(credit.expiresAt), instant(validity.expiresAt)),
          expires_on: eitherOf(
            'grant.expires_on, reinstated',
            localDate(credit.expiresAt - 1, timeZone),
            validity.expiresOn,
          ),
        }
      : { expires_at: instant(validity.expiresAt), expires_on: validity.expiresOn };
    return {
      ...{ id: grant.id ?? identifier, external_id: grant.externalId, document: grant.document },
      wallet_id: this.wallet(grant.document).id ?? identifier,
      ...{ amount: brl(grant.amount), remaining: brl(credit.remaining), voided: brl(grant.voided) },
      ...{ reason: grant.reason ?? null, metadata: grant.metadata },
      available_at:
        grant.from === today
          ? eitherOf('grant.available_at of today', instant(createdAt), instant(startOfDay(today, timeZone)))
          : instant(validity.availableAt),
      // "A past `available_on` means now, and the response shows today."
      available_on: validity.availableOn,
      ...expiry,
      created_at: instant(createdAt),
      voided_at: grant.voidedAt === undefined ? null : instant(grant.voidedAt),
    };
  }

  policyView(): Record<string, unknown> {
    const { rules } = this;
    const share = (basisPoints: bigint): unknown => numerically(Number(basisPoints) / 10_000);
    return {
      earn_rate: share(rules.earnRate),
      earn_rates_by_payment_method: Object.fromEntries(
        Object.entries(rules.earnRates).map(([id, rate]) => [id, share(rate)]),
      ),
      ...{ redeem_share: share(rules.redeemShare), redeem_minimum_total: brl(rules.redeemMinimumTotal) },
      ...{ release_days: rules.releaseDays, validity_days: rules.validityDays, time_zone: rules.timeZone },
      ...{ order_ttl_minutes: rules.orderTtlMinutes, max_order_ttl_minutes: rules.maxOrderTtlMinutes },
      ...{ grant_maximum: brl(rules.grantMaximum), document_check_digits: false },
    };
  }
}
