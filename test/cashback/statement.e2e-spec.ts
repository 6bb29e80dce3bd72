import { afterEach, describe, expect, it } from '@jest/globals';
import { SweepsService } from '../../src/operations/sweeps.service.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Entry, Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

const NO_NAMES = {
  order_external_id: null,
  refund_external_id: null,
  grant_id: null,
  grant_external_id: null,
  reason: null,
};

describe('the names in a statement', () => {
  it('each line has the external IDs of its order, refund and grant, and only those of the grant itself have its reason', async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
    const { body: granted } = await merchant.client.post('/grants', sorry);
    const order = await merchant.completed({ document }, { redeem: '5.00' });
    const refund = await merchant.refund(order, '150.00', { external_id: 'DEV-Nº 1' });
    await merchant.voidGrant(granted);
    const ofOrder = { ...NO_NAMES, order_id: order.id, order_external_id: order.external_id };
    const fromGrant = { grant_id: granted.id, grant_external_id: sorry.external_id, reason: null };
    const ofGrant = { ...fromGrant, reason: 'Late delivery' };
    const ofRefund = { refund_id: refund.id, refund_external_id: 'DEV-Nº 1' };
    expect(await merchant.statement(document)).toMatchObject([
      { kind: 'grant', ...NO_NAMES, ...ofGrant, credit_id: granted.id },
      { kind: 'redeem', ...ofOrder, ...fromGrant },
      { kind: 'earn', ...ofOrder },
      { kind: 'return', ...ofOrder, ...ofRefund, ...fromGrant },
      { kind: 'take_back', ...ofOrder, ...ofRefund },
      { kind: 'void', ...NO_NAMES, ...ofGrant, order_id: null, refund_id: null },
    ]);
  });

  it('lines of the debt and of a grant without an external ID and a reason have names too', async () => {
    const document = aDocument();
    const first = await merchant.completed({ document });
    await service.clock.advance({ days: 10 });
    await merchant.completed({ document, total: '15.00' }, { redeem: '7.50' });
    await merchant.refund(first, '150.00', { external_id: 'DEV-1' });
    await merchant.credit(document, '50.00');
    const lines = await merchant.statement(document);
    const ofOrder = { order_id: first.id, order_external_id: first.external_id, refund_external_id: 'DEV-1' };
    expect(lines.find(({ kind }) => kind === 'debt')).toMatchObject({ ...NO_NAMES, ...ofOrder, credit_id: null });
    const granted = lines.find(({ kind }) => kind === 'grant');
    expect(granted).toMatchObject({
      grant_id: granted?.credit_id,
      grant_external_id: granted?.credit_id,
      reason: null,
    });
    expect(lines.find(({ kind }) => kind === 'repay')).toMatchObject({ ...NO_NAMES, order_id: null });
  });

  it("an erased customer's statement keeps the external IDs and has no reasons", async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '20.00', reason: 'Late delivery' };
    await merchant.client.post('/grants', sorry);
    const order = await merchant.completed({ document });
    const { id } = await merchant.wallet(document);
    await merchant.erase(document);
    expect((await merchant.entries({ id })).data).toMatchObject([
      { kind: 'earn', order_external_id: order.external_id, grant_id: null, reason: null },
      { kind: 'grant', grant_external_id: sorry.external_id, reason: null },
    ]);
  });
});

