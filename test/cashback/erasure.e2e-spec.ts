import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { DataSource } from 'typeorm';
import { WalletStore } from '../../src/cashback/wallet.store.js';
import { DomainEvents } from '../../src/platform/values/domain-event.js';
import { UnitOfWork } from '../../src/platform/database/unit-of-work.js';
import { ErasureService } from '../../src/orders/erasure.service.js';
import { createDataSource } from '../../src/schema.js';
import { atOnce } from '../support/client.js';
import { expectInvariants, pointersOf } from '../support/expectations.js';
import { aCnpj, aDocument, aMerchant, anOrder, type TestMerchant } from '../support/factories.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

describe('erasing a customer', () => {
  const { service, merchant } = useService();
  /** Without a time limit for statements, like the admin command. */
  let operator: DataSource;
  let erasure: ErasureService;
  let other: TestMerchant;

  beforeAll(async () => {
    operator = await createDataSource(service.databaseUrl).initialize();
    const { app, clock } = service;
    erasure = new ErasureService(new UnitOfWork(operator, new DomainEvents()), app.get(WalletStore), clock);
    other = await aMerchant(service);
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

  it('an erased customer is new to that merchant and unchanged for other merchants', async () => {
    const document = await merchant.customerWith('80.00');
    await other.credit(document, '30.00');
    await erasure.erase(merchant.id, document);
    expect(await merchant.wallet(document)).toMatchObject({
      id: null,
      available: '0.00',
    });
    expect(await other.wallet(document)).toMatchObject({ available: '30.00' });
  });

  it('erasing a customer twice changes nothing the second time', async () => {
    const document = await merchant.customerWith('80.00');
    await erasure.erase(merchant.id, document);
    expect(await erasure.erase(merchant.id, document)).toMatchObject({ orders: 0, wallets: 0 });
  });

  describe('an order that is sent again after its customer was erased', () => {
    /** Creates an order of a customer that the test erases. */
    async function anOrderToErase(): Promise<Record<string, unknown> & { document: string }> {
      const order = anOrder({ total: '150.00' });
      await merchant.create(order);
      return order;
    }

    it('POST /orders replays an identical order of an erased customer with the pseudonym as its document', async () => {
      const order = await anOrderToErase();
      const { pseudonym } = await erasure.erase(merchant.id, order.document);
      expect(await merchant.create({ ...order, total: '150' }).replayed()).toMatchObject({
        external_id: order.external_id,
        document: pseudonym,
      });
    });

    it('POST /orders returns 409 with a pointer to each different member for an order of an erased customer', async () => {
      const order = await anOrderToErase();
      await erasure.erase(merchant.id, order.document);
      for (const [pointers, members] of [
        [['/total'], { total: '151.00' }],
        [['/document'], { document: aDocument() }],
        [['/payment_methods'], { payment_methods: [] }],
      ] as const) {
        const problem = await merchant.create({ ...order, ...members }).refused(409, 'external_id_conflict');
        expect(pointersOf(problem)).toEqual(expect.arrayContaining([...pointers]));
      }
    });
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
