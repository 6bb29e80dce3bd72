import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { localDate } from '../support/days.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant } from '../support/factories.js';
import type { Order, Refund } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { startOfDayAfter } from '../support/wallets.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const NEVER_FROZEN = { frozen: false, freeze_changed_at: null, freeze_changed_by: null, freeze_reason: null };

const neverSeen = (document: string) => ({
  id: null,
  document,
  available: '0.00',
  pending: '0.00',
  held: '0.00',
  debt: '0.00',
  ...NEVER_FROZEN,
  next_release: null,
  next_expiry: null,
});

describe('POST /wallets/search', () => {
  it('POST /wallets/search returns the balance, the next release, and the next expiry', async () => {
    const document = aDocument();
    const [soon, later] = [service.clock.inDays(3), service.clock.inDays(9)];
    await merchant.credit(document, '5.00', { expiresAt: later });
    await merchant.credit(document, '1.00', { expiresAt: soon });
    await merchant.credit(document, '2.00', { expiresAt: soon });
    await merchant.credit(document, '30.00', {
      availableAt: service.clock.inDays(20),
      expiresAt: service.clock.inDays(21),
    });
    const completed = await merchant.completed({ document });
    const open = await merchant.create({ document });
    await merchant.hold(open, '2.00');
    expect(await merchant.wallet(document)).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      document,
      available: '6.00',
      pending: '37.50',
      held: '2.00',
      debt: '0.00',
      ...NEVER_FROZEN,
      next_release: {
        ...{ amount: '7.50', at: startOfDayAfter(completed.completed_at, 8) },
        available_on: completed.cashback.to_receive.available_on,
      },
      next_expiry: { amount: '1.00', at: soon.toISOString(), expires_on: localDate(+soon - 1, 'America/Sao_Paulo') },
    });
  });

  it('POST /wallets/search adds up the amounts released or expiring at the same instant', async () => {
    const document = aDocument();
    const [from, to] = [service.clock.inDays(1), service.clock.inDays(2)];
    for (const amount of ['1.00', '2.50']) {
      await merchant.credit(document, amount, { expiresAt: to });
      await merchant.credit(document, amount, { availableAt: from, expiresAt: to });
    }
    expect(await merchant.wallet(document)).toMatchObject({
      next_release: { amount: '3.50', at: from.toISOString() },
      next_expiry: { amount: '3.50', at: to.toISOString() },
    });
  });

  it('POST /wallets/search returns only the wallet with this merchant', async () => {
    const document = aDocument();
    const other = await aMerchant(service);
    await merchant.credit(document, '5.00');
    expect(await other.wallet(document)).toEqual(neverSeen(document));
    await other.credit(document, '7.00');
    expect((await other.wallet(document)).available).toBe('7.00');
    expect((await merchant.wallet(document)).available).toBe('5.00');
    expect((await merchant.wallet(document)).id).not.toBe((await other.wallet(document)).id);
  });

  it.each([
    [undefined],
    [null],
    [52998224725],
    [''],
    ['5299822472'],
    ['529982247255'],
    ['529.982.247.25'],
    ['529.982.247-2'],
    ['5299822472a'],
    ['５２９９８２２４７２５'],
    ['52998224725\n'],
    [' 52998224725'],
    [['52998224725']],
  ])('POST /wallets/search returns 400 when the document is %j', async (document) => {
    await merchant.wallet(document).refused(400, 'validation_failed', ['/document']);
  });
});

