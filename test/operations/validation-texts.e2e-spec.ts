import { describe, expect, it } from '@jest/globals';
import type { Answer } from '../support/client.js';
import type { Problem } from '../support/expectations.js';
import { aDocument, anOrder } from '../support/factories.js';
import { useService } from '../support/use-service.js';

const { merchant } = useService();

const detailsOf = ({ status, body }: Answer<unknown>): Record<string, string> => {
  expect({ status, body }).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  return Object.fromEntries((body as Problem).errors.map(({ pointer, detail }) => [pointer, detail]));
};

const MONEY = 'must be a decimal string such as "49.90", at most "999999999.99"';
const ID = 'must be a string of at most 100 characters';
const DOCUMENT =
  'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)';
const REPEATED = 'must not be one digit repeated: it would be the same customer for all';

describe('the errors of a validation', () => {
  it('each required member that is missing or null is required', async () => {
    const required = Object.fromEntries(
      ['/external_id', '/document', '/total', '/items'].map((pointer) => [pointer, 'is required']),
    );
    expect(detailsOf(await merchant.client.post('/orders', {}))).toEqual(required);
    const nulls = { external_id: null, document: null, total: null, items: null, payment_methods: null };
    expect(detailsOf(await merchant.client.post('/orders', nulls))).toEqual(required);
    expect(detailsOf(await merchant.create({ items: [{ price: null }] }).answer)).toEqual({
      '/items/0/id': 'is required',
      '/items/0/price': 'is required',
    });
    expect(detailsOf(await merchant.client.post('/debits', { reason: null, take: null }))).toEqual({
      '/external_id': 'is required',
      '/document': 'is required',
      '/amount': 'is required',
      '/reason': 'is required',
    });
    expect(detailsOf(await merchant.client.post('/auth/login', {}))).toEqual({
      '/email': 'is required',
      '/password': 'is required',
    });
    expect(detailsOf(await merchant.client.post('/auth/refresh', {}))).toEqual({
      '/refresh_token': 'is required',
    });
  });

  it.each([
    [49.9, 'must be a string, in quotes, such as "49.90"'],
    [0, 'must be a string, in quotes, such as "49.90"'],
    ['10.005', 'must have at most two decimals, and no thousands separator'],
    ['1.000', 'must have at most two decimals, and no thousands separator'],
    ['150,00', 'must have a point as decimal separator'],
    ['1.500,00', 'must have a point as decimal separator, and no other separator'],
    ['1,500.00', 'must have a point as decimal separator, and no other separator'],
    ['1000000000', 'must be at most "999999999.99"'],
    ['1000000000.00', 'must be at most "999999999.99"'],
    ['-1.00', 'must not be negative'],
    ['', MONEY],
    ['R$ 10', MONEY],
    ['01.00', MONEY],
    ['1'.repeat(100_000), MONEY],
    [',1'.repeat(100_000), MONEY],
    [true, MONEY],
    [['1.00'], MONEY],
  ])('the error for the total %j is: %s', async (total, detail) => {
    const order = anOrder({ total, items: [{ id: 'sku-1', price: '1.00' }], payment_methods: [] });
    expect(detailsOf(await merchant.create(order).answer)).toEqual({ '/total': detail });
  });

  it.each([
    [52998224725, 'must be a string, in quotes, such as "52998224725"'],
    ['12abc34501de35', 'must have capital letters'],
    ...['5299822472', '529.982.2472-5', '529.982.247-2', '52998224725.0', '11/222.333.0001-81', '', {}].map(
      (document): [unknown, string] => [document, DOCUMENT],
    ),
  ])('the error for the document %j is: %s', async (document, detail) => {
    for (const [path, body] of [
      ['/orders', anOrder({ document })],
      ['/wallets/search', { document }],
      ['/grants', { external_id: 'g', amount: '1.00', document }],
      ['/debits', { external_id: 'd', amount: '1.00', reason: 'Granted twice', document }],
    ] as const)
      expect(detailsOf(await merchant.client.post(path, body))).toEqual({ '/document': detail });
  });

  it.each(['00000000000', '111.111.111-11', '11111111111111', '00.000.000/0000-00'])(
    'the document %s is refused where it would be new, because it is one digit repeated',
    async (document) => {
      const errors = { '/document': REPEATED };
      for (const [path, body] of [
        ['/orders', anOrder({ document })],
        ['/quotes', { total: '1.00', document }],
        ['/grants', { external_id: 'g', amount: '1.00', document }],
      ] as const)
        expect(detailsOf(await merchant.client.post(path, body))).toEqual(errors);
      const order = await merchant.create();
      const cart = { document, items: order.items, total: order.total };
      expect(detailsOf(await merchant.amend(order, cart).answer)).toEqual(errors);
      await merchant.complete(order);
      expect(detailsOf(await merchant.changeCustomer(order, document).answer)).toEqual(errors);
      expect(await merchant.wallet(document)).toMatchObject({ id: null, available: '0.00' });
      expect(await merchant.searchOrders({ document })).toMatchObject({ data: [] });
      await merchant.debit({ document }).refused(422, 'debit_exceeds_balance');
    },
  );

  it.each(['USD', 'brl', '', 986])('the error for the currency %j is that it must be BRL', async (currency) => {
    const errors = { '/currency': 'must be "BRL", the only currency' };
    expect(detailsOf(await merchant.create({ currency }).answer)).toEqual(errors);
    expect(detailsOf(await merchant.quote({ total: '1.00', currency }).answer)).toEqual(errors);
    const order = await merchant.create();
    const cart = { currency, items: order.items, total: order.total };
    expect(detailsOf(await merchant.amend(order, cart).answer)).toEqual(errors);
  });

  it.each(['0.00', '0', '-1.00'])('the amount %j of a debit is refused', async (amount) => {
    const detail = amount.startsWith('-') ? 'must not be negative' : 'must be greater than zero';
    expect(detailsOf(await merchant.debit({ document: aDocument(), amount }).answer)).toEqual({ '/amount': detail });
  });

  it.each([
    [{ frozen: 'true', reason: 'Stolen account' }, { '/frozen': 'must be true or false' }],
    [{ frozen: true, reason: '' }, { '/reason': 'must not be empty' }],
    [{}, { '/frozen': 'is required', '/reason': 'is required' }],
  ])('the errors for the freeze %j are %j', async (body, errors) => {
    const document = await merchant.customerWith('5.00');
    const { id } = await merchant.wallet(document);
    expect(detailsOf(await merchant.client.put(`/wallets/${id}/freeze`, body))).toEqual(errors);
    expect(await merchant.wallet(document)).toMatchObject({ frozen: false, freeze_changed_at: null });
  });

  it.each([
    [1001, 'must be a string, in quotes'],
    ['', 'must not be empty'],
    ['x'.repeat(101), 'has more than 100 characters'],
    [' ', 'must not be empty'],
    ['a\nb', 'must not have control characters or line breaks (U+000A)'],
    ['PED-1 ', 'must not begin or end with blanks or invisible characters (U+0020)'],
    ['\u00a0PED-1', 'must not begin or end with blanks or invisible characters (U+00A0)'],
    ['\ufeffPED-1', 'must not begin or end with blanks or invisible characters (U+FEFF)'],
    ['PED\u200b1', 'must not have invisible characters (U+200B)'],
    ['..', 'must not be "." or ".."'],
    ['\ud800', 'must be valid Unicode'],
    [true, ID],
    [['PED-1'], ID],
  ])('the error for the external_id %j is: %s', async (external_id, detail) => {
    expect(detailsOf(await merchant.create({ external_id }).answer)).toEqual({
      '/external_id': detail,
    });
  });

  it.each([
    ['2026-11-20T13:45:00', 'must end with Z, or with an offset such as -03:00'],
    ['2026-11-20T13:45:00 03:00', 'must have "+" encoded as %2B'],
    ['2026-11-20T13:45:00.1234567890Z', 'must be an instant such as "2026-11-20T13:45:00.000Z"'],
    ['2026-11-20', 'must be an instant such as "2026-11-20T13:45:00.000Z"'],
    ['2026-02-30T13:45:00Z', 'must be an instant such as "2026-11-20T13:45:00.000Z"'],
    [1763646300, 'must be an instant such as "2026-11-20T13:45:00.000Z"'],
  ])('the error for the expires_at %j is: %s', async (expires_at, detail) => {
    expect(detailsOf(await merchant.create({ expires_at }).answer)).toEqual({
      '/expires_at': detail,
    });
  });

  it('an error of the query names the parameter that was meant', async () => {
    const body = await merchant.orders('stauts=pending').refused(400, 'validation_failed');
    const detail = 'is not a query parameter of this operation; did you mean "status"?';
    expect(body.errors).toEqual([{ parameter: 'stauts', detail }]);
  });
});

