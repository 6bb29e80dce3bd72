import type { Event } from './generated/types.gen.js';

export type { Event } from './generated/types.gen.js';

/** A request for a test, of `webhookEndpoints.ping`. It is not in the feed: ignore it. */
export interface Ping {
  id: string;
  type: 'ping';
  timestamp: string;
}

/** What a request to a webhook endpoint contains: one event, or several if the endpoint has a `batch`. */
export type Received = Event | Ping | { data: (Event | Ping)[] };

/** Why a request is not accepted. Its message says what to change: respond with it, and with the `status`. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
  /** 400 if the request is not from the service, or too old; 500 if this program cannot verify any. */
  readonly status: 400 | 500 = 400;
}
class ProgramError extends WebhookError {
  override readonly status = 500;
}

/** The headers of a request: of fetch, or an object with their names, as Node has. */
type HeaderFields = Pick<Headers, 'get'> | Record<string, string | string[] | undefined>;

/** How much the clocks may differ, and how long a request may be on its way, in seconds. */
const TOLERANCE_SECONDS = 300;

const isOfFetch = (headers: HeaderFields): headers is Pick<Headers, 'get'> => typeof headers.get === 'function';

function field(given: HeaderFields | null | undefined, name: string): string {
  const headers = given ?? {};
  const value = isOfFetch(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  if (typeof value !== 'string') throw new WebhookError(`the header ${name} is missing`);
  return value;
}

const bytesOf = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));

function base64Of(secret: string | undefined): string {
  const [, base64] = /^\s*(?:whsec_)?([A-Za-z0-9+/]{43}=)\s*$/.exec(secret ?? '') ?? [];
  if (base64 !== undefined) return base64;
  throw new ProgramError('the secret is not that of an endpoint: give `whsec_` and the 44 characters after it');
}

/** Whether one of the signatures is that of the content: while a secret is replaced, there are two. */
async function isSigned(content: Uint8Array<ArrayBuffer>, signatures: string, secret: string): Promise<boolean> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', bytesOf(secret), algorithm, false, ['verify']);
  for (const signature of signatures.split(' ')) {
    const [version, base64 = ''] = signature.split(',');
    if (version !== 'v1' || !/^[A-Za-z0-9+/]{43}=$/.test(base64)) continue;
    // `verify` compares in constant time.
    if (await crypto.subtle.verify(algorithm, key, bytesOf(base64), content)) return true;
  }
  return false;
}

/**
 * Verifies a request to a webhook endpoint (Standard Webhooks).
 *
 * @param rawBody the bytes as they came, not what a JSON parser made of them
 * @param secret `whsec_…`
 * @returns the event, whose `type` selects its `data`, or a batch. Types are added over time: ignore those that you do
 * not know
 * @throws WebhookError if the body, the headers or the secret are not what verifies a request
 */
export async function verify(
  rawBody: string | Uint8Array,
  headers: HeaderFields,
  secret: string,
  options?: { tolerance?: number | undefined },
): Promise<Received> {
  const tolerance = options?.tolerance ?? TOLERANCE_SECONDS;
  if (!(tolerance >= 0)) throw new ProgramError('the tolerance is not a number of seconds');
  const base64 = base64Of(secret);
  const encoder = new TextEncoder();
  const body = typeof rawBody === 'string' ? encoder.encode(rawBody) : rawBody;
  // What a framework made of the body is often `any`, so that the compiler finds no mistake.
  if (!ArrayBuffer.isView(body) || body.BYTES_PER_ELEMENT !== 1)
    throw new ProgramError('the body was parsed or not read: give its bytes, as express.raw() before any JSON parser');
  const timestamp = field(headers, 'webhook-timestamp');
  if (!/^\d+$/.test(timestamp)) throw new WebhookError('the header webhook-timestamp is not a number of seconds');
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > tolerance)
    throw new WebhookError('the timestamp is too far from now');
  const head = encoder.encode(`${field(headers, 'webhook-id')}.${timestamp}.`);
  const content = new Uint8Array(head.length + body.length);
  content.set(head);
  content.set(body, head.length);
  if (!(await isSigned(content, field(headers, 'webhook-signature'), base64)))
    throw new WebhookError("no signature is that of the body: is this the endpoint's secret, and the body as it came?");
  return JSON.parse(new TextDecoder().decode(body)) as Received;
}

