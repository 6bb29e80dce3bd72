import { randomUUID } from 'node:crypto';
import { parseMoney } from '../../src/common/money.js';
import { createDataSource } from '../../src/schema.js';
import { aDocument, grant, type TestMerchant } from './factories.js';
import type { Service } from './service.js';

interface Credits {
  count: number;
  /** The amount of each credit. */
  amount: string;
  availableAt: Date;
  expiresAt: Date;
}

/** The number of rows per INSERT. */
const BATCH = 1000;

/**
 * Writes a customer with `count` open credits, each with its ledger entry, directly to the tables.
 *
 * @returns the document of the customer
 */
export async function aCustomerWithCredits(
  service: Service,
  databaseUrl: string,
  merchant: TestMerchant,
  { count, amount, availableAt, expiresAt }: Credits,
): Promise<string> {
  const document = aDocument();
  await grant(service, merchant, document, '0.01', { expiresAt: new Date(Date.now() + 86_400_000) });
  // A separate connection has no statement timeout.
  const dataSource = await createDataSource(databaseUrl).initialize();
  const [wallet] = await dataSource.query('SELECT id FROM wallets WHERE document = ?', [document]);
  const [now, cents] = [service.clock.now(), parseMoney(amount)];
  for (let first = 0; first < count; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - first) }, (_, at) => first + at);
    const credits = numbers.map((at) => {
      const expires = new Date(expiresAt.getTime() + at * 1000);
      return [randomUUID(), wallet.id, cents, cents, availableAt, expires, now];
    });
    await dataSource.query(
      'INSERT INTO cashback_credits (id, wallet_id, amount_cents, remaining_cents, available_at, expires_at, created_at) VALUES ?',
      [credits],
    );
    const entries = credits.map(([id], at) => {
      const seq = numbers[at]! + 2;
      return [wallet.id, seq, 'grant', cents, 1 + (seq - 1) * cents, 0, id, now, now];
    });
    await dataSource.query(
      'INSERT INTO cashback_entries (wallet_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at) VALUES ?',
      [entries],
    );
  }
  await dataSource.query('UPDATE wallets SET balance_cents = ?, last_seq = ? WHERE id = ?', [
    1 + count * cents,
    1 + count,
    wallet.id,
  ]);
  await dataSource.query('ANALYZE TABLE wallets, cashback_credits, cashback_holds');
  await dataSource.destroy();
  return document;
}
