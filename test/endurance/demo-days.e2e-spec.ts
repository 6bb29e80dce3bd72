import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { seedDemo } from '../../tools/demo.mjs';
import { TestClock } from '../support/clock.js';
import { createMigratedDatabase, type TestDatabase } from '../support/database.js';
import { type Demo, expectFirstOrder, PROMISES } from '../support/demo-promises.js';
import { findingsOf } from '../support/expectations.js';
import { type Service, startService, testEnvironment } from '../support/service.js';

/** Instants of the first `npm start`, each of another kind of day. */
const STARTS: [what: string, at: string][] = [
  ['a Saturday', '2026-12-05T12:00:00-03:00'],
  ['the 28th, at one minute after midnight', '2026-12-28T00:01:00-03:00'],
  ['the last evening of a year, when UTC is in the next one', '2026-12-31T21:30:00-03:00'],
  ['the last day of February', '2027-02-28T23:58:00-03:00'],
  ['the first day of a month, at three minutes after midnight', '2027-03-01T00:03:00-03:00'],
  ['a leap day', '2028-02-29T08:00:00-03:00'],
];

describe.each(STARTS)('the demo that is started on %s (%s)', (_, at) => {
  let database: TestDatabase;
  let service: Service;
  const clock = new TestClock();
  const demo: Demo = {
    get url() {
      return service.url;
    },
    now: () => clock.now(),
  };

  beforeAll(async () => {
    database = await createMigratedDatabase();
    await seedDemo({ ...process.env, ...testEnvironment(database.url), DEMO_NOW: at });
    clock.skip(Date.parse(at) - Date.now());
    service = await startService({ databaseUrl: database.url, clock });
  });
  afterAll(async () => {
    await service?.stop();
    await database?.drop();
  });

  it.each(Object.entries(PROMISES))('%s', (_, expectIt) => expectIt(demo));

  it('reconcile finds nothing', async () => {
    expect(await findingsOf(service)).toEqual([]);
  });

  it('the first order is the same on each of the next 40 days, also during the campaign', async () => {
    for (let day = 1; day <= 40; day++) {
      await clock.advance({ days: 1 });
      await expectFirstOrder(demo);
    }
  });
});
