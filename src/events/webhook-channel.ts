import dns from 'node:dns';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import { once } from 'node:events';
import { BlockList, isIPv6, type LookupFunction } from 'node:net';
import { useAgent } from 'request-filtering-agent';
import { type Webhook } from 'standardwebhooks';
import { SECOND_MS } from '../platform/values/time.js';
import { type WebhookAttemptDto } from './webhook-endpoint.dto.js';

/** How much of a response is read, and how much of that is stored. */
const READ_BYTES = 16 * 1024;
const STORED_BYTES = 1024;

/** What the agent takes for public: IPv4 in the first form of IPv6, and the host of virtual machines at Azure. */
const NOT_PUBLIC = new BlockList();
NOT_PUBLIC.addSubnet('::', 96, 'ipv6');
NOT_PUBLIC.addAddress('168.63.129.16');

/** Resolves a name, as the agent does. */
const lookUp: LookupFunction = (host, options, done) =>
  dns.lookup(host, options, (error, found, family) => {
    const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
    const isRefused = addresses.some((one) => NOT_PUBLIC.check(one, isIPv6(one) ? 'ipv6' : 'ipv4'));
    done(isRefused ? new Error(`${host} is not allowed`) : error, found, family);
  });

/** An attempt, and how long the receiver asks to wait. */
export interface Sent {
  attempt: WebhookAttemptDto;
  retryAfterMs: number;
}

/** Sends events to an endpoint's URL, one request after another over one connection. */
export class Channel {
  readonly #url: URL;
  readonly #agent: http.Agent;

  /** @param allowsPrivate whether it may connect to an address that is not public, whatever the name resolves to. */
  constructor(
    private readonly endpoint: { url: string; batch: number },
    private readonly signers: readonly Webhook[],
    allowsPrivate: boolean,
  ) {
    this.#url = new URL(endpoint.url);
    const allowed = { allowPrivateIPAddress: allowsPrivate, allowMetaIPAddress: allowsPrivate };
    const lookup = allowsPrivate ? dns.lookup : lookUp;
    this.#agent = useAgent(endpoint.url, { keepAlive: true, maxSockets: 1, lookup, ...allowed });
  }

  /**
   * Sends events in one request, signed (Standard Webhooks) with the ID of the last one. It never throws: what fails is
   * the outcome of the attempt.
   */
  async send(events: readonly { id: string }[], now: Date, timeoutMs: number): Promise<Sent> {
    const startedAt = performance.now();
    const { id } = events.at(-1)!;
    const body = JSON.stringify(this.endpoint.batch > 1 ? { data: events } : events[0]);
    const outcome = await this.#post(id, body, now, timeoutMs).catch((error: unknown) => {
      return { status: null, error: messageOf(error, timeoutMs), response: null, retryAfterMs: 0 };
    });
    const { retryAfterMs, status, error, response } = outcome;
    const duration_ms = Math.round(performance.now() - startedAt);
    return {
      attempt: { at: now.toISOString(), event_id: id, status, error, duration_ms, response },
      retryAfterMs,
    };
  }

  /** Closes the connection. What is being sent fails. */
  close(): void {
    this.#agent.destroy();
  }

  async #post(id: string, body: string, now: Date, timeoutMs: number) {
    if (this.signers.length === 0) throw new Error('the secret of the endpoint cannot be read: rotate it');
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': 'cashback-order-service',
      'webhook-id': id,
      'webhook-timestamp': Math.floor(+now / SECOND_MS),
      'webhook-signature': this.signers.map((signer) => signer.sign(id, now, body)).join(' '),
    };
    const response = await this.#respond(headers, body, AbortSignal.timeout(timeoutMs));
    const { statusCode: status = null, headers: answered } = response;
    const retryAfterMs = retryAfter(answered['retry-after'], now);
    return { status, error: null, response: await beginningOf(response), retryAfterMs };
  }

  /**
   * Resolves to the head of the response. A receiver may close a connection just when it is used again: then the
   * request goes over a new one, as https://nodejs.org/api/http.html#requestreusedsocket says.
   */
  async #respond(headers: http.OutgoingHttpHeaders, body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { request } = this.#url.protocol === 'https:' ? https : http;
    const sending = request(this.#url, { method: 'POST', agent: this.#agent, headers, signal }).end(body);
    // After the head of the response, an error only ends the reading of the body.
    sending.on('error', () => undefined);
    try {
      // The signal also ends the waiting for a response that switches protocols, which closes without an error.
      const [response] = (await once(sending, 'response', { signal })) as [IncomingMessage];
      return response;
    } catch (error) {
      if (sending.reusedSocket && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? ''))
        return this.#respond(headers, body, signal);
      throw error;
    }
  }
}

/** Reads what is stored of a response. Its status counts, also if the rest does not arrive. */
async function beginningOf(response: IncomingMessage): Promise<string> {
  let body = Buffer.alloc(0);
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      body = Buffer.concat([body, chunk]);
      if (body.length >= READ_BYTES) break;
    }
  } catch {
    // The connection broke, or the time is over.
  }
  return body.subarray(0, STORED_BYTES).toString();
}

/** Reads Retry-After (RFC 9110, section 10.2.3): seconds or a date. */
function retryAfter(value: string | undefined, now: Date): number {
  if (value === undefined) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * SECOND_MS : Date.parse(value) - +now;
  return Math.max(0, ms || 0);
}

/** What the merchant reads: not to which private address a name resolves, nor which names exist. */
function messageOf(error: unknown, timeoutMs: number): string {
  const { name, message, syscall } = error as NodeJS.ErrnoException;
  if (name === 'AbortError') return `no response within ${timeoutMs} ms`;
  if (syscall === 'getaddrinfo' || message.includes('is not allowed'))
    return 'the host name has no address, or one that is not public';
  // A failed connection to several addresses has no message of its own.
  return (error instanceof AggregateError ? (error.errors[0] as Error).message : message).slice(0, STORED_BYTES);
}
