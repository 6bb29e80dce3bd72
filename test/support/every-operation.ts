import { randomUUID as aUuid } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { freePort } from './built-service.js';
import type { Answer } from './client.js';
import { aDocument, anOrder } from './factories.js';

/** Sends a request. `values` are those of the parameters in the route. */
export type Send = (
  method: 'get' | 'post' | 'put' | 'patch' | 'delete',
  route: string,
  body?: unknown,
  values?: Record<string, string>,
  query?: string,
  headers?: Record<string, string>,
) => Promise<Answer>;

/** Reads the feed when it has an event of each of these types. The service numbers events after the commit. */
async function waitForEvents(send: Send): Promise<Answer> {
  const types = [
    ...['order.completed', 'order.cancelled', 'order.refunded', 'order.refund_voided'],
    ...['cashback.granted', 'cashback.voided', 'cashback.debited', 'cashback.debit_voided'],
    ...['wallet.frozen', 'wallet.unfrozen'],
  ];
  for (;;) {
    const answer = await send('get', '/events');
    if (types.every((type) => answer.body.data.some((event) => event.type === type))) return answer;
    await sleep(50);
  }
}

/** Uses every operation of webhook endpoints. */
async function useWebhookEndpoints(send: Send): Promise<void> {
  const url = `http://127.0.0.1:${await freePort()}/webhooks`;
  const { body } = await send('post', '/webhook-endpoints', { url });
  const known = { id: body.id };
  const unknown = { id: aUuid() };
  await send('post', '/webhook-endpoints', { url });
  await send('post', '/webhook-endpoints', { url: 'ftp://shop.example' });
  await send('post', '/webhook-endpoints', { types: ['order.read'] });
  await send('get', '/webhook-endpoints');
  await send('put', '/webhook-endpoints/{id}', { url, types: ['order.completed'] }, known);
  await send('put', '/webhook-endpoints/{id}', { url, types: [] }, known);
  for (const operation of ['ping', 'rotate-secret', 'enable'])
    for (const values of [known, unknown])
      await send('post', `/webhook-endpoints/{id}/${operation}`, undefined, values);
  await send('post', '/webhook-endpoints/{id}/seek', { after: 0 }, known);
  await send('post', '/webhook-endpoints/{id}/seek', { after: 999_999 }, known);
  await send('post', '/webhook-endpoints/{id}/seek', { from: '2026-11-20T00:00:00-03:00' }, known);
  for (const values of [known, unknown]) await send('get', '/webhook-endpoints/{id}', undefined, values);
  for (const values of [known, unknown]) await send('delete', '/webhook-endpoints/{id}', undefined, values);
}

/** Uses every operation of API users. */
async function useUsers(send: Send): Promise<void> {
  await send('get', '/me');
  const user = { name: 'Caixa', email: 'caixa@shop.example', permissions: ['sell'] };
  const { body } = await send('post', '/users', user);
  await send('post', '/users', user);
  await send('post', '/users', {});
  const { body: users } = await send('get', '/users', undefined, {}, '?limit=1');
  const change = { name: 'Caixa', permissions: ['refund'], disabled: true };
  for (const id of [body.id, users.data[0]!.id, aUuid()]) {
    await send('get', '/users/{id}', undefined, { id });
    await send('put', '/users/{id}', change, { id });
    await send('post', '/users/{id}/password', undefined, { id });
  }
  await send('put', '/users/{id}', {}, { id: body.id });
  await send('post', '/auth/password', { current_password: 'x', new_password: 'another password' });
}

/** Sells in one request. */
async function useSales(send: Send): Promise<void> {
  const sale = anOrder({ complete: {}, payment_methods: null, currency: 'BRL' });
  await send('post', '/orders', sale);
  await send('post', '/orders', sale);
  await send('post', '/orders', { ...sale, complete: { payment_methods: [{ id: 'pix', amount: '1.00' }] } });
  await send('post', '/orders', anOrder({ complete: { redeem: '1.00' } }));
  await send('post', '/orders', anOrder({ complete: { redeem: 'x' }, currency: 'USD' }));
  await send('post', '/orders', anOrder({ complete: {}, total: '0.00', payment_methods: [] }));
}

