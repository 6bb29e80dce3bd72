import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';

/** Thread priorities can be read on Linux only. */
const HAS_PROC = existsSync('/proc/thread-self');

describe('the bcrypt thread of the built service', () => {
  let database: TestDatabase;
  let service: BuiltService;

  beforeAll(async () => {
    database = await createMigratedDatabase();
    service = await startBuiltService(database.url, { BCRYPT_COST: '11' });
  });
  afterAll(async () => {
    await service?.kill();
    await database.drop();
  });

  const logIn = (): Promise<Answer> =>
    new Client(service).post('/auth/login', { email: 'nobody@shop.example', password: 'wrong' });

  /**
   * The priorities of the threads that differ from the main thread's, as differences. Empty where they cannot be read.
   */
  function loweredPriorities(): number[] {
    if (!HAS_PROC) return [];
    const { pid } = service.process;
    const niceness = (thread: string): number => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      // The thread name can contain any character. The niceness is field 19 of the line. (man 5 proc)
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
    };
    const usual = niceness(String(pid));
    return readdirSync(`/proc/${pid}/task`)
      .map((thread) => niceness(thread) - usual)
      .filter((difference) => difference !== 0);
  }

  it('the first login starts the bcrypt thread, which is the only thread with a lower priority', async () => {
    expect(loweredPriorities()).toEqual([]);
    expectProblem(await logIn(), 401, 'invalid_credentials');
    expect(loweredPriorities()).toHaveLength(HAS_PROC ? 1 : 0);
  });

  it('the bcrypt thread stops when it is idle and starts again with the next login', async () => {
    for (let attempt = 0; attempt < 300 && loweredPriorities().length > 0; attempt++) await sleep(100);
    expect(loweredPriorities()).toEqual([]);
    const answers = await Promise.all([logIn(), logIn()]);
    for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
    expect(loweredPriorities().length).toBe(HAS_PROC ? 1 : 0);
  }, 60_000);

  it('the bcrypt thread finishes its comparison on SIGTERM and does not keep the process alive', async () => {
    const answer = logIn();
    const isUnderWay = async (): Promise<boolean> => {
      const { body } = await new Client(service).get('/metrics');
      return (body as string).includes('bcrypt_comparisons{state="active"} 1\n');
    };
    for (let attempt = 0; attempt < 500 && !(await isUnderWay()); attempt++) await sleep(5);
    const ended = service.stop();
    expectProblem(await answer, 401, 'invalid_credentials');
    expect(await ended).toBe(0);
  });
});
