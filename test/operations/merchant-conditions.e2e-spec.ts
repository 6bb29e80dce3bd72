import { describe, expect, it, jest } from '@jest/globals';
import { type Order } from '../../src/orders/order.entity.js';
import { OrderStore } from '../../src/orders/order.store.js';
import { aCreatedOrder, aMerchant } from '../support/factories.js';
import { partsWithoutMerchant } from '../support/merchant-conditions.js';
import { startService } from '../support/service.js';

const HOLDS_OF_WALLET =
  'SELECT 1 FROM wallets w JOIN cashback_holds h ON h.wallet_id = w.id AND h.merchant_id = w.merchant_id';

describe('statements and their merchant', () => {
  it.each([
    ['SELECT * FROM orders WHERE id = ?', ['FROM orders WHERE']],
    ['SELECT `Order`.`merchant_id` FROM `orders` `Order` WHERE (`Order`.`id` = ?)', ['FROM orders Order']],
    ['UPDATE `wallets` SET `document` = ? WHERE `id` = ?', ['UPDATE wallets SET']],
    ['DELETE FROM cashback_holds WHERE order_id = ?', ['FROM cashback_holds WHERE']],
    ['DELETE FROM event_outbox WHERE id IN (?)', ['FROM event_outbox WHERE']],
    ['UPDATE event_feeds SET last_sequence = ?', ['UPDATE event_feeds SET']],
    ['SELECT * FROM events WHERE id = ?', ['FROM events WHERE']],
    ['UPDATE webhook_endpoints SET status = ? WHERE id = ?', ['UPDATE webhook_endpoints SET']],
    ['INSERT INTO refunds (id, order_id) VALUES ?', ['INTO refunds (id, order_id)']],
    ['UPDATE debits SET voided_at = ? WHERE id = ?', ['UPDATE debits SET']],
    ['SELECT * FROM policy_bases WHERE version = ?', ['FROM policy_bases WHERE']],
    ['DELETE FROM sales_days WHERE day = ?', ['FROM sales_days WHERE']],
    [
      'SELECT 1 FROM wallets w JOIN cashback_holds h ON h.wallet_id = w.id WHERE w.merchant_id = ?',
      ['JOIN cashback_holds h'],
    ],
    [
      'SELECT 1 FROM orders WHERE id = ? AND merchant_id = ? UNION SELECT 1 FROM refunds WHERE id = ?',
      ['FROM refunds WHERE'],
    ],
  ])('the check of statements refuses %s', (sql, parts) => {
    expect(partsWithoutMerchant(sql)).toEqual(expect.arrayContaining(parts));
  });

  it('the check of statements refuses merchants that are only compared with each other, and locks on all merchants', () => {
    expect(partsWithoutMerchant(`${HOLDS_OF_WALLET} WHERE w.merchant_id = h.merchant_id`)).not.toEqual([]);
    expect(partsWithoutMerchant('/* all merchants */ SELECT id FROM orders FOR UPDATE')).not.toEqual([]);
  });

  it.each([
    'SELECT * FROM merchants WHERE id = ?',
    'SELECT * FROM orders WHERE id = ? AND merchant_id = ?',
    'UPDATE `orders` SET `version` = ? WHERE (`id` = ? AND `merchant_id` = ?)',
    'INSERT IGNORE INTO `wallets`(`id`, `merchant_id`) VALUES (?, ?)',
    `${HOLDS_OF_WALLET} WHERE w.merchant_id = ?`,
    "SELECT 1 FROM orders o WHERE o.id = 'a' AND o.merchant_id = 'b'",
    '/* all merchants */ SELECT id FROM orders WHERE id > ? ORDER BY id LIMIT ?',
  ])('the check of statements accepts %s', (sql) => {
    expect(partsWithoutMerchant(sql)).toEqual([]);
  });

  it('a request fails in every test if the service sends a statement that does not name the merchant', async () => {
    class AnyMerchant extends OrderStore {
      override async lock(...args: Parameters<OrderStore['lock']>): Promise<Order[]> {
        await args[0].query('SELECT status FROM orders WHERE id = ? FOR UPDATE', [args[1][0]?.orderId]);
        return super.lock(...args);
      }
    }
    const printed = jest.spyOn(console, 'error').mockReturnValue();
    const service = await startService({ override: (app) => app.overrideProvider(OrderStore).useClass(AnyMerchant) });
    try {
      const merchant = await aMerchant(service);
      const order = await aCreatedOrder(merchant);
      expect((await merchant.client.post(`/orders/${order.id}/cancel`)).status).toBe(500);
      expect(String(printed.mock.lastCall)).toContain('a statement does not name the merchant');
    } finally {
      printed.mockRestore();
      await service.stop();
    }
  });
});
