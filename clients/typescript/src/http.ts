import { CashbackError, type Failure } from './errors.js';

/** The last argument of each call. */
export interface CallOptions {
  /** Aborts the call, which then rejects with the reason. A request that was sent may still be carried out. */
  signal?: AbortSignal | undefined;
  /** How many milliseconds the call takes at most, with all its tries; otherwise that of the client. */
  timeout?: number | undefined;
  /** The `version` that you read: the call changes the order only if it still has it. Or a list, as in `'"1", "2"'`. */
  ifMatch?: number | string | undefined;
}

/** What `onRetry` is told before the client waits `delay` milliseconds. */
export interface Retry {
  /** The number of tries until now. */
  attempt: number;
  delay: number;
  error: CashbackError;
}

export interface HttpOptions {
  baseUrl: string;
  /** How many milliseconds a call takes at most, with all its tries. Default: 30,000. */
  timeout?: number | undefined;
  onRetry?: ((retry: Retry) => void) | undefined;
  fetch?: typeof fetch | undefined;
}

/** Returns an access token other than the rejected one. */
export type Authorize = (rejected?: string) => Promise<string>;

export interface Call {
  method: string;
  path: string;
  query?: object | undefined;
  body?: unknown;
  /** Default: `application/json`. */
  accept?: 'text/csv' | undefined;
  options?: CallOptions | undefined;
  authorize?: Authorize | undefined;
  /** The status of a repeated request whose first try succeeded although its response was lost. */
  doneIs?: number | undefined;
}

const TRIES = 4;
const TIMEOUT_MS = 30_000;
const LONGEST_PAUSE_MS = 8_000;

/** Runs the work until the limit, or until the signal is aborted. */
async function within<T>(work: (signal: AbortSignal) => Promise<T>, limit: number, outer?: AbortSignal): Promise<T> {
  outer?.throwIfAborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(outer?.reason);
  outer?.addEventListener('abort', abort);
  const late = new DOMException(`not done within ${Math.round(limit)} ms`, 'TimeoutError');
  const timer = setTimeout(() => controller.abort(late), limit);
  try {
    const aborted = new Promise<never>((_, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
    });
    return await Promise.race([work(controller.signal), aborted]);
  } finally {
    clearTimeout(timer);
    outer?.removeEventListener('abort', abort);
  }
}

/** `?a=1&b=2,3` */
function queryOf(query: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) parameters.set(name, String(value));
  return parameters.size > 0 ? `?${parameters}` : '';
}

/** Reads the whole body: a body that was cut must fail in the try that received it. */
async function bodyOf(response: Response, isJson: boolean): Promise<unknown> {
  const bytes = await response.arrayBuffer();
  const length = response.headers.has('content-encoding') ? null : response.headers.get('content-length');
  if (length !== null && bytes.byteLength < Number(length)) throw new Error('the body of the response was cut');
  const text = new TextDecoder().decode(bytes);
  return isJson ? JSON.parse(text) : text;
}

/** How many milliseconds `Retry-After` asks for. */
function retryAfter(response: Response | undefined): number {
  const value = response?.headers.get('retry-after') ?? '0';
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(wait || 0, 0);
}

const lost = (cause: unknown): CashbackError =>
  new CashbackError(
    {
      code: 'network_error',
      status: 0,
      detail: cause instanceof Error ? cause.message : String(cause),
      retryable: true,
      next_action: 'retry',
    },
    { cause },
  );

/** Sends requests, and sends them again until they have an answer: every operation is safe to repeat. */
export class Http {
  readonly #base: string;
  readonly #fetch: typeof fetch;

  constructor(private readonly options: HttpOptions) {
    this.#base = options.baseUrl.replace(/\/+$/, '');
    // A browser's fetch works only if it is not called as a method of another object.
    this.#fetch = options.fetch ?? ((...request) => fetch(...request));
  }

  async request<T>(call: Call): Promise<T> {
    const timeout = call.options?.timeout ?? this.options.timeout ?? TIMEOUT_MS;
    const deadline = performance.now() + timeout;
    const left = (): number => deadline - performance.now();
    let rejected: string | undefined;
    for (let attempt = 1; ; attempt++) {
      const token = call.authorize && (await this.#waitFor(() => call.authorize!(rejected), left(), call));
      // A try that hangs leaves time for another one.
      const limit = attempt < TRIES ? left() / 2 : left();
      const { value, error, wait = 0 } = await this.#try<T>(call, token, limit);
      if (error === undefined) return value as T;
      if (error.status === 401 && error.code === 'invalid_token' && rejected === undefined && token !== undefined) {
        rejected = token;
        attempt--;
        continue;
      }
      if (attempt > 1 && error.status === call.doneIs) return undefined as T;
      const isTransient = error.status === 0 || [408, 429].includes(error.status) || error.status >= 500;
      const delay = wait + Math.random() * Math.min(LONGEST_PAUSE_MS, 250 * 2 ** attempt);
      if (!isTransient || attempt === TRIES || delay >= left()) throw error;
      this.options.onRetry?.({ attempt, delay, error });
      await this.#waitFor(() => new Promise((done) => setTimeout(done, delay)), left(), call);
    }
  }

  /** Like `within`, but being late is an error of the network. */
  async #waitFor<T>(work: (signal: AbortSignal) => Promise<T>, limit: number, { options }: Call): Promise<T> {
    try {
      return await within(work, limit, options?.signal);
    } catch (error) {
      options?.signal?.throwIfAborted();
      throw error instanceof CashbackError ? error : lost(error);
    }
  }

  async #try<T>(call: Call, token: string | undefined, limit: number): Promise<Outcome<T>> {
    try {
      return await this.#waitFor((signal) => this.#exchange<T>(call, token, signal), limit, call);
    } catch (error) {
      if (error instanceof CashbackError) return { error };
      throw error;
    }
  }

  async #exchange<T>(call: Call, token: string | undefined, signal: AbortSignal): Promise<Outcome<T>> {
    const { method, path, query, body, accept = 'application/json', options: { ifMatch } = {} } = call;
    const headers: Record<string, string> = { accept };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (ifMatch !== undefined) headers['if-match'] = typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch;
    const sent: RequestInit = { method, headers, signal };
    if (body !== undefined) sent.body = JSON.stringify(body);
    const response = await this.#fetch(`${this.#base}${path}${queryOf(query)}`, sent);
    const isJson = /[/+]json\b/.test(response.headers.get('content-type') ?? '');
    const content = await bodyOf(response, isJson);
    if (response.ok && (isJson || accept === 'text/csv' || response.status === 204)) return { value: content as T };
    return { error: new CashbackError(failureOf(response, content)), wait: retryAfter(response) };
  }
}

interface Outcome<T> {
  value?: T;
  error?: CashbackError;
  wait?: number;
}

function failureOf(response: Response, content: unknown): Failure {
  if (typeof content === 'object' && content !== null && 'code' in content) return content as Failure;
  const { status, statusText, headers } = response;
  const isTransient = [408, 429].includes(status) || status >= 500;
  return {
    code: 'unexpected_response',
    status,
    detail: `${status} ${statusText}, not from the service`,
    retryable: isTransient,
    next_action: isTransient ? 'retry' : 'contact_support',
    request_id: headers.get('x-request-id') ?? undefined,
  };
}
