import { afterEach, describe, expect, it } from '@jest/globals';
import { expectInvariants } from '../support/expectations.js';
import { aCnpj, aDocument, aMerchant, anOrder, punctuated } from '../support/factories.js';
import { aCart, type Call, type Members, type Order, type Shop, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService();

describe('a document with punctuation', () => {
  afterEach(() => expectInvariants(service));

  const BOTH: [string, () => string][] = [
    ['CPF', aDocument],
    ['CNPJ', aCnpj],
  ];

  it.each(BOTH)(
    'orders, grants, debits, quotes and searches take a %s with punctuation as the same without',
    async (...of) => {
      const document = of[1]();
      const sent = punctuated(document);
      const granted = await merchant.grant({ document: sent }).changed();
      expect(granted).toMatchObject({ document });
      const wallet = await merchant.wallet(sent);
      expect(wallet).toMatchObject({ id: granted.wallet_id, document, available: '50.00' });
      expect(await merchant.wallet(document)).toEqual(wallet);
      expect(await merchant.quote({ document: sent, total: '150.00' })).toEqual(
        await merchant.quote({ document, total: '150.00' }),
      );
      const order = await merchant.create({ document: sent }).changed();
      expect(order).toMatchObject({ document, cashback: { to_redeem: { available: '50.00' } } });
      for (const one of [sent, document])
        expect((await merchant.searchOrders({ document: one })).data).toEqual([order]);
      expect(await merchant.debit({ document: sent })).toMatchObject({ document, wallet_id: wallet.id });
      expect(await merchant.sell({ document: sent })).toMatchObject({ document, status: 'completed' });
      const stored = await rowsOf(service, 'SELECT document FROM orders WHERE document IN (?)', [[document, sent]]);
      expect(stored).toEqual([{ document }, { document }]);
    },
  );

  it.each(BOTH)('the answer for an unknown customer has the %s without punctuation', async (...of) => {
    const document = of[1]();
    expect(await merchant.wallet(punctuated(document))).toMatchObject({ id: null, document });
  });

  it.each(BOTH)(
    'a repeated order, grant and amendment with or without punctuation of the %s is a replay, also after an erasure',
    async (...of) => {
      const document = of[1]();
      const sent = punctuated(document);
      const body = anOrder({ document: sent });
      const order = await merchant.create(body);
      const gift = { external_id: `SORRY-${unique()}`, document: sent };
      const granted = await merchant.grant(gift);
      await merchant
        .create({ ...body, document: punctuated(aDocument()) })
        .refused(409, 'external_id_conflict', ['/document']);
      const amended = await merchant.amend(order, aCart('120.00', { document: sent })).changed();
      for (const one of [sent, document]) {
        expect(await merchant.create({ ...body, document: one }).replayed()).toEqual(amended);
        expect(await merchant.grant({ ...gift, document: one }).replayed()).toEqual(granted);
        expect(await merchant.amend(order, aCart('120.00', { document: one })).replayed()).toEqual(amended);
      }
      const { pseudonym } = await merchant.erase(document);
      for (const one of [sent, document]) {
        expect(await merchant.create({ ...body, document: one }).replayed()).toMatchObject({ document: pseudonym });
        expect(await merchant.grant({ ...gift, document: one }).replayed()).toMatchObject({ document: pseudonym });
      }
    },
  );

  it.each(BOTH)('an amendment and a correction give an order the customer of a %s with punctuation', async (...of) => {
    const document = of[1]();
    const sent = punctuated(document);
    const order = await merchant.create();
    const amended = await merchant.amend(order, aCart('120.00', { document: sent })).changed();
    expect(amended).toMatchObject({ document, version: 2 });
    const sold = await merchant.completed();
    const changed = await merchant.changeCustomer(sold, sent).changed();
    expect(changed).toMatchObject({ moved: '7.50', order: { document } });
    for (const one of [sent, document]) expect(await merchant.changeCustomer(sold, one).replayed()).toEqual(changed);
    expect((await merchant.wallet(document)).pending).toBe('7.50');
  });

  it('an amendment with the punctuated document of the order keeps an order that holds cashback', async () => {
    const order = await merchant.orderThatHolds('20.00');
    const amended = await merchant.amend(order, aCart('120.00', { document: punctuated(order.document) }));
    expect(amended).toMatchObject({ document: order.document, cashback: { to_redeem: { held: '20.00' } } });
  });
});

/** Each request in which a document is new. */
const NEW: [string, (shop: Shop, document: string) => Call<unknown>][] = [
  ['a new order', (shop, document) => shop.create({ document })],
  ['a sale', (shop, document) => shop.sell({ document })],
  ['a quote', (shop, document) => shop.quote({ document, total: '150.00' })],
  ['a grant', (shop, document) => shop.grant({ document })],
];

/** Sends each of them, and the changes of orders that give them this customer. */
async function expectRefusedWhereNew(shop: Shop, document: string, detail: string): Promise<void> {
  const problem = { errors: [{ pointer: '/document', detail: expect.stringContaining(detail) }] };
  for (const [, send] of NEW) await send(shop, document).refused(400, 'validation_failed', problem);
  const [open, sold] = [await shop.create(), await shop.completed()];
  await shop.amend(open, aCart('120.00', { document })).refused(400, 'validation_failed', problem);
  await shop.changeCustomer(sold, document).refused(400, 'validation_failed', problem);
  expect([await shop.order(open), await shop.order(sold)]).toEqual([open, sold]);
}

/** What a merchant can do with an order and a grant of a customer whose document no new one could have. */
async function expectUsable(shop: Shop, body: ReturnType<typeof anOrder>, gift: Members): Promise<void> {
  const { document } = body;
  const wallet = await shop.wallet(document);
  expect(wallet).toMatchObject({ document, available: '50.00', pending: '7.50' });
  const { data: orders } = await shop.searchOrders({ document: punctuated(document) });
  const [sold, open] = orders as [Order, Order];
  expect(sold).toMatchObject({ document, status: 'completed' });
  expect(await shop.order(open)).toEqual(open);
  expect(await shop.create(body).replayed()).toEqual(open);
  expect(await shop.grant(gift).replayed()).toMatchObject({ document, amount: '50.00' });
  expect(await shop.hold(open, '20.00').changed()).toMatchObject({ document });
  expect(await shop.amend(open, aCart('140.00', { document })).changed()).toMatchObject({ document, total: '140.00' });
  expect(await shop.debit({ document })).toMatchObject({ document, amount: '20.00' });
  expect(await shop.complete(open)).toMatchObject({ document, status: 'completed' });
  await shop.refund(open, '140.00');
  expect(await shop.post('/customers/export', { document })).toMatchObject({ document, wallet: { document } });
  const erased = await shop.post<{ orders: number }>('/customers/erase', { document, confirm: document });
  expect(erased).toMatchObject({ wallet_id: wallet.id, orders: 2 });
  expect((await shop.wallet(document)).id).toBeNull();
}

describe('a document of one repeated digit', () => {
  it.each(['00000000000', '11111111111', '999.999.999-99', '00000000000000', '11.111.111/1111-11'])(
    'the document %s is refused wherever it would be new',
    (document) => expectRefusedWhereNew(merchant, document, 'one digit repeated'),
  );

  it.each(['AAAAAAAAAAAA00', '00000000001', '00000000000001', '11111111111112'])(
    'the document %s is not of one repeated digit, and is accepted',
    async (document) => {
      expect(await merchant.create({ document })).toMatchObject({ document });
    },
  );

  it.each(['00000000000', '22222222222222'])(
    'a customer with the document %s who exists can be read, searched, repeated, debited, exported and erased',
    async (document) => {
      const shop = await aMerchant(service);
      const before = aDocument();
      const body = anOrder({ document: before });
      await shop.create(body);
      await service.clock.advance({ seconds: 1 });
      await shop.completed({ document: before });
      const gift = { external_id: `SORRY-${unique()}`, document: before };
      await shop.grant(gift);
      // A release that accepted it left it so.
      for (const table of ['orders', 'wallets'])
        await rowsOf(service, `UPDATE ${table} SET document = ? WHERE document = ? AND merchant_id = ?`, [
          document,
          before,
          shop.id,
        ]);
      await expectUsable(shop, { ...body, document }, { ...gift, document });
    },
  );

  it('a search for a document of one repeated digit that nobody has finds nothing, and a debit of it finds no balance', async () => {
    const shop = await aMerchant(service);
    const document = '33333333333';
    expect(await shop.wallet(document)).toMatchObject({ id: null, document });
    expect((await shop.searchOrders({ document })).data).toEqual([]);
    await shop.debit({ document }).refused(422, 'debit_exceeds_balance', { maximum: '0.00' });
    await shop.send('POST', '/customers/export', { body: { document } }).refused(404, 'not_found');
    expect(await shop.post('/customers/erase', { document, confirm: document })).toMatchObject({ pseudonym: null });
  });
});

describe('a document with wrong check digits', () => {
  afterEach(() => expectInvariants(service));

  it.each(['52998224726', '529.982.247-26', '11222333000180', '12.ABC.345/01DE-34'])(
    'the document %s is refused wherever it would be new, if the policy verifies check digits',
    async (document) => {
      const shop = await aMerchant(service);
      const right = { document: '52998224725' };
      await shop.setPolicy({ documentCheckDigits: true });
      await shop.quote({ ...right, total: '150.00' });
      const problem = { errors: [{ pointer: '/document', detail: expect.stringContaining('check digits') }] };
      for (const [, send] of NEW) await send(shop, document).refused(400, 'validation_failed', problem);
      const [open, sold] = [await shop.create(right), await shop.completed(right)];
      await shop.amend(open, aCart('120.00', { document })).refused(400, 'validation_failed', problem);
      await shop.changeCustomer(sold, document).refused(400, 'validation_failed', problem);
      expect([await shop.order(open), await shop.order(sold)]).toEqual([open, sold]);
    },
  );

  it('a customer with wrong check digits who exists can be read, searched, repeated, debited, exported and erased', async () => {
    const shop = await aMerchant(service);
    const document = '52998224726';
    const body = anOrder({ document });
    await shop.create(body);
    await service.clock.advance({ seconds: 1 });
    await shop.completed({ document });
    const gift = { external_id: `SORRY-${unique()}`, document };
    await shop.grant(gift);
    await shop.setPolicy({ documentCheckDigits: true });
    await service.clock.advance({ seconds: 1 });
    await shop.create({ document }).refused(400, 'validation_failed', ['/document']);
    await expectUsable(shop, body, gift);
  });
});
