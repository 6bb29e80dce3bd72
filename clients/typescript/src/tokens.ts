import { CashbackError } from './errors.js';
import type { ConfigurationUserTokens, Login } from './generated/types.gen.js';
import type { CallOptions, Http } from './http.js';

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
  #running: Promise<string> | undefined;
  /** A clock that is wrong makes each new token look expired. Then only the service says when one is. */
  #isClockWrong = false;

  constructor(
    private readonly http: Http,
    private readonly store: TokenStore,
    private readonly timeout: number | undefined,
    private credentials: Login | undefined,
  ) {}

  /** Returns an access token that does not expire within a minute. @param rejected one that was refused */
  readonly authorize = async (rejected?: string): Promise<string> => {
    const tokens = await this.store.get();
    if (tokens !== null && this.#isUsable(tokens, rejected)) return tokens.access_token;
    this.#running ??= this.#locked(() => this.#refresh(rejected)).finally(() => (this.#running = undefined));
    return this.#running;
  };

  /** Starts a session. The email and the password are not kept. */
  logIn(credentials: Login, options?: CallOptions): Promise<string> {
    return this.#locked(() => this.#store('/auth/login', credentials, options));
  }

  async logOut(options?: CallOptions): Promise<void> {
    if ((await this.store.get()) === null) return;
    try {
      const { authorize } = this;
      await this.http.request({ method: 'POST', path: '/auth/logout', authorize, options, doneIs: 401 });
    } finally {
      await this.#locked(() => this.store.set(null));
    }
  }

  passwordChanged(password: string): void {
    if (this.credentials !== undefined) this.credentials = { ...this.credentials, password };
  }

  #locked<T>(work: () => Promise<T>): Promise<T> {
    return this.store.lock === undefined ? work() : this.store.lock(work);
  }

  #isUsable(tokens: TokenSet, rejected: string | undefined): boolean {
    if (tokens.access_token === rejected) return false;
    return this.#isClockWrong || Date.parse(tokens.access_token_expire_at) > Date.now() + EARLY_MS;
  }

  async #refresh(rejected: string | undefined): Promise<string> {
    // Another one may have refreshed while this one waited for the lock.
    const tokens = await this.store.get();
    if (tokens !== null && this.#isUsable(tokens, rejected)) return tokens.access_token;
    try {
      if (tokens === null) throw notLoggedIn();
      const timeout = Math.min(this.timeout ?? REFRESH_MS, REFRESH_MS);
      return await this.#store('/auth/refresh', { refresh_token: tokens.refresh_token }, { timeout });
    } catch (error) {
      if (this.credentials !== undefined) return this.#store('/auth/login', this.credentials);
      if (tokens !== null) await this.store.set(null);
      throw error;
    }
  }

  async #store(path: string, body: object, options?: CallOptions): Promise<string> {
    const tokens = await this.http.request<TokenSet>({ method: 'POST', path, body, options });
    await this.store.set(tokens);
    this.#isClockWrong = Date.parse(tokens.access_token_expire_at) <= Date.now() + EARLY_MS;
    return tokens.access_token;
  }
}

const notLoggedIn = (): CashbackError =>
  new CashbackError({
    code: 'missing_token',
    status: 401,
    detail: 'the client has no session, and neither email nor password: log in',
    retryable: false,
    next_action: 'log_in',
  });