describe('the source of a line', () => {
  it('every line of a credit says where the credit comes from, a line of the debt does not, and each is one ledger entry', async () => {
    const document = aDocument();
    const granted = await merchant.grant({ document, amount: '20.00', store: 'RJ-003', reason: 'Late delivery' });
    const order = await merchant.completed({ document, total: '200.00', store: 'SP-014' });
    await service.clock.advance({ days: 10 });
    const spent = await merchant.completed({ document, total: '60.00', earn_amount: '0.00' }, { redeem: '30.00' });
    await merchant.refund(order, '200.00');
    await merchant.refund(spent, '20.00');
    const debit = await merchant.debit({ document, take: 'available', amount: '0.50', reason: 'Granted twice' }).answer;
    const ofGrant = { type: 'grant', id: granted.id, external_id: granted.external_id, store: 'RJ-003', return: false };
    const ofOrder = { type: 'order', id: order.id, external_id: order.external_id, store: 'SP-014', return: false };
    const lines = await merchant.statement(document);
    const shown = lines.map(({ kind, amount, source, lines: number, reason }) => [
      kind,
      amount,
      source,
      number,
      reason,
    ]);
    expect(shown).toEqual([
      ['grant', '20.00', ofGrant, 1, 'Late delivery'],
      ['earn', '10.00', ofOrder, 1, null],
      ['redeem', '-20.00', ofGrant, 1, null],
      ['redeem', '-10.00', ofOrder, 1, null],
      ['debt', '10.00', null, 1, null],
      ['return', '10.00', ofOrder, 1, null],
      ['take_back', '-10.00', ofOrder, 1, null],
      ['repay', '-10.00', null, 1, null],
    ]);
    expect(debit.status).toBe(422);
  });

  it('the lines of a void, an expiry, a debit and its void, and a corrected customer say where their credit comes from', async () => {
    const document = aDocument();
    const granted = await merchant.grant({ document, amount: '20.00', reason: 'Late delivery', store: 'RJ-003' });
    const debit = await merchant.debit({ document, amount: '5.00', reason: 'Granted twice', store: 'MG-001' });
    await merchant.voidDebit(debit);
    await merchant.debit({ document, amount: '2.00', reason: 'Another reason' });
    await merchant.voidGrant(granted);
    await merchant.credit(document, '3.00', { expiresAt: service.clock.inDays(1) });
    const operator = (await merchant.statement(document)).at(-1)!.credit_id!;
    await service.clock.advance({ days: 2 });
    const order = await merchant.completed({ document, store: 'SP-014' });
    const right = aDocument();
    await merchant.changeCustomer(order, right);
    const ofGrant = { type: 'grant', id: granted.id, external_id: granted.external_id, store: 'RJ-003', return: false };
    const ofOperator = { type: 'grant', id: operator, external_id: operator, store: null, return: false };
    const ofOrder = { type: 'order', id: order.id, external_id: order.external_id, store: 'SP-014', return: false };
    const ofDebit = { debit_id: debit.id, debit_external_id: debit.external_id, reason: 'Granted twice' };
    const none = { debit_id: null, debit_external_id: null };
    const lines = [...(await merchant.statement(document)), ...(await merchant.statement(right))];
    expect(lines).toMatchObject([
      { kind: 'grant', amount: '20.00', source: ofGrant, ...none, reason: 'Late delivery' },
      { kind: 'debit', amount: '-5.00', source: ofGrant, ...ofDebit, store: 'MG-001' },
      { kind: 'debit', amount: '5.00', source: ofGrant, ...ofDebit, store: 'MG-001' },
      { kind: 'debit', amount: '-2.00', source: ofGrant, reason: 'Another reason' },
      { kind: 'void', amount: '-18.00', source: ofGrant, ...none, reason: 'Late delivery' },
      { kind: 'grant', amount: '3.00', source: ofOperator, ...none, reason: null },
      { kind: 'expire', amount: '-3.00', source: ofOperator, ...none, reason: null },
      { kind: 'earn', amount: '7.50', source: ofOrder, ...none, reason: null },
      { kind: 'move_out', amount: '-7.50', source: ofOrder, ...none, reason: null },
      { kind: 'move_in', amount: '7.50', source: ofOrder, ...none, reason: null },
    ]);
    expect(lines.map((line) => line.lines)).toEqual(lines.map(() => 1));
    for (const { source } of lines)
      expect(Object.keys(source!).sort()).toEqual(['external_id', 'id', 'return', 'store', 'type']);
  });

  it('a line of a credit that a refund returned as a new one names the order on which it was redeemed', async () => {
    const document = await merchant.customerWith('20.00', { expiresAt: service.clock.inDays(1) });
    const order = await merchant.completed({ document, earn_amount: '0.00', store: 'SP-014' }, { redeem: '20.00' });
    await service.clock.advance({ days: 2 });
    const refund = await merchant.refund(order, '150.00');
    const last = (await merchant.statement(document)).at(-1)!;
    expect(last).toMatchObject({
      ...{ kind: 'return', amount: '20.00', refund_id: refund.id, grant_id: null, reason: null },
      source: { type: 'order', id: order.id, external_id: order.external_id, return: true },
    });
    const [credit] = (await merchant.credits(await merchant.wallet(document))).data;
    expect(credit).toMatchObject({ id: last.credit_id, store: last.source!.store });
  });
});

