import { anything } from './expected.js';
import type { Shop } from './shop.js';

/** Reads all pages of a list: of a `GET` with a query, or of a `POST` if there is a body. */
export async function elements<T = Record<string, unknown>>(shop: Shop, path: string, body?: object): Promise<T[]> {
  const all: T[] = [];
  const page = { status: 200, body: { data: anything, next_cursor: anything } };
  for (let cursor: string | null = null; ;) {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const answer = body
      ? await shop.send({ method: 'POST', path, body: { ...body, cursor } }, page)
      : await shop.send({ method: 'GET', path: `${path}${query}` }, page);
    all.push(...(answer.body.data as T[]));
    cursor = answer.body.next_cursor as string | null;
    if (cursor === null) return all;
  }
}
