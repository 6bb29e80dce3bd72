import { setTimeout as sleep } from 'node:timers/promises';
import type { Workload } from './workload.js';

/**
 * Watches a load until it is told to stop.
 *
 * @returns a function that ends the watch. It returns the longest time without a successful response, in seconds.
 */
export function watchPauses(loads: Workload[]): () => Promise<string> {
  let isOver = false;
  const watching = (async () => {
    let [longest, since, answered] = [0, performance.now(), 0];
    while (!isOver) {
      await sleep(50);
      const now = loads.reduce((sum, load) => sum + load.answered, 0);
      longest = Math.max(longest, performance.now() - since);
      if (now > answered) since = performance.now();
      answered = now;
    }
    return (longest / 1000).toFixed(1);
  })();
  return () => {
    isOver = true;
    return watching;
  };
}

/** How long a load may go without responses. A test that waits for ever would leave its load to the tests after it. */
const ANSWERED_MS = 60_000;

/** Waits until each load has received more successful responses. */
export async function untilAnsweredAgain(loads: Workload[], count = 10): Promise<void> {
  const before = loads.map(({ answered }) => answered);
  const deadline = Date.now() + ANSWERED_MS;
  while (loads.some((load, at) => load.answered < before[at]! + count)) {
    if (Date.now() > deadline) {
      const after = loads.map(({ answered, refused, unanswered }) => ({ answered, refused, unanswered }));
      throw new Error(`a load is not answered: ${JSON.stringify({ before, after })}`);
    }
    await sleep(50);
  }
}

/** Does something during loads, which end with it, however it ends. @param start takes when to end */
export async function duringLoads<T>(
  start: (isOver: () => boolean) => Promise<void>[],
  act: () => Promise<T>,
): Promise<T> {
  let isOver = false;
  const working = start(() => isOver);
  try {
    return await act();
  } finally {
    isOver = true;
    await Promise.all(working);
  }
}
