import { beforeAll, describe, expect, it } from '@jest/globals';
import { eventsOf, numberEvents } from '../support/events.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { documentOf, type Entry } from '../support/shop.js';
import { useAdmin } from '../support/use-admin.js';
import type { Row } from '../support/wallets.js';

const { service, admin } = useAdmin();
let merchant: TestMerchant;
let other: TestMerchant;
beforeAll(async () => {
  merchant = await aMerchant(service, { releaseDays: 0, earnRateBps: 750 });
  other = await aMerchant(service);
});

/** A customer with a grant, a debit, a refunded order that redeemed some of it, and an order that holds some. */
async function aCustomer(shop: TestMerchant) {
  const document = aDocument();
  const grant = { external_id: `G-${document}`, document, amount: '40.00', reason: 'Desculpe' };
  expect((await shop.client.post('/grants', grant)).status).toBe(201);
  const order = await shop.completed({ document, total: '100.00' }, { redeem: '10.00' });
  const refund = await shop.refund(order, '50.00', { external_id: 'DEV-1' });
  const pending = await shop.create({ document });
  await shop.hold(pending, '3.00');
  const debit = await shop.debit({ document, amount: '2.00', note: 'Seen' });
  return { document, order, pending, refund, debit };
}

describe('`order show`', () => {
  it('`order show` prints an order as the API shows it, with its merchant, policy, refunds and ledger entries', async () => {
    const { document, order, refund } = await aCustomer(merchant);
    const shown = await admin.json<{ entries: Entry[] }>('order', 'show', '--order', order.id);
    expect(shown).toEqual({
      ...(await merchant.order(order)),
      merchant_id: merchant.id,
      policy: expect.objectContaining({ earn_rate: '7.5%', redeem_share: '50%', release_days: 0 }),
      refunds: [refund],
      entries: expect.any(Array),
    });
    const movements = (entries: Entry[]): string[] =>
      entries.filter(({ order_id: id }) => id === order.id).map(({ seq, kind, amount }) => `${seq} ${kind} ${amount}`);
    expect(movements(shown.entries)).toEqual(movements(await merchant.statement(document)).reverse());
    const named = ['--merchant', merchant.id, '--external-id', order.external_id];
    expect(await admin.json('order', 'show', ...named)).toEqual(shown);
  });

  it('`order show` prints sections with the names of the API and local times on a terminal', async () => {
    const { order } = await aCustomer(merchant);
    await merchant.refund(order, '10.00', { external_id: 'DEV-2' });
    const shown = await admin.onTerminal('order', 'show', '--order', order.id, '--limit', '1');
    const text = shown.join('\n');
    expect(text).toMatch(/^id +[0-9a-f-]{36}\nexternal_id +PED-.*\nstatus +partially_refunded$/m);
    expect(text).toMatch(/^cashback.to_redeem.redeemed +10.00$/m);
    expect(text).toMatch(/^policy.earn_rate +7.5%$/m);
    expect(text).toMatch(/\n\nitems\nid +price +quantity +description\nsku-1 +100.00 +1 +Café em grãos\n\n/);
    expect(text).toMatch(
      /\n\nrefunds\nexternal_id +order_external_id +amount +eligible_amount +items +rest +cashback_returned +cashback_taken_back +amount_to_pay_back +created_at +created_by.name +voidable\nDEV-2 +\S+ +10.00 +10.00 +\[\] +false +1.00 +\S+ +9.00 +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d-03:00 +User \S+ +true\n\nentries\nseq +kind /,
    );
    expect(shown.at(-1)).toBe('at most 1 row of each list; for more, use --limit');
    expect(text).not.toContain('DEV-1');
  });

  it('`order show` finds no order of another merchant by its external ID and says which options it needs', async () => {
    const { external_id: externalId, id } = await merchant.create();
    const of = ['--external-id', externalId];
    expect(await admin.refusal('order', 'show', '--merchant', other.id, ...of)).toContain(
      'no order has this external_id',
    );
    expect(await admin.refusal('order', 'show', '--order', other.id)).toContain('no order has this ID');
    for (const options of [[], of, ['--merchant', merchant.id]])
      expect(await admin.refusal('order', 'show', ...options)).toContain("either '--order' or both");
    expect(await admin.refusal('order', 'show', '--order', id, ...of)).toContain('cannot be used with');
  });
});

describe('`customer export`', () => {
  const exported = (document: string, shop = merchant) =>
    admin.builtJson<Record<string, Row[]> & { entries: Entry[] }>(
      ['customer', 'export', '--merchant', shop.id, '--document-stdin'],
      `${document}\n`,
    );

  it('`customer export` prints every row that is stored about a customer and nothing about anybody else', async () => {
    const { document, order, pending, refund, debit } = await aCustomer(merchant);
    await aCustomer(merchant);
    const elsewhere = await other.completed({ document });
    await numberEvents(service);
    const found = await exported(document);
    const wallet = await merchant.wallet(document);
    // As callers read it, without columns that only the service needs.
    expect(found).toEqual({
      ...{ document, exported_at: expect.stringMatching(/Z$/), wallet },
      orders: [await merchant.order(order), await merchant.order(pending)],
      refunds: [refund],
      credits: expect.arrayContaining((await merchant.credits(wallet)).data),
      grants: [await merchant.readGrant({ id: found.grants![0]!.id as string })],
      debits: [debit],
      entries: await merchant.statement(document),
      events: (await eventsOf(service, merchant)).filter((event) => documentOf(event) === document),
    });
    expect(found.credits!.map(({ amount, source }) => [amount, (source as Row).reason])).toEqual([
      ['40.00', 'Desculpe'],
      ['6.75', null],
    ]);
    expect(JSON.stringify(found)).not.toContain(elsewhere.id);
    expect((await exported(document, other)).orders).toMatchObject([{ id: elsewhere.id }]);
  });

  it('`customer export` prints a customer who has orders and no wallet', async () => {
    const document = aDocument();
    const { id } = await merchant.create({ document });
    const wallet = { id: null, available: '0.00' };
    expect(await exported(document)).toMatchObject({ wallet, entries: [], credits: [], orders: [{ id }] });
  });

  it('`customer export` exits with 1 for an unknown or erased customer and needs a document', async () => {
    const { document } = await aCustomer(merchant);
    const of = ['--merchant', merchant.id, '--document', document];
    expect((await admin.json('customer', 'export', ...of)).orders).toHaveLength(2);
    await admin.json('customer', 'erase', ...of);
    await admin.refusal('customer', 'export', ...of);
    await admin.refusal('customer', 'export', '--merchant', merchant.id, '--document', aDocument());
    expect(await admin.refusal('customer', 'export', '--merchant', merchant.id)).toContain('--document-stdin');
  });
});
