import { afterEach, describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { changesAmong, expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, punctuated } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { type Debit, oneAtOnce } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });
afterEach(() => expectInvariants(service));

/** A customer with 20.00 until day 10, 10.00 until day 5, and 30.00 that are pending until day 2. */
async function aCustomer(): Promise<string> {
  const document = await merchant.customerWith('20.00', { expiresAt: service.clock.inDays(10) });
  await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(5) });
  await merchant.credit(document, '30.00', {
    availableAt: service.clock.inDays(2),
    expiresAt: service.clock.inDays(4),
  });
  return document;
}

const remaining = async (document: string): Promise<string[]> =>
  (
    await merchant.all<{ remaining: string }>(`/wallets/${(await merchant.wallet(document)).id}/credits?status=all`)
  ).map((credit) => credit.remaining);

describe('POST /debits', () => {
  it('a debit takes what can be spent by expiry, then what is pending, and says so everywhere', async () => {
    const document = await aCustomer();
    const debit = await merchant
      .debit({
        document: punctuated(document),
        amount: '35.00',
        note: 'Approved',
        store: 'SP-014',
        metadata: { a: 'b' },
      })
      .changed();
    const { id: walletId } = await merchant.wallet(document);
    expect(debit).toMatchObject({
      ...{ wallet_id: walletId, document, amount: '35.00', requested_amount: '35.00', take: null },
      ...{ restored: '0.00', not_restored: '0.00', reason: 'Granted twice', note: 'Approved', store: 'SP-014' },
      ...{ metadata: { a: 'b' }, created_by: merchant.by, voided_at: null, voided_by: null, void_reason: null },
    });
    expect(await merchant.readDebit(debit)).toEqual(debit);
    expect(await merchant.get(`/debits?external_id=${debit.external_id}`)).toMatchObject({ data: [debit] });
    expect(await remaining(document)).toEqual(['25.00', '0.00', '0.00']);
    const lines = (await merchant.statement(document)).filter(({ kind }) => kind === 'debit');
    expect(lines).toMatchObject([
      { amount: '-10.00', debit_id: debit.id, debit_external_id: debit.external_id, reason: 'Granted twice' },
      { amount: '-20.00', by: merchant.by, store: 'SP-014', order_id: null, source: { type: 'grant' } },
      { amount: '-5.00', balance: '25.00' },
    ]);
    const [event] = (await eventsOf(service, merchant)).filter(({ type }) => type === 'cashback.debited').slice(-1);
    expect(event!.data).toEqual({
      amount: '35.00',
      debit: {
        ...{ id: debit.id, external_id: debit.external_id, store: 'SP-014', amount: '35.00' },
        ...{ reason: 'Granted twice', metadata: { a: 'b' } },
      },
      wallet: {
        ...{ id: walletId, document, available: '0.00', pending: '25.00', held: '0.00', debt: '0.00', frozen: false },
      },
    });
  });

  it('a debit never takes what orders hold, and more than the rest is 422 with the maximum', async () => {
    const order = await merchant.orderThatHolds('30.00');
    const refused = await merchant
      .debit({ document: order.document, amount: '50.01' })
      .refused(422, 'debit_exceeds_balance', ['/amount']);
    expect(refused).toMatchObject({ maximum: '50.00', next_action: 'fix_request' });
    await merchant.debit({ document: order.document, amount: '50.00' });
    expect(await merchant.wallet(order.document)).toMatchObject({ available: '0.00', held: '30.00' });
    await merchant.complete(order);
  });

  it('with take, a debit takes what there is, and is refused if there is nothing', async () => {
    const document = await merchant.customerWith('12.34');
    const debit = await merchant.debit({ document, take: 'available' });
    expect(debit).toMatchObject({ amount: '12.34', requested_amount: '20.00', take: 'available' });
    await merchant.debit({ document, take: 'available' }).refused(422, 'debit_exceeds_balance', { maximum: '0.00' });
    const unknown = aDocument();
    await merchant.debit({ document: unknown, take: 'available' }).refused(422, 'debit_exceeds_balance');
    expect((await merchant.wallet(unknown)).id).toBeNull();
  });

  it('a repeated debit returns the debit in its current state, also after an erasure, and different content 409', async () => {
    const document = await merchant.customerWith('50.00');
    const body = {
      external_id: `FIX-${document}`,
      document,
      amount: '20.00',
      reason: 'Twice',
      note: 'n',
      take: 'available',
    };
    const debit = await merchant.debit(body);
    expect(await merchant.debit({ ...body, document: punctuated(document), amount: '20' }).replayed()).toEqual(debit);
    for (const [member, value] of Object.entries({
      ...{
        document: aDocument(),
        amount: '19.99',
        reason: 'other',
        note: null,
        take: null,
        store: 'X',
        metadata: { a: 'b' },
      },
    }))
      await merchant
        .debit({ ...body, [member]: value })
        .refused(409, 'external_id_conflict', [member === 'metadata' ? '/metadata/a' : `/${member}`]);
    await merchant.voidDebit(debit);
    expect(await merchant.debit(body).replayed()).toMatchObject({ restored: '20.00' });
    await merchant.erase(document);
    const erased = await merchant.debit(body).replayed();
    expect(erased).toMatchObject({ reason: null, note: null, metadata: {}, void_reason: null });
    expect(erased.document).not.toBe(document);
    await merchant.debit({ ...body, reason: 'other' }).refused(409, 'external_id_conflict');
  });

  it.each([
    ['/amount', { amount: '0.00' }],
    ['/amount', { amount: '1.001' }],
    ['/reason', { reason: null }],
    ['/reason', { reason: ' ' }],
    ['/document', { document: '1234' }],
    ['/take', { take: 'all' }],
    ['/external_id', { external_id: 'a ' }],
    ['/note', { note: 'x'.repeat(501) }],
  ])('POST /debits returns 400 at %s for %j', async (pointer, members) => {
    await merchant.debit({ document: aDocument(), ...members }).refused(400, 'validation_failed', [pointer]);
  });

  it('debits need the permission debits, their list reports; another merchant does not see them', async () => {
    const document = await merchant.customerWith('50.00');
    const [user, grantor] = [
      await aUser(service, merchant.id, ['debits']),
      await aUser(service, merchant.id, ['grants']),
    ];
    await grantor.debit({ document }).refused(403, 'forbidden', { permission: 'debits' });
    const debit = await user.debit({ document });
    await grantor.voidDebit(debit).refused(403, 'forbidden', { permission: 'debits' });
    await user.get('/debits').refused(403, 'forbidden', { permission: 'reports' });
    expect(await grantor.readDebit(debit)).toEqual(debit);
    const other = await aMerchant(service);
    await other.readDebit(debit).refused(404, 'not_found');
    await other.voidDebit(debit).refused(404, 'not_found');
    await other.debit({ document }).refused(422, 'debit_exceeds_balance');
    expect(await merchant.get(`/debits?user_id=${user.userId}`)).toMatchObject({ data: [debit], next_cursor: null });
  });

  it('debits at the same time take no more than there is, and equal ones take once', async () => {
    const document = await merchant.customerWith('20.00');
    await oneAtOnce(6, () => merchant.debit({ document }), 422, { code: 'debit_exceeds_balance', maximum: '0.00' });
    const other = await merchant.customerWith('20.00');
    const body = { external_id: `FIX-${other}`, document: other };
    const answers = await atOnce(8, () => merchant.debit(body).answer);
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201));
    expect(changesAmong(answers)).toBe(1);
    expect((await merchant.wallet(other)).available).toBe('0.00');
  });

  it('the ledger report has what was debited, less what voids restored, in the store of the debit', async () => {
    const shop = await aLongLivedMerchant(service);
    const document = await shop.customerWith('50.00');
    const first = await shop.debit({ document, amount: '15.00', store: 'SP-014' });
    await shop.debit({ document, amount: '4.00' });
    await shop.voidDebit(first);
    const today = service.clock.now().toISOString().slice(0, 10);
    const tomorrow = service.clock.inDays(2).toISOString().slice(0, 10);
    const { total } = await shop.get<{ total: object }>(`/reports/ledger?from=${today.slice(0, 8)}01&to=${tomorrow}`);
    expect(total).toMatchObject({ granted: '50.00', debited: '4.00', closing: '46.00' });
  });
});

