import { CashbackError, type Failure, refusal } from './errors.js';

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

/** Returns an access token other than the rejected one, and whether the client has just logged in to get it. */
export type Authorize = (rejected?: string) => Promise<{ token: string; isFresh: boolean }>;

export interface Call {
  method: string;
  path: string;
  query?: object | undefined;
  body?: unknown;
  /** The status of success. */
  status: number;
  /** Some members that the body then has, each with a value of its type. Without them it is no JSON. */
  like?: object | undefined;
  /** Default: `application/json`. */
  accept?: 'text/csv' | undefined;
  options?: CallOptions | undefined;
  authorize?: Authorize | undefined;
  /** The code of a repeated request whose first try succeeded although its response was lost. */
  doneIs?: string | undefined;
}

const TRIES = 4;
const TIMEOUT_MS = 30_000;
const FIRST_PAUSE_MS = 250;
/** A longer timer would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** The service sends more only when it exports a customer with some ten thousand orders. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

const isTransient = (status: number): boolean => status === 0 || status === 408 || status === 429 || status >= 500;

/** Ends the work after the limit, or when the caller aborts it. Rejects with a CashbackError or the caller's reason. */
async function within<T>(work: (signal: AbortSignal) => Promise<T>, limit: number, caller?: AbortSignal): Promise<T> {
  caller?.throwIfAborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(caller?.reason);
  const late = new DOMException(`not done within ${Math.round(limit)} ms`, 'TimeoutError');
  const timer = setTimeout(() => controller.abort(late), Math.min(limit, LONGEST_TIMER_MS));
  caller?.addEventListener('abort', abort);
  try {
    const aborted = new Promise<never>((_, reject) => {
      controller.signal.addEventListener('abort', () => reject(controller.signal.reason as Error));
    });
    return await Promise.race([work(controller.signal), aborted]);
  } catch (cause) {
    caller?.throwIfAborted();
    if (cause instanceof CashbackError) throw cause;
    const detail = String((cause as Error | null)?.message ?? cause);
    const failure = { code: 'network_error', status: 0, detail, retryable: true, next_action: 'retry' };
    throw new CashbackError(failure, { cause });
  } finally {
    clearTimeout(timer);
    caller?.removeEventListener('abort', abort);
  }
}

/** What a request with `accept: 'text/csv'` returns: a file, and the query of the next one if more rows follow. */
export interface CsvFile {
  text: string;
  next: Record<string, string> | undefined;
}

/** @param link such as `<?cursor=x&store=y>; rel="next"` */
function nextOf(link: string | null): Record<string, string> | undefined {
  const [, query] = /<\?([^>]*)>; *rel="?next"?/.exec(link ?? '') ?? [];
  return query === undefined ? undefined : Object.fromEntries(new URLSearchParams(query));
}

/** `?a=1&b=2,3` */
function queryOf(query: object = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null) parameters.set(name, String(value));
  return parameters.size > 0 ? `?${parameters}` : '';
}

/** A browser hides all of a redirect but that it is one. */
const isRedirect = ({ type, status }: Response): boolean => type === 'opaqueredirect' || Math.floor(status / 100) === 3;

/** Reads the whole body: if it was cut, the try that received it must fail. */
async function bodyOf(response: Response): Promise<unknown> {
  const { body, headers } = response;
  // A page for people.
  if (isRedirect(response)) return body?.cancel();
  const isJson = /[/+]json\b/i.test(headers.get('content-type') ?? '');
  // CSV keeps its byte order mark: without it, a spreadsheet takes the text for another encoding.
  const decoder = new TextDecoder('utf-8', { ignoreBOM: !isJson });
  const reader = body?.getReader();
  let text = '';
  let received = 0;
  for (let chunk = await reader?.read(); chunk?.value; chunk = await reader?.read()) {
    received += chunk.value.byteLength;
    text += decoder.decode(chunk.value, { stream: true });
    if (received <= MAX_BODY_BYTES) continue;
    await reader?.cancel();
    throw refusal('unexpected_response', response.status, 'contact_support', `more than ${MAX_BODY_BYTES} bytes`);
  }
  const length = headers.has('content-encoding') ? null : headers.get('content-length');
  if (body && length !== null && received < Number(length)) throw new Error('the body of the response was cut');
  text += decoder.decode();
  return isJson && body ? JSON.parse(text) : text;
}

