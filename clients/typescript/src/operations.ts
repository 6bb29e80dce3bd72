import { OPERATIONS, type Operations } from './generated/operations.gen.js';
import { refusal } from './errors.js';
import type { Call, CallOptions } from './http.js';

/** What is generated of the request of an operation. */
interface Data {
  url: string;
  path?: object;
  body?: object;
  query?: object;
}
interface Page {
  data: unknown[];
  next_cursor?: string | null;
  next_after?: number;
  has_more?: boolean;
}

/** The elements of a list. Each page is requested when you reach it. */
export interface List<P extends { data: unknown[] }> extends AsyncIterable<P['data'][number]> {
  /** The pages from the beginning, or from the `next_cursor` of an earlier page. */
  pages(from?: { cursor?: string | undefined }): AsyncIterable<P>;
}

type Ids<D> = D extends { path: { refund_id: string } }
  ? [orderId: string, refundId: string]
  : D extends { path: object }
    ? [id: string]
    : [];
type InputOf<D extends Data> = [NonNullable<D['body']>] extends [never] ? D['query'] : D['body'];
type Input<D extends Data> = [NonNullable<InputOf<D>>] extends [never]
  ? []
  : undefined extends InputOf<D>
    ? [input?: NonNullable<InputOf<D>>]
    : [input: NonNullable<InputOf<D>>];

export type Name = keyof Operations;

type Result<N extends Name> = Operations[N][1][keyof Operations[N][1]];
/** What a request that writes returns. */
type Changed<R> = R extends object
  ? R & {
      /** Whether the request changed nothing, because it was done before. It is not enumerable. */
      readonly replayed: boolean;
    }
  : R;
type Answer<N extends Name> = (typeof OPERATIONS)[N][1] extends 'list'
  ? List<Extract<Result<N>, { data: unknown[] }>>
  : Promise<(typeof OPERATIONS)[N][0] extends `GET ${string}` ? Result<N> : Changed<Result<N>>>;
/** The IDs in the path, then the body or the query, then options. */
export type Operation<N extends Name> = (
  ...args: [...Ids<Operations[N][0]>, ...Input<Operations[N][0]>, options?: CallOptions]
) => Answer<N>;

export type Send = <T>(call: Call) => Promise<T>;

/** A repeat of these is refused with this code if the first try succeeded. */
const DONE_IS: { [N in Name]?: string } = { deleteWebhookEndpoint: 'not_found', logout: 'invalid_token' };

/** Makes the call of an operation. */
export function operation<N extends Name>(name: N, send: Send): Operation<N> {
  const [route, kind, status, like] = OPERATIONS[name] as readonly [string, 'list' | 'send' | 'call', number, object?];
  const [method = '', template = ''] = route.split(' ');
  const perform = (...args: unknown[]): unknown => {
    const ids = args.splice(0, template.split('{').length - 1);
    const input = kind === 'call' ? undefined : (args.shift() as object | undefined);
    const call = { method, status, like, options: args[0] as CallOptions | undefined, doneIs: DONE_IS[name] };
    const sendWith = async <T>(sent?: object): Promise<T> => {
      const path = ids.reduce<string>((filled, id) => filled.replace(/\{\w+\}/, () => segmentOf(id)), template);
      return send({ ...call, path, ...(method === 'GET' ? { query: sent } : { body: sent }) });
    };
    return kind === 'list' ? listOf((next) => sendWith<Page>({ ...input, ...next })) : sendWith(input);
  };
  return perform as Operation<N>;
}

/** Encodes an ID. An empty one, `.` and `..` would lead to another operation. */
function segmentOf(id: unknown): string {
  const text = String((id as string | null | undefined) ?? '');
  if (!/^\.{0,2}$|\p{Surrogate}/u.test(text)) return encodeURIComponent(text);
  throw refusal('validation_failed', 400, 'fix_request', `${JSON.stringify(text)} cannot be an ID in a path`);
}

/**
 * Reads on until nothing follows.
 *
 * @param what one part of it is called
 * @throws CashbackError unexpected_response if what follows was read before
 */
export async function* follow<P>(
  what: 'page' | 'file',
  first: object,
  read: (next: object) => Promise<P>,
  nextOf: (part: P) => object | undefined,
): AsyncGenerator<P, void> {
  const seen = new Set<string>();
  for (let next: object | undefined = first; next !== undefined;) {
    const part: P = await read(next);
    next = nextOf(part);
    if (next !== undefined && seen.size === seen.add(JSON.stringify(next)).size)
      throw refusal('unexpected_response', 200, 'contact_support', `the ${what} after this one was read before`);
    yield part;
  }
}

/** Where the feed began is replaced by where it goes on. */
function afterPage({ next_cursor: cursor, has_more, next_after }: Page): object | undefined {
  if (cursor) return { cursor };
  return has_more ? { after: next_after, from: undefined, last: undefined } : undefined;
}

function listOf<P extends Page>(read: (next: object) => Promise<P>): List<P> {
  const pages = ({ cursor }: { cursor?: string | undefined } = {}): AsyncGenerator<P, void> =>
    follow('page', cursor === undefined ? {} : { cursor }, read, afterPage);
  return {
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const { data } of pages()) yield* data;
    },
  };
}
