import { afterEach, describe, expect, it } from '@jest/globals';
import { SweepsService } from '../../src/sweeps/sweeps.service.js';
import { ErasureService } from '../../src/orders/erasure.service.js';
import { atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, aMerchant, grant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useService } from '../support/use-service.js';
import { movementsOf, rowsOf, statementOf, walletOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

const NO_NAMES = {
  order_external_id: null,
  refund_external_id: null,
  grant_id: null,
  grant_external_id: null,
  reason: null,
};

/** All lines of a customer's summary, oldest first. */
async function summaryOf(document: string, limit = 100): Promise<any[]> {
  const { id } = await walletOf(merchant, document);
  const pages = await merchant.client.pages(`/wallets/${id}/entries?summary=true&limit=${limit}`);
  return pages.flatMap(({ data }) => data).reverse();
}

/** The lines of a customer's summary in short form, such as `earn 7.50`, oldest first. */
const shownOf = async (document: string, limit?: number): Promise<string[]> =>
  (await summaryOf(document, limit)).map(({ kind, amount }) => `${kind} ${amount}`);

/** The sum of lines, without those of the debt, in centavos. */
const sumOf = (lines: any[]): number =>
  lines
    .filter(({ kind }) => kind !== 'debt' && kind !== 'repay')
    .reduce((sum, { amount }) => sum + Math.round(100 * Number(amount)), 0);

/** Expects that a summary adds up to the same amount as all entries, which is the wallet's balance. */
async function expectSameSum(document: string): Promise<void> {
  const [lines, all] = [await summaryOf(document), await statementOf(merchant, document)];
  expect(sumOf(lines)).toBe(sumOf(all));
  const bySeq = new Map(all.map((line) => [line.seq, line]));
  expect(lines).toEqual(lines.map(({ seq }) => bySeq.get(seq)));
}

const hold = (order: { id: string }, amount: string): Promise<unknown> =>
  merchant.client.put(`/orders/${order.id}/redemption`, { amount });
const inDays = (days: number): Date => new Date(service.clock.now().getTime() + days * 86_400_000);

describe('the names in a statement', () => {
  it('each line has the external IDs of its order, refund and grant, and the reason of the grant', async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
    const { body: granted } = await merchant.client.post('/grants', sorry);
    const order = await aCompletedOrder(merchant, { document }, { redeem: '5.00' });
    const { body: refund } = await merchant.client.post(`/orders/${order.id}/refunds`, {
      external_id: 'DEV-Nº 1',
      amount: '150.00',
    });
    await merchant.client.post(`/grants/${granted.id}/void`);
    const ofOrder = { ...NO_NAMES, order_id: order.id, order_external_id: order.external_id };
    const ofGrant = { grant_id: granted.id, grant_external_id: sorry.external_id, reason: 'Late delivery' };
    const ofRefund = { refund_id: refund.id, refund_external_id: 'DEV-Nº 1' };
    expect(await statementOf(merchant, document)).toMatchObject([
      { kind: 'grant', ...NO_NAMES, ...ofGrant, credit_id: granted.id },
      { kind: 'hold', ...ofOrder, ...ofGrant },
      { kind: 'release', ...ofOrder, ...ofGrant },
      { kind: 'redeem', ...ofOrder, ...ofGrant },
      { kind: 'earn', ...ofOrder },
      { kind: 'restore', ...ofOrder, ...ofRefund, ...ofGrant },
      { kind: 'clawback', ...ofOrder, ...ofRefund },
      { kind: 'void', ...NO_NAMES, ...ofGrant, order_id: null, refund_id: null },
    ]);
  });

  it('lines of the debt and of a grant without an external ID and a reason have names too', async () => {
    const document = aDocument();
    const first = await aCompletedOrder(merchant, { document });
    await service.clock.advance({ days: 10 });
    await aCompletedOrder(merchant, { document, total: '15.00' }, { redeem: '7.50' });
    await merchant.client.post(`/orders/${first.id}/refunds`, { external_id: 'DEV-1', amount: '150.00' });
    await grant(service, merchant, document, '50.00');
    const lines = await statementOf(merchant, document);
    const ofOrder = { order_id: first.id, order_external_id: first.external_id, refund_external_id: 'DEV-1' };
    expect(lines.find(({ kind }) => kind === 'debt')).toMatchObject({ ...NO_NAMES, ...ofOrder, credit_id: null });
    const granted = lines.find(({ kind }) => kind === 'grant');
    expect(granted).toMatchObject({ grant_id: granted.credit_id, grant_external_id: granted.credit_id, reason: null });
    expect(lines.find(({ kind }) => kind === 'repay')).toMatchObject({ ...NO_NAMES, order_id: null });
  });

  it("an erased customer's statement keeps the external IDs and has no reasons", async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
    await merchant.client.post('/grants', sorry);
    const order = await aCompletedOrder(merchant, { document });
    const { id } = await walletOf(merchant, document);
    await service.app.get(ErasureService).erase(merchant.id, document);
    for (const query of ['', '?summary=true'])
      expect((await merchant.client.get(`/wallets/${id}/entries${query}`)).body.data).toMatchObject([
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
    const before = (await statementOf(merchant, document)).length;
    await operation();
    return (await movementsOf(merchant, document)).slice(before);
  }

  /** A customer with 20.00, 10.00 and 30.00 from three grants; the second one expires first, then the third. */
  async function aCustomer(): Promise<string> {
    const document = aDocument();
    for (const [amount, days] of [
      ['20.00', 60],
      ['10.00', 20],
      ['30.00', 40],
    ] as const)
      await grant(service, merchant, document, amount, { expiresAt: inDays(days) });
    return document;
  }

  it('a changed hold has its releases first, then its holds, and a completion has a release and a redemption per credit, then what it earned', async () => {
    const document = await aCustomer();
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '15.00');
    expect(await linesOf(document, () => hold(order, '45.00'))).toEqual([
      ...['release 10.00', 'release 5.00', 'hold -10.00', 'hold -30.00', 'hold -5.00'],
    ]);
    expect(await linesOf(document, () => send('post', `/orders/${order.id}/complete`))).toEqual([
      ...['release 10.00', 'redeem -10.00', 'release 30.00', 'redeem -30.00', 'release 5.00', 'redeem -5.00'],
      'earn 5.25',
    ]);
  });

  it('a refund returns to the latest expiry first, then repays debt, then takes back, and the rest becomes debt', async () => {
    const document = await aCustomer();
    const order = await aCompletedOrder(merchant, { document }, { redeem: '45.00' });
    expect(await linesOf(document, () => refund(order, 'DEV-1', '150.00'))).toEqual([
      ...['restore 5.00', 'restore 30.00', 'restore 10.00', 'clawback -5.25'],
    ]);

    const debtor = await aCustomer();
    const earning = await aCompletedOrder(merchant, { document: debtor, total: '1000.00' });
    await service.clock.advance({ days: 10 });
    const spending = await aCompletedOrder(merchant, { document: debtor, total: '220.00' }, { redeem: '110.00' });
    // What the second order earned is taken back before the rest becomes debt.
    expect(await linesOf(debtor, () => refund(earning, 'DEV-1', '1000.00'))).toEqual(['clawback -5.50', 'debt 44.50']);
    expect(await linesOf(debtor, () => refund(spending, 'DEV-1', '220.00'))).toEqual([
      ...['restore 50.00', 'restore 20.00', 'restore 30.00', 'restore 10.00'],
      ...['clawback -10.00', 'repay -10.00', 'clawback -30.00', 'repay -30.00', 'clawback -4.50', 'repay -4.50'],
      'clawback -5.50',
    ]);
  });

  it('a changed hold repays debt after its last line, and what a due order held is released and repays debt before the lines of the operation', async () => {
    const document = aDocument();
    const earning = await aCompletedOrder(merchant, { document, total: '1000.00' });
    await service.clock.advance({ days: 10 });
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '50.00');
    await refund(earning, 'DEV-1', '200.00');
    expect(await linesOf(document, () => hold(order, '47.00'))).toEqual([
      ...['release 50.00', 'hold -47.00', 'clawback -3.00', 'repay -3.00'],
    ]);
    service.clock.skip(30 * 60_000);
    expect(await linesOf(document, () => send('post', `/orders/${order.id}/complete`, { redeem: '20.00' }))).toEqual([
      ...['release 47.00', 'clawback -7.00', 'repay -7.00'],
      ...['hold -20.00', 'release 20.00', 'redeem -20.00', 'earn 6.50'],
    ]);
  });

  it('an operation first writes off the expired credits that it touches, earliest expiry first, and the sweep the others', async () => {
    const document = await aCustomer();
    await grant(service, merchant, document, '7.00', { expiresAt: inDays(30) });
    const order = await aCompletedOrder(merchant, { document }, { redeem: '5.00' });
    service.clock.skip(50 * 86_400_000);
    const open = await aCreatedOrder(merchant, { document });
    expect(await linesOf(document, () => hold(open, '20.00'))).toEqual(['hold -20.00']);
    expect(await linesOf(document, () => refund(order, 'DEV-1', '150.00'))).toEqual([
      ...['expire -5.00', 'restore 5.00', 'clawback -7.25'],
    ]);
    expect(await linesOf(document, () => service.app.get(SweepsService).doAll())).toEqual([
      'expire -7.00',
      'expire -30.00',
    ]);
  });
});