describe('GET /wallets/{id}', () => {
  it('GET /wallets/{id} returns the wallet like the search by document, also when repeated and while it changes', async () => {
    const document = await merchant.customerWith('5.00', { expiresAt: service.clock.inDays(3) });
    const order = await merchant.create({ document });
    await merchant.hold(order, '2.00');
    const found = await merchant.wallet(document);
    for (const id of [found.id, found.id.toUpperCase()])
      expect(await merchant.client.get(`/wallets/${id}`)).toMatchObject({ status: 200, body: found });
    const grants = atOnce(5, () => merchant.credit(document, '1.00'));
    const seen = await atOnce(5, () => merchant.client.get(`/wallets/${found.id}`));
    await grants;
    for (const { status, body } of seen) {
      expect(status).toBe(200);
      expect(body).toMatchObject({ id: found.id, held: '2.00', available: expect.stringMatching(/^[3-8]\.00$/) });
    }
    expect((await merchant.client.get(`/wallets/${found.id}`)).body).toEqual(await merchant.wallet(document));
  });

  it('GET /wallets/{id} returns the document by which the orders of the customer are found', async () => {
    const order = await merchant.completed();
    const { id } = await merchant.wallet(order.document);
    const { document } = await merchant.get<{ document: string }>(`/wallets/${id}`);
    expect((await merchant.searchOrders({ document })).data.map((found) => found.id)).toEqual([order.id]);
  });

  it('GET /wallets/{id} returns the wallet of an erased customer, because its ID stays', async () => {
    const document = await merchant.customerWith('5.00');
    const { id } = await merchant.wallet(document);
    const { pseudonym } = await merchant.erase(document);
    const body = { id, document: pseudonym, available: '5.00' };
    expect(await merchant.client.get(`/wallets/${id}`)).toMatchObject({ status: 200, body });
    expect(await merchant.wallet(document)).toEqual(neverSeen(document));
  });

  it('GET /wallets/{id} returns 404 for a wallet of another merchant and for an unknown wallet', async () => {
    const document = await merchant.customerWith('5.00');
    const { id } = await merchant.wallet(document);
    const other = await aMerchant(service);
    expectProblem(await other.client.get(`/wallets/${id}`), 404, 'not_found');
    for (const unknown of ['0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', 'null', document])
      expectProblem(await merchant.client.get(`/wallets/${unknown}`), 404, 'not_found');
  });
});

describe('GET /wallets/{id}/entries', () => {
  /** A customer with 80.00 who held 20.00, completed the order, and was partially refunded. */
  async function aWalletWithEntries(): Promise<{ document: string; order: Order; refund: Refund; id: string }> {
    const created = await merchant.orderWith('80.00');
    await merchant.hold(created, '20.00');
    const order = await merchant.complete(created);
    const refund = await merchant.refund(created, '75.00');
    return { document: created.document, order, refund, id: (await merchant.wallet(created.document)).id };
  }

  it('GET /wallets/{id}/entries returns every entry with its kind, amount, order, and balance, newest first', async () => {
    const { order, refund, id } = await aWalletWithEntries();
    const body = await merchant.entries({ id });
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

  it('GET /wallets/{id}/entries pages return each existing entry once while new entries are added', async () => {
    const { id, document } = await aWalletWithEntries();
    const seqs: number[] = [];
    let cursor = '';
    for (;;) {
      const body = await merchant.entries({ id }, `limit=2${cursor}`);
      seqs.push(...body.data.map(({ seq }: { seq: number }) => seq));
      if (body.next_cursor === null) break;
      await merchant.credit(document, '1.00');
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seqs).toEqual([5, 4, 3, 2, 1]);
  });

  it('GET /wallets/{id}/entries returns 20 entries by default', async () => {
    const document = aDocument();
    for (let at = 0; at < 21; at++) await merchant.credit(document, '1.00');
    const { id } = await merchant.wallet(document);
    const first = await merchant.entries({ id }).answer;
    expect(first.body.data.map(({ seq }: { seq: number }) => seq)).toEqual(
      Array.from({ length: 20 }, (_, at) => 21 - at),
    );
    const last = await merchant.entries({ id }, `cursor=${first.body.next_cursor}`).answer;
    expect(last.body).toMatchObject({ data: [{ seq: 1, balance: '1.00' }], next_cursor: null });
  });

  it('GET /wallets/{id}/entries returns 404 for a wallet of another merchant', async () => {
    const { id } = await aWalletWithEntries();
    const other = await aMerchant(service);
    await other.entries({ id }).refused(404, 'not_found');
    const body = await merchant.entries({ id }, 'limit=1');
    await other.entries({ id }, `cursor=${body.next_cursor}`).refused(404, 'not_found');
    const { id: another } = await aWalletWithEntries();
    await merchant
      .entries({ id: another }, `cursor=${body.next_cursor}`)
      .refused(400, 'validation_failed', { errors: [{ parameter: 'cursor' }] });
  });

  it.each(['null', '1', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10', '52998224725', '%F0%9F%8D%95'])(
    'GET /wallets/{id}/entries returns 404 when no wallet has the ID %s',
    async (id) => {
      await merchant.entries({ id }).refused(404, 'not_found');
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
    await merchant.entries({ id }, query).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });
});
