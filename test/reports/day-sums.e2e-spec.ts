import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { SumsService } from '../../src/reports/sums.service.js';
import {
  makeOfEachSum,
  NO_SUMS,
  readSums,
  sumPositions,
  sumsOfEach,
  SUMS,
  type SumsName,
} from '../support/day-sums.js';
import { type Summed, tableOf } from '../support/day-sums.js';
import { numberEvents } from '../support/events.js';
import { expectInvariants, findingsOf } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';

import { type Service, startService } from '../support/service.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';
const HAVANA = 'America/Havana';
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

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

const sums = (...days: string[]): Promise<Summed> => readSums(service, merchant, ...days);
/** All that is ten minutes old. */
async function expectSummed(): Promise<void> {
  for (const position of Object.values(await sumPositions(service, merchant))) {
    const late = +service.clock.now() - 10 * MINUTE - +position;
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(5 * MINUTE);
  }
}
const sumOn = (on: Service): Promise<{ hasMore: boolean }> => on.app.get(SumsService).run();
const byBothAtOnce = (): Promise<unknown> => Promise.all([numberEvents(service), numberEvents(second)]);

/** The beginning of the next day in Havana that begins at 01:00. */
function startWithoutMidnight(now: Date): Date {
  for (let at = dayOf(now, HAVANA); ;) {
    at = addDays(at, 1);
    const start = startOfDay(at, HAVANA);
    const shown = start.toLocaleTimeString('en-GB', { timeZone: HAVANA });
    if (shown === '01:00:00') return start;
  }
}

/** Skips to some minutes after the end of the day, without letting anything happen. */
function skipPast(minutes: number): void {
  const end = startOfDay(addDays(day, 1), ZONE);
  service.clock.skip(+end + minutes * MINUTE - +service.clock.now());
}

describe('the sums by day', () => {
  it('rows that are ten minutes old are summed once by two instances at once, by all that reports tell apart', async () => {
    await makeOfEachSum(merchant);
    service.clock.skip(9 * MINUTE);
    await Promise.all([sumOn(service), sumOn(second)]);
    expect(await sums()).toEqual(NO_SUMS);
    service.clock.skip(22 * MINUTE);
    await Promise.all([sumOn(service), sumOn(second), sumOn(service), sumOn(second)]);
    await byBothAtOnce();
    expect(await sums()).toEqual(sumsOfEach(merchant, day));
    await byBothAtOnce();
    expect(await sums()).toEqual(sumsOfEach(merchant, day));
    await expectSummed();
    await expectInvariants(service);
  });

  it('a position passes days without rows at once, and sums all days that an outage has left', async () => {
    await makeOfEachSum(merchant);
    service.clock.skip(40 * DAY);
    const later = dayOf(service.clock.now(), ZONE);
    await makeOfEachSum(merchant);
    service.clock.skip(25 * DAY);
    await byBothAtOnce();
    expect(await sums()).toEqual(sumsOfEach(merchant, day, later));
    await expectSummed();
    await expectInvariants(service);
  });

  it('after an outage of five years, the sums of the days before it are right', async () => {
    await makeOfEachSum(merchant);
    service.clock.skip(5 * 365 * DAY);
    await byBothAtOnce();
    expect(await sums(day)).toEqual(sumsOfEach(merchant, day));
    // What has expired meanwhile is written, and summed, now.
    service.clock.skip(40 * MINUTE);
    await byBothAtOnce();
    const { ledger_days: ledger, ...others } = await sums();
    expect(others).toEqual({ ...sumsOfEach(merchant, day), ledger_days: undefined });
    expect(ledger!.filter((row) => row.day !== day).map(({ kind }) => kind)).toEqual(['expire', 'expire']);
    await expectSummed();
    await expectInvariants(service);
  });

  it('in a time zone that skips midnight, rows around the beginning of the day are summed on their days', async () => {
    merchant = await aLongLivedMerchant(service, { timeZone: HAVANA });
    const start = startWithoutMidnight(service.clock.now());
    const [before, after] = [addDays(dayOf(start, HAVANA), -1), dayOf(start, HAVANA)];
    service.clock.skip(+start - MINUTE - +service.clock.now());
    await makeOfEachSum(merchant);
    service.clock.skip(+start + 1 - +service.clock.now());
    await makeOfEachSum(merchant);
    service.clock.skip(3 * 60 * MINUTE);
    await byBothAtOnce();
    expect(await sums()).toEqual(sumsOfEach(merchant, before, after));
    await expectInvariants(service);
  });

  it.each(SUMS)('a sum of the %s that is killed in the middle leaves nothing, and is made again', async (name) => {
    await makeOfEachSum(merchant);
    const before = await sumPositions(service, merchant);
    skipPast(11);
    const others = 'UPDATE sum_positions SET due_at = due_at + INTERVAL ? YEAR WHERE merchant_id = ? AND sums <> ?';
    await rowsOf(service, others, [1, merchant.id, name]);
    // The sum waits to insert here.
    const blocker = service.dataSource.createQueryRunner();
    await blocker.startTransaction('REPEATABLE READ');
    await blocker.query(`SELECT 1 FROM ${tableOf(name)} WHERE merchant_id = ? FOR UPDATE`, [merchant.id]);
    const summing = sumOn(second).catch((error: unknown) => error);
    await rowsOf(service, `KILL ${await untilSumming(name)}`);
    expect(await summing).toBeInstanceOf(Error);
    await blocker.rollbackTransaction();
    await blocker.release();
    expect(await sums()).toEqual(NO_SUMS);
    expect(await sumPositions(service, merchant)).toEqual(before);
    await rowsOf(service, others, [-1, merchant.id, name]);
    await numberEvents(service);
    expect(await sums()).toEqual(sumsOfEach(merchant, day));
    await expectInvariants(service);
  });

  async function untilSumming(name: SumsName): Promise<number> {
    for (;;) {
      const found = await rowsOf<{ id: number }>(
        service,
        `SELECT id FROM information_schema.processlist WHERE info LIKE '%INSERT INTO ${tableOf(name)} (%' AND info NOT LIKE '%processlist%' AND db = DATABASE()`,
      );
      if (found.length > 0) return found[0]!.id;
      await sleep(10);
    }
  }
});

