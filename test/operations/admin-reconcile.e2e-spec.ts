import { readdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { makeTempFolder } from '../../tools/support/processes.mjs';
import { aMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';
import { type Row, rowsOf } from '../support/wallets.js';

const { service, admin } = useAdmin();

describe('the reconcile command', () => {
  it('`reconcile` prints the counts and exits with 0 when it finds nothing', async () => {
    expect(await admin.json('reconcile')).toEqual({
      wallets: expect.any(Number),
      orders: expect.any(Number),
      findings: 0,
      warnings: [],
    });
    const [header, counts] = await admin.onTerminal('reconcile');
    expect([header, counts]).toEqual([
      expect.stringMatching(/^wallets +orders +findings$/),
      expect.stringMatching(/ 0$/),
    ]);
  });

  it('`reconcile` prints one JSON line per finding, then the counts, and exits with 1', async () => {
    const merchant = await aMerchant(service, { releaseDays: 0 });
    const order = await merchant.completed();
    const debit = await merchant.debit({ document: await merchant.customerWith('50.00') });
    const frozen = await merchant.wallet(await merchant.customerWith('1.00'));
    await rowsOf(service, 'UPDATE cashback_credits SET remaining_cents = remaining_cents - 1 WHERE order_id = ?', [
      order.id,
    ]);
    await rowsOf(service, 'UPDATE orders SET earned_cents = earned_cents + 1 WHERE id = ?', [order.id]);
    await rowsOf(service, 'UPDATE debits SET restored_cents = 1 WHERE id = ?', [debit.id]);
    await rowsOf(service, 'UPDATE wallets SET frozen = 1 WHERE id = ?', [frozen.id]);
    const { code, stdout, stderr } = await admin.run('reconcile');
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' });
    const lines = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    expect(lines).toContainEqual(
      expect.objectContaining({
        invariant: expect.stringContaining('the remaining amount of a credit'),
        remaining_cents: 749,
        entries_cents: '750',
      }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({
        invariant: expect.any(String),
        order_id: order.id,
        earned_cents: 751,
        earn_entries: 750,
      }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({
        invariant: expect.stringContaining('a debit of the merchant took'),
        debit_id: debit.id,
        restored_cents: 1,
        given_cents: '0',
      }),
    );
    expect(lines).toContainEqual({
      invariant: 'a wallet that was never frozen is not frozen',
      ...{ wallet_id: frozen.id, frozen: 1, freeze_changed_at: null, freeze_changed_by: null },
    });
    expect(lines.at(-1)).toMatchObject({ findings: lines.length - 1 });
  });

  it('`reconcile --metrics` writes the counts of the latest run for Prometheus, and leaves no other file', async () => {
    const folder = makeTempFolder('cashback-metrics');
    try {
      const file = path.join(folder, 'reconcile.prom');
      for (const _run of ['first', 'second']) {
        const { stdout } = await admin.run('reconcile', '--metrics', file);
        const { findings, wallets } = JSON.parse(stdout.trimEnd().split('\n').at(-1)!) as Record<string, number>;
        expect(findings).toBeGreaterThan(0);
        const metrics = readFileSync(file, 'utf8');
        expect(metrics).toContain(`\nreconcile_findings ${findings}\n`);
        expect(metrics).toContain(`\nreconcile_wallets ${wallets}\n`);
        expect(metrics).toMatch(/^reconcile_finished_timestamp_seconds 1\d{9}/m);
      }
      expect(readdirSync(folder)).toEqual(['reconcile.prom']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
