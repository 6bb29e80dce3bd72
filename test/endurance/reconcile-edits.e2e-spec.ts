import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { createDataSource } from '../../src/schema.js';
import { expectInvariants, findingsOf } from '../support/expectations.js';
import { readEdits } from '../support/tampering/edits.js';
import { makeScenes, type Scenes } from '../support/tampering/scenes.js';
import { useService } from '../support/use-service.js';

const TABLES = [
  'merchants',
  'policy_bases',
  'policy_versions',
  'wallets',
  'orders',
  'refunds',
  'customer_changes',
  'cashback_credits',
  'cashback_holds',
  'cashback_entries',
  'cashback_grants',
  'debits',
  'grant_totals',
  'events',
  'event_feeds',
  'event_outbox',
  'event_sweeps',
  'ledger_days',
  'grant_days',
  'sales_days',
  'refund_days',
  'sum_positions',
];

const UNNOTICED = 'nothing that reconcile can find';
const edits = readEdits();
const noticed = edits.filter(({ section }) => section !== UNNOTICED);

describe('reconcile after an edit of a row', () => {
  const { service } = useService();
  let scenes: Scenes;
  /** One connection that ignores foreign keys. */
  let intruder: DataSource;
  const columns = new Map<string, string>();
  /** The statement of the last edit. Only the tables that it names are restored. */
  let edited = '';

  beforeAll(async () => {
    scenes = await makeScenes(service);
    intruder = await createDataSource(service.databaseUrl, 1).initialize();
    await intruder.query('SET FOREIGN_KEY_CHECKS = 0');
    for (const event of ['update', 'delete']) await intruder.query(`DROP TRIGGER tr_cashback_entries_no_${event}`);
    for (const table of TABLES) {
      const names = await intruder.query<{ name: string }[]>(
        "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = DATABASE() AND table_name = ? AND extra NOT LIKE '%GENERATED%'",
        [table],
      );
      columns.set(table, names.map(({ name }) => name).join(', '));
      await intruder.query(`CREATE TABLE copy_of_${table} AS SELECT * FROM ${table}`);
    }
  });
  afterAll(() => intruder?.destroy());
  afterEach(async () => {
    for (const table of TABLES.filter((name) => edited.includes(name))) {
      await intruder.query(`DELETE FROM ${table}`);
      await intruder.query(
        `INSERT INTO ${table} (${columns.get(table)}) SELECT ${columns.get(table)} FROM copy_of_${table}`,
      );
    }
  });

  async function tamper(sql: string, affectedRows = 1): Promise<void> {
    edited = sql;
    const statement = sql.replace(/\{([\w.]+)\}/g, (_, name: string) => {
      if (scenes[name] === undefined) throw new Error(`no scene has ${name}`);
      return `'${scenes[name]}'`;
    });
    expect(await intruder.query(statement)).toMatchObject({ affectedRows });
  }

  it('reconcile finds nothing in data written by the service', () => expectInvariants(service));

  it('every kind of row, and of invariant of the feed, is edited', () => {
    expect(new Set(edits.map(({ section }) => section)).size).toBe(29);
    expect(edits.length).toBeGreaterThan(790);
  });

  it.each(noticed)('reconcile finds the edit of $section: $title', async ({ section, sql }) => {
    // A campaign has a row for each time that it was stored.
    await tamper(sql, section.startsWith('campaigns') ? 2 : 1);
    const found = (await findingsOf(service)).map(({ invariant }) => invariant);
    const [, invariant = ''] = section.split(': ');
    expect(found).toContainEqual(expect.stringContaining(invariant));
  });

  it('reconcile finds a debt beside cashback that could repay it, although all sums agree', async () => {
    edited = 'cashback_entries cashback_credits wallets event_feeds events';
    const id = scenes['partial.wallet'];
    const [taken] = await intruder.query<{ seq: number; credit_id: string; cents: string }[]>(
      "SELECT seq, credit_id, -amount_cents AS cents FROM cashback_entries WHERE wallet_id = ? AND kind = 'take_back' ORDER BY seq LIMIT 1",
      [id],
    );
    const { seq, credit_id: creditId, cents } = taken!;
    for (const [sql, values] of [
      // The feed would show that the debt is not from the service, so its events are gone, as after a long time.
      ['UPDATE event_feeds SET oldest_sequence = last_sequence + 1, kept_since = ?', [service.clock.now()]],
      ['DELETE FROM events', []],
      [
        'UPDATE cashback_entries SET balance_cents = balance_cents + ?, debt_cents = debt_cents + ? WHERE wallet_id = ? AND seq >= ?',
        [cents, cents, id, seq],
      ],
      [
        "UPDATE cashback_entries SET kind = 'debt', amount_cents = ?, credit_id = NULL WHERE wallet_id = ? AND seq = ?",
        [cents, id, seq],
      ],
      ['UPDATE cashback_credits SET remaining_cents = remaining_cents + ? WHERE id = ?', [cents, creditId]],
      [
        'UPDATE wallets SET balance_cents = balance_cents + ?, debt_cents = debt_cents + ?, available_cents = available_cents + ? WHERE id = ?',
        [cents, cents, cents, id],
      ],
    ] as const)
      await intruder.query(sql, [...values]);
    expect(new Set((await findingsOf(service)).map(({ invariant }) => invariant))).toEqual(
      new Set([
        'a wallet with a debt has nothing available or pending',
        'the events of a feed are kept for at least four days',
      ]),
    );
  });

  it.each([
    ['a user who repays with what an expired order released', 'owing.order', '{merchant.user}'],
    ['another user who repays with what an order earned', 'repayer.order', '{patient.id}'],
    ['no user who repays with what an order earned', 'repayer.order', 'NULL'],
  ])('reconcile finds %s, although both entries say it', async (_title, name, author) => {
    const repayment = `order_id = {${name}} AND kind IN ('take_back', 'repay') AND refund_id IS NULL`;
    await tamper(`UPDATE cashback_entries SET made_by = ${author} WHERE ${repayment}`, 2);
    const found = (await findingsOf(service)).map(({ invariant }) => invariant);
    expect(found).toContainEqual(expect.stringContaining('what an order repays without a refund'));
  });

  it('reconcile finds that the entries of a refund that was undone do not net out, although all sums agree', async () => {
    edited = 'cashback_entries cashback_credits wallets events';
    const id = scenes['undone.wallet'];
    const [last] = await intruder.query<{ seq: number; credit_id: string; kind: string }[]>(
      'SELECT seq, credit_id, kind FROM cashback_entries WHERE wallet_id = ? ORDER BY seq DESC LIMIT 1',
      [id],
    );
    expect(last!.kind).toBe('return');
    const sums = ['$.wallet.available', '$.order.cashback.to_redeem.available'];
    const more = sums.map((sum) => `'${sum}', CAST(CAST(JSON_VALUE(data, '${sum}') AS DECIMAL(20, 2)) + 0.01 AS CHAR)`);
    const said = `data = JSON_SET(data, ${more.join(', ')})`;
    for (const [sql, values] of [
      [
        'UPDATE cashback_entries SET amount_cents = amount_cents + 1, balance_cents = balance_cents + 1 WHERE wallet_id = ? AND seq = ?',
        [id, last!.seq],
      ],
      ['UPDATE cashback_credits SET remaining_cents = remaining_cents + 1 WHERE id = ?', [last!.credit_id]],
      [
        'UPDATE wallets SET balance_cents = balance_cents + 1, available_cents = available_cents + 1 WHERE id = ?',
        [id],
      ],
      [`UPDATE events SET ${said} WHERE subject_id = ? AND type = 'order.refund_voided'`, [scenes['undone.order']]],
    ] as const)
      await intruder.query(sql, [...values]);
    expect(new Set((await findingsOf(service)).map(({ invariant }) => invariant))).toEqual(
      new Set([
        'the amounts of a refund are the sums of its entries, apart from what it can have claimed; those of one that was voided are zero',
        'the amounts that an order holds, redeemed, earned, returned and took back are the sums of its holds, entries and claims',
        'the sums of a day are those of its rows',
      ]),
    );
  });

  it.each([
    ['a debit', 'debited', 'debit'],
    ['an expiry', 'settled', 'expire'],
    ['a redemption', 'redeemed', 'redeem'],
  ])('reconcile finds that %s has the wrong sign', async (_title, scene, kind) => {
    await tamper(
      `UPDATE cashback_entries SET amount_cents = -amount_cents WHERE wallet_id = {${scene}.wallet} AND kind = '${kind}' ORDER BY seq LIMIT 1`,
    );
    const found = (await findingsOf(service)).map(({ invariant }) => invariant);
    const rule = kind === 'debit' ? 'what has the opposite sign undoes' : 'an entry has the sign of its kind';
    expect(found).toContainEqual(expect.stringContaining(rule));
  });

  it('reconcile finds that merchants have neither a feed nor its events', async () => {
    edited = 'events event_feeds';
    for (const table of edited.split(' ')) await intruder.query(`DELETE FROM ${table}`);
    const found = (await findingsOf(service)).map(({ invariant }) => invariant);
    expect(found).toContainEqual(expect.stringContaining('what was granted'));
    expect(found).toContainEqual(expect.stringContaining('each version of an order'));
  });

  it.each(edits.filter(({ section }) => section === UNNOTICED))('reconcile cannot find $title', async ({ sql }) => {
    await tamper(sql);
    await expectInvariants(service);
  });

  it('reconcile finds nothing after all edits are undone', () => expectInvariants(service));
});
