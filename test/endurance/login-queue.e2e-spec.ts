import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Answer, Client } from '../support/client.js';
import { Comparisons } from '../support/comparisons.js';
import { expectProblem } from '../support/expectations.js';
import { aMerchant, PASSWORD, type TestMerchant } from '../support/factories.js';
import { aRequest } from '../support/raw.js';
import { type Service, startService } from '../support/service.js';
import { SlowClient } from '../support/slow-client.js';

const CONCURRENCY = 2;

describe('password comparisons', () => {
  let comparisons: Comparisons;
  let service: Service;
  let merchant: TestMerchant;

  beforeAll(async () => {
    comparisons = new Comparisons();
    service = await startService({ env: { BCRYPT_CONCURRENCY: String(CONCURRENCY) } });
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

  /** Waits until `active` comparisons run and `waiting` logins are queued. */
  async function untilLoadIs(active: number, waiting: number): Promise<void> {
    const wanted = [`bcrypt_comparisons{state="active"} ${active}`, `bcrypt_comparisons{state="waiting"} ${waiting}`];
    await until(async () => {
      const { body } = await new Client(service).get('/metrics');
      return wanted.every((line) => (body as string).split('\n').includes(line));
    });
  }

  /** Starts as many logins as can run at the same time. They run until the comparisons are released. */
  async function startMaximumLogins(): Promise<Promise<Answer>[]> {
    const answers = Array.from({ length: CONCURRENCY }, logIn);
    await untilLoadIs(CONCURRENCY, 0);
    return answers;
  }

  it('the service compares BCRYPT_CONCURRENCY passwords at the same time and queues other logins', async () => {
    const first = await startMaximumLogins();
    const next = logIn();
    await untilLoadIs(CONCURRENCY, 1);
    expect(comparisons.costs).toHaveLength(CONCURRENCY);
    comparisons.release();
    for (const { status } of await Promise.all([...first, next])) expect(status).toBe(201);
    expect(comparisons.costs).toHaveLength(CONCURRENCY + 1);
    await untilLoadIs(0, 0);
  });

  it('the service does not compare the password of a queued login whose client disconnected', async () => {
    const first = await startMaximumLogins();
    const impatient = new SlowClient(service.url, loginRequest(credentials()));
    await untilLoadIs(CONCURRENCY, 1);
    impatient.close();
    await until(() => service.logged.some((line) => line.includes('"aborted":true')));
    const patient = logIn();
    await untilLoadIs(CONCURRENCY, 2);
    comparisons.release();

    for (const { status } of await Promise.all([...first, patient])) expect(status).toBe(201);
    expect(comparisons.costs).toHaveLength(CONCURRENCY + 1);
  });

  it('the service does not compare the password of a queued login that reached its deadline', async () => {
    const first = await startMaximumLogins();
    const late = await logIn();
    expectProblem(late, 503, 'unavailable');
    comparisons.release();
    await Promise.all(first);
    expect((await logIn()).status).toBe(201);
    expect(comparisons.costs).toHaveLength(CONCURRENCY + 1);
  });
});

describe('the login queue', () => {
  let comparisons: Comparisons;
  let service: Service;
  let busy: TestMerchant;
  let quiet: TestMerchant;

  beforeAll(async () => {
    comparisons = new Comparisons();
    service = await startService({ env: { BCRYPT_CONCURRENCY: '1', BCRYPT_QUEUE: '10', TRUST_PROXY: '1' } });
    [busy, quiet] = [await aMerchant(service), await aMerchant(service)];
  });
  afterAll(async () => {
    comparisons.stop();
    await service?.stop();
  });
  beforeEach(() => comparisons.hold());
  afterEach(() => comparisons.release());

  const logIn = ({ email }: { email: string }, address = '192.0.2.1'): Promise<Answer> =>
    new Client(service).send('POST', '/auth/login', {
      body: { email, password: PASSWORD },
      headers: { 'x-forwarded-for': address },
    });

  const untilWaiting = (count: number): Promise<void> =>
    until(async () => {
      const { body } = await new Client(service).get('/metrics');
      return (body as string).includes(`bcrypt_comparisons{state="waiting"} ${count}\n`);
    });

  /** Sends logins at once and waits until all but `waiting` are refused with 429. @returns all of their answers. */
  async function sendUntilQueued(count: number, waiting: number, send: (index: number) => Promise<Answer>) {
    const refused: Answer[] = [];
    const answers = Array.from({ length: count }, async (_, index) => {
      const answer = await send(index);
      if (answer.status === 429) refused.push(answer);
      return answer;
    });
    await until(() => refused.length === count - waiting);
    for (const answer of refused) {
      expectProblem(answer, 429, 'too_many_requests');
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    return answers;
  }

  const succeeded = async (answers: Promise<Answer>[]): Promise<number> =>
    (await Promise.all(answers)).filter(({ status }) => status === 201).length;

  it('a user can log in while another user logs in on 16 connections with the right password', async () => {
    const many = await sendUntilQueued(16, 3, () => logIn(busy));
    const other = logIn(quiet);
    await untilWaiting(3);
    comparisons.release();
    expect((await other).status).toBe(201);
    expect(await succeeded(many)).toBe(3);
  });

  it('a user can log in from a known network while many other networks log in with its email', async () => {
    comparisons.release();
    expect((await logIn(quiet, '198.51.100.1')).status).toBe(201);
    comparisons.hold();
    const strangers = await sendUntilQueued(16, 3, (index) => logIn(quiet, `203.0.113.${index}`));
    const own = logIn(quiet, '198.51.100.1');
    await untilWaiting(3);
    comparisons.release();
    expect((await own).status).toBe(201);
    expect(await succeeded(strangers)).toBe(3);
  });

  it('one network takes at most half of the places in the login queue', async () => {
    const many = await sendUntilQueued(16, 6, (index) => logIn({ email: `shop-${index}@shop.example` }, '192.0.2.2'));
    const other = logIn(quiet, '198.51.100.2');
    await untilWaiting(6);
    comparisons.release();
    expect((await other).status).toBe(201);
    await Promise.all(many);
  });

  it('POST /auth/login returns 503 when the login queue is full', async () => {
    const many = Array.from({ length: 11 }, (_, index) =>
      logIn({ email: `shop-${index}@shop.example` }, `203.0.113.${index}`),
    );
    await untilWaiting(10);
    expectProblem(await logIn(quiet), 503, 'unavailable');
    comparisons.release();
    await Promise.all(many);
    expect((await logIn(quiet)).status).toBe(201);
  });
});

function loginRequest(credentials: unknown): string {
  return aRequest('POST /auth/login', { 'content-type': 'application/json' }, JSON.stringify(credentials)).toString();
}

async function until(isReached: () => boolean | Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt++) {
    if (await isReached()) return;
    await sleep(10);
  }
  throw new Error('the expected state was not reached');
}