/** Changes rules, and makes, changes, ends and deletes campaigns. */
async function useRules(send: Send): Promise<void> {
  await send('patch', '/policy', { earn_maximum: '90.00', reason: 'December' }, {}, '', { 'if-match': '"1"' });
  await send('patch', '/policy', { earn_maximum: '80.00', reason: 'December' }, {}, '', { 'if-match': '"1"' });
  await send('patch', '/policy', { earn_rate: '0.90', reason: 'December' });
  await send('get', '/policy/history', undefined, {}, '?limit=1');
  const today = new Date().toISOString().slice(0, 10);
  const campaign = { name: 'Summer', from: '2098-01-01', through: '2098-01-31', rules: { earn_rate: '0.10' } };
  const { body } = await send('post', '/campaigns', campaign);
  await send('post', '/campaigns', campaign);
  await send('post', '/campaigns', { ...campaign, name: 'Other' });
  await send('get', '/campaigns', undefined, {}, '?limit=1');
  for (const id of [body.id, aUuid()]) {
    await send('get', '/campaigns/{id}', undefined, { id });
    await send('post', '/campaigns/{id}/end', undefined, { id });
    await send('put', '/campaigns/{id}', { ...campaign, name: 'Winter' }, { id });
    await send('delete', '/campaigns/{id}', undefined, { id });
  }
  const { body: running } = await send('post', '/campaigns', { ...campaign, from: today, through: '2097-01-01' });
  await send('delete', '/campaigns/{id}', undefined, { id: running.id });
}

/** Debits a customer who has 80.00, and undoes that. */
async function useDebits(send: Send, document: string): Promise<void> {
  const debit = { external_id: 'd-1', document, amount: '5.00', reason: 'Granted twice', metadata: { till: '3' } };
  const { body } = await send('post', '/debits', debit);
  await send('post', '/debits', debit);
  await send('post', '/debits', { ...debit, amount: '5.01' });
  await send('post', '/debits', { ...debit, external_id: 'd-2', amount: '9000.00' });
  const less = { ...debit, external_id: 'd-3', amount: '9000.00', take: 'available', store: 'SP-014', note: 'Seen' };
  const all = await send('post', '/debits', less);
  await send('post', '/debits', { ...less, external_id: 'd-4' });
  await send('post', '/debits', {});
  for (const id of [body.id, aUuid(), 'nothing']) {
    await send('get', '/debits/{id}', undefined, { id });
    await send('post', '/debits/{id}/void', { reason: 7 }, { id });
    await send('post', '/debits/{id}/void', { reason: 'Wrong customer' }, { id });
  }
  for (const id of [body.id, all.body.id]) await send('post', '/debits/{id}/void', undefined, { id });
  for (const query of ['?limit=1&external_id=d-1', '?user_id=me', '?created_from=2020-01-01T00:00:00Z'])
    await send('get', '/debits', undefined, {}, query);
  const { body: file } = await send('get', '/debits', undefined, {}, '?csv=pt-BR');
  expect(typeof file).toBe('string');
}

/** Freezes the wallet of a customer and unfreezes it. @param order of the customer, which is completed. */
async function useFreezes(send: Send, id: string, document: string, order: string): Promise<void> {
  const freeze = { frozen: true, reason: 'Stolen account' };
  await send('put', '/wallets/{id}/freeze', freeze, { id });
  await send('put', '/wallets/{id}/freeze', freeze, { id });
  await send('put', '/wallets/{id}/freeze', { frozen: 'yes' }, { id });
  await send('put', '/wallets/{id}/freeze', freeze, { id: order });
  await send('post', '/wallets/search', { document });
  await send('post', '/quotes', { document, total: '150.00' });
  const frozen = await send('post', '/orders', anOrder({ document }));
  expect(frozen.body.cashback).toMatchObject({ to_redeem: { maximum: '0.00', limited_by: 'frozen' } });
  await send('put', '/orders/{id}/redemption', { amount: '1.00' }, { id: frozen.body.id });
  const change = { document: aDocument(), reason: 'Typed wrongly' };
  const { status, body } = await send('put', '/orders/{id}/customer', change, { id: order });
  expect([status, body.code]).toEqual([409, 'wallet_frozen']);
  await send('put', '/wallets/{id}/freeze', { ...freeze, frozen: false }, { id });
}

