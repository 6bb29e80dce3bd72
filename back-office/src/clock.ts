import type { SandboxClock } from '@cashback/client';
import { useEffect, useState } from 'preact/hooks';

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

/** Returns what a function reads of the clock. What uses it is drawn again when that changes. */
function useOfClock<T>(read: () => T): T {
  const [, draw] = useState(read);
  useEffect(() => {
    const listener = (): void => draw(read);
    listeners.add(listener);
    // It may have changed since this was drawn.
    listener();
    return () => void listeners.delete(listener);
  }, []);
  return read();
}

export const useClock = (): SandboxClock | null => useOfClock(getClock);

/** @returns a text that changes when the clock was moved: then everything can be different */
export const useMoves = (): string => useOfClock(() => (clock?.frozen ? `${clock.now} ${clock.moving}` : ''));
