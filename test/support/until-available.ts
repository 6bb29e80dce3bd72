import { setTimeout as sleep } from 'node:timers/promises';
import { Problem } from '../../src/platform/values/problem.js';
import { isUnavailable } from '../../src/platform/database/errors.js';

const ATTEMPTS = 20;

const isRetryable = (error: unknown): boolean =>
  error instanceof Problem ? error.code === 'unavailable' : isUnavailable(error);

/**
 * Does something inside the service, and again after a second if the database or a processor was not free in time, as
 * the service's own sweeps and its callers do: a busy machine must not fail a test.
 */
export async function untilAvailable<T>(act: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await act();
    } catch (error) {
      if (!isRetryable(error) || attempt === ATTEMPTS) throw error;
      await sleep(1000);
    }
  }
}
