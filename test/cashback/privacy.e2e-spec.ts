import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { WalletStore } from '../../src/cashback/wallet.store.js';
import type { CustomerExportDto } from '../../src/operations/privacy.dto.js';
import { ErasureService } from '../../src/orders/erasure.service.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { DomainEvents } from '../../src/platform/values/domain-event.js';
import { createDataSource } from '../../src/schema.js';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { expectInvariants } from '../support/expectations.js';
import { aCnpj, aDocument, punctuated, type TestMerchant as Shop } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { deliver } from '../support/receiver.js';
import type { Call, FeedEvent, Json, Order, Page } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';
import { anEndpoint, useWebhooks } from '../support/webhooks.js';

const { service, aReceiver } = useWebhooks();

type Export = Json<CustomerExportDto>;
interface Erased {
  pseudonym: string | null;
  wallet_id: string | null;
  orders: number;
}

const exportOf = (shop: Shop, document: unknown): Call<Export> =>
  shop.send('POST', '/customers/export', { body: { document } }, 200);
const erase = (shop: Shop, document: string, confirm: unknown = document): Call<Erased> =>
  shop.send('POST', '/customers/erase', { body: { document, confirm } }, 200);

const aShop = (): Promise<Shop> => aLongLivedMerchant(service, { redeemShareBps: 10_000, releaseDays: 0 });

/** Lets a customer buy, spend, return, get grants and lose one. */
async function aHistory(shop: Shop, document: string): Promise<Order> {
  const granted = await shop.grant({
    document,
    amount: '20.00',
    reason: 'a reason of the grant',
    note: 'a note of the grant',
    metadata: { campaign: 'a campaign' },
  });
  const order = await shop.create({ document, metadata: { note: 'a note of the order' } });
  await shop.hold(order, '5.00');
  await shop.complete(order);
  for (const amount of ['10.00', '20.00'])
    await shop.refund(order, amount, { reason: 'a reason of the refund', metadata: { note: 'a note of the refund' } });
  await shop.voidRefund(await shop.refund(order, '5.00'), { reason: 'a reason of the undone refund' });
  const debit = { amount: '2.00', reason: 'a reason of the debit', note: 'a note of the debit' };
  await shop.voidDebit(await shop.debit({ document, ...debit, metadata: { case: 'a case of the debit' } }), {
    reason: 'a reason of the restored debit',
  });
  await shop.freeze(await shop.wallet(document), true, 'a reason of the freeze');
  await shop.cancel(await shop.create({ document }), { body: { reason: 'a reason of the cancel' } });
  await shop.grant({ document, amount: '1.00' });
  await shop.voidGrant(granted, { reason: 'a reason of the void' });
  return order;
}

const PERSONAL = [
  ...['reason of the grant', 'note of the grant', 'a campaign', 'note of the order', 'reason of the refund'],
  ...['note of the refund', 'reason of the cancel', 'reason of the void', 'reason of the undone refund'],
  ...['reason of the debit', 'note of the debit', 'case of the debit', 'reason of the restored debit'],
  ...['reason of the freeze'],
];

