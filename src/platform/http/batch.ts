import { setTimeout as sleep } from 'node:timers/promises';
import { unavailable } from '../values/problem.js';
import { type AppRequest } from './app-request.js';
import { reportedProblem } from './problem.filter.js';

/** How many elements of one batch run at once, so that it delays no other request for long. */
const AT_ONCE = 20;

/** What the answer needs of the request's time after its elements. */
const ANSWER_RESERVE_MS = 1000;

/** What came of an element of a batch: what was made, or the body of its problem. */
export type ElementOutcome<T> = { value: T } | { problem: Record<string, unknown> };

/**
 * Performs each element of a batch on its own, a few at once. What is not done in time gets a problem that is
 * retryable, also if it is still being done.
 *
 * @returns the outcomes, in the order of the elements.
 */
export async function performEach<T, R>(
  request: AppRequest,
  elements: readonly T[],
  perform: (element: T) => Promise<R>,
): Promise<ElementOutcome<R>[]> {
  const outcomes = new Map<number, ElementOutcome<R>>();
  const refused = (error: unknown) => ({ problem: reportedProblem(request, error).toBody(request.path, request.id) });
  const [left, timer] = [elements.entries(), new AbortController()];
  const performNext = async (): Promise<void> => {
    for (const [at, element] of left) {
      if (timer.signal.aborted) return;
      outcomes.set(at, await perform(element).then((value) => ({ value }), refused));
    }
  };
  const all = Promise.all(Array.from({ length: AT_ONCE }, performNext));
  const time = request.answerBy - ANSWER_RESERVE_MS - performance.now();
  await Promise.race([all, sleep(time, undefined, timer).catch(() => undefined)]);
  timer.abort();
  return elements.map((_, at) => outcomes.get(at) ?? refused(unavailable(undefined)));
}
