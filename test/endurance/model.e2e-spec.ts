import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { examples } from '../support/model/examples.js';
import { FrozenClock } from '../support/model/frozen-clock.js';
import { Run } from '../support/model/run.js';
import { Shop, TOKEN_SECONDS, twoPolicies } from '../support/model/shops.js';
import { step } from '../support/model/steps.js';
import { type Service, startService } from '../support/service.js';

/** The same sequences in every run, so that a failure is of the change under test; another MODEL_SEED takes others. */
const seed = Number(process.env.MODEL_SEED ?? 20_261_120);
const sequences = Number(process.env.MODEL_SEQUENCES ?? 80);
/** A sequence has half as many on average. */
const MOST_STEPS = 100;

describe('the money, held against a model of the rules', () => {
  let service: Service;
  let shops: Shop[];
  const clock = new FrozenClock();

  beforeAll(async () => {
    service = await startService({
      clock,
      env: { ACCESS_TOKEN_TTL_SECONDS: String(TOKEN_SECONDS), LOG_LEVEL: 'error' },
    });
    shops = [];
    for (const rules of twoPolicies()) shops.push(await Shop.open(service, clock, rules));
  });
  afterAll(() => service.stop());

  it('answers every sequence of steps as the model does, and keeps the invariants', async () => {
    process.stdout.write(`MODEL_SEED=${seed} MODEL_SEQUENCES=${sequences}\n`);
    let steps = 0;
    let answers = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: MOST_STEPS, size: 'max' }), async (sequence) => {
        // In a small database every step is followed by the whole proof; later it would take too long.
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
        interruptAfterTimeLimit: Number(process.env.MODEL_SECONDS ?? 150) * 1000,
      },
    );
    process.stdout.write(`${steps} steps, ${answers} answers as the model has them\n`);
    expect(service.logged).toEqual([]);
  }, 400_000);
});