describe('POST /debits/{id}/void', () => {
  const voided = (debit: Debit, members: object): object => ({ ...debit, ...members });

  it('a void restores to the same credits with their own dates, and a repeated one changes nothing', async () => {
    const document = await aCustomer();
    const debit = await merchant.debit({ document, amount: '35.00' });
    const given = await merchant.voidDebit(debit, { reason: 'Wrong customer' }).changed();
    expect(given).toEqual(
      voided(debit, {
        ...{ restored: '35.00', not_restored: '0.00', void_reason: 'Wrong customer' },
        ...{ voided_at: expect.any(String), voided_by: merchant.by },
      }),
    );
    expect(await remaining(document)).toEqual(['30.00', '10.00', '20.00']);
    expect(await merchant.voidDebit(debit, { reason: 'again' }).replayed()).toEqual(given);
    expect((await merchant.movements(document)).slice(-3)).toEqual(['debit 5.00', 'debit 10.00', 'debit 20.00']);
    expect(await merchant.wallet(document)).toMatchObject({ available: '30.00', pending: '30.00' });
    const [event] = (await eventsOf(service, merchant))
      .filter(({ type }) => type === 'cashback.debit_voided')
      .slice(-1);
    expect(event!.data).toMatchObject({ amount: '35.00', debit: { id: debit.id }, wallet: { available: '30.00' } });
  });

  it('voids at the same time restore once', async () => {
    const document = await merchant.customerWith('20.00');
    const debit = await merchant.debit({ document });
    const answers = await atOnce(6, () => merchant.voidDebit(debit).answer);
    expect(answers.map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect((await merchant.wallet(document)).available).toBe('20.00');
  });
});