describe('the detail of a 404', () => {
  const ID = '0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f10';

  it.each([
    ['GET', `/orders/${ID}`, 'no order has this ID'],
    ['PUT', `/orders/${ID}/redemption`, 'no order has this ID'],
    ['POST', `/orders/${ID}/refunds`, 'no order has this ID'],
    ['GET', `/orders/${ID}/refunds`, 'no order has this ID'],
    ['GET', `/orders/${ID}/refunds/${ID}`, 'no order has this ID'],
    ['GET', '/orders/by-external-id/never', 'no order has this external_id'],
    ['GET', `/wallets/${ID}`, 'no wallet has this ID'],
    ['GET', `/wallets/${ID}/entries`, 'no wallet has this ID'],
    ['GET', `/grants/${ID}`, 'no grant has this ID'],
    ['POST', `/grants/${ID}/void`, 'no grant has this ID'],
    ['GET', `/debits/${ID}`, 'no debit has this ID'],
    ['POST', `/debits/${ID}/void`, 'no debit has this ID'],
    ['POST', `/orders/${ID}/refunds/${ID}/void`, 'no order has this ID'],
    ['PUT', `/wallets/${ID}/freeze`, 'no wallet has this ID'],
    ['GET', '/orders/PED-1001', 'the id in the path must be the UUID that the service gave it'],
    ['GET', `/orders/${ID}/refunds/DEV-1`, 'the refund_id in the path must be the UUID that the service gave it'],
  ])('%s %s returns 404 with the detail: %s', async (method, path, detail) => {
    const bodies = new Map<string, object>([
      ['refunds', { external_id: 'DEV-1', amount: '1.00' }],
      ['redemption', { amount: '0.00' }],
      ['freeze', { frozen: true, reason: 'Stolen account' }],
    ]);
    const sent = method === 'GET' ? undefined : bodies.get(path.split('/').at(-1)!);
    const { status, body } = await merchant.client.send(method, path, { body: sent });
    expect({ status, code: body.code, detail: body.detail }).toEqual({ status: 404, code: 'not_found', detail });
  });

  it('a path with a refund says whether the order or the refund does not exist', async () => {
    const order = await merchant.create({ document: aDocument() });
    for (const [method, operation] of [
      ['GET', ''],
      ['POST', '/void'],
    ] as const) {
      const { status, body } = await merchant.client.send(method, `/orders/${order.id}/refunds/${ID}${operation}`);
      expect([status, body.detail]).toEqual([404, 'no refund of this order has this ID']);
    }
  });
});