describe('GET /wallets/{id}/entries?by=change', () => {
  /** A customer with three grants, of each of which an order redeems a part, and two refunds that return it. */
  async function aWallet(): Promise<{ id: string; document: string; order: Order }> {
    const document = aDocument();
    for (const [amount, days] of [
      ['20.00', 60],
      ['10.00', 20],
      ['30.00', 40],
    ] as const)
      await merchant.credit(document, amount, { expiresAt: service.clock.inDays(days) });
    const order = await merchant.completed({ document }, { redeem: '45.00' });
    await merchant.refund(order, '75.00');
    await merchant.refund(order, '75.00');
    const { id } = await merchant.wallet(document);
    return { id, document, order };
  }

  it('a redemption and a refund of many credits are one line with the sum, and the balance after it', async () => {
    const { id, document, order } = await aWallet();
    const entries = await merchant.statement(document);
    const short = ({ seq, kind, amount, balance, lines }: Entry): unknown[] => [seq, kind, amount, balance, lines];
    expect(entries.map(short)).toEqual([
      [1, 'grant', '20.00', '20.00', 1],
      [2, 'grant', '10.00', '30.00', 1],
      [3, 'grant', '30.00', '60.00', 1],
      [4, 'redeem', '-10.00', '50.00', 1],
      [5, 'redeem', '-30.00', '20.00', 1],
      [6, 'redeem', '-5.00', '15.00', 1],
      [7, 'earn', '5.25', '20.25', 1],
      [8, 'return', '5.00', '25.25', 1],
      [9, 'return', '17.50', '42.75', 1],
      [10, 'take_back', '-2.63', '40.12', 1],
      [11, 'return', '12.50', '52.62', 1],
      [12, 'return', '10.00', '62.62', 1],
      [13, 'take_back', '-2.62', '60.00', 1],
    ]);
    const changes = (await merchant.entries({ id }, 'by=change')).data.toReversed();
    expect(changes.map(short)).toEqual([
      [1, 'grant', '20.00', '20.00', 1],
      [2, 'grant', '10.00', '30.00', 1],
      [3, 'grant', '30.00', '60.00', 1],
      [6, 'redeem', '-45.00', '15.00', 3],
      [7, 'earn', '5.25', '20.25', 1],
      [9, 'return', '22.50', '42.75', 2],
      [10, 'take_back', '-2.63', '40.12', 1],
      [12, 'return', '22.50', '62.62', 2],
      [13, 'take_back', '-2.62', '60.00', 1],
    ]);
    // A line of one entry is that entry. One of several names no credit, and is the last entry otherwise.
    const several = { credit_id: null, source: null, grant_id: null, grant_external_id: null, reason: null };
    for (const change of changes) {
      const last = entries[change.seq - 1]!;
      const { lines, amount } = change;
      expect(change).toEqual(lines === 1 ? last : { ...last, ...several, lines, amount });
    }
    expect(changes[3]).toMatchObject({ order_id: order.id, order_external_id: order.external_id, refund_id: null });
  });

  it.each([1, 2, 3, 5, 100])(
    'pages of %d lines by change return the same lines, and end between changes',
    async (limit) => {
      const { id } = await aWallet();
      const { data } = await merchant.entries({ id }, 'by=change&limit=100');
      expect(data).toHaveLength(9);
      const pages = await merchant.client.pages<Entry>(`/wallets/${id}/entries?by=change&limit=${limit}`);
      expect(pages.flatMap((page) => page.data)).toEqual(data);
      for (const page of pages) expect(page.data.length).toBeLessThanOrEqual(limit);
    },
  );

  it.each([1, 2])('pages of %d lines by change return each existing line once while lines are added', async (limit) => {
    const { id, document } = await aWallet();
    const { data } = await merchant.entries({ id }, 'by=change&limit=100');
    const seen: Entry[] = [];
    for (let cursor = ''; ;) {
      const page = await merchant.entries({ id }, `by=change&limit=${limit}${cursor}`);
      seen.push(...page.data);
      if (page.next_cursor === null) break;
      await merchant.credit(document, '10.00');
      await merchant.completed({ document, total: '50.00', earn_amount: '0.00' }, { redeem: '15.00' });
      cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
    }
    expect(seen).toEqual(data);
  });

  it('changes of the same kind stay apart: two orders, two grants, and a debit and its void', async () => {
    const document = aDocument();
    for (const days of [20, 30]) await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(days) });
    await merchant.completed({ document, earn_amount: '0.00' }, { redeem: '4.00' });
    await merchant.completed({ document, earn_amount: '0.00' }, { redeem: '4.00' });
    const debit = await merchant.debit({ document, amount: '5.00', reason: 'Granted twice' });
    await merchant.voidDebit(debit);
    const { id } = await merchant.wallet(document);
    const changes = (await merchant.entries({ id }, 'by=change')).data.toReversed();
    expect(changes.map(({ kind, amount, lines }) => [kind, amount, lines])).toEqual([
      ['grant', '10.00', 1],
      ['grant', '10.00', 1],
      ['redeem', '-4.00', 1],
      ['redeem', '-4.00', 1],
      ['debit', '-5.00', 2],
      ['debit', '5.00', 2],
    ]);
    // The reason of a debit is of the debit, and not of a credit.
    for (const change of changes.slice(-2))
      expect(change).toMatchObject({ debit_id: debit.id, reason: 'Granted twice', source: null, credit_id: null });
  });

  it('GET /wallets/{id}/entries?by=change returns 404 for another merchant, and 400 for another word', async () => {
    const { id } = await merchant.wallet(await merchant.customerWith('5.00'));
    const other = await aMerchant(service);
    await other.entries({ id }, 'by=change').refused(404, 'not_found');
    const first = await merchant.entries({ id }, 'by=change&limit=1');
    expect(first).toMatchObject({ data: [{ kind: 'grant', lines: 1 }], next_cursor: null });
    for (const by of ['x', '', 'Change', 'credit'])
      await merchant.entries({ id }, `by=${by}`).refused(400, 'validation_failed', { errors: [{ parameter: 'by' }] });
  });
});

describe('the order of the lines of one operation', () => {});

describe('the balance of a statement', () => {
  it('the balance is what is available, pending, held, or expired and not yet written off', async () => {
    const document = await merchant.customerWith('30.00', { expiresAt: service.clock.inDays(2) });
    await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(20) });
    await merchant.completed({ document });
    const order = await merchant.create({ document, expires_at: service.clock.inDays(4).toISOString() });
    await merchant.hold(order, '12.00');
    const seen = async (): Promise<string[]> => {
      const { available, pending, held } = await merchant.wallet(document);
      return [available, pending, held, (await merchant.statement(document)).at(-1)!.balance];
    };
    expect(await seen()).toEqual(['28.00', '7.50', '12.00', '47.50']);
    service.clock.skip(3 * 86_400_000);
    expect(await seen()).toEqual(['10.00', '7.50', '12.00', '47.50']);
    await service.app.get(SweepsService).doAll();
    expect(await seen()).toEqual(['10.00', '7.50', '12.00', '29.50']);
  });
});
