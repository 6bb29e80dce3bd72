import { afterEach, describe, expect, it } from '@jest/globals';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

const NO_NAMES = {
  order_external_id: null,
  refund_external_id: null,
  grant_id: null,
  grant_external_id: null,
  reason: null,
};

describe('the names in a statement', () => {
  it('each line has the external IDs of its order, refund and grant, and the reason of the grant', async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
    const { body: granted } = await merchant.client.post('/grants', sorry);
    const order = await merchant.completed({ document }, { redeem: '5.00' });
    const refund = await merchant.refund(order, '150.00', { external_id: 'DEV-Nº 1' });
    await merchant.voidGrant(granted);
    const ofOrder = { ...NO_NAMES, order_id: order.id, order_external_id: order.external_id };
    const ofGrant = { grant_id: granted.id, grant_external_id: sorry.external_id, reason: 'Late delivery' };
    const ofRefund = { refund_id: refund.id, refund_external_id: 'DEV-Nº 1' };
    expect(await merchant.statement(document)).toMatchObject([
      { kind: 'grant', ...NO_NAMES, ...ofGrant, credit_id: granted.id },
      { kind: 'redeem', ...ofOrder, ...ofGrant },
      { kind: 'earn', ...ofOrder },
      { kind: 'return', ...ofOrder, ...ofRefund, ...ofGrant },
      { kind: 'take_back', ...ofOrder, ...ofRefund },
      { kind: 'void', ...NO_NAMES, ...ofGrant, order_id: null, refund_id: null },
    ]);
  });

  it('lines of the debt and of a grant without an external ID and a reason have names too', async () => {
    const document = aDocument();
    const first = await merchant.completed({ document });
    await service.clock.advance({ days: 10 });
    await merchant.completed({ document, total: '15.00' }, { redeem: '7.50' });
    await merchant.refund(first, '150.00', { external_id: 'DEV-1' });
    await merchant.credit(document, '50.00');
    const lines = await merchant.statement(document);
    const ofOrder = { order_id: first.id, order_external_id: first.external_id, refund_external_id: 'DEV-1' };
    expect(lines.find(({ kind }) => kind === 'debt')).toMatchObject({ ...NO_NAMES, ...ofOrder, credit_id: null });
    const granted = lines.find(({ kind }) => kind === 'grant');
    expect(granted).toMatchObject({
      grant_id: granted?.credit_id,
      grant_external_id: granted?.credit_id,
      reason: null,
    });
    expect(lines.find(({ kind }) => kind === 'repay')).toMatchObject({ ...NO_NAMES, order_id: null });
  });

  it("an erased customer's statement keeps the external IDs and has no reasons", async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
    await merchant.client.post('/grants', sorry);
    const order = await merchant.completed({ document });
    const { id } = await merchant.wallet(document);
    await merchant.erase(document);
    expect((await merchant.entries({ id })).data).toMatchObject([
      { kind: 'earn', order_external_id: order.external_id, grant_id: null, reason: null },
      { kind: 'grant', grant_external_id: sorry.external_id, reason: null },
    ]);
  });
});

