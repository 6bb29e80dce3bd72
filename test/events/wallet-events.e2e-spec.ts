import { beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf, eventWalletOf, numberEvents } from '../support/events.js';
import { aDocument, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import type { FeedEvent, Grant } from '../support/shop.js';

const { service } = useService();
let merchant: TestMerchant;

beforeAll(async () => {
  merchant = await aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 0 });
});

const ofCustomer = async (document: string): Promise<FeedEvent[]> =>
  (await eventsOf(service, merchant)).filter(({ data }) => data.wallet.document === document);
const typesOf = (events: FeedEvent[]): string[] => events.map(({ type }) => type);
const postGrant = async (content: Record<string, unknown>): Promise<Grant> => {
  const { status, body } = await merchant.client.post<Grant>('/grants', content);
  expect(status).toBe(201);
  return body;
};

/** The grant as an event has it. */
function eventGrant(grant: Grant): object {
  const { id, external_id, amount, available_at, expires_at, expires_on, reason, metadata } = grant;
  return { id, external_id, amount, available_at, expires_at, expires_on, reason, metadata };
}

/** Lets a customer spend 10.00 of an order, which is then refunded: 10.00 of debt. */
async function aDebtOf10(document: string): Promise<void> {
  const earning = await merchant.completed({ document, total: '200.00' });
  await merchant.completed({ document, total: '10.00' }, { redeem: '10.00' });
  const { status } = await merchant.refund(earning, '200.00').answer;
  expect(status).toBe(201);
}

describe('the events of wallets', () => {
  it('POST /grants is one cashback.granted with the grant, and a repeat or a refusal is none', async () => {
    const document = aDocument();
    const content = {
      external_id: `G-${document}`,
      document,
      amount: '80.00',
      reason: 'Late delivery',
      metadata: { campaign: 'November' },
    };
    const granted = await postGrant(content);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['cashback.granted']);
    expect(events[0]!.data).toEqual({
      amount: '80.00',
      grant: eventGrant(granted),
      wallet: await eventWalletOf(merchant, document),
    });
    expect(Object.keys(events[0]!.data.grant!)).toEqual(Object.keys(eventGrant(granted)));
    expect(events[0]!.timestamp).toBe(granted.created_at);
    await postGrant(content);
    expect((await merchant.client.post('/grants', { ...content, amount: '81.00' })).status).toBe(409);
    expect(await ofCustomer(document)).toEqual(events);
  });

  it('POST /grants/{id}/void is one cashback.voided with the voided amount, and a repeat is none', async () => {
    const document = aDocument();
    const granted = await postGrant({ external_id: `G-${document}`, document, amount: '80.00' });
    await merchant.completed({ document, total: '30.00' }, { redeem: '30.00' });
    const body = await merchant.voidGrant(granted);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['cashback.granted', 'order.completed', 'cashback.voided']);
    const wallet = await eventWalletOf(merchant, document);
    expect(events[2]!.data).toEqual({ amount: '50.00', grant: eventGrant(body), wallet });
    await merchant.voidGrant(granted);
    expect(await ofCustomer(document)).toEqual(events);
  });

  it('a refund of spent cashback and a grant that repays it are wallet.debt_changed with the difference', async () => {
    const document = aDocument();
    await aDebtOf10(document);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['order.completed', 'order.completed', 'wallet.debt_changed', 'order.refunded']);
    const owing = await eventWalletOf(merchant, document);
    expect(owing).toMatchObject({ debt: '10.00' });
    expect(events[2]!.data).toEqual({ change: '10.00', wallet: owing });
    expect(events[3]!.data.wallet).toEqual(owing);
    await merchant.credit(document, '4.00');
    const [repaid, granted] = (await ofCustomer(document)).slice(4);
    expect(repaid).toMatchObject({ type: 'wallet.debt_changed', data: { change: '-4.00', wallet: { debt: '6.00' } } });
    expect(granted).toMatchObject({ type: 'cashback.granted', data: { amount: '4.00', wallet: repaid!.data.wallet } });
  });

  it('cashback that expires is one cashback.expired per wallet with the sum, and another sweep writes none', async () => {
    const document = aDocument();
    const expiresAt = new Date(+service.clock.now() + 3_600_000);
    for (const amount of ['5.00', '7.00']) await merchant.credit(document, amount, { expiresAt });
    await merchant.credit(document, '1.00');
    service.clock.skip(3_600_000);
    await numberEvents(service);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual([...Array<string>(3).fill('cashback.granted'), 'cashback.expired']);
    expect(events[3]!.data).toEqual({ amount: '12.00', wallet: await eventWalletOf(merchant, document) });
    expect(events[3]!.data.wallet).toMatchObject({ available: '1.00', pending: '0.00' });
  });

  it('cashback that an operation finds expired is cashback.expired before the event of the operation', async () => {
    const document = aDocument();
    const expiresAt = new Date(+service.clock.now() + 600_000);
    await merchant.credit(document, '9.00', { expiresAt });
    const order = await merchant.create({ document });
    await merchant.hold(order, '4.00');
    service.clock.skip(600_000);
    await merchant.complete(order, {});
    const events = await ofCustomer(document);
    expect(typesOf(events).slice(2)).toEqual(['cashback.expired', 'order.completed']);
    expect(events[2]!.data).toMatchObject({ amount: '5.00', wallet: { available: '7.30', held: '0.00' } });
    expect(events[3]!.data.wallet).toEqual(await eventWalletOf(merchant, document));
  });

  it('the sums of every event are those of the wallet, with expired, pending and available credits and other holds', async () => {
    const pending = await aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 3 });
    const document = aDocument();
    const expiresAt = new Date(+service.clock.now() + 300_000);
    await pending.credit(document, '3.00', { expiresAt });
    await pending.credit(document, '50.00');
    const orders = await atOnce(3, () => pending.create({ document }));
    for (const order of orders) await pending.hold(order, '10.00');
    service.clock.skip(300_000);
    await pending.complete(orders[0]!, {});
    const wallet = await eventWalletOf(pending, document);
    expect(wallet).toMatchObject({ pending: '7.00', held: '20.00' });
    expect((await eventsOf(service, pending)).findLast(({ type }) => type === 'order.completed')?.data.wallet).toEqual(
      wallet,
    );
    await pending.cancel(orders[1]!);
    const [cancelled] = await eventsOf(service, pending, '&types=order.cancelled');
    expect(cancelled?.data.wallet).toEqual(await eventWalletOf(pending, document));
  });
});