/** Whether a value has the type of the example, and its members. */
const isLike = (value: unknown, example: unknown): boolean =>
  typeof value === typeof example &&
  value !== null &&
  Array.isArray(value) === Array.isArray(example) &&
  Object.entries(example as object).every(([name, member]) => isLike((value as Record<string, unknown>)[name], member));

/** The milliseconds that `Retry-After` asks for. */
function retryAfter({ headers }: Response): number {
  const value = headers.get('retry-after') ?? '';
  const wait = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Math.max(wait || 0, 0);
}

function errorOf(response: Response, content: unknown): CashbackError {
  const { status, statusText, headers, url } = response;
  const retry_after = retryAfter(response);
  // A proxy may answer with JSON, and a code of its own.
  if (status >= 400 && isLike(content, { code: '', detail: '', retryable: false, next_action: '' }))
    return new CashbackError({ ...(content as Failure), status, retry_after });
  const location = headers.get('location') ?? '';
  // The rest of where it leads may be secret.
  const origin = location !== '' && URL.canParse(location, url) ? new URL(location, url).origin : 'another address';
  const because = isRedirect(response) ? `a redirect to ${origin}, which is not followed` : 'not from the service';
  const retryable = !isRedirect(response) && isTransient(status);
  return new CashbackError({
    code: 'unexpected_response',
    status,
    detail: `${`${status} ${statusText}`.trim()}, ${because}`,
    retryable,
    next_action: retryable ? 'retry' : 'contact_support',
    request_id: headers.get('x-request-id') ?? undefined,
    retry_after,
  });
}

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
    const { authorize, doneIs, options: { signal, timeout = this.options.timeout ?? TIMEOUT_MS } = {} } = call;
    const deadline = performance.now() + timeout;
    const left = (): number => deadline - performance.now();
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    let rejected: string | undefined;
    /** Whether an earlier try may have been carried out. */
    let mayBeDone = false;
    for (let attempt = 1; ; attempt++) {
      const session = authorize && (await within(() => authorize(rejected), left(), signal));
      // A try that hangs leaves time for another one.
      const limit = attempt < TRIES ? left() / 2 : left();
      try {
        return await within((ending) => this.#exchange<T>(call, body, session?.token, ending), limit, signal);
      } catch (error) {
        if (!(error instanceof CashbackError)) throw error;
        if (mayBeDone && error.code === doneIs) return undefined as T;
        mayBeDone ||= error.status !== 429 && isTransient(error.status);
        if (error.code === 'invalid_token' && session?.isFresh === false && rejected === undefined) {
          rejected = session.token;
          attempt--;
          continue;
        }
        const delay = error.retryAfter + Math.random() * FIRST_PAUSE_MS * 2 ** (attempt - 1);
        if (!error.retryable || !isTransient(error.status) || attempt >= TRIES || delay >= left()) throw error;
        this.options.onRetry?.({ attempt, delay, error });
        await within(() => new Promise<void>((done) => setTimeout(done, delay)), left(), signal);
      }
    }
  }

  async #exchange<T>(call: Call, body: string | undefined, token: string | undefined, signal: AbortSignal): Promise<T> {
    const { method, path, query, status, like = '', accept = 'application/json', options: { ifMatch } = {} } = call;
    const headers: Record<string, string> = { accept };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    if (body !== undefined) headers['content-type'] = 'application/json';
    if (ifMatch !== undefined) headers['if-match'] = typeof ifMatch === 'number' ? `"${ifMatch}"` : ifMatch;
    const response = await this.#fetch(`${this.#base}${path}${queryOf(query)}`, {
      method,
      headers,
      signal,
      // A redirect would take a password to another host, and make a creation a reading.
      redirect: 'manual',
      ...(body !== undefined && { body }),
    });
    const content = await bodyOf(response);
    const isCsv = response.headers.get('content-type')?.startsWith('text/csv') ?? false;
    // Another server, too, can say that all is well.
    if (response.status !== status || isCsv !== (accept === 'text/csv') || !isLike(content, like))
      throw errorOf(response, content);
    if (method !== 'GET' && typeof content === 'object' && content !== null)
      Object.defineProperty(content, 'replayed', { value: response.headers.get('idempotency-replayed') === 'true' });
    return (isCsv ? { text: content, next: nextOf(response.headers.get('link')) } : content) as T;
  }
}