describe('GET /wallets/{id}/entries?summary=true', () => {
  it('a summary shows what an order holds while it is held, and what it redeemed afterwards', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '20.00');
    expect(await shownOf(document)).toEqual(['grant 80.00', 'hold -20.00']);
    await expectSameSum(document);
    await merchant.client.post(`/orders/${order.id}/complete`);
    expect(await shownOf(document)).toEqual(['grant 80.00', 'redeem -20.00', 'earn 6.50']);
    const lines = await summaryOf(document);
    expect(lines.map(({ seq, balance }) => [seq, balance])).toEqual([
      [1, '80.00'],
      [4, '60.00'],
      [5, '66.50'],
    ]);
    await expectSameSum(document);
  });

  it.each([
    ['cancelled', (id: string) => merchant.client.post(`/orders/${id}/cancel`)],
    ['released', (id: string) => hold({ id }, '0.00')],
    ['expired', () => service.clock.advance({ minutes: 31 })],
  ])('a summary shows nothing of a hold that is %s', async (_, end) => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '20.00');
    await end(order.id as string);
    expect((await statementOf(merchant, document)).map(({ kind }) => kind)).toEqual(['grant', 'hold', 'release']);
    expect(await shownOf(document)).toEqual(['grant 80.00']);
    await expectSameSum(document);
  });

  it('a summary shows only the last hold of an order that was replaced, also on several credits', async () => {
    const document = aDocument();
    for (const days of [10, 20]) await grant(service, merchant, document, '10.00', { expiresAt: inDays(days) });
    const [order, other] = [await aCreatedOrder(merchant, { document }), await aCreatedOrder(merchant, { document })];
    await hold(other, '2.00');
    for (const amount of ['3.00', '15.00', '3.00', '12.00']) await hold(order, amount);
    const grants = ['grant 10.00', 'grant 10.00', 'hold -2.00'];
    expect(await shownOf(document)).toEqual([...grants, 'hold -8.00', 'hold -4.00']);
    await expectSameSum(document);
    await hold(order, '5.00');
    expect(await shownOf(document)).toEqual([...grants, 'hold -5.00']);
    await merchant.client.post(`/orders/${order.id}/cancel`);
    expect(await shownOf(document)).toEqual(grants);
    await expectSameSum(document);
  });

  it('a summary shows the hold and the release of a hold on an expired credit that was lowered', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '30.00', { expiresAt: new Date(service.clock.now().getTime() + 600_000) });
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '10.00');
    await hold(order, '25.00');
    await service.clock.advance({ minutes: 11 });
    await hold(order, '5.00');
    expect(await walletOf(merchant, document)).toMatchObject({ available: '20.00', held: '5.00' });
    expect(await shownOf(document)).toEqual(['grant 30.00', 'hold -25.00', 'expire -5.00', 'release 20.00']);
    await expectSameSum(document);
    await hold(order, '8.00');
    expect(await shownOf(document)).toEqual(['grant 30.00', 'expire -5.00', 'hold -8.00']);
    await expectSameSum(document);
    await merchant.client.post(`/orders/${order.id}/complete`);
    expect(await shownOf(document)).toEqual([
      'grant 30.00',
      'expire -5.00',
      'redeem -8.00',
      expect.stringMatching(/^earn/),
    ]);
    await expectSameSum(document);
  });

  it('a summary shows what a released hold repaid of a debt', async () => {
    const document = aDocument();
    const first = await aCompletedOrder(merchant, { document });
    await service.clock.advance({ days: 10 });
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '7.50');
    await merchant.client.post(`/orders/${first.id}/refunds`, { external_id: 'DEV-1', amount: '150.00' });
    await merchant.client.post(`/orders/${order.id}/cancel`);
    expect(await shownOf(document)).toEqual(['earn 7.50', 'debt 7.50', 'clawback -7.50', 'repay -7.50']);
    await expectSameSum(document);
  });

  it('a summary adds up to the balance while an order replaces and releases its hold', async () => {
    const document = aDocument();
    for (let at = 0; at < 4; at++) await grant(service, merchant, document, '10.00');
    const { id } = await walletOf(merchant, document);
    const order = await aCreatedOrder(merchant, { document });
    const holds = atOnce(10, (at) => hold(order, at % 2 ? '25.00' : '5.00'));
    const answers = await atOnce(20, () => merchant.client.get(`/wallets/${id}/entries?summary=true&limit=100`));
    await holds;
    const sums = answers.map(({ body }) => sumOf(body.data as any[]));
    expect(sums.filter((sum) => ![4000, 3500, 1500].includes(sum))).toEqual([]);
    await expectSameSum(document);
  });

  it('the pages of a summary are full, in order, and the same with any limit', async () => {
    const document = aDocument();
    for (let at = 1; at <= 4; at++) {
      await grant(service, merchant, document, `${at}.00`);
      const order = await aCreatedOrder(merchant, { document });
      await hold(order, '1.00');
      if (at < 4) await merchant.client.post(`/orders/${order.id}/cancel`);
    }
    const shown = ['grant 1.00', 'grant 2.00', 'grant 3.00', 'grant 4.00', 'hold -1.00'];
    for (const limit of [1, 2, 5, 100]) expect(await shownOf(document, limit)).toEqual(shown);
    const { id } = await walletOf(merchant, document);
    const { body } = await merchant.client.get(`/wallets/${id}/entries?summary=true&limit=2`);
    expect(body.data).toHaveLength(2);
    // A hold that ends meanwhile neither moves nor repeats the lines of later pages.
    const next = await merchant.client.get(`/wallets/${id}/entries?summary=true&limit=2&cursor=${body.next_cursor}`);
    expect(next.body.data.map(({ amount }: { amount: string }) => amount)).toEqual(['3.00', '2.00']);
  });

  it('a page of a summary ends after 1,000 entries, and the pages still have every line once', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '5.00');
    const { id } = await walletOf(merchant, document);
    const [{ credit_id, created_at }] = await rowsOf(
      service,
      'SELECT credit_id, created_at FROM cashback_entries WHERE wallet_id = ?',
      [id],
    );
    const order = await aCreatedOrder(merchant, { document });
    const pairs = Array.from({ length: 2500 }, (_, at) => {
      const cents = at % 2 === 0 ? -500 : 500;
      const [kind, balance] = at % 2 === 0 ? ['hold', 0] : ['release', 500];
      return [id, merchant.id, at + 2, kind, cents, balance, 0, credit_id, order.id, created_at, created_at];
    });
    await service.dataSource.query(
      'INSERT INTO cashback_entries (wallet_id, merchant_id, seq, kind, amount_cents, balance_cents, debt_cents, credit_id, order_id, effective_at, created_at) VALUES ?',
      [pairs],
    );
    await service.dataSource.query('UPDATE wallets SET last_seq = 2501 WHERE id = ?', [id]);
    await grant(service, merchant, document, '1.00');
    const pages = await merchant.client.pages(`/wallets/${id}/entries?summary=true&limit=5`);
    expect(pages.map(({ data }) => data.map(({ amount }: { amount: string }) => amount))).toEqual([
      ['1.00'],
      [],
      ['5.00'],
    ]);
  });

  it('summary=false and no summary return all entries, and a cursor continues both', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    await hold(order, '20.00');
    await hold(order, '0.00');
    const { id } = await walletOf(merchant, document);
    const path = `/wallets/${id}/entries`;
    const { body } = await merchant.client.get(path);
    expect(body.data).toHaveLength(3);
    expect((await merchant.client.get(`${path}?summary=false`)).body).toEqual(body);
    const first = await merchant.client.get(`${path}?limit=1`);
    const rest = await merchant.client.get(`${path}?summary=true&cursor=${first.body.next_cursor}`);
    expect(rest.body).toMatchObject({ data: [{ kind: 'grant' }], next_cursor: null });
  });

  it('GET /wallets/{id}/entries?summary=true returns 404 for a wallet of another merchant', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const { id } = await walletOf(merchant, document);
    const other = await aMerchant(service);
    expectProblem(await other.client.get(`/wallets/${id}/entries?summary=true`), 404, 'not_found');
  });

  it.each(['summary=', 'summary=1', 'summary=TRUE', 'summary=yes', 'summary=true&summary=true'])(
    'GET /wallets/{id}/entries returns 400 for %s',
    async (query) => {
      const answer = await merchant.client.get(`/wallets/0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10/entries?${query}`);
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body.errors).toEqual([{ parameter: 'summary', detail: 'must be true or false' }]);
    },
  );
});
