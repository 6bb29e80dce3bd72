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

describe('the errors of a validation', () => {
  it('each required member that is missing or null is required', async () => {
    const required = { '/external_id': 'is required', '/document': 'is required', '/total': 'is required' };
    const lists = { '/items': 'is required', '/payment_methods': 'is required' };
    expect(detailsOf(await merchant.client.post('/orders', {}))).toEqual({ ...required, ...lists });
    const nulls = { external_id: null, document: null, total: null, items: null, payment_methods: null };
    expect(detailsOf(await merchant.client.post('/orders', nulls))).toEqual({ ...required, ...lists });
    expect(detailsOf(await merchant.create({ items: [{ price: null }] }).answer)).toEqual({
      '/items/0/id': 'is required',
      '/items/0/price': 'is required',
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
    ['0.00', 'must be greater than zero'],
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
    ['529.982.247-25', 'must have digits only'],
    ['11.222.333/0001-81', 'must have no punctuation'],
    ['12.ABC.345/01DE-35', 'must have no punctuation'],
    [
      '5299822472',
      'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)',
    ],
    ['', 'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)'],
    [{}, 'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)'],
  ])('the error for the document %j is: %s', async (document, detail) => {
    for (const [path, body] of [
      ['/orders', anOrder({ document })],
      ['/wallets/search', { document }],
      ['/grants', { external_id: 'g', amount: '1.00', document }],
    ] as const)
      expect(detailsOf(await merchant.client.post(path, body))).toEqual({ '/document': detail });
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
    ['2026-11-20T13:45:00.123456Z', 'has more than three decimals'],
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
    ['GET', '/orders/PED-1001', 'the id in the path must be the UUID that the service gave it'],
    ['GET', `/orders/${ID}/refunds/DEV-1`, 'the refund_id in the path must be the UUID that the service gave it'],
  ])('%s %s returns 404 with the detail: %s', async (method, path, detail) => {
    const hasBody = path.endsWith('redemption') || path.endsWith('refunds');
    const { status, body } = await merchant.client.send(method, path, {
      ...(hasBody &&
        method !== 'GET' && {
          body: path.endsWith('refunds') ? { external_id: 'DEV-1', amount: '1.00' } : { amount: '0.00' },
        }),
    });
    expect({ status, code: body.code, detail: body.detail }).toEqual({ status: 404, code: 'not_found', detail });
  });

  it('GET /orders/{id}/refunds/{refund_id} says whether the order or the refund does not exist', async () => {
    const order = await merchant.create({ document: aDocument() });
    const { body } = await merchant.client.get(`/orders/${order.id}/refunds/${ID}`);
    expect(body.detail).toBe('no refund of this order has this ID');
  });
});
