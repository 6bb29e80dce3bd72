import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { changesAmong, expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, aUser } from '../support/factories.js';
import { type Customer, type Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

/** A customer with 80.00 in a frozen wallet. */
async function aFrozenCustomer(): Promise<Wallet> {
  const document = await merchant.customerWith('80.00');
  return merchant.freeze(await merchant.wallet(document));
}

describe('PUT /wallets/{id}/freeze', () => {
  it('a frozen wallet says so, with who froze it and why, and so do its customer, its event and its orders', async () => {
    const { document, id } = await merchant.wallet(await merchant.customerWith('80.00'));
    expect(await merchant.wallet(document)).toMatchObject({
      ...{ frozen: false, freeze_changed_at: null, freeze_changed_by: null, freeze_reason: null },
    });
    const frozen = await merchant.freeze({ id }, true, 'Stolen account').changed();
    expect(frozen).toMatchObject({
      ...{ frozen: true, freeze_changed_at: expect.any(String), freeze_changed_by: merchant.by },
      ...{ freeze_reason: 'Stolen account', available: '80.00' },
    });
    expect(await merchant.wallet(document)).toEqual(frozen);
    const customers = await merchant.all<Customer>('/customers?limit=100');
    expect(customers.find(({ wallet_id }) => wallet_id === id)).toMatchObject({ frozen: true });
    const order = await merchant.create({ document });
    expect(order.cashback.to_redeem).toMatchObject({ available: '80.00', maximum: '0.00', limited_by: 'frozen' });
    expect(await merchant.order(order)).toEqual(order);
    expect((await merchant.orders('limit=1')).data[0]).toEqual(order);
    expect((await merchant.quote({ document, total: '10.00' })).cashback.to_redeem).toMatchObject({
      ...{ maximum: '0.00', limited_by: 'frozen' },
    });
    const unfrozen = await merchant.freeze({ id }, false, 'It was her').changed();
    expect(unfrozen).toMatchObject({ frozen: false, freeze_reason: 'It was her' });
    const events = (await eventsOf(service, merchant)).filter(({ type }) => type.endsWith('frozen'));
    expect(events.slice(-2)).toMatchObject([
      { type: 'wallet.frozen', by: merchant.by, data: { wallet: { id, document, frozen: true, available: '80.00' } } },
      { type: 'wallet.unfrozen', data: { wallet: { frozen: false } } },
    ]);
  });

  it('what a wallet is already changes nothing, and the first reason stays', async () => {
    const wallet = await aFrozenCustomer();
    expect(await merchant.freeze(wallet, true, 'again').replayed()).toEqual(wallet);
    const answers = await atOnce(6, () => merchant.freeze(wallet, false, 'Found').answer);
    expect(changesAmong(answers)).toBe(1);
    expect(await merchant.wallet(wallet.document)).toMatchObject({ frozen: false, freeze_reason: 'Found' });
  });

  it('nothing new can be held or redeemed of a frozen wallet, in any way', async () => {
    const { document } = await aFrozenCustomer();
    const order = await merchant.create({ document });
    const refusal = { maximum: '0.00', limited_by: 'frozen' };
    await merchant.hold(order, '0.01').refused(422, 'redemption_exceeds_maximum', refusal);
    await merchant.complete(order, { redeem: '10.00' }).refused(422, 'redemption_exceeds_maximum', refusal);
    await merchant.sell({ document }, { redeem: '10.00' }).refused(422, 'redemption_exceeds_maximum', refusal);
    await merchant
      .quote({ document, total: '10.00', redeem: '1.00' })
      .refused(422, 'redemption_exceeds_maximum', refusal);
    expect(await merchant.complete(order)).toMatchObject({ status: 'completed' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '80.00', pending: '7.50' });
  });

  it('an order keeps its customer while the wallet is frozen, and can be corrected to a frozen one', async () => {
    const order = await merchant.completed();
    const wallet = await merchant.wallet(order.document);
    await merchant.freeze(wallet);
    const refused = await merchant.changeCustomer(order, aDocument()).refused(409, 'wallet_frozen');
    expect(refused.next_action).toBe('fix_request');
    const other = await aFrozenCustomer();
    const free = await merchant.completed();
    expect(await merchant.changeCustomer(free, other.document)).toMatchObject({ moved: '7.50' });
  });

  it('to freeze needs the permission customers, a reason, and a wallet of the merchant', async () => {
    const wallet = await merchant.wallet(await merchant.customerWith('1.00'));
    const seller = await aUser(service, merchant.id, ['sell', 'refund']);
    await seller.freeze(wallet).refused(403, 'forbidden', { permission: 'customers' });
    await (await aMerchant(service)).freeze(wallet).refused(404, 'not_found');
    await merchant.freeze(wallet, 'yes').refused(400, 'validation_failed', ['/frozen']);
    await merchant.freeze(wallet, true, '').refused(400, 'validation_failed', ['/reason']);
    await merchant.freeze(wallet, true, null).refused(400, 'validation_failed', ['/reason']);
    expect((await merchant.wallet(wallet.document)).frozen).toBe(false);
  });

  it('beside holds at the same time, either an order held before the freeze or it is refused', async () => {
    for (let round = 0; round < 5; round++) {
      const order = await merchant.orderWith('80.00');
      const wallet = await merchant.wallet(order.document);
      const [held, frozen] = await Promise.all([merchant.hold(order, '20.00').answer, merchant.freeze(wallet).answer]);
      expect(frozen.status).toBe(200);
      expect([200, 422]).toContain(held.status);
      expect((await merchant.wallet(order.document)).held).toBe(held.status === 200 ? '20.00' : '0.00');
    }
  });

  it('an erasure removes the reason of a freeze, and the wallet stays frozen', async () => {
    const { id, document } = await aFrozenCustomer();
    await merchant.erase(document);
    expect(await merchant.get(`/wallets/${id}`)).toMatchObject({ frozen: true, freeze_reason: null });
  });
});
