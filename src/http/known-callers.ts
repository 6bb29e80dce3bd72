import type { Request } from 'express';
import type { Caller } from '../common/caller.js';

const MAX_KNOWN = 10_000;

/**
 * The merchants of access tokens that were valid when they were last used. This only decides in which queue a request
 * waits, so that requests with made-up tokens do not wait in merchants' queues. The guard still checks every token.
 */
export class KnownCallers {
  /** Least recently used first. */
  readonly #merchants = new Map<string, string>();

  merchantOf({ headers: { authorization = '' } }: Request): string | undefined {
    return this.#merchants.get(authorization);
  }

  /** Remembers the caller of an authenticated request. */
  remember(request: Request & { user?: Caller }): void {
    const { user, headers } = request;
    if (user === undefined || headers.authorization === undefined) return;
    this.#merchants.delete(headers.authorization);
    this.#merchants.set(headers.authorization, user.merchantId);
    if (this.#merchants.size <= MAX_KNOWN) return;
    for (const oldest of this.#merchants.keys()) return void this.#merchants.delete(oldest);
  }
}
