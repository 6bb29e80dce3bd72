import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { SumsService } from '../../src/reports/sums.service.js';
import { numberEvents } from '../support/events.js';
import { expectInvariants, findingsOf } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';

import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';
const MINUTE = 60_000;

const { service } = useService();
let second: Service;
let merchant: TestMerchant;
let day: string;

beforeAll(async () => {
  second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
});
afterAll(() => second.stop());
beforeEach(async () => {
  merchant = await aLongLivedMerchant(service);
  await numberEvents(service);
  day = dayOf(service.clock.now(), ZONE);
});

const sums = (): Promise<object[]> =>
  rowsOf(
    service,
    'SELECT day, store, credit_store, kind, entries, amount_cents AS cents FROM ledger_days WHERE merchant_id = ? ORDER BY day, store, kind',
    [merchant.id],
  );
const positionOf = async (): Promise<Date> => {
  const sql = "SELECT summed_until AS at FROM sum_positions WHERE merchant_id = ? AND sums = 'ledger'";
  return (await rowsOf<{ at: Date }>(service, sql, [merchant.id]))[0]!.at;
};
/** All that is ten minutes old. */
async function expectSummed(): Promise<void> {
  const late = +service.clock.now() - 10 * MINUTE - +(await positionOf());
  expect(late).toBeGreaterThanOrEqual(0);
  expect(late).toBeLessThan(5 * MINUTE);
}
const sumOn = (on: Service): Promise<{ hasMore: boolean }> => on.app.get(SumsService).run();

/** Skips to some minutes after the end of the day, without letting anything happen. */
function skipPast(minutes: number): void {
  const end = startOfDay(addDays(day, 1), ZONE);
  service.clock.skip(+end + minutes * MINUTE - +service.clock.now());
}

describe('the sums by day', () => {
  it('rows that are ten minutes old are summed once by two instances at once, by stores and kind', async () => {
    const document = aDocument();
    for (const amount of ['1.00', '2.00']) await merchant.grant({ document, amount, store: 'A' });
    await merchant.completed({ document, total: '100.00', store: 'B' }, { redeem: '3.00' });
    service.clock.skip(9 * MINUTE);
    await Promise.all([sumOn(service), sumOn(second)]);
    expect(await sums()).toEqual([]);
    service.clock.skip(22 * MINUTE);
    await Promise.all([sumOn(service), sumOn(second), sumOn(service), sumOn(second)]);
    const expected = [
      { day, store: 'A', credit_store: 'A', kind: 'grant', entries: 2, cents: 300 },
      { day, store: 'B', credit_store: 'B', kind: 'earn', entries: 1, cents: 485 },
      { day, store: 'B', credit_store: 'A', kind: 'redeem', entries: 2, cents: -300 },
    ];
    expect(await sums()).toEqual(expected);
    await Promise.all([numberEvents(service), numberEvents(second)]);
    expect(await sums()).toEqual(expected);
    await expectSummed();
    await expectInvariants(service);
  });

  it('a position passes days without entries at once, and sums all days that an outage has left', async () => {
    await merchant.credit(aDocument(), '1.00');
    service.clock.skip(40 * 24 * 60 * MINUTE);
    const later = dayOf(service.clock.now(), ZONE);
    await merchant.credit(aDocument(), '2.00');
    service.clock.skip(25 * 24 * 60 * MINUTE);
    await Promise.all([numberEvents(service), numberEvents(second)]);
    expect(await sums()).toMatchObject([
      { day, kind: 'grant', cents: 100 },
      { day: later, kind: 'grant', cents: 200 },
    ]);
    await expectSummed();
    await expectInvariants(service);
  });

  it('a sum that is killed in the middle leaves nothing, and is made again', async () => {
    await merchant.grant({ document: aDocument(), amount: '1.00' });
    const before = await positionOf();
    skipPast(11);
    // The sum waits for this row.
    const blocker = service.dataSource.createQueryRunner();
    await blocker.startTransaction();
    await blocker.query('INSERT INTO ledger_days VALUES (?, ?, ?, ?, ?, 1, 1)', [merchant.id, day, '', '', 'grant']);
    const [own] = (await blocker.query('SELECT CONNECTION_ID() AS id')) as { id: number }[];
    const summing = second.app
      .get(SumsService)
      .run()
      .catch((error: unknown) => error);
    const waiting = await untilSumming(own!.id);
    await rowsOf(service, `KILL ${waiting}`);
    expect(await summing).toBeInstanceOf(Error);
    await blocker.rollbackTransaction();
    await blocker.release();
    expect(await sums()).toEqual([]);
    expect(await positionOf()).toEqual(before);
    await numberEvents(service);
    expect(await sums()).toMatchObject([{ day, kind: 'grant', entries: 1, cents: 100 }]);
    await expectInvariants(service);
  });

  async function untilSumming(not: number): Promise<number> {
    for (;;) {
      const found = await rowsOf<{ id: number }>(
        service,
        "SELECT id FROM information_schema.processlist WHERE info LIKE '%INSERT INTO ledger_days (%' AND info NOT LIKE '%processlist%' AND db = DATABASE() AND id <> ?",
        [not],
      );
      if (found.length > 0) return found[0]!.id;
      await sleep(10);
    }
  }
});

describe('the sums of a day with many entries', () => {
  it('a day with more entries than fit into a transaction is summed in parts, and reports count it correctly in between', async () => {
    const document = aDocument();
    await merchant.credit(document, '500.00');
    const [{ wallet_id: wallet, credit_id: credit } = {}] = await rowsOf(
      service,
      'SELECT wallet_id, credit_id FROM cashback_entries WHERE merchant_id = ?',
      [merchant.id],
    );
    const start = service.clock.now().getTime();
    const rows = Array.from({ length: 45_000 }, (_, at) => {
      const created = new Date(start + Math.floor(at / 10));
      return [wallet, merchant.id, at + 2, 'void', -1, 50_000 - at - 1, 0, credit, created, created];
    });
    for (let at = 0; at < rows.length; at += 5000)
      await rowsOf(
        service,
        'INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at) VALUES ?',
        [rows.slice(at, at + 5000)],
      );
    skipPast(11);
    const query = `/reports/ledger?from=${day}&to=${addDays(day, 1)}&by=store`;
    const expected = { granted: '500.00', voided: '450.00', closing: '50.00' };
    let runs = 0;
    for (let closed: unknown = false; closed !== true; runs++) {
      await sumOn(runs % 2 === 0 ? service : second);
      const { total } = await merchant.get<{ total: { closed: boolean } }>(query);
      expect(total).toMatchObject(expected);
      closed = total.closed;
    }
    expect(runs).toBeGreaterThan(5);
    expect(await sums()).toMatchObject([
      { kind: 'grant', cents: 50_000 },
      { entries: 45_000, cents: -45_000 },
    ]);
    const found = (await findingsOf(service)).filter(({ invariant }) => invariant.includes('sums of a day'));
    expect(found).toEqual([]);
  });
});
