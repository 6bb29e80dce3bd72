import { type CashbackError, isRefusal, refusal } from './errors.js';
import type { ConfigurationUserTokens, Login } from './generated/types.gen.js';
import type { Authorize, CallOptions, Http } from './http.js';
import { operation, type Operation, type Send } from './operations.js';

export type TokenSet = ConfigurationUserTokens;

/** Where the token set is, so that processes, workers or tabs share one session. */
export interface TokenStore {
  get(): Promise<TokenSet | null>;
  set(tokens: TokenSet | null): Promise<void>;
  /** Runs the work while no other one that shares the store runs its own. Default: only this client is considered. */
  lock?<T>(work: () => Promise<T>): Promise<T>;
}

/** Refreshing begins this long before the access token expires. */
const EARLY_MS = 60_000;
/** The service answers a repeated refresh with the same token set for 30 seconds. After that it is a theft. */
const REFRESH_MS = 25_000;

/** Keeps the token set in this client. */
export function inMemory(): TokenStore {
  let current: TokenSet | null = null;
  return {
    get: () => Promise.resolve(current),
    set: (tokens) => Promise.resolve(void (current = tokens)),
  };
}

/** The session of the client: one login or refresh at a time. */
export class Session {
  #refreshing: ReturnType<Authorize> | undefined;
  #last: Promise<unknown> = Promise.resolve();
  /** To a clock that is wrong, each new token looks expired. Then only the service says when one is. */
  #isClockWrong = false;
  readonly #login: Operation<'login'>;
  readonly #renew: Operation<'refreshTokens'>;

  constructor(
    private readonly http: Http,
    private readonly store: TokenStore,
    private readonly timeout: number | undefined,
    private credentials: Login | undefined,
  ) {
    const send: Send = (call) => http.request(call);
    this.#login = operation('login', send);
    this.#renew = operation('refreshTokens', send);
  }

  /** Returns an access token that is valid for another minute. @param rejected what the service did not accept */
  readonly authorize: Authorize = async (rejected) => {
    const tokens = await this.store.get();
    if (tokens !== null && this.#isUsable(tokens, rejected)) return { token: tokens.access_token, isFresh: false };
    this.#refreshing ??= this.#alone(() => this.#refresh(rejected)).finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  };

  logIn(credentials: Login, options?: CallOptions): Promise<unknown> {
    return this.#alone(async () => this.#store(await this.#login(credentials, options)));
  }

  async logOut(options?: CallOptions): Promise<void> {
    if ((await this.store.get()) === null) return;
    try {
      await operation('logout', (call) => this.http.request({ ...call, authorize: this.authorize }))(options);
    } catch (error) {
      // The session has already ended.
      if (!isRefusal(error, 401)) throw error;
    } finally {
      await this.#alone(() => this.store.set(null));
    }
  }

  passwordChanged(password: string): void {
    if (this.credentials !== undefined) this.credentials = { ...this.credentials, password };
  }

  /** Runs the work after that of earlier calls, and under the lock of the store. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(() => (this.store.lock === undefined ? work() : this.store.lock(work)));
    this.#last = result.catch(() => undefined);
    return result;
  }

  #isUsable(tokens: TokenSet, rejected: string | undefined): boolean {
    if (tokens.access_token === rejected) return false;
    return this.#isClockWrong || expiresIn(tokens) > EARLY_MS;
  }

  async #refresh(rejected: string | undefined): ReturnType<Authorize> {
    // Another client that shares the store may have refreshed meanwhile.
    const tokens = await this.store.get();
    if (tokens !== null && this.#isUsable(tokens, rejected)) return { token: tokens.access_token, isFresh: false };
    if (tokens !== null) {
      try {
        const timeout = Math.min(this.timeout ?? REFRESH_MS, REFRESH_MS);
        const token = await this.#store(await this.#renew({ refresh_token: tokens.refresh_token }, { timeout }));
        return { token, isFresh: false };
      } catch (error) {
        if (this.credentials === undefined) {
          // After any other failure, such as that of the network, the token may still be good.
          if (isRefusal(error, 401)) await this.store.set(null);
          throw error;
        }
      }
    }
    if (this.credentials === undefined) throw notLoggedIn();
    return { token: await this.#store(await this.#login(this.credentials)), isFresh: true };
  }

  async #store(tokens: TokenSet): Promise<string> {
    await this.store.set(tokens);
    this.#isClockWrong = expiresIn(tokens) <= EARLY_MS;
    return tokens.access_token;
  }
}

const expiresIn = (tokens: TokenSet): number => Date.parse(tokens.access_token_expire_at) - Date.now();

const notLoggedIn = (): CashbackError =>
  refusal('missing_token', 401, 'log_in', 'the client has no session, and neither email nor password: log in');