/** Corrects, exports and erases customers. */
async function useCustomers(send: Send): Promise<void> {
  const { body: order } = await send('post', '/orders', anOrder({ metadata: { till: '3' } }));
  const values = { id: order.id };
  const change = { document: aDocument(), reason: 'Typed wrongly' };
  await send('put', '/orders/{id}/customer', change, values);
  await send('post', '/orders/{id}/complete', undefined, values);
  await send('put', '/orders/{id}/customer', { ...change, document: order.document }, values);
  await send('put', '/orders/{id}/customer', change, values, '', { 'if-match': '"1"' });
  await send('put', '/orders/{id}/customer', change, values);
  await send('put', '/orders/{id}/customer', { ...change, document: aDocument() }, values);
  await send('put', '/orders/{id}/customer', {}, values);
  await send('put', '/orders/{id}/customer', change, { id: aUuid() });
  await send('post', '/orders/{id}/refunds', { external_id: 'r-1', amount: '5.00' }, values);
  const { document } = change;
  await send('post', '/grants', { external_id: 'g-3', document, amount: '8.00' });
  await send('post', '/debits', { external_id: 'd-9', document, amount: '1.00', reason: 'Too much' });
  const { body: exported } = await send('post', '/customers/export', { document });
  for (const list of ['orders', 'refunds', 'credits', 'grants', 'debits', 'entries'])
    expect(exported[list]).not.toHaveLength(0);
  await send('post', '/customers/export', { document: aDocument() });
  await send('post', '/customers/export', {});
  await send('post', '/customers/erase', { document, confirm: aDocument() });
  for (const customer of [document, aDocument()])
    await send('post', '/customers/erase', { document: customer, confirm: customer });
}

/** Uses every report. */
async function useReports(send: Send): Promise<void> {
  const day = (ahead: number): string => new Date(Date.now() + ahead * 86_400_000).toISOString().slice(0, 10);
  const period = `?from=${day(-1)}&to=${day(2)}`;
  for (const by of ['', '&by=day', '&by=month', '&by=store', '&by=store_pair', '&by=week'])
    await send('get', '/reports/ledger', undefined, {}, `${period}${by}`);
  for (const by of ['', '&by=day', '&by=month', '&by=store', '&by=user', '&by=campaign', '&by=week'])
    await send('get', '/reports/sales', undefined, {}, `${period}${by}`);
  for (const query of ['', '?by=store', `?as_of=${day(-2)}&by=store`, `?as_of=${day(2)}`])
    await send('get', '/reports/outstanding', undefined, {}, query);
  for (const query of ['', '?months=2', '?months=0']) await send('get', '/reports/expiring', undefined, {}, query);
  for (const query of [period, `${period}&at_least=2`, ''])
    await send('get', '/reports/frequent', undefined, {}, query);
  for (const query of [period, '']) await send('get', '/reports/grants', undefined, {}, query);
  for (const report of ['ledger', 'sales', 'frequent', 'customers', 'grants']) {
    const { body } = await send('get', `/reports/${report}`, undefined, {}, `${period}&csv=pt-BR`);
    expect(typeof body).toBe('string');
  }
}

/**
 * Uses every operation, also with requests that are refused. `POST /auth/login` must have succeeded before. At the end,
 * the access token is revoked.
 */
