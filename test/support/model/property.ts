/* eslint jest/no-export: off, jest/no-standalone-expect: off -- Two suites run the same test with different lengths. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Service, startService } from '../service.js';
import { examples } from './examples.js';
import { FrozenClock } from '../clock.js';
import { expectMonthsToClose } from './months.js';
import { Run } from './run.js';
import { Shop, TOKEN_SECONDS, twoPolicies } from './shops.js';
import { step } from './steps.js';

/**
 * The seed is the same in every run, so that a failure comes from the change under test. MODEL_SEED sets another one.
 */
const seed = Number(process.env.MODEL_SEED ?? 20_261_120);
/** The maximum length of a sequence. The average is half of it. */
const MOST_STEPS = 100;

/**
 * Defines the test that compares the service with a model of the money rules.
 *
 * @param defaults the number of random sequences and their time limit; MODEL_SEQUENCES and MODEL_SECONDS override them.
 */
export function describeModel(defaults: { sequences: number; seconds: number }): void {
  const sequences = Number(process.env.MODEL_SEQUENCES ?? defaults.sequences);
  const seconds = Number(process.env.MODEL_SECONDS ?? defaults.seconds);

  describe('the service compared with a model of the money rules', () => {
    let service: Service;
    let shops: Shop[];
    const clock = new FrozenClock();
    const since = clock.ms;

    beforeAll(async () => {
      service = await startService({
        clock,
        env: { ACCESS_TOKEN_TTL_SECONDS: String(TOKEN_SECONDS), LOG_LEVEL: 'error' },
      });
      shops = [];
      for (const rules of twoPolicies()) shops.push(await Shop.open(service, clock, rules));
    });
    afterAll(() => service.stop());

    it(
      'the service gives the same responses as the model for every sequence of steps and keeps the invariants',
      async () => {
        let steps = 0;
        let answers = 0;
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: MOST_STEPS, size: 'max' }), async (sequence) => {
            // In a small database, all invariants are checked after every step. Later that would take too long.
            const run = new Run(service, clock, shops, steps < 150 ? 1 : 10);
            await run.take(sequence).finally(() => {
              steps += run.steps;
              answers += run.answers;
            });
          }),
          {
            seed,
            numRuns: sequences,
            examples,
            ...(process.env.MODEL_PATH && { path: process.env.MODEL_PATH }),
            interruptAfterTimeLimit: seconds * 1000,
          },
        );
        process.stdout.write(`MODEL_SEED=${seed}: ${steps} steps, ${answers} answers as in the model\n`);
        expect(service.logged).toEqual([]);
      },
      2.5 * seconds * 1000,
    );

    it(
      'the report of each month begins with what the month before ended with, and the last one ends with the wallets',
      async () => {
        const rules = twoPolicies();
        await expectMonthsToClose(
          clock,
          shops.map((shop, at) => ({ shop, zone: rules[at]!.zone })),
          since,
        );
      },
      2.5 * seconds * 1000,
    );
  });
}
