import { setTimeout as sleep } from 'node:timers/promises';
import type { Service } from './service.js';

export interface Answer {
  status: number;
  headers: Headers;
  body: any;
  /** Whether the client repeated the request. Then a 201 can be a replay, of an attempt that was committed too late. */
  isRepeated?: boolean;
}

export interface RequestOptions {
  body?: unknown;
  /** Sent as is, instead of `body` as JSON. */
  raw?: string | Buffer;
  token?: string | undefined;
  headers?: Record<string, string>;
}

/** How often a request is sent, at most. */
const ATTEMPTS = 20;

/**
 * An HTTP client of a merchant. It sends a request again after a 503, when `Retry-After` says, as docs/errors.md tells
 * callers to: a busy machine must not fail a test.
 */
export class Client {
  constructor(
    readonly service: Pick<Service, 'url'>,
    readonly token?: string,
    private readonly attempts = ATTEMPTS,
  ) {}

  /** The same client, but it sends each request once: for tests of waiting, of outages, or of how much is sent. */
  get once(): Client {
    return new Client(this.service, this.token, 1);
  }

  async send(method: string, path: string, options?: RequestOptions): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#exchange(method, path, options);
      const seconds = answer.status === 503 ? answer.headers.get('retry-after') : null;
      if (seconds === null || attempt === this.attempts) return { ...answer, isRepeated: attempt > 1 };
      await sleep(Number(seconds) * 1000);
    }
  }

  async #exchange(
    method: string,
    path: string,
    { body, raw, token = this.token, headers = {} }: RequestOptions = {},
  ): Promise<Answer> {
    const hasBody = body !== undefined || raw !== undefined;
    const response = await fetch(new URL(path, this.service.url), {
      method,
      headers: {
        ...(hasBody && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(hasBody && { body: (raw ?? JSON.stringify(body)) as string }),
    });
    const text = await response.text();
    const isJson = (response.headers.get('content-type') ?? '').includes('json');
    const answer = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    // Only a body that the client itself serialized is certain to be JSON. The validator is loaded only if it is used.
    if (raw === undefined && process.env.VALIDATE_OPENAPI === 'true')
      (await import('./contract.js')).assertContract({ method, path, body, answer });
    return answer;
  }

  get(path: string, options?: RequestOptions): Promise<Answer> {
    return this.send('GET', path, options);
  }

  post(path: string, body?: unknown, options?: RequestOptions): Promise<Answer> {
    return this.send('POST', path, { body, ...options });
  }

  put(path: string, body?: unknown, options?: RequestOptions): Promise<Answer> {
    return this.send('PUT', path, { body, ...options });
  }

  /** Reads all pages of a list. @param path with a query */
  async pages(path: string): Promise<any[]> {
    const pages: any[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await this.get(`${path}${cursor}`);
      if (status !== 200) throw new Error(`the page was answered ${status}: ${JSON.stringify(body)}`);
      pages.push(body);
      if (body.next_cursor === null) return pages;
      cursor = `&cursor=${encodeURIComponent(body.next_cursor as string)}`;
    }
  }
}

/** Sends the same request `times` times at once. */
export function atOnce<T>(times: number, send: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => send(index)));
}
