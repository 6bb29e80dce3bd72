import type { IncomingMessage } from 'node:http';
import { Cashback, CashbackError, type CashbackOptions, type CreateOrder } from '../../clients/typescript/src/index.js';
import { OPERATIONS } from '../../clients/typescript/src/generated/operations.gen.js';
import type { TestMerchant } from './factories.js';
import { anOrder } from './factories.js';
import type { Members } from './shop.js';

/** The TypeScript client of the API user of a merchant. */
export function clientOf(
  { email, password }: Pick<TestMerchant, 'email' | 'password'>,
  { url }: { url: string },
  options: Partial<CashbackOptions> = {},
): Cashback {
  return new Cashback({ baseUrl: url, email, password, ...options });
}

/** The request body of an order, with its type. */
export const anOrderOf = (members: Members = {}): CreateOrder => anOrder(members) as unknown as CreateOrder;

/** Who buys in the checkouts of tests. */
export const CUSTOMER = '52998224725';

/** What a cart asks for, as the shops of tests put it. */
export const aCartOf = (total: string, members: object = {}) => ({
  document: CUSTOMER,
  items: [{ id: 'line-1', price: total }],
  total,
  ...members,
});

/** Reads all elements. */
export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const elements: T[] = [];
  for await (const element of list) elements.push(element);
  return elements;
}

/** Returns the error of a call, which must have failed. */
export async function errorOf(call: Promise<unknown>): Promise<CashbackError> {
  const error = await call.then(
    () => new Error('the call did not fail'),
    (reason: unknown) => reason,
  );
  if (error instanceof CashbackError) return error;
  throw error;
}

/** Sends a call until it has an answer, as callers do after all tries of the client. */
export async function untilAnswered<T>(call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!(error instanceof CashbackError && error.retryable)) throw error;
    }
  }
}

/** The methods that are made of the requests of other ones. */
export const OF_OTHERS = new Set(['put', 'pay', 'sell']);

/** The status of success of an operation, and some members of its answer. */
export interface Promised {
  status: number;
  like: object | undefined;
}

/** What is promised to a request whose IDs are `id-1` and `id-2`. */
export function promiseOf({ method, url }: IncomingMessage): Promised {
  const path = url!.split('?')[0]!.replaceAll(/id-\d/g, '{}');
  const found = Object.values(OPERATIONS).find(([route]) => route.replaceAll(/\{\w+\}/g, '{}') === `${method} ${path}`);
  const [, , status, like] = found as readonly [string, string, number, object?];
  return { status, like };
}
