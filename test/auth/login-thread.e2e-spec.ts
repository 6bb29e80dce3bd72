import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BuiltService, startBuiltService } from '../support/built-service.js';
import { type Answer, Client } from '../support/client.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { expectProblem } from '../support/expectations.js';

/** Other systems don't tell, and have no priorities of threads. */
const HAS_PROC = existsSync('/proc/thread-self');

describe('the thread that compares passwords, in the build', () => {
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

  /** How much lower than the first thread's the priorities of the others are, where they are. */
  function lowered(): number[] {
    if (!HAS_PROC) return [];
    const { pid } = service.process;
    const niceness = (thread: string): number => {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
      // The fields behind the name, in which anything may stand; the niceness is the nineteenth of all. (man 5 proc)
      return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
    };
    const usual = niceness(String(pid));
    return readdirSync(`/proc/${pid}/task`)
      .map((thread) => niceness(thread) - usual)
      .filter((difference) => difference !== 0);
  }

  it('starts with the first log-in, and is the one with a lower priority', async () => {
    expect(lowered()).toEqual([]);
    expectProblem(await logIn(), 401, 'invalid_credentials');
    expect(lowered()).toHaveLength(HAS_PROC ? 1 : 0);
  });

  it('ends when nobody has logged in for a while, and starts again', async () => {
    for (let attempt = 0; attempt < 300 && lowered().length > 0; attempt++) await sleep(100);
    expect(lowered()).toEqual([]);
    const answers = await Promise.all([logIn(), logIn()]);
    for (const answer of answers) expectProblem(answer, 401, 'invalid_credentials');
    expect(lowered().length).toBe(HAS_PROC ? 1 : 0);
  }, 60_000);

  it('finishes what it compares when SIGTERM comes, and then does not keep the process', async () => {
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
