import { describe, expect, it } from '@jest/globals';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const DIGITS = Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} AS n`).join(' UNION ALL ');

describe('a merchant with many open credits', () => {
  const { service } = useService();

  it('GET /reports/outstanding and expiring have null above 300,000 open credits for what is read of these, and the balance', async () => {
    const merchant = await aLongLivedMerchant(service);
    const { id } = await merchant.grant({ document: aDocument(), amount: '7.00', store: 'A' });
    const [credit = {}] = await rowsOf<Record<string, unknown>>(
      service,
      'SELECT * FROM cashback_credits WHERE id = ?',
      [id],
    );
    const columns = Object.keys(credit).filter((column) => !['id', 'is_open'].includes(column));
    const digits = ['a', 'b', 'c', 'd'].map((name) => `(${DIGITS}) ${name}`).join(' CROSS JOIN ');
    for (let count = 0; count < 30; count++)
      await rowsOf(
        service,
        `INSERT INTO cashback_credits (id, ${columns.join(', ')})
       SELECT UUID(), ${columns.join(', ')} FROM cashback_credits CROSS JOIN ${digits} WHERE id = ?`,
        [id],
      );
    const known = async (): Promise<unknown[]> => {
      const { total } = await merchant.get<{ total: Record<string, string | null> }>('/reports/outstanding?by=store');
      const { data } = await merchant.get<{ data: { held: string | null }[] }>('/reports/expiring');
      return [total.balance, total.available, total.expiring_in_30_days, data[0]!.held];
    };
    const unknown = ['7.00', null, null, null];
    expect(await known()).toEqual(unknown);
    await rowsOf(service, 'DELETE FROM cashback_credits WHERE merchant_id = ? AND id <> ? LIMIT 1', [merchant.id, id]);
    const [balance, ...rest] = await known();
    expect([balance, ...rest.map((figure) => typeof figure)]).toEqual(['7.00', 'string', 'string', 'string']);
  });
});