describe('the order of the lines of one operation', () => {
  const send = async (method: 'post' | 'put', path: string, body: object = {}): Promise<void> => {
    const { status, body: answer } = await merchant.client[method](path, body);
    if (status >= 300) throw new Error(`answered ${status}: ${JSON.stringify(answer)}`);
  };
  const refund = (order: { id: string }, external_id: string, amount: string): Promise<void> =>
    send('post', `/orders/${order.id}/refunds`, { external_id, amount });

  /** What an operation adds to a customer's statement. */
  async function linesOf(document: string, operation: () => Promise<unknown>): Promise<string[]> {
    const before = (await merchant.statement(document)).length;
    await operation();
    return (await merchant.movements(document)).slice(before);
  }

  /** A customer with 20.00, 10.00 and 30.00 from three grants; the second one expires first, then the third. */
  async function aCustomer(): Promise<string> {
    const document = aDocument();
    for (const [amount, days] of [
      ['20.00', 60],
      ['10.00', 20],
      ['30.00', 40],
    ] as const)
      await merchant.credit(document, amount, { expiresAt: service.clock.inDays(days) });
    return document;
  }

  it('a hold, a changed hold and a release have no lines, and a completion has a redemption per credit, then what it earned', async () => {
    const document = await aCustomer();
    const order = await merchant.create({ document });
    for (const amount of ['15.00', '45.00', '0.00', '45.00'])
      expect(await linesOf(document, () => merchant.hold(order, amount).answer)).toEqual([]);
    expect(await linesOf(document, () => send('post', `/orders/${order.id}/complete`))).toEqual([
      ...['redeem -10.00', 'redeem -30.00', 'redeem -5.00', 'earn 5.25'],
    ]);
    const other = await merchant.create({ document });
    await merchant.hold(other, '5.00');
    expect(await linesOf(document, () => send('post', `/orders/${other.id}/cancel`))).toEqual([]);
  });

  it('a refund returns to the latest expiry first, then repays debt, then takes back, and the rest becomes debt', async () => {
    const document = await aCustomer();
    const order = await merchant.completed({ document }, { redeem: '45.00' });
    expect(await linesOf(document, () => refund(order, 'DEV-1', '150.00'))).toEqual([
      ...['return 5.00', 'return 30.00', 'return 10.00', 'take_back -5.25'],
    ]);

    const debtor = await aCustomer();
    const earning = await merchant.completed({ document: debtor, total: '1000.00' });
    await service.clock.advance({ days: 10 });
    const spending = await merchant.completed({ document: debtor, total: '220.00' }, { redeem: '110.00' });
    // What the second order earned is taken back before the rest becomes debt.
    expect(await linesOf(debtor, () => refund(earning, 'DEV-1', '1000.00'))).toEqual(['take_back -5.50', 'debt 44.50']);
    expect(await linesOf(debtor, () => refund(spending, 'DEV-1', '220.00'))).toEqual([
      ...['return 50.00', 'return 20.00', 'return 30.00', 'return 10.00'],
      ...['take_back -10.00', 'repay -10.00', 'take_back -30.00', 'repay -30.00', 'take_back -4.50', 'repay -4.50'],
      'take_back -5.50',
    ]);
  });

  it('a lowered hold repays debt, and what a due order held is released and repays debt before the lines of the operation', async () => {
    const document = aDocument();
    const earning = await merchant.completed({ document, total: '1000.00' });
    await service.clock.advance({ days: 10 });
    await merchant.completed({ document, earn_amount: '0.00' }, { redeem: '50.00' });
    await merchant.credit(document, '50.00');
    const order = await merchant.create({ document });
    await merchant.hold(order, '50.00');
    await refund(earning, 'DEV-1', '200.00');
    expect(await linesOf(document, () => merchant.hold(order, '47.00').answer)).toEqual([
      ...['take_back -3.00', 'repay -3.00'],
    ]);
    service.clock.skip(30 * 60_000);
    expect(await linesOf(document, () => send('post', `/orders/${order.id}/complete`, { redeem: '20.00' }))).toEqual([
      ...['take_back -7.00', 'repay -7.00', 'redeem -20.00', 'earn 6.50'],
    ]);
  });

  it('an operation first writes off the expired credits that it touches, earliest expiry first, and the sweep the others', async () => {
    const document = await aCustomer();
    await merchant.credit(document, '7.00', { expiresAt: service.clock.inDays(30) });
    const order = await merchant.completed({ document }, { redeem: '5.00' });
    service.clock.skip(50 * 86_400_000);
    const open = await merchant.create({ document });
    expect(await linesOf(document, () => merchant.hold(open, '20.00').answer)).toEqual([]);
    expect(await linesOf(document, () => refund(order, 'DEV-1', '150.00'))).toEqual([
      ...['expire -5.00', 'return 5.00', 'take_back -7.25'],
    ]);
    expect(await linesOf(document, () => service.app.get(SweepsService).doAll())).toEqual([
      'expire -7.00',
      'expire -30.00',
    ]);
  });
});

describe('the balance of a statement', () => {
  it('the balance is what is available, pending, held, or expired and not yet written off', async () => {
    const document = await merchant.customerWith('30.00', { expiresAt: service.clock.inDays(2) });
    await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(20) });
    await merchant.completed({ document });
    const order = await merchant.create({ document, expires_at: service.clock.inDays(4).toISOString() });
    await merchant.hold(order, '12.00');
    const seen = async (): Promise<string[]> => {
      const { available, pending, held } = await merchant.wallet(document);
      return [available, pending, held, (await merchant.statement(document)).at(-1)!.balance];
    };
    expect(await seen()).toEqual(['28.00', '7.50', '12.00', '47.50']);
    service.clock.skip(3 * 86_400_000);
    expect(await seen()).toEqual(['10.00', '7.50', '12.00', '47.50']);
    await service.app.get(SweepsService).doAll();
    expect(await seen()).toEqual(['10.00', '7.50', '12.00', '29.50']);
  });

  it('GET /wallets/{id}/entries returns 400 for an unknown parameter', async () => {
    const document = await merchant.customerWith('80.00');
    const { id } = await merchant.wallet(document);
    await merchant
      .entries({ id }, 'summary=true')
      .refused(400, 'validation_failed', { errors: [{ parameter: 'summary' }] });
  });
});
