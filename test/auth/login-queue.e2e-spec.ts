import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { aRequest } from '../support/raw.js';
import { type Service, startService } from '../support/service.js';
import { SlowClient } from '../support/slow-client.js';

const TURNS = 2;

describe('log-ins that wait for their turn', () => {
  let comparisons: Comparisons;
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    comparisons = new Comparisons();
    service = await startService({ env: { BCRYPT_CONCURRENCY: String(TURNS) } });
    merchant = await aMerchant(service);
  });
  afterAll(async () => {
    comparisons.stop();
    await service?.stop();
  });
  beforeEach(() => comparisons.hold());
  afterEach(() => comparisons.release());

  const credentials = (): { email: string; password: string } => ({ email: merchant.email, password: PASSWORD });
  const logIn = (): Promise<Answer> => new Client(service).post('/auth/login', credentials());

  /** Resolves once so many comparisons are under way, and so many log-ins wait for theirs. */
  async function untilLoadIs(active: number, waiting: number): Promise<void> {
    const wanted = [`bcrypt_comparisons{state="active"} ${active}`, `bcrypt_comparisons{state="waiting"} ${waiting}`];
    await until(async () => {
      const { body } = await new Client(service).get('/metrics');
      return wanted.every((line) => (body as string).split('\n').includes(line));
    });
  }

  /** As many as are compared at once, under way until the comparisons are released. */
  async function everyTurnTaken(): Promise<Promise<Answer>[]> {
    const answers = Array.from({ length: TURNS }, logIn);
    await untilLoadIs(TURNS, 0);
    return answers;
  }

  it('are compared so many at once as the configuration says, and the others after them', async () => {
    const first = await everyTurnTaken();
    const next = logIn();
    await untilLoadIs(TURNS, 1);
    expect(comparisons.costs).toHaveLength(TURNS);
    comparisons.release();
    for (const { status } of await Promise.all([...first, next])) expect(status).toBe(201);
    expect(comparisons.costs).toHaveLength(TURNS + 1);
    await untilLoadIs(0, 0);
  });

  it('are not compared any more where the client has hung up', async () => {
    const first = await everyTurnTaken();
    const impatient = new SlowClient(service.url, loginRequest(credentials()));
    await untilLoadIs(TURNS, 1);
    impatient.close();
    await until(() => service.logged.some((line) => line.includes('"aborted":true')));
    const patient = logIn();
    await untilLoadIs(TURNS, 2);
    comparisons.release();

    for (const { status } of await Promise.all([...first, patient])) expect(status).toBe(201);
    expect(comparisons.costs).toHaveLength(TURNS + 1);
  });

  it('are not compared any more once the deadline has answered for them', async () => {
    const first = await everyTurnTaken();
    const late = await logIn();
    expectProblem(late, 503, 'unavailable');
    comparisons.release();
    await Promise.all(first);
    expect((await logIn()).status).toBe(201);
    expect(comparisons.costs).toHaveLength(TURNS + 1);
  });

  it('are compared by a new thread where the one before them died, for whom it is a 503', async () => {
    const first = await everyTurnTaken();
    const next = logIn();
    await untilLoadIs(TURNS, 1);
    await comparisons.killThreads();

    for (const answer of await Promise.all(first)) expectProblem(answer, 503, 'unavailable');
    expect((await next).status).toBe(201);
    expect((await logIn()).status).toBe(201);
  });
});

function loginRequest(credentials: unknown): string {
  return aRequest('POST /auth/login', { 'content-type': 'application/json' }, JSON.stringify(credentials)).toString();
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    if (await isSo()) return;
    await sleep(10);
  }
  throw new Error('it never came to that');
}
