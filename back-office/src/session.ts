import { Cashback, CashbackError, type Me, type Permission, type Policy } from '@cashback/client';
import type { SandboxClock, TokenSet } from '@cashback/client';
import { getClock, setClock } from './clock.js';

const TOKENS = 'tokens';
const TAB = 'tab';
const ACTIVE = 'active';
const IDLE_MS = 30 * 60_000;

/** Who uses the page, and the rules of its merchant. */
export interface Session {
  me: Me;
  policy: Policy;
  /** That of the merchant in a sandbox. A live service has none. */
  clock: SandboxClock | null;
  can: (permission: Permission) => boolean;
}

/** What the page says for a moment: that it tries again, or that something is done. */
export type Notice = 'retrying' | 'done' | null;
type Listener = (notice: Notice) => void;
const listeners = new Set<Listener>();
let waiting: ReturnType<typeof setTimeout> | undefined;

/** Calls the listener with each notice, and with null when its time is over. @returns a function that stops it */
export function onNotice(listener: Listener): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function notify(notice: Notice, milliseconds = 4000): void {
  clearTimeout(waiting);
  for (const listener of listeners) listener(notice);
  if (notice) waiting = setTimeout(() => notify(null), milliseconds);
}

/** The tokens are in this tab only: in memory, and for a reload in its session storage. */
let tokens = JSON.parse(sessionStorage.getItem(TOKENS) ?? 'null') as TokenSet | null;

const ended = new Set<() => void>();

/** Calls the listener when the session has ended, also in the middle of something. @returns a function that stops it */
export function onEnd(listener: () => void): () => void {
  ended.add(listener);
  return () => ended.delete(listener);
}

const tokenStore = {
  get: () => Promise.resolve(tokens),
  set(next: TokenSet | null) {
    tokens = next;
    if (next) sessionStorage.setItem(TOKENS, JSON.stringify(next));
    else {
      sessionStorage.removeItem(TOKENS);
      ended.forEach((listener) => listener());
    }
    return Promise.resolve();
  },
  lock: <T>(work: () => Promise<T>) => navigator.locks.request('tokens', work) as Promise<T>,
};

/** The service that serves this page. */
export const cashback = new Cashback({
  baseUrl: new URL('..', document.baseURI).href.replace(/\/$/, ''),
  tokenStore,
  onRetry: ({ delay }) => notify('retrying', delay + 2000),
});

/**
 * A duplicated tab has a copy of the session storage. Two tabs with one refresh token revoke each other's session, so
 * each tab holds a lock with its name as long as it exists; the copy does not get it, and logs in for itself.
 */
async function leaveCopiedSession(): Promise<void> {
  const tab = sessionStorage.getItem(TAB) ?? crypto.randomUUID();
  const isCopy = await new Promise<boolean>((resolve) => {
    void navigator.locks.request(`tab-${tab}`, { ifAvailable: true }, (lock) => {
      resolve(lock === null);
      return lock && new Promise(() => undefined);
    });
  });
  if (!isCopy) return sessionStorage.setItem(TAB, tab);
  sessionStorage.clear();
  await tokenStore.set(null);
  return leaveCopiedSession();
}

// Sessions end in real time, also in a sandbox.
const isIdle = (): boolean => Date.now() - Number(sessionStorage.getItem(ACTIVE) ?? Date.now()) > IDLE_MS;
const stayActive = (): void => sessionStorage.setItem(ACTIVE, String(Date.now()));

/** Calls `leave` when nobody has used the tab for 30 minutes. @returns a function that stops it */
export function onIdle(leave: () => void): () => void {
  stayActive();
  const timer = setInterval(() => isIdle() && leave(), 15_000);
  for (const type of ['pointerdown', 'keydown']) addEventListener(type, stayActive);
  return () => {
    clearInterval(timer);
    for (const type of ['pointerdown', 'keydown']) removeEventListener(type, stayActive);
  };
}

const readClock = (): Promise<SandboxClock | null> =>
  cashback.sandbox.getClock().catch((error: unknown) => {
    if (error instanceof CashbackError && error.status === 404) return null;
    throw error;
  });

/** Reads the clock again: somebody else can have moved it. What was set meanwhile is newer. */
export async function refreshClock(): Promise<void> {
  const before = getClock();
  const next = await readClock();
  if (getClock() === before) setClock(next);
}

async function read(): Promise<Session> {
  const [me, policy, clock] = await Promise.all([cashback.me(), cashback.policy.get(), readClock()]);
  return { me, policy, clock, can: (permission) => me.permissions.includes(permission) };
}

/** @returns the session of this tab before it was reloaded, or null */
export async function resume(): Promise<Session | null> {
  await leaveCopiedSession();
  if (isIdle()) await tokenStore.set(null);
  return tokens ? read() : null;
}

export async function logIn(email: string, password: string): Promise<Session> {
  await cashback.login({ email, password });
  return read();
}

/** Ends the session here in any case, and at the service if it answers. */
export async function logOut(): Promise<void> {
  await cashback.logout().catch(() => undefined);
  await tokenStore.set(null);
  sessionStorage.removeItem(ACTIVE);
}
