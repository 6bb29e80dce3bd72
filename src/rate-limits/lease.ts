import { type RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';

/** Points are fetched so many at a time, or a tenth of the limit where that is less. */
const LEASE_POINTS = 10;
/** From so many keys on, those whose window is over are forgotten. */
const MANY_KEYS = 10_000;

/** What this instance holds of a key's current window. */
interface Lease {
  /** Points that were fetched and are not used yet. */
  left: number;
  /** When the window ends, and with it what is left. */
  endsAt: number;
  /** The store has no more points in this window: no need to ask it again. */
  isDry: boolean;
  /** How many wait for the fetch under way. */
  waiting: number;
  fetching: Promise<void> | undefined;
}

/**
 * A limiter that does not ask the store for every single point: an instance fetches some for the current
 * window and spends them out of its memory.
 *
 * The sum over all instances never exceeds the limit: the store adds up what each one fetches, so the n-th
 * fetch is given the points from `consumed - wanted` to `consumed`, and keeps those within the limit. It may
 * fall short of it, as what an instance has fetched and does not use is lost with the window.
 */
export class LeasedLimiter {
  readonly #leases = new Map<string, Lease>();
  readonly #size: number;

  /** @param limiter over the store; whatever it throws but a refusal is thrown to the caller. */
  constructor(private readonly limiter: RateLimiterAbstract) {
    this.#size = Math.min(LEASE_POINTS, Math.max(1, Math.floor(limiter.points / 10)));
  }

  /**
   * Takes one point.
   *
   * @returns undefined if there was one, else the milliseconds until the next window.
   */
  async take(key: string): Promise<number | undefined> {
    const lease = this.#leaseOf(key);
    if (lease.endsAt <= Date.now()) Object.assign(lease, { left: 0, isDry: false });
    for (;;) {
      // Also where the window has ended while we waited: these points were counted in it, for us.
      if (lease.left > 0) {
        lease.left -= 1;
        return undefined;
      }
      if (lease.isDry) return Math.max(1, lease.endsAt - Date.now());
      lease.waiting += 1;
      try {
        await (lease.fetching ??= this.#fetch(key, lease).finally(() => (lease.fetching = undefined)));
      } finally {
        lease.waiting -= 1;
      }
    }
  }

  /** One fetch at a time for a key; those who come meanwhile are what the next one asks for. */
  async #fetch(key: string, lease: Lease): Promise<void> {
    const wanted = Math.min(this.limiter.points, Math.max(this.#size, lease.waiting));
    const { consumedPoints, msBeforeNext } = await this.limiter.consume(key, wanted).catch(refusal);
    const before = consumedPoints - wanted;
    const granted = Math.min(wanted, Math.max(0, this.limiter.points - before));
    Object.assign(lease, { left: granted, isDry: granted < wanted, endsAt: Date.now() + msBeforeNext });
  }

  #leaseOf(key: string): Lease {
    const known = this.#leases.get(key);
    if (known) return known;
    if (this.#leases.size >= MANY_KEYS) this.#forgetEnded();
    const lease: Lease = { left: 0, endsAt: 0, isDry: false, waiting: 0, fetching: undefined };
    this.#leases.set(key, lease);
    return lease;
  }

  #forgetEnded(): void {
    const now = Date.now();
    for (const [key, { endsAt, fetching }] of this.#leases) if (endsAt <= now && !fetching) this.#leases.delete(key);
  }
}

/** The library throws the same object when it refuses as it returns when it does not. */
function refusal(thrown: unknown): RateLimiterRes {
  if (thrown instanceof RateLimiterRes) return thrown;
  throw thrown;
}