describe('what events store', () => {
  it('no document, metadata or reason is stored, and an erased customer is erased from earlier events', async () => {
    const document = aDocument();
    const secrets = [document, 'a reason of the grant', 'the campaign', 'the store'];
    const granted = await postGrant({
      external_id: 'G-erased',
      document,
      amount: '20.00',
      reason: secrets[1],
      metadata: { campaign: secrets[2] },
    });
    const order = await merchant.create({ document, metadata: { store: secrets[3] } });
    await merchant.complete(order, { redeem: '5.00' });
    await merchant.refund(order, '10.00', { external_id: 'DEV' });
    const stored = async (table: string): Promise<string> =>
      JSON.stringify(await rowsOf(service, `SELECT * FROM ${table}`));
    const outbox = await stored('event_outbox');
    expect(outbox).toContain(granted.id);
    const events = await ofCustomer(document);
    expect(typesOf(events)).toEqual(['cashback.granted', 'order.completed', 'order.refunded']);
    for (const secret of secrets) {
      expect(JSON.stringify(events)).toContain(secret);
      expect(outbox).not.toContain(secret);
      expect(await stored('events')).not.toContain(secret);
    }
    const { pseudonym } = await merchant.erase(document);
    const erased = await ofCustomer(pseudonym);
    for (const secret of secrets) expect(JSON.stringify(erased)).not.toContain(secret);
    expect(erased.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    expect(erased[0]!.data).toMatchObject({ grant: { reason: null, metadata: {} }, wallet: { document: pseudonym } });
    expect(erased[1]!.data.order).toEqual({ ...events[1]!.data.order, metadata: {} });
    expect((await merchant.client.get<FeedEvent>(`/events/${events[1]!.id}`)).body).toEqual(erased[1]);
  });
});
