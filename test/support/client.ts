import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import type { Problem } from './expectations.js';
import type { Service } from './service.js';

/** What a test reads without naming the type of a body: the members of a problem, an ID, or the elements of a list. */
export interface Body extends Problem {
  id: string;
  data: Body[];
}

export interface Answer<T = Body> {
  status: number;
  headers: Headers;
  body: T;
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

  async send<T = Body>(method: string, path: string, options?: RequestOptions): Promise<Answer<T>> {
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#exchange<T>(method, path, options);
      const seconds = answer.status === 503 ? answer.headers.get('retry-after') : null;
      if (seconds === null || attempt === this.attempts) return { ...answer, isRepeated: attempt > 1 };
      await sleep(Number(seconds) * 1000);
    }
  }

  async #exchange<T>(
    method: string,
    path: string,
    { body, raw, token = this.token, headers = {} }: RequestOptions = {},
  ): Promise<Answer<T>> {
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
    const json = (isJson ? JSON.parse(text) : text) as T;
    const answer: Answer<T> = { status: response.status, headers: response.headers, body: json };
    // Only a body that the client itself serialized is certain to be JSON. The validator is loaded only if it is used.
    if (raw === undefined && process.env.VALIDATE_OPENAPI === 'true')
      (await import('./contract.js')).assertContract({ method, path, body, answer: answer });
    return answer;
  }

  get<T = Body>(path: string, options?: RequestOptions): Promise<Answer<T>> {
    return this.send('GET', path, options);
  }

  post<T = Body>(path: string, body?: unknown, options?: RequestOptions): Promise<Answer<T>> {
    return this.send('POST', path, { body, ...options });
  }

  put<T = Body>(path: string, body?: unknown, options?: RequestOptions): Promise<Answer<T>> {
    return this.send('PUT', path, { body, ...options });
  }

  /** Reads all pages of a list. @param path with a query */
  async pages<T = Body>(path: string): Promise<{ data: T[]; next_cursor: string | null }[]> {
    const pages: { data: T[]; next_cursor: string | null }[] = [];
    for (let cursor = ''; ;) {
      const { status, body } = await this.get<{ data: T[]; next_cursor: string | null }>(`${path}${cursor}`);
      if (status !== 200) throw new Error(`the page was answered ${status}: ${JSON.stringify(body)}`);
      pages.push(body);
      if (body.next_cursor === null) return pages;
      cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`;
    }
  }
}

/** Sends the same request `times` times at once. */
export function atOnce<T>(times: number, send: (index: number) => PromiseLike<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: times }, (_, index) => send(index)));
}

/** Sends the same request `times` times at once. Expects that all are answered the same. @returns that. */
export async function sameAtOnce<T>(times: number, send: () => PromiseLike<T>): Promise<T> {
  const [first, ...others] = await atOnce(times, send);
  expect(others).toEqual(Array(times - 1).fill(first));
  return first as T;
}