/** What a handler needs of a request and a response of Node, Express or Nest. */
interface ServerRequest extends AsyncIterable<unknown> {
  headers: Record<string, string | string[] | undefined>;
  readableEnded?: boolean;
  body?: unknown;
  rawBody?: unknown;
}
interface ServerResponse {
  writeHead(status: number, headers?: Record<string, string>): { end(text?: string): unknown };
}

/** Answers a request of fetch with a response, and one of Node, Express or Nest by writing the response. */
export interface WebhookHandler {
  (request: Request): Promise<Response>;
  (request: ServerRequest, response: ServerResponse): Promise<void>;
}

export interface WebhookOptions<T> {
  /**
   * Runs the work unless the event's ID is stored, and stores the ID in the transaction that stores what the work does.
   * Without it, `onEvent` gets each event at least once.
   */
  once?: ((id: string, work: (transaction: T) => Promise<void>) => Promise<void>) | undefined;
  /** Is told what is to be corrected here: all but requests that are not from the service. Default: `console.error`. */
  onError?: ((error: unknown) => void) | undefined;
}

/** A batch has at most 1 MiB of events. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;

/**
 * Makes the handler of a webhook endpoint. It verifies each request, and gives `onEvent` its events one after the
 * other, also those of a batch, but no pings. It responds 204 when all are done; otherwise the service sends them
 * again.
 *
 * No JSON parser may come before it: it reads the body itself, or takes the bytes of `express.raw()` or of the
 * `rawBody` of Nest.
 *
 * @param secret that of the endpoint, `whsec_…`
 * @throws WebhookError if the secret is missing or malformed
 */
export function webhookHandler<T = void>(
  secret: string | undefined,
  onEvent: (event: Event, transaction: T) => Promise<void> | void,
  { once = (_, work) => work(undefined as T), onError = console.error }: WebhookOptions<T> = {},
): WebhookHandler {
  const key = base64Of(secret);
  const handle = async (request: Request | ServerRequest): Promise<{ status: number; text?: string }> => {
    try {
      const received = await verify(await bodyOf(request), request.headers, key);
      for (const event of 'type' in received ? [received] : received.data)
        if (event.type !== 'ping') await once(event.id, async (transaction) => onEvent(event, transaction));
      return { status: 204 };
    } catch (error) {
      const isKnown = error instanceof WebhookError;
      if (!isKnown || error.status === 500) onError(error);
      return isKnown
        ? { status: error.status, text: error.message }
        : { status: 500, text: 'the event was not stored' };
    }
  };
  const respond = async (
    request: Request | ServerRequest,
    response?: ServerResponse,
  ): Promise<Response | undefined> => {
    const { status, text } = await handle(request);
    const headers: Record<string, string> = text === undefined ? {} : { 'content-type': 'text/plain; charset=utf-8' };
    if (response === undefined) return new Response(text, { status, headers });
    response.writeHead(status, headers).end(text);
    return undefined;
  };
  return respond as WebhookHandler;
}

const isOfServer = (request: Request | ServerRequest): request is ServerRequest => !('arrayBuffer' in request);

/** The bytes of a request, from the framework or from the network. If there are none, `verify` says why. */
async function bodyOf(request: Request | ServerRequest): Promise<Uint8Array | string> {
  if (!isOfServer(request))
    return request.bodyUsed ? (undefined as never) : new Uint8Array(await request.arrayBuffer());
  for (const body of [request.rawBody, request.body])
    if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (request.readableEnded) return request.body as never;
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Uint8Array<ArrayBuffer>>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > MAX_BODY_BYTES) throw new WebhookError(`the body has more than ${MAX_BODY_BYTES} bytes`);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
