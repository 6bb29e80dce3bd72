import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { aMerchant } from '../support/factories.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();

const DEFAULTS = {
  earn_rate: '0.05',
  earn_rates_by_payment_method: {},
  redeem_share: '0.50',
  redeem_minimum_total: '0.00',
  release_days: 8,
  validity_days: 180,
  order_ttl_minutes: 30,
  max_order_ttl_minutes: 10_080,
  grant_maximum: '1000.00',
  time_zone: 'America/Sao_Paulo',
  document_check_digits: false,
};

describe('GET /policy', () => {
  it('GET /policy returns the default rules with rates as decimal strings, also when repeated and concurrent', async () => {
    const answers = await atOnce(5, () => merchant.policy().answer);
    for (const answer of [...answers, await merchant.policy().answer])
      expect(answer).toMatchObject({ status: 200, body: DEFAULTS });
  });

  it('GET /policy returns the rules of the merchant that asks', async () => {
    const other = await aMerchant(service, {
      earnRateBps: 725,
      earnRatesByPaymentMethod: { pix: 10_000, boleto: 0 },
      redeemShareBps: 3333,
      redeemMinimumTotalCents: 5000,
      releaseDays: 0,
      validityDays: 1,
      orderTtlMinutes: 60,
      maxOrderTtlMinutes: 90,
      grantMaximumCents: 250,
      timeZone: 'America/Manaus',
    });
    expect(await other.policy()).toMatchObject({
      earn_rate: '0.0725',
      earn_rates_by_payment_method: { pix: '1.00', boleto: '0.00' },
      redeem_share: '0.3333',
      redeem_minimum_total: '50.00',
      release_days: 0,
      validity_days: 1,
      order_ttl_minutes: 60,
      max_order_ttl_minutes: 90,
      grant_maximum: '2.50',
      time_zone: 'America/Manaus',
    });
    expect(await merchant.policy()).toMatchObject(DEFAULTS);
  });

  it('GET /policy returns the rules that an order is quoted with after a change', async () => {
    const shop = await aMerchant(service);
    await shop.setPolicy({ earnRateBps: 1000 });
    expect((await shop.policy()).earn_rate).toBe('0.10');
  });

  it('GET /policy fills in defaults for members that a stored policy lacks', async () => {
    const shop = await aMerchant(service);
    await rowsOf(service, "UPDATE merchants SET policy = '{}' WHERE id = ?", [shop.id]);
    expect(await shop.policy()).toMatchObject(DEFAULTS);
  });
});