export async function useEveryOperation(send: Send): Promise<void> {
  const document = aDocument();
  const order = anOrder({ document, store: 'SP-014' });
  const created = await send('post', '/orders', order);
  const id: string = created.body.id;
  await send('post', '/orders', order);
  await send('post', '/orders', { ...order, total: '1.00', payment_methods: [] });
  await send('post', '/orders', {});
  await send('post', '/orders', anOrder({ total: '1.00', payment_methods: [{ id: 'pix', amount: '2.00' }] }));
  await send('get', '/orders', undefined, {}, '?limit=1');
  await send('get', '/orders', undefined, {}, '?limit=0');
  await send('get', '/orders', undefined, {}, '?store=SP-014&status=pending&status=expired');
  await send('post', '/orders/search', { document, status: ['pending'], limit: 1 });
  await send('post', '/orders/search', { document, limit: 0 });
  await send('get', '/orders/{id}', undefined, { id });
  await send('get', '/orders/{id}', undefined, { id: 'nothing' });
  await send('get', '/orders/by-external-id/{external_id}', undefined, {
    external_id: order.external_id,
  });
  await send('get', '/orders/by-external-id/{external_id}', undefined, { external_id: 'nothing' });
  await send('post', '/quotes', { document, total: '150.00' });
  await send('post', '/quotes', { total: '150.00', redeem: '100.00' });
  await send('post', '/quotes', { total: '150.00' });
  const { items, payment_methods } = order;
  const cart = { total: '150.00', items, payment_methods };
  const [fresh, stale] = [{ 'if-match': '"1"' }, { 'if-match': '"7"' }];
  await send('put', '/orders/{id}', cart, { id }, '', fresh);
  await send('put', '/orders/{id}', cart, { id }, '', stale);
  await send('put', '/orders/{id}', { ...cart, total: '149.99' }, { id });
  await send('put', '/orders/{id}', {}, { id });
  await send('put', '/orders/{id}/redemption', { amount: '0.00' }, { id });
  await send('put', '/orders/{id}/redemption', { amount: '1.00' }, { id });
  await send('post', '/orders/{id}/complete', undefined, { id });
  await send('post', '/orders/{id}/cancel', undefined, { id });
  await send('post', '/orders/{id}/cancel', { reason: 7 }, { id });
  const { body: other } = await send('post', '/orders', anOrder({ document }));
  await send('post', '/orders/{id}/cancel', { reason: 'Out of stock' }, { id: other.id });
  await send('post', '/orders/{id}/cancel', undefined, { id: other.id });
  await send('post', '/orders/{id}/complete', undefined, { id: other.id });
  const quoted = { amount: '50.00', eligible_amount: '40.00' };
  await send('post', '/orders/{id}/refunds/quote', quoted, { id });
  await send('post', '/orders/{id}/refunds/quote', { amount: '151.00' }, { id });
  await send('post', '/orders/{id}/refunds/quote', { items: [{ id: 'sku-1', quantity: 1 }], rest: true }, { id });
  await send('post', '/orders/{id}/refunds/quote', { items: [{ id: 'sku-2' }] }, { id });
  await send('post', '/orders/{id}/refunds/quote', {}, { id });
  await send('post', '/orders/{id}/refunds/quote', quoted, { id: other.id });
  await send('post', '/orders/{id}/refunds/quote', quoted, { id: aUuid() });
  const refund = await send(
    'post',
    '/orders/{id}/refunds',
    { external_id: 'r-1', amount: '50.00', reason: 'Defective', store: 'RJ-003', metadata: { till: '3' } },
    { id },
  );
  await send('post', '/orders/{id}/refunds', { external_id: 'r-1', amount: '51.00' }, { id });
  await send('post', '/orders/{id}/refunds', { external_id: 'r-2', amount: '151.00' }, { id });
  await send('post', '/orders/{id}/refunds', { external_id: 'r-3', items: [{ id: 'sku-9' }] }, { id });
  await send('post', '/orders/{id}/refunds', { external_id: 'r-4', items: [{ id: 'sku-1', quantity: 1 }] }, { id });
  for (const query of ['', '?limit=1', '?limit=0'])
    await send('get', '/orders/{id}/timeline', undefined, { id }, query);
  await send('get', '/orders/{id}/timeline', undefined, { id: aUuid() });
  await send('get', '/orders/{id}/refunds', undefined, { id }, '?limit=1');
  await send('get', '/orders/{id}/refunds', undefined, { id }, '?limit=0');
  await send('get', '/orders/{id}/refunds/{refund_id}', undefined, { id, refund_id: refund.body.id });
  await send('get', '/orders/{id}/refunds/{refund_id}', undefined, { id, refund_id: id });
  await send('get', '/refunds', undefined, {}, '?limit=1&created_from=2020-01-01T00:00:00Z');
  await send('get', '/refunds', undefined, {}, '?created_to=now');
  const undo = { id, refund_id: refund.body.id };
  await send('post', '/orders/{id}/refunds/{refund_id}/void', { reason: 7 }, undo);
  const later = await send('post', '/orders/{id}/refunds/{refund_id}/void', undefined, undo);
  expect([later.status, later.body.code]).toEqual([409, 'refund_not_voidable']);
  const { body: refunds } = await send('get', '/orders/{id}/refunds', undefined, { id });
  const last = { id, refund_id: refunds.data[0]!.id };
  await send('post', '/orders/{id}/refunds/{refund_id}/void', undefined, last, '', stale);
  for (const reason of ['Wrong order', 'again'])
    await send('post', '/orders/{id}/refunds/{refund_id}/void', { reason }, last);
  await send('post', '/orders/{id}/refunds/{refund_id}/void', undefined, { id, refund_id: id });
  await send('get', '/orders/{id}/refunds/{refund_id}', undefined, last);
  const wallet = await send('post', '/wallets/search', { document });
  await send('post', '/wallets/search', { document: aDocument() });
  await send('post', '/wallets/search', { document: 1 });
  await send('get', '/wallets/{id}', undefined, { id: wallet.body.id });
  await send('get', '/wallets/{id}', undefined, { id });
  await send('get', '/policy');
  await useRules(send);
  const grant = { external_id: 'g-1', document, amount: '80.00', note: 'Third complaint', store: 'SP-014' };
  await send('post', '/grants', { ...grant, external_id: 'g-2', expires_on: '2098-12-31' });
  const { body: granted } = await send('post', '/grants', grant);
  await send('post', '/grants', { ...grant, amount: '81.00' });
  await send('post', '/grants', {});
  await send('post', '/grants/batch', { data: [grant, { ...grant, external_id: 'g-4' }, {}] });
  await send('post', '/grants/batch', { data: [] });
  await send('get', '/grants/{id}', undefined, { id: granted.id });
  await send('get', '/grants/{id}', undefined, { id });
  await useSales(send);
  await useDebits(send, document);
  await useFreezes(send, wallet.body.id, document, id);
  await send('post', '/grants/{id}/void', { reason: 7 }, { id: granted.id });
  await send('post', '/grants/{id}/void', { reason: 'Granted by mistake' }, { id: granted.id });
  await send('get', '/grants', undefined, {}, '?limit=1&external_id=g-1');
  await send('get', '/grants', undefined, {}, '?user_id=me');
  await send('get', '/customers', undefined, {}, '?balance_minimum=1.00');
  await send('get', '/customers', undefined, {}, '?balance_minimum=1,00');
  await send('get', '/credits', undefined, {}, '?expires_from=2026-01-01&expires_to=2099-01-01');
  await send('get', '/credits', undefined, {}, '?expires_to=2026-02-30');
  await send('get', '/entries', undefined, {}, '?kind=earn,grant&store=SP-014&limit=1');
  await send('get', '/entries', undefined, {}, '?kind=earned');
  await send('post', '/grants/{id}/void', undefined, { id: granted.id });
  await send('post', '/grants/{id}/void', undefined, { id });
  for (const query of ['', '?by=change', '?by=change&limit=1', '?by=day'])
    await send('get', '/wallets/{id}/entries', undefined, { id: wallet.body.id }, query);
  for (const query of ['', '?status=open', '?status=all', '?status=spent'])
    await send('get', '/wallets/{id}/credits', undefined, { id: wallet.body.id }, query);
  await send('get', '/wallets/{id}/credits', undefined, { id });
  for (const query of ['', '?months=2', '?months=0'])
    await send('get', '/wallets/{id}/expiring', undefined, { id: wallet.body.id }, query);
  await send('get', '/wallets/{id}/expiring', undefined, { id });
  await useReports(send);
  const { body: feed } = await waitForEvents(send);
  await send('get', '/events/{id}', undefined, { id: feed.data[0]!.id });
  await send('get', '/events/{id}', undefined, { id });
  await send('get', '/events', undefined, {}, '?after=1&limit=1&types=order.amended,order.refunded');
  await send('get', '/events', undefined, {}, '?types=order.created&types=cashback.granted');
  await send('get', '/events', undefined, {}, '?from=2026-11-20T00:00:00-03:00');
  await send('get', '/events', undefined, {}, '?last=50&types=order.created');
  await send('get', '/events', undefined, {}, '?types=order.read');
  await useWebhookEndpoints(send);
  await useUsers(send);
  await useCustomers(send);
  await send('post', '/auth/login', { email: 'nobody@shop.example', password: 'x' });
  await send('post', '/auth/refresh', { refresh_token: 'cbrt_unknown' });
  await send('post', '/auth/logout');
  await send('get', '/me');
  await send('post', '/orders', order);
}
