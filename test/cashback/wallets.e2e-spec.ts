import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCompletedOrder, aCreatedOrder, aDocument, aMerchant, grant } from '../support/factories.js';
import { ErasureService } from '../../src/orders/erasure.service.js';
import { useService } from '../support/use-service.js';
import { startOfDayAfter, walletOf } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const inDays = (days: number): Date => new Date(service.clock.now().getTime() + days * 86_400_000);
const NEVER_SEEN = {
  id: null,
  available: '0.00',
  pending: '0.00',
  held: '0.00',
  debt: '0.00',
  next_release: null,
  next_expiry: null,
};

describe('POST /wallets/search', () => {
  it('POST /wallets/search returns zeros and a null ID for a new customer, however often it is called', async () => {
    const document = aDocument();
    for (const _attempt of ['first', 'second']) {
      expect(await merchant.client.post('/wallets/search', { document })).toMatchObject({
        status: 200,
        body: NEVER_SEEN,
      });
    }
  });

  it('POST /wallets/search returns the balance, the next release, and the next expiry', async () => {
    const document = aDocument();
    const [soon, later] = [inDays(3), inDays(9)];
    await grant(service, merchant, document, '5.00', { expiresAt: later });
    await grant(service, merchant, document, '1.00', { expiresAt: soon });
    await grant(service, merchant, document, '2.00', { expiresAt: soon });
    await grant(service, merchant, document, '30.00', { availableAt: inDays(20), expiresAt: inDays(21) });
    const completed = await aCompletedOrder(merchant, { document });
    const open = await aCreatedOrder(merchant, { document });
    await merchant.client.put(`/orders/${open.id}/redemption`, { amount: '2.00' });
    expect(await walletOf(merchant, document)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      available: '6.00',
      pending: '37.50',
      held: '2.00',
      debt: '0.00',
      next_release: { amount: '7.50', at: startOfDayAfter(completed.completed_at as string, 8) },
      next_expiry: { amount: '1.00', at: soon.toISOString() },
    });
  });

  it('POST /wallets/search adds up the amounts released or expiring at the same instant', async () => {
    const document = aDocument();
    const [from, to] = [inDays(1), inDays(2)];
    for (const amount of ['1.00', '2.50']) {
      await grant(service, merchant, document, amount, { expiresAt: to });
      await grant(service, merchant, document, amount, { availableAt: from, expiresAt: to });
    }
    expect(await walletOf(merchant, document)).toMatchObject({
      next_release: { amount: '3.50', at: from.toISOString() },
      next_expiry: { amount: '3.50', at: to.toISOString() },
    });
  });

  it('POST /wallets/search returns only the wallet with this merchant', async () => {
    const document = aDocument();
    const other = await aMerchant(service);
    await grant(service, merchant, document, '5.00');
    expect(await walletOf(other, document)).toEqual(NEVER_SEEN);
    await grant(service, other, document, '7.00');
    expect((await walletOf(other, document)).available).toBe('7.00');
    expect((await walletOf(merchant, document)).available).toBe('5.00');
    expect((await walletOf(merchant, document)).id).not.toBe((await walletOf(other, document)).id);
  });

  it.each([
    [undefined],
    [null],
    [52998224725],
    [''],
    ['5299822472'],
    ['529982247255'],
    ['529.982.247-25'],
    ['5299822472a'],
    ['５２９９８２２４７２５'],
    ['52998224725\n'],
    [' 52998224725'],
    [['52998224725']],
  ])('POST /wallets/search returns 400 when the document is %j', async (document) => {
    const answer = await merchant.client.post('/wallets/search', { document });
    expectProblem(answer, 400, 'validation_failed');
    expect(pointersOf(answer)).toEqual(['/document']);
  });
});

describe('GET /wallets/{id}', () => {
  it('GET /wallets/{id} returns the wallet like the search by document, also when repeated and while it changes', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '5.00', { expiresAt: inDays(3) });
    const order = await aCreatedOrder(merchant, { document });
    await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '2.00' });
    const found = await walletOf(merchant, document);
    for (const id of [found.id, found.id.toUpperCase()])
      expect(await merchant.client.get(`/wallets/${id}`)).toMatchObject({ status: 200, body: found });
    const grants = atOnce(5, () => grant(service, merchant, document, '1.00'));
    const seen = await atOnce(5, () => merchant.client.get(`/wallets/${found.id}`));
    await grants;
    for (const { status, body } of seen) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: found.id, held: '2.00', available: expect.stringMatching(/^[3-8]\.00$/) });
    }
    expect((await merchant.client.get(`/wallets/${found.id}`)).body).toEqual(await walletOf(merchant, document));
  });

  it('GET /wallets/{id} returns the wallet of an erased customer, because its ID stays', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '5.00');
    const { id } = await walletOf(merchant, document);
    await service.app.get(ErasureService).erase(merchant.id, document);
    expect(await merchant.client.get(`/wallets/${id}`)).toMatchObject({ status: 200, body: { id, available: '5.00' } });
  });

  it('GET /wallets/{id} returns 404 for a wallet of another merchant and for an unknown wallet', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '5.00');
    const { id } = await walletOf(merchant, document);
    const other = await aMerchant(service);
    expectProblem(await other.client.get(`/wallets/${id}`), 404, 'not_found');
    for (const unknown of ['0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', 'null', document])
      expectProblem(await merchant.client.get(`/wallets/${unknown}`), 404, 'not_found');
  });
});

