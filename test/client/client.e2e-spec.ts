import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Cashback, Order } from '../../clients/typescript/src/index.js';
import { numberEvents } from '../support/events.js';
import { aMerchant, aUser } from '../support/factories.js';
import { all, anOrderOf, clientOf, errorOf } from '../support/typescript-client.js';
import { useService } from '../support/use-service.js';

describe('the TypeScript client', () => {
  const { service, merchant } = useService();
  let cashback: Cashback;

  beforeAll(() => {
    cashback = clientOf(merchant, service);
  });

  it('a sale goes from the quote to the refund, and a repeated creation returns the same order', async () => {
    const cart = anOrderOf({ total: '100.00' });
    await cashback.grants.create({ external_id: 'g-1', document: cart.document, amount: '20.00' });
    const quote = await cashback.quotes.create({ document: cart.document, total: '100.00' });
    expect(quote.cashback.to_redeem?.maximum).toBe('20.00');
    const order = await cashback.orders.create(cart);
    expect(await cashback.orders.create(cart)).toEqual(order);
    await cashback.orders.hold(order.id, { amount: '20.00' });
    const completed = await cashback.orders.complete(order.id);
    expect(completed).toMatchObject({ status: 'completed', amount_to_pay: '80.00' });
    const expected = await cashback.refunds.quote(order.id, { amount: '50.00' });
    const refund = await cashback.refunds.create(order.id, { external_id: 'r-1', amount: '50.00' });
    expect(refund).toMatchObject({ amount_to_pay_back: expected.amount_to_pay_back });
    expect(await cashback.refunds.get(order.id, refund.id)).toEqual(refund);
    expect(await all(cashback.refunds.list(order.id))).toEqual([refund]);
    const wallet = await cashback.wallets.search({ document: cart.document });
    expect((await all(cashback.wallets.entries(wallet.id!))).at(-1)).toMatchObject({ kind: 'grant', amount: '20.00' });
  });

  it('an order is found by its ID, and by an external ID that has to be encoded', async () => {
    const order = await cashback.orders.create(anOrderOf({ external_id: 'A/1?é#%' }));
    expect(await cashback.orders.get(order.id)).toEqual(order);
    expect(await cashback.orders.byExternalId('A/1?é#%')).toEqual(order);
  });

  it('a list yields all elements of all its pages, and continues from the cursor of an earlier page', async () => {
    const { document } = anOrderOf();
    const ids: string[] = [];
    for (let at = 0; at < 5; at++) ids.unshift((await cashback.orders.create(anOrderOf({ document }))).id);
    const found = cashback.orders.search({ document, limit: 2 });
    expect((await all(found)).map(({ id }) => id)).toEqual(ids);
    const pages = await all(found.pages());
    expect(pages.map(({ data }) => data.length)).toEqual([2, 2, 1]);
    const rest = await all(found.pages({ cursor: pages[0]!.next_cursor! }));
    expect(rest).toEqual(pages.slice(1));
    await cashback.orders.cancel(ids[0]!, { reason: 'changed his mind' });
    const cancelled = await all(cashback.orders.search({ document, status: ['cancelled', 'expired'] }));
    expect(cancelled.map(({ id }) => id)).toEqual([ids[0]]);
    const read = await all(cashback.orders.list({ status: ['pending', 'cancelled'], limit: 100 }));
    expect(read.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  });

  it('the feed yields pages until its end, and continues after the last one', async () => {
    await numberEvents(service);
    const pages = await all(cashback.events.pages({ after: 0, limit: 3 }));
    expect(pages.length).toBeGreaterThan(1);
    const events = pages.flatMap(({ data }) => data);
    expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
    expect(await all(cashback.events.list({ after: 0 }))).toEqual(events);
    const after = pages.at(-1)!.next_after;
    const order = await cashback.orders.create(anOrderOf());
    await numberEvents(service);
    const types = ['order.created', 'order.cancelled'] as const;
    const [page] = await all(cashback.events.pages({ after, types: [...types] }));
    expect(page!.data.map((event) => event.type === 'order.created' && event.data.order.id)).toEqual([order.id]);
    expect(await cashback.events.get(page!.data[0]!.id)).toEqual(page!.data[0]);
  });

  it('a refusal is an error whose code selects its members, with the ID of the request', async () => {
    const order = await cashback.orders.create(anOrderOf());
    const error = await errorOf(cashback.orders.hold(order.id, { amount: '1.00' }));
    expect(error).toMatchObject({ status: 422, code: 'redemption_exceeds_maximum', maximum: '0.00', retryable: false });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: 'CashbackError', nextAction: 'fix_request', limited_by: 'balance' });
    expect(error.requestId).toMatch(/^[0-9a-f-]{36}$/);
    const conflict = await errorOf(cashback.orders.create({ ...anOrderOf(), external_id: order.external_id }));
    expect(conflict).toMatchObject({ code: 'external_id_conflict', existing_id: order.id });
    expect(conflict.errors).toContainEqual(expect.objectContaining({ pointer: '/document' }));
    expect(await errorOf(cashback.orders.get('no-id'))).toMatchObject({ status: 404, code: 'not_found' });
  });

  it('ifMatch is a version, or a list of versions as text', async () => {
    const order = await cashback.orders.create(anOrderOf());
    const { id } = order;
    const stale = await errorOf(cashback.orders.cancel(id, {}, { ifMatch: 2 }));
    expect(stale).toMatchObject({ status: 412, code: 'precondition_failed', nextAction: 'read_order' });
    expect(await cashback.orders.cancel(id, undefined, { ifMatch: '"1", "2"' })).toMatchObject({ status: 'cancelled' });
  });

  it('a report is JSON, or CSV in English or for Brazil', async () => {
    const { total } = await cashback.reports.outstanding();
    expect(total).toHaveProperty('available');
    const [from, to] = ['2026-01-01', '2026-02-01'];
    expect((await cashback.reports.ledger({ from, to, by: 'month' })).data).toHaveLength(1);
    expect(await cashback.reports.csv('ledger', { from, to })).toContain('0.00,0.00');
    expect(await cashback.reports.csv('ledger', { from, to }, 'pt-BR')).toContain('0,00;0,00');
    expect(await errorOf(cashback.reports.csv('ledger', { from: 'January', to }))).toMatchObject({ status: 400 });
  });

  it('a list over all customers is JSON, or files in English or for Brazil', async () => {
    const order = await cashback.orders.create(anOrderOf({ store: 'CSV-1' }));
    const [file, ...others] = await all(cashback.orders.csv({ store: 'CSV-1' }));
    expect(file).toContain(`"${order.external_id}",`);
    expect(file!.trim().split('\r\n')).toHaveLength(2);
    expect(others).toEqual([]);
    const [brazilian] = await all(cashback.orders.csv({ store: 'CSV-1' }, 'pt-BR'));
    expect(brazilian).toMatch(/^\ufeffidentificador externo;/);
    for (const list of ['refunds', 'grants', 'debits', 'customers', 'credits', 'entries'] as const)
      expect(await all(cashback[list].csv())).toEqual([expect.stringContaining(',')]);
    expect(await errorOf(all(cashback.orders.csv({ store: '' })))).toMatchObject({ status: 400 });
  });

  it('a webhook endpoint is created, listed, changed and deleted; deleting it again is a 404', async () => {
    const { id, url } = await cashback.webhookEndpoints.create({ url: 'http://127.0.0.1:9/a' });
    expect((await cashback.webhookEndpoints.list()).data.map((endpoint) => endpoint.id)).toEqual([id]);
    const taken = await errorOf(cashback.webhookEndpoints.create({ url }));
    expect(taken).toMatchObject({ status: 409, code: 'webhook_url_taken', existing_id: id });
    expect(await cashback.webhookEndpoints.replace(id, { url, batch: 10 })).toMatchObject({ batch: 10 });
    expect((await cashback.webhookEndpoints.rotateSecret(id)).secret).toMatch(/^whsec_/);
    await cashback.webhookEndpoints.delete(id);
    expect(await errorOf(cashback.webhookEndpoints.delete(id))).toMatchObject({ status: 404 });
  });

  it('an aborted call rejects with the reason, before and while it runs', async () => {
    const reason = new Error('the customer left');
    await expect(cashback.policy.get({ signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    const controller = new AbortController();
    const call = cashback.policy.get({ signal: controller.signal });
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it('a value that is no JSON is an error of the caller, and is not sent again', async () => {
    const amount = 1n as unknown as string;
    await expect(cashback.orders.hold('x', { amount })).rejects.toThrow(TypeError);
  });

  it("another merchant's order is a 404, and a call without the permission says which one is missing", async () => {
    const order: Order = await cashback.orders.create(anOrderOf());
    const other = clientOf(await aMerchant(service), service);
    expect(await errorOf(other.orders.get(order.id))).toMatchObject({ code: 'not_found' });
    const reader = clientOf(await aUser(service, merchant.id, ['reports']), service);
    expect(await errorOf(reader.orders.create(anOrderOf()))).toMatchObject({ code: 'forbidden', permission: 'sell' });
  });

  it('the caller, the timeline of an order, what expires of a wallet, and the report of grants are read', async () => {
    const { email, id } = merchant;
    expect(await cashback.me()).toMatchObject({ email, merchant: { id } });
    const order = await cashback.orders.create(anOrderOf());
    expect(await all(cashback.orders.timeline(order.id))).toHaveLength(1);
    const { document } = order;
    await cashback.grants.create({ external_id: 'g-2', document, amount: '3.00' });
    const { id: walletId } = await cashback.wallets.search({ document });
    const expiring = await cashback.wallets.expiring(walletId!, { months: 24 });
    expect(expiring.data.map((row) => row.expiring)).toContain('3.00');
    const granted = await cashback.reports.grants({ from: '2020-01-01', to: '2020-02-01' });
    expect(granted.data).toEqual([]);
  });

  it('many grants are made in one call, in which the problem of one is no error', async () => {
    const grant = { external_id: 'g-3', document: '52998224725', amount: '3.00' };
    const wrong = { ...grant, external_id: 'g-4', amount: '3,00' };
    const { data } = await cashback.grants.createMany({ data: [grant, wrong] });
    expect(data.map(({ status, problem }) => [status, problem?.code])).toEqual([
      [201, undefined],
      [400, 'validation_failed'],
    ]);
    expect(await cashback.grants.get(data[0]!.grant!.id)).toEqual(data[0]!.grant);
    expect((await cashback.grants.createMany({ data: [grant] })).data).toEqual([{ ...data[0], status: 200 }]);
    expect((await cashback.me()).grants_left_today).toMatch(/^\d+\.\d\d$/);
  });

  it('the feed begins at an instant, or with the last events, and goes on from there', async () => {
    await numberEvents(service);
    const events = await all(cashback.events.list());
    expect(await all(cashback.events.list({ last: 3, limit: 1 }))).toEqual(events.slice(-3));
    expect(await all(cashback.events.list({ from: events[0]!.timestamp, limit: 2 }))).toEqual(events);
  });

  it('a code and a status that the client does not know are an error with both', async () => {
    const problem = { code: 'too_sunny', detail: 'at noon', retryable: false, next_action: 'wait', hours: 2 };
    const answer = () => Promise.resolve(Response.json({ ...problem, status: 451 }, { status: 451 }));
    const error = await errorOf(clientOf(merchant, service, { fetch: answer }).policy.get());
    expect(error).toMatchObject({ code: 'too_sunny', status: 451, hours: 2, nextAction: 'wait', errors: [] });
    expect(error.message).toBe('too_sunny: at noon');
  });
});
