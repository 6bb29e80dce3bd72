import type { List } from '@cashback/client';
import type { TargetedSubmitEvent } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { useMoves } from './clock.js';

/** The address after `#/`, such as `order/0199…` or `sales?by=user`: it never has a document. */
export interface Route {
  parts: string[];
  query: URLSearchParams;
}

export function route(): Route {
  const [path = '', query] = location.hash.slice(2).split('?');
  return { parts: path.split('/'), query: new URLSearchParams(query) };
}

type Query = Record<string, string | number | null | undefined>;

/** @param query what is null, undefined or empty is left out @returns the address of a view, for a link */
export function address(path: string, query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return `#/${path}${text && `?${text}`}`;
}

export const go = (path: string, query?: Query): void => void (location.hash = address(path, query));

export function useRoute(): Route {
  const [state, set] = useState(route);
  useEffect(() => {
    const follow = (): void => set(route());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return state;
}

/**
 * The filters of a view are in its address, so that Back restores them and a link can have them.
 *
 * @returns the filters with their defaults, and a function that changes some
 */
export function useFilters<T extends Record<string, string>>(defaults: T): [T, (changes: Partial<T>) => void] {
  const { parts, query } = useRoute();
  const filters = { ...defaults, ...Object.fromEntries(query) };
  return [filters, (changes) => go(parts.join('/'), { ...Object.fromEntries(query), ...changes })];
}

/**
 * Shows the beginning of a new view, and of one to which somebody came back what was in sight before. That can be there
 * later: the list has to be loaded again.
 */
export function restoreScroll(): void {
  const seen = new Map<string, number>();
  history.scrollRestoration = 'manual';
  let entries = Date.now();
  /** Each entry of the history has a name of its own. */
  const name = (): string => {
    if (history.state === null) history.replaceState(String(++entries), '');
    return history.state as string;
  };
  let here = name();
  let ending = new AbortController();
  addEventListener('scroll', () => seen.set(here, scrollY), { passive: true });
  addEventListener('popstate', () => {
    ending.abort();
    here = name();
    const target = seen.get(here) ?? 0;
    const { signal } = (ending = new AbortController());
    const follow = (): void => {
      scrollTo(0, target);
      if (scrollY >= target - 1) ending.abort();
    };
    const watcher = new ResizeObserver(() => signal.aborted || follow());
    signal.addEventListener('abort', () => watcher.disconnect());
    for (const type of ['wheel', 'touchstart', 'keydown']) addEventListener(type, () => ending.abort(), { signal });
    setTimeout(() => signal.aborted || watcher.observe(document.body));
  });
}

export interface Loaded<T> {
  data?: T;
  error?: unknown;
  reload: () => void;
}

/**
 * Loads when a dependency changes, and again with `reload` or when a sandbox's clock was moved, which keeps what is
 * shown until the answer is there.
 */
export function useLoad<T>(load: (signal: AbortSignal) => Promise<T>, dependencies: unknown[]): Loaded<T> {
  const [state, set] = useState<{ data?: T; error?: unknown }>({});
  const [times, again] = useState(0);
  const moves = useMoves();
  useEffect(() => set({}), dependencies);
  useEffect(() => {
    const aborted = new AbortController();
    load(aborted.signal).then(
      (data) => aborted.signal.aborted || set({ data }),
      (error: unknown) => aborted.signal.aborted || set({ error }),
    );
    return () => aborted.abort();
  }, [...dependencies, times, moves]);
  return { ...state, reload: useCallback(() => again((n) => n + 1), []) };
}

/** What lists of the API have. */
export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

/** What can be read page by page. */
export type Paged<T> = Pick<List<Page<T>>, 'pages'>;

/** A list of what is made of the rows of another one, page by page. */
export const mapped = <S, T>(list: Paged<S>, map: (rows: S[]) => Promise<T[]>): Paged<T> => ({
  async *pages(from) {
    for await (const { data, next_cursor } of list.pages(from)) yield { data: await map(data), next_cursor };
  },
});

export async function firstPage<P extends { data: unknown[] }>(list: List<P>): Promise<P> {
  for await (const page of list.pages()) return page;
  throw new Error('a list has a page');
}

/** Reads a list to its end: only for those that are short. */
export async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const rows: T[] = [];
  for await (const row of list) rows.push(row);
  return rows;
}

export interface Pages<T> {
  pages: T[][];
  isComplete: boolean;
  isLoading: boolean;
  error?: unknown;
  more: () => void;
}

/** Reads a list page by page; after an error, goes on where it was. An empty page is not shown: more can follow it. */
export function usePages<T>(list: (signal: AbortSignal) => Paged<T>, on: unknown[]): Pages<T> {
  const dependencies = [...on, useMoves()];
  const [state, set] = useState<Omit<Pages<T>, 'more'>>({ pages: [], isComplete: false, isLoading: true });
  const reading = useRef({ cursor: null as string | null, isBusy: false, aborted: new AbortController() });
  const more = useCallback(async () => {
    const current = reading.current;
    if (current.isBusy) return;
    current.isBusy = true;
    set((before) => ({ ...before, isLoading: true, error: undefined }));
    try {
      const { data, next_cursor } = await nextPage(list(current.aborted.signal), current.cursor);
      if (current !== reading.current) return;
      current.cursor = next_cursor;
      set(({ pages }) => ({ pages: [...pages, data], isComplete: next_cursor === null, isLoading: false }));
    } catch (error) {
      if (current === reading.current) set((before) => ({ ...before, isLoading: false, error }));
    } finally {
      current.isBusy = false;
    }
  }, dependencies);
  useEffect(() => {
    reading.current = { cursor: null, isBusy: false, aborted: new AbortController() };
    set({ pages: [], isComplete: false, isLoading: true });
    void more();
    return () => reading.current.aborted.abort();
  }, dependencies);
  return { ...state, more: () => void more() };
}

async function nextPage<T>(list: Paged<T>, cursor: string | null): Promise<Page<T>> {
  let page: Page<T> = { data: [], next_cursor: null };
  for await (page of list.pages(cursor === null ? {} : { cursor })) if (page.data.length > 0) break;
  return page;
}

/** Does one thing at a time: a second click meanwhile does nothing. */
export function useOnce<T>(work: (input: T) => Promise<unknown>): {
  isBusy: boolean;
  error?: unknown;
  run: (input: T) => void;
} {
  const busy = useRef(false);
  const [state, set] = useState<{ isBusy: boolean; error?: unknown }>({ isBusy: false });
  const run = (input: T): void => {
    if (busy.current) return;
    busy.current = true;
    set({ isBusy: true });
    void work(input)
      .then(
        () => set({ isBusy: false }),
        (error: unknown) => set({ isBusy: false, error }),
      )
      .finally(() => (busy.current = false));
  };
  return { ...state, run };
}

/** What the fields of a form have, by their names. Boxes with one name are a list of those that are checked. */
export type Values = Record<string, string>;

/** Does what a form is for, once for each time that it is sent. */
export function useSubmit(work: (values: Values) => Promise<unknown>): {
  isBusy: boolean;
  error?: unknown;
  submit: (event: TargetedSubmitEvent<HTMLFormElement>) => void;
} {
  const { run, ...state } = useOnce(work);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = [...new Set(data.keys())].map((name) => [name, (data.getAll(name) as string[]).join(' ').trim()]);
    run(Object.fromEntries(values) as Values);
  };
  return { ...state, submit };
}