describe('GET /wallets/{id}/entries', () => {
  /** A customer with 80.00 who held 20.00, completed the order, and was partially refunded. */
  async function aWalletWithEntries(): Promise<{ document: string; order: any; refund: any; id: string }> {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const created = await aCreatedOrder(merchant, { document });
    await merchant.client.put(`/orders/${created.id}/redemption`, { amount: '20.00' });
    const { body: order } = await merchant.client.post(`/orders/${created.id}/complete`);
    const { body: refund } = await merchant.client.post(`/orders/${created.id}/refunds`, {
      external_id: 'DEV-1',
      amount: '75.00',
    });
    return { document, order, refund, id: (await walletOf(merchant, document)).id };
  }

  it('GET /wallets/{id}/entries returns every entry with its kind, amount, order, and balance, newest first', async () => {
    const { order, refund, id } = await aWalletWithEntries();
    const { status, body } = await merchant.client.get(`/wallets/${id}/entries`);
    expect(status).toBe(200);
    const caused = { order_id: order.id, refund_id: null };
    expect(body).toMatchObject({
      next_cursor: null,
      data: [
        { seq: 5, kind: 'take_back', amount: '-3.25', balance: '73.25', order_id: order.id, refund_id: refund.id },
        { seq: 4, kind: 'return', amount: '10.00', balance: '76.50', order_id: order.id, refund_id: refund.id },
        { seq: 3, kind: 'earn', amount: '6.50', balance: '66.50', ...caused, effective_at: order.completed_at },
        { seq: 2, kind: 'redeem', amount: '-20.00', balance: '60.00', ...caused },
        { seq: 1, kind: 'grant', amount: '80.00', balance: '80.00', order_id: null, refund_id: null },
      ],
    });
    expect(body.data.map(({ debt }: { debt: string }) => debt)).toEqual(Array(5).fill('0.00'));
    expect(body.data[0]).toEqual({
      ...body.data[0],
      credit_id: expect.any(String),
      created_at: expect.stringMatching(/\.\d{3}Z$/),
    });
  });

  it('GET /wallets/{id}/entries returns the same page when repeated and accepts the ID in upper or lower case', async () => {
    const { id } = await aWalletWithEntries();
    const { body } = await merchant.client.get(`/wallets/${id}/entries`);
    expect(await merchant.client.get(`/wallets/${id.toUpperCase()}/entries`)).toMatchObject({ status: 200, body });
  });

  it('GET /wallets/{id}/entries pages return each existing entry once while new entries are added', async () => {
    const { id, document } = await aWalletWithEntries();
    const seqs: number[] = [];
    let cursor = '';
    for (;;) {
      const { body } = await merchant.client.get(`/wallets/${id}/entries?limit=2${cursor}`);
      seqs.push(...body.data.map(({ seq }: { seq: number }) => seq));
      if (body.next_cursor === null) break;
      await grant(service, merchant, document, '1.00');
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seqs).toEqual([5, 4, 3, 2, 1]);
  });

  it('GET /wallets/{id}/entries returns 20 entries by default', async () => {
    const document = aDocument();
    for (let at = 0; at < 21; at++) await grant(service, merchant, document, '1.00');
    const { id } = await walletOf(merchant, document);
    const first = await merchant.client.get(`/wallets/${id}/entries`);
    expect(first.body.data.map(({ seq }: { seq: number }) => seq)).toEqual(
      Array.from({ length: 20 }, (_, at) => 21 - at),
    );
    const last = await merchant.client.get(`/wallets/${id}/entries?cursor=${first.body.next_cursor}`);
    expect(last.body).toMatchObject({ data: [{ seq: 1, balance: '1.00' }], next_cursor: null });
  });

  it('GET /wallets/{id}/entries returns 404 for a wallet of another merchant', async () => {
    const { id } = await aWalletWithEntries();
    const other = await aMerchant(service);
    expectProblem(await other.client.get(`/wallets/${id}/entries`), 404, 'not_found');
    const { body } = await merchant.client.get(`/wallets/${id}/entries?limit=1`);
    expectProblem(await other.client.get(`/wallets/${id}/entries?cursor=${body.next_cursor}`), 404, 'not_found');
    const { id: another } = await aWalletWithEntries();
    const foreign = await merchant.client.get(`/wallets/${another}/entries?cursor=${body.next_cursor}`);
    expectProblem(foreign, 400, 'validation_failed');
    expect(foreign.body.errors).toMatchObject([{ parameter: 'cursor' }]);
  });

  it.each(['null', '1', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '52998224725', '%F0%9F%8D%95'])(
    'GET /wallets/{id}/entries returns 404 when no wallet has the ID %s',
    async (id) => {
      expectProblem(await merchant.client.get(`/wallets/${id}/entries`), 404, 'not_found');
    },
  );

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=x'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["entries","1"]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from('["entries",1.5]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from('["entries",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`],
  ])('GET /wallets/{id}/entries returns 400 when %s is invalid: %s', async (parameter, query) => {
    const { id } = await aWalletWithEntries();
    const answer = await merchant.client.get(`/wallets/${id}/entries?${query}`);
    expectProblem(answer, 400, 'validation_failed');
    expect(answer.body.errors).toMatchObject([{ parameter }]);
  });
});