describe('POST /customers/export', () => {
  it('the export has all orders, refunds, credits, grants, entries and events of the customer, in the order of time', async () => {
    const shop = await aShop();
    const [document, other] = [aDocument(), aDocument()];
    await aHistory(shop, document);
    await aHistory(shop, other);
    await eventsOf(service, shop);
    const exported = await exportOf(shop, document);
    expect(Object.keys(exported)).toEqual([
      'document',
      'exported_at',
      'wallet',
      'orders',
      'refunds',
      'credits',
      'grants',
      'debits',
      'entries',
      'events',
    ]);
    const { id } = await shop.wallet(document);
    const oldestFirst = async <T>(path: string): Promise<T[]> => (await shop.all<T>(path)).reverse();
    expect(exported).toMatchObject({ document, wallet: await shop.wallet(document) });
    const { data: orders } = await shop.searchOrders({ document });
    expect(exported.orders).toEqual(orders.toReversed());
    expect(exported.refunds).toEqual(await oldestFirst(`/orders/${exported.orders[0]!.id}/refunds?limit=100`));
    expect(exported.entries).toEqual(await shop.statement(document));
    const grants = await oldestFirst<{ document: string }>('/grants?limit=100');
    expect(exported.grants).toEqual(grants.filter((grant) => grant.document === document));
    const open = await shop.all<{ id: string }>(`/wallets/${id}/credits?limit=100`);
    for (const credit of open) expect(exported.credits).toContainEqual(credit);
    const events = (await eventsOf(service, shop)).filter(
      ({ data, type }) => (type === 'order.created' ? data.order!.document : data.wallet.document) === document,
    );
    expect(exported.events).toEqual(events);
    const { data: debits } = await shop.get<Page<{ document: string }>>('/debits?limit=100');
    expect(exported.debits).toEqual(debits.filter((debit) => debit.document === document));
    const { refunds, debits: taken } = exported;
    expect([exported.orders, refunds, exported.grants, taken].map(({ length }) => length)).toEqual([2, 3, 2, 1]);
    expect(exported.credits).toHaveLength(3);
    const text = JSON.stringify(exported);
    for (const personal of PERSONAL) expect(text).toContain(personal);
    expect(text).not.toContain(other);
    expect(text).not.toMatch(/_cents|digest|merchant_id|"is_open|last_seq/);
  });

  it('an export of a customer has nothing of another customer whose order was corrected', async () => {
    const shop = await aShop();
    const [first, second] = [aDocument(), aDocument()];
    const order = await shop.completed({ document: first });
    await shop.put(`/orders/${order.id}/customer`, { document: second, reason: 'Typed wrongly' });
    await shop.refund(order, '10.00');
    await eventsOf(service, shop);
    const exports = [await exportOf(shop, first), await exportOf(shop, second)];
    expect(exports.map((one) => [one.orders.length, one.entries.map(({ kind }) => kind)])).toEqual([
      [0, ['earn', 'move_out']],
      [1, ['move_in', 'take_back']],
    ]);
    expect(JSON.stringify(exports[0])).not.toContain(second);
    expect(JSON.stringify(exports[1])).not.toContain(first);
    expect(exports[1]!.events.map(({ type }) => type)).toEqual(['order.created', 'order.refunded']);
  });

  it('a customer who is unknown, or known to another merchant only, is not found', async () => {
    const [shop, other] = [await aShop(), await aShop()];
    const { document } = await other.create();
    await exportOf(shop, document).refused(404, 'not_found');
    await exportOf(shop, aDocument()).refused(404, 'not_found');
    await exportOf(shop, '123').refused(400, 'validation_failed', ['/document']);
    expect(await exportOf(other, document)).toMatchObject({
      wallet: { id: null, document },
      orders: [{ document }],
      entries: [],
      credits: [],
    });
  });
});

describe('POST /customers/erase', () => {
  it('an erased customer is erased from orders, refunds, grants, events and the last attempts of endpoints', async () => {
    const shop = await aShop();
    const document = aDocument();
    const receiver = await aReceiver(({ raw }, response) => void response.writeHead(500).end(raw.slice(0, 2000)));
    const endpoint = await anEndpoint(shop, receiver);
    const order = await aHistory(shop, document);
    await eventsOf(service, shop);
    await deliver(service);
    const stored = async (): Promise<string> => {
      const tables = ['orders', 'refunds', 'wallets', 'cashback_credits', 'cashback_grants', 'cashback_entries'];
      tables.push('debits', 'events', 'event_outbox', 'webhook_endpoints');
      const found = tables.map((table) =>
        rowsOf(service, `SELECT * FROM ${table} WHERE merchant_id = ?`, [shop.id]).then((rows) => JSON.stringify(rows)),
      );
      return (await Promise.all(found)).join();
    };
    expect(await stored()).toContain(document);
    const { id: wallet_id } = await shop.wallet(document);
    const events = await eventsOf(service, shop);
    const { pseudonym, ...erased } = await erase(shop, document);
    expect(erased).toEqual({ wallet_id, orders: 2 });
    const rows = await stored();
    for (const personal of [document, ...PERSONAL]) expect(rows).not.toContain(personal);
    const { body } = await shop.client.get<object>(`/webhook-endpoints/${endpoint.id}`);
    expect(JSON.stringify(body)).not.toContain(document);
    expect(await shop.order(order)).toMatchObject({ document: pseudonym, metadata: {} });
    const named = ['/grants', '/debits', '/credits', '/entries', '/customers', `/wallets/${wallet_id}`];
    const others = ['/refunds', `/wallets/${wallet_id}/entries`, `/wallets/${wallet_id}/credits?status=all`];
    const read = async (path: string): Promise<string> => JSON.stringify(await shop.get(path));
    const answers = await Promise.all([...named, ...others].map(read));
    for (const personal of [document, ...PERSONAL]) expect(answers.join()).not.toContain(personal);
    for (const answer of answers.slice(0, named.length)) expect(answer).toContain(pseudonym);
    const now: FeedEvent[] = await eventsOf(service, shop);
    expect(now.map(({ id }) => id)).toEqual(events.map(({ id }) => id));
    for (const personal of [document, ...PERSONAL]) expect(JSON.stringify(now)).not.toContain(personal);
    await exportOf(shop, document).refused(404, 'not_found');
  });

  it.each([
    ['a CPF', aDocument(), (bare: string) => [punctuated(bare), punctuated(bare)]],
    ['a CNPJ', aCnpj(), (bare: string) => [punctuated(bare), punctuated(bare)]],
    ['a CPF', aDocument(), (bare: string) => [bare, punctuated(bare)]],
    ['a CPF', aDocument(), (bare: string) => [punctuated(bare), bare]],
  ])('%s is exported and erased with punctuation, in the document and in confirm', async (_, bare, sent) => {
    const shop = await aShop();
    const order = await shop.completed({ document: bare });
    const { id: wallet_id } = await shop.wallet(bare);
    const [document, confirm] = sent(bare) as [string, string];
    const exported = await exportOf(shop, document);
    expect(exported).toMatchObject({ document: bare, wallet: { document: bare }, orders: [{ id: order.id }] });
    expect(JSON.stringify(exported)).not.toContain(punctuated(bare));
    const { pseudonym, ...erased } = await erase(shop, document, confirm);
    expect(erased).toEqual({ wallet_id, orders: 1 });
    expect(await shop.order(order)).toMatchObject({ document: pseudonym });
    await exportOf(shop, document).refused(404, 'not_found');
  });

  it('a document with misplaced punctuation is a 400, and so is a confirm that is another document', async () => {
    const shop = await aShop();
    const { document } = await shop.create();
    await exportOf(shop, '660.487.647.07').refused(400, 'validation_failed', ['/document']);
    await erase(shop, '660.487.647.07').refused(400, 'validation_failed');
    for (const confirm of [punctuated(aDocument()), `${punctuated(document)} `])
      await erase(shop, document, confirm).refused(400, 'validation_failed', ['/confirm']);
    expect((await exportOf(shop, document)).orders).toHaveLength(1);
  });

  it('confirm must be the document, and nothing is erased otherwise', async () => {
    const shop = await aShop();
    const { document } = await shop.create();
    for (const confirm of [aDocument(), '', null, true, undefined])
      await shop
        .send('POST', '/customers/erase', { body: { document, confirm } })
        .refused(400, 'validation_failed', ['/confirm']);
    await shop
      .send('POST', '/customers/erase', { body: {} })
      .refused(400, 'validation_failed', ['/confirm', '/document']);
    expect((await exportOf(shop, document)).orders).toHaveLength(1);
  });

  it('an unknown customer, one of another merchant and a repeat change nothing', async () => {
    const [shop, other] = [await aShop(), await aShop()];
    const { document } = await other.create();
    const nothing = { pseudonym: null, wallet_id: null, orders: 0 };
    expect(await erase(shop, aDocument())).toEqual(nothing);
    expect(await erase(shop, document)).toEqual(nothing);
    expect((await exportOf(other, document)).orders).toHaveLength(1);
    expect(await erase(other, document)).toMatchObject({ orders: 1, pseudonym: expect.any(String) });
    expect(await erase(other, document)).toEqual(nothing);
  });
});

describe('erasing a customer', () => {
  const { service, merchant } = useService();
  /** Without a time limit for statements, like the admin command. */
  let operator: DataSource;
  let erasure: ErasureService;

  beforeAll(async () => {
    operator = await createDataSource(service.databaseUrl).initialize();
    const { app, clock } = service;
    erasure = new ErasureService(new UnitOfWork(operator, new DomainEvents()), app.get(WalletStore), clock);
  });
  afterAll(() => operator?.destroy());

  /** Finds every column of every table that contains the text. */
  async function placesOf(text: string): Promise<string[]> {
    const columns = await service.dataSource.query<{ t: string; c: string }[]>(
      'SELECT table_name AS t, column_name AS c FROM information_schema.columns WHERE table_schema = DATABASE()',
    );
    const places = [];
    for (const { t, c } of columns) {
      const [row] = await service.dataSource.query<{ n: string }[]>(
        `SELECT COUNT(*) AS n FROM \`${t}\` WHERE CAST(\`${c}\` AS CHAR) LIKE ?`,
        [`%${text}%`],
      );
      if (Number(row!.n) > 0) places.push(`${t}.${c}`);
    }
    return places;
  }

  it.each([
    ['CPF', aDocument()],
    ['CNPJ', aCnpj()],
  ])('erasing a customer with a %s removes the document from all tables and keeps all sums', async (_, document) => {
    await merchant.credit(document, '80.00');
    const order = await merchant.completed({ document }, { redeem: '20.00' });
    expect(await placesOf(document)).toEqual(expect.arrayContaining(['orders.document', 'wallets.document']));
    expect(await erasure.erase(merchant.id, document)).toMatchObject({ orders: 1, wallets: 1 });
    expect(await placesOf(document)).toEqual([]);
    await expectInvariants(service);

    // A refund of the erased order still finds its wallet.
    const refund = await merchant.refund(order, '150.00', { external_id: 'late' }).answer;
    expect(refund).toMatchObject({ status: 201, body: { cashback_returned: '20.00', cashback_taken_back: '6.50' } });
    await expectInvariants(service);
  });

  it('erasing a customer during concurrent orders does not separate an order from its wallet', async () => {
    for (let round = 0; round < 10; round++) {
      const document = await merchant.customerWith('80.00');
      let isErased = false;
      const buying = atOnce(4, async () => {
        const completed: Order[] = [];
        while (!isErased) completed.push(await merchant.completed({ document }));
        return completed;
      });
      await sleep(100 * Math.random());
      await Promise.all([1, 2].map(() => erasure.erase(merchant.id, document))).finally(() => (isErased = true));
      for (const order of (await buying).flat()) await merchant.refund(order, '150.00');
      const torn = await service.dataSource.query<unknown[]>(
        'SELECT o.id FROM orders o JOIN cashback_credits c ON c.order_id = o.id JOIN wallets w ON w.id = c.wallet_id WHERE w.document <> o.document',
      );
      expect(torn).toEqual([]);
    }
    await expectInvariants(service);
  });
});
