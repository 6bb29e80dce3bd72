import type { SandboxClock } from '@cashback/client';
import { useSyncExternalStore } from 'preact/compat';

let clock: SandboxClock | null = null;
/** How many milliseconds a running clock is ahead of that of the browser. */
let ahead = 0;
const listeners = new Set<() => void>();

/** The merchant's time: in a sandbox that of its clock, otherwise that of the browser. */
export const now = (): Date => new Date(clock?.frozen ? clock.now : Date.now() + ahead);

export const getClock = (): SandboxClock | null => clock;

/** @param next what `now` follows; null if the service is no sandbox */
export function setClock(next: SandboxClock | null): void {
  clock = next;
  ahead = next ? Date.parse(next.now) - Date.now() : 0;
  listeners.forEach((listener) => listener());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const useClock = (): SandboxClock | null => useSyncExternalStore(subscribe, getClock);

/** @returns a text that changes when the clock was moved: then everything can be different */
export const useMoves = (): string =>
  useSyncExternalStore(subscribe, () => (clock?.frozen ? `${clock.now} ${clock.moving}` : ''));
