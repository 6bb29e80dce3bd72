import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { describe, expect, it } from '@jest/globals';
import { AdminCommandLine } from '../support/admin.js';
import { aDocument } from '../support/factories.js';
import { aSandboxMerchant, SANDBOX } from '../support/sandbox.js';
import type { Credit } from '../support/shop.js';
import { rowsOf } from '../support/wallets.js';
import { useService } from '../support/use-service.js';

const DAY_MS = 86_400_000;

describe('the operator of a sandbox', () => {
  const { service } = useService({ env: SANDBOX });
  const admin = new AdminCommandLine(service);

  it.each([
    ['years ahead', 700],
    ['days behind', -5],
  ])('grants at the time of a clock that stands %s, and the figures are right', async (_, days) => {
    const shop = await aSandboxMerchant(service, { release_days: 0, validity_days: 30 });
    const document = aDocument();
    await shop.move({ now: new Date(Date.now() + Math.max(days, 1) * DAY_MS).toISOString() });
    // As if days had passed since.
    const passed = days < 0 ? 1 - days : 0;
    const dates = [
      ['sandbox_clocks', 'stands_at'],
      ['event_sweeps', 'done_until'],
      ['sum_positions', 'summed_until'],
      ['sum_positions', 'due_at'],
    ] as const;
    for (const [table, column] of dates) {
      const sql = `UPDATE ${table} SET ${column} = ${column} - INTERVAL ? DAY WHERE merchant_id = ?`;
      await rowsOf(service, sql, [passed, shop.id]);
    }
    await shop.completed({ document });
    const target = ['--merchant', shop.id, '--document', document];
    const credit = await admin.json<Credit>('grants', 'create', ...target, '--external-id', document, '--amount', '10');
    const shown = await admin.json('wallets', 'find', ...target);
    const clock = (await shop.now()).toISOString();
    expect(shown).toMatchObject({ available: '17.50' });
    const entries = await admin.list('wallets', 'entries', shown.id);
    expect(entries).toMatchObject([{ created_at: clock }, { created_at: clock }]);
    expect(Date.parse(credit.expires_at) - Date.parse(clock)).toBeGreaterThan(29 * DAY_MS);
    await service.clock.sweep();
    expect(await shop.get('/metrics')).toMatch(/operator_grants_brl(?:\{[^}]*\})? 0$/m);
    expect(await admin.json('reconcile')).toMatchObject({ findings: 0 });
  });

  it('a command that changes something and a move wait for each other', async () => {
    const shop = await aSandboxMerchant(service, { release_days: 0 });
    const now = new Date(Date.now() + DAY_MS).toISOString();
    await shop.move({ now });
    const lines = Array.from({ length: 300 }, (_, at) => `${aDocument()},1.00,IMPORT-${at}`);
    const file = path.join(makeTempFolder('cashback-import'), 'grants.csv');
    writeFileSync(file, `document,amount,external_id\n${lines.join('\n')}\n`);
    const until = new Date(Date.now() + 10 * DAY_MS).toISOString();
    const [imported, move] = await Promise.all([
      admin.run('grants', 'import', '--merchant', shop.id, '--file', file),
      shop.move({ now: until }),
    ]);
    expect(imported).toMatchObject({ code: 0 });
    expect(move.now).toBe(until);
    const rows = await rowsOf(service, 'SELECT DISTINCT created_at AS at FROM cashback_entries WHERE merchant_id = ?', [
      shop.id,
    ]);
    expect(rows).toHaveLength(1);
    expect([now, until]).toContain((rows[0]!.at as Date).toISOString());
    expect(await admin.json('reconcile')).toMatchObject({ findings: 0 });
  });
});
