import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const HOUR_MS = 3_600_000;

describe('the available balance between the dates that change it', () => {
  const { service } = useService();
  let merchant: TestMerchant;
  let document: string;

  beforeEach(async () => {
    merchant = await aLongLivedMerchant(service);
    document = aDocument();
  });
  afterEach(() => expectInvariants(service));

  const inHours = (hours: number): Date => new Date(service.clock.now().getTime() + hours * HOUR_MS);

  /** Grants an amount that is available from and until a number of hours from now. */
  const grantFor = (amount: string, from: number, until: number): Promise<void> =>
    merchant.credit(document, amount, { availableAt: inHours(from), expiresAt: inHours(until) });

  /** The balance in a new order, which must be the balance of the wallet. */
  async function available(): Promise<string> {
    const order = await merchant.create({ document });
    const { available: sum } = await merchant.wallet(document);
    expect(order.cashback.to_redeem.available).toBe(sum);
    const body = await merchant.orders(`external_id=${order.external_id}`);
    expect(body.data[0]!.cashback.to_redeem.available).toBe(sum);
    return sum;
  }

  /** The date in the wallet's row, as hours from an instant. */
  async function changesAfter(start: Date): Promise<number | 'never'> {
    const [row] = await rowsOf<{ until: Date }>(
      service,
      'SELECT available_until AS until FROM wallets WHERE merchant_id = ? AND document = ?',
      [merchant.id, document],
    );
    const hours = (row!.until.getTime() - start.getTime()) / HOUR_MS;
    return row!.until.getUTCFullYear() === 9999 ? 'never' : Math.round(hours * 1000) / 1000;
  }

  it('the available balance changes exactly when a credit is released and when it expires', async () => {
    const start = service.clock.now();
    await grantFor('1.00', 0, 4);
    await grantFor('10.00', 2, 5);
    await grantFor('100.00', 3, 6);
    expect(await changesAfter(start)).toBe(2);
    const seen: string[] = [];
    for (let half = 0; half <= 12; half++) {
      seen.push(await available());
      await service.clock.advance({ minutes: 30 });
    }
    const [one, eleven, all] = ['1.00', '11.00', '111.00'];
    expect(seen).toEqual([
      one,
      one,
      one,
      one,
      eleven,
      eleven,
      all,
      all,
      '110.00',
      '110.00',
      '100.00',
      '100.00',
      '0.00',
    ]);
  });

  it('a wallet keeps the earliest date of its pending and available credits', async () => {
    const start = service.clock.now();
    await grantFor('50.00', 0, 10);
    expect(await changesAfter(start)).toBe(10);
    await grantFor('50.00', 8, 20);
    expect(await changesAfter(start)).toBe(8);
    const order = await merchant.create({ document, total: '200.00' });
    await merchant.hold(order, '50.00');
    expect(await changesAfter(start)).toBe(8);
    await merchant.complete(order);
    expect(await changesAfter(start)).toBe(8);
  });
});
