import { randomUUID } from 'node:crypto';
import { OPERATOR } from '../../src/platform/values/caller.js';
import { parseMoney } from '../../src/platform/values/money.js';
import { FREE, NEXT_CHANGE, nextChangeParameters } from '../../src/cashback/wallet-sums.js';
import { createDataSource } from '../../src/schema.js';
import { aDocument, type TestMerchant } from './factories.js';
import type { Service } from './service.js';

interface Credits {
  /** The customer who gets them. Without it, a new customer who has another 0.01. */
  document?: string;
  count: number;
  /** The amount of each credit. */
  amount: string;
  availableAt: Date;
  expiresAt: Date;
}

type WalletRow = Record<'id' | 'merchant_id' | 'balance_cents' | 'debt_cents' | 'last_seq', string>;

/** The number of rows per INSERT. */
const BATCH = 1000;

/**
 * Writes a customer with `count` open credits, each with its ledger entry, directly to the tables.
 *
 * @returns the document of the customer
 */
export async function aCustomerWithCredits(
  service: Service,
  merchant: TestMerchant,
  { document = aDocument(), count, amount, availableAt, expiresAt }: Credits,
): Promise<string> {
  await merchant.credit(document, '0.01', { expiresAt: new Date(Date.now() + 86_400_000) });
  // A separate connection has no statement timeout.
  const dataSource = await createDataSource(service.databaseUrl).initialize();
  const [wallet] = await dataSource.query<[WalletRow]>(
    'SELECT id, merchant_id, balance_cents, debt_cents, last_seq FROM wallets WHERE document = ?',
    [document],
  );
  const [balance = 0, debt = 0, last = 0] = [wallet.balance_cents, wallet.debt_cents, wallet.last_seq].map(Number);
  const [now, cents] = [service.clock.now(), parseMoney(amount)];
  for (let first = 0; first < count; first += BATCH) {
    const numbers = Array.from({ length: Math.min(BATCH, count - first) }, (_, at) => first + at);
    const credits = numbers.map((at) => {
      const expires = new Date(expiresAt.getTime() + at * 1000);
      return [randomUUID(), wallet.id, wallet.merchant_id, last + at + 1, cents, cents, 0, availableAt, expires, now];
    });
    await dataSource.query(
      'INSERT INTO cashback_credits (id, wallet_id, merchant_id, seq, amount_cents, remaining_cents, held_cents, available_at, expires_at, created_at) VALUES ?',
      [credits],
    );
    await dataSource.query(
      `INSERT INTO cashback_grants (credit_id, merchant_id, created_by, external_id, content_digest, requested_available_at, requested_expires_at)
       SELECT id, merchant_id, '${OPERATOR}', id, ?, available_at, expires_at FROM cashback_credits WHERE wallet_id = ? AND seq > ?`,
      [Buffer.alloc(32), wallet.id, last + first],
    );
    const entries = credits.map(([id], at) => {
      const order = numbers[at]! + 1;
      const sums = [cents, balance + order * cents, debt];
      return [wallet.id, wallet.merchant_id, last + order, 'grant', ...sums, id, now, now, OPERATOR];
    });
    await dataSource.query(
      'INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, effective_at, created_at, made_by) VALUES ?',
      [entries],
    );
  }
  const { id, merchant_id: merchantId } = wallet;
  const [{ available, pending }] = await dataSource.query<[{ available: string; pending: string }]>(
    `SELECT SUM(IF(available_at <= ? AND expires_at > ?, ${FREE}, 0)) AS available, SUM(IF(available_at > ?, ${FREE}, 0)) AS pending
       FROM cashback_credits WHERE wallet_id = ?`,
    [now, now, now, id],
  );
  await dataSource.query(
    `UPDATE wallets SET balance_cents = ?, last_seq = ?, available_cents = ?, pending_cents = ?, available_as_of = ?,
                        available_until = ${NEXT_CHANGE} WHERE id = ?`,
    [balance + count * cents, last + count, available, pending, now, ...nextChangeParameters(id, merchantId, now), id],
  );
  await forgetEvents(dataSource, merchantId, now);
  await dataSource.query('ANALYZE TABLE wallets, cashback_credits, cashback_holds');
  await dataSource.destroy();
  return document;
}

/**
 * Lets a merchant and its feed begin after an instant, because rows that were written directly to the tables have no
 * events.
 */
export async function forgetEvents(
  connection: { query: (sql: string, values: unknown[]) => Promise<unknown> },
  merchantId: string,
  upto: Date,
): Promise<void> {
  await connection.query(
    `UPDATE event_feeds f JOIN merchants m ON m.id = f.merchant_id
        SET f.kept_since = GREATEST(f.kept_since, ?), m.created_at = f.kept_since WHERE f.merchant_id = ?`,
    [new Date(upto.getTime() + 1), merchantId],
  );
}
