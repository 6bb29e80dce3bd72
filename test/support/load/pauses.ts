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

/** Waits until each load has received more successful responses. */
export async function untilAnsweredAgain(loads: Workload[], count = 10): Promise<void> {
  const before = loads.map(({ answered }) => answered);
  while (loads.some((load, at) => load.answered < before[at]! + count)) await sleep(50);
}
