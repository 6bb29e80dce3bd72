import type { Request } from 'express';
import type { Caller } from '../common/caller.js';

const MOST_KNOWN = 10_000;

/**
 * The merchants of the access tokens that were valid when they were last used. It only decides in whose queue a request
 * waits, so that requests with invented tokens do not wait in the queues of merchants; the guard checks every token.
 */
export class KnownCallers {
  /** The least recently used first. */
  readonly #merchants = new Map<string, string>();

  merchantOf({ headers: { authorization = '' } }: Request): string | undefined {
    return this.#merchants.get(authorization);
  }

  /** Remembers the caller of a request that the guard has let in. */
  remember(request: Request & { user?: Caller }): void {
    const { user, headers } = request;
    if (user === undefined || headers.authorization === undefined) return;
    this.#merchants.delete(headers.authorization);
    this.#merchants.set(headers.authorization, user.merchantId);
    if (this.#merchants.size <= MOST_KNOWN) return;
    for (const oldest of this.#merchants.keys()) return void this.#merchants.delete(oldest);
  }
}