describe('the sums of a day with many rows', () => {
  const COPIES = 7000;
  const ROWS = COPIES + 1;

  it('a day with more rows than fit into a transaction is summed in parts, and reports count it correctly in between', async () => {
    const document = aDocument();
    await merchant.grant({ document, amount: '500.00', store: undefined, reason: undefined });
    await addVoids(45_000);
    const sold = await merchant.completed({ document, total: '10.00', store: undefined });
    const refunded = await merchant.completed({ document, total: '20.00', store: undefined });
    const refund = await merchant.refund(refunded, '5.00', { external_id: 'DEV-1' });
    const undone = await merchant.refund(refunded, '1.00', { external_id: 'DEV-2' });
    await merchant.send('POST', `/orders/${refunded.id}/refunds/${undone.id}/void`, { body: {} }, 200);
    for (const { id } of [sold, refunded]) await copyRow('orders', id, ['completed_at']);
    for (const { id } of [refund, undone]) await copyRow('refunds', id, ['created_at', 'voided_at']);
    skipPast(11);
    const days = `from=${day}&to=${addDays(day, 1)}`;
    const ledger = { granted: '500.00', voided: '450.00', earned: '1.50', taken_back: '0.25', closing: '51.25' };
    const sales = { orders: 2 * ROWS, total: (30 * ROWS).toFixed(2), refunds: ROWS, refunded: (5 * ROWS).toFixed(2) };
    let runs = 0;
    for (let hasMore = true; hasMore; runs++) {
      ({ hasMore } = await sumOn(runs % 2 === 0 ? service : second));
      const { total } = await merchant.get<{ total: object }>(`/reports/ledger?${days}&by=store`);
      expect(total).toMatchObject({ ...ledger, ...(!hasMore && { closed: true }) });
      expect((await merchant.get<{ total: object }>(`/reports/sales?${days}`)).total).toMatchObject(sales);
    }
    expect(runs).toBeGreaterThan(5);
    const { ledger_days: lines, ...others } = await sums();
    expect(lines).toContainEqual(expect.objectContaining({ kind: 'void', entries: 45_000, amount_cents: -45_000 }));
    expect(others).toMatchObject({
      grant_days: [{ grants: 1, amount_cents: 50_000, voided_cents: 45_000 }],
      sales_days: [{ orders: 2 * ROWS, total_cents: 3000 * ROWS, earned_cents: 150 * ROWS }],
      refund_days: [{ refunds: ROWS, amount_cents: 500 * ROWS, taken_back_cents: 25 * ROWS }],
    });
    const found = (await findingsOf(service)).filter(({ invariant }) => invariant.includes('sums of a day'));
    expect(found).toEqual([]);
  });

  /** Voids a centavo of the only grant with each line, ten of them in a millisecond. */
  async function addVoids(count: number): Promise<void> {
    const [{ wallet_id: wallet, credit_id: credit } = {}] = await rowsOf(
      service,
      'SELECT wallet_id, credit_id FROM cashback_entries WHERE merchant_id = ?',
      [merchant.id],
    );
    const start = service.clock.now().getTime();
    const rows = Array.from({ length: count }, (_, at) => {
      const created = new Date(start + Math.floor(at / 10));
      return [wallet, merchant.id, at + 2, 'void', -1, 50_000 - at - 1, 0, credit, created, created];
    });
    for (let at = 0; at < rows.length; at += 5000)
      await rowsOf(
        service,
        'INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at) VALUES ?',
        [rows.slice(at, at + 5000)],
      );
    await rowsOf(service, 'UPDATE wallets SET last_seq = last_seq + ? WHERE id = ?', [count, wallet]);
  }

  /** Copies a row, ten times in a millisecond. @param instants the columns that differ by that */
  async function copyRow(table: string, id: string, instants: string[]): Promise<void> {
    const columns = await rowsOf<{ name: string }>(
      service,
      "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND extra NOT LIKE '%GENERATED%'",
      [table],
    );
    const names = columns.map(({ name }) => name);
    const other: Record<string, string> = { id: 'UUID()', external_id: "CONCAT(external_id, '-', n)" };
    for (const name of instants) other[name] = `${name} + INTERVAL n DIV 10 * 1000 MICROSECOND`;
    const digits =
      '(SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL SELECT 8 UNION ALL SELECT 9)';
    const numbers = `(SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM ${['a', 'b', 'c', 'e'].map((name) => `${digits} ${name}`).join(' JOIN ')})`;
    await rowsOf(
      service,
      `INSERT INTO ${table} (${names.join(', ')}) SELECT ${names.map((name) => other[name] ?? name).join(', ')} FROM ${table} JOIN ${numbers} numbers WHERE id = ? AND n < ?`,
      [id, COPIES],
    );
  }
});
