import { beforeEach, describe, expect, it } from '@jest/globals';
import { PERMISSIONS } from '../../src/platform/values/caller.js';
import { atOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const { service, admin } = useAdmin();

/** A merchant, and an API user whose token is in wrong hands. */
let merchant: TestMerchant;
let thief: TestMerchant;
let since: string;
beforeEach(async () => {
  merchant = await aMerchant(service, { releaseDays: 0 });
  thief = await aUser(service, merchant.id, PERMISSIONS, 'Caixa 3');
  since = new Date().toISOString();
});

const ofUser = (user: string, ...more: string[]): string[] => ['cashback', 'void', '--user', user, ...more];

const emailOf = async ({ userId }: TestMerchant): Promise<string> =>
  (await rowsOf<{ email: string }>(service, 'SELECT email FROM api_users WHERE id = ?', [userId]))[0]!.email;

describe('`cashback void` of an API user', () => {
  it('shows the grants of the user and the orders that it completed, and changes nothing', async () => {
    const [document, other] = [aDocument(), aDocument()];
    const before = await thief.grant({ document });
    await new Promise((resolve) => setTimeout(resolve, 2));
    const from = new Date().toISOString();
    const order = await merchant.create({ document });
    const grants = [
      await thief.grant({ document, amount: '30.00', store: 'RJ-003' }),
      await thief.grant({ document: other }),
    ];
    await merchant.grant({ document });
    await thief.hold(order, '5.00');
    const { to_receive: received } = (await thief.complete(order)).cashback;
    await merchant.complete(await thief.create({ document }));
    const [sold, own] = [await merchant.completed({ document: aDocument() }), aDocument()];
    await thief.put(`/orders/${sold.id}/customer`, { document: own, reason: 'Mine' });
    const shown = await admin.json(...ofUser(thief.by.user_id, '--since', from));
    expect(shown).toMatchObject({
      ...{ user_id: thief.by.user_id, user_name: 'Caixa 3', merchant_id: merchant.id },
      ...{ grant_count: 2, completed_count: 1, voided: '0.00', held: '0.00', earned: received.amount },
      grants: [{ id: grants[0]!.id, amount: '30.00', store: 'RJ-003', voided: '0.00' }, { id: grants[1]!.id }],
      completed_orders: [{ id: order.id, external_id: order.external_id, document, earned: received.amount }],
      corrected_orders: [{ id: sold.id, external_id: sold.external_id, document: own, moved: '7.50', reason: 'Mine' }],
    });
    expect(await admin.json(...ofUser(await emailOf(thief), '--since', from))).toEqual(shown);
    const table = (await admin.onTerminal(...ofUser(thief.by.user_id, '--since', from))).join('\n');
    expect(table).toMatch(/^since +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d-03:00$/m);
    expect(table).toMatch(
      new RegExp(`^${order.id} +${order.external_id} +${document} +[\\d.]+ +[\\d-]{10} [\\d:]{8}-03:00$`, 'm'),
    );
    expect(await admin.json(...ofUser(thief.by.user_id, '--since', since))).toMatchObject({ grant_count: 3 });
    expect(await merchant.get(`/grants/${before.id}`)).toMatchObject({ voided: '0.00', voided_at: null });
  });

  it('with --yes, voids what is left of each grant, and finds nothing more when it is repeated', async () => {
    const documents = Array.from({ length: 103 }, () => aDocument());
    for (const document of documents) await thief.grant({ document, amount: '2.00' });
    const order = await merchant.create({ document: documents[0]! });
    await merchant.hold(order, '0.50');
    const kept = await merchant.grant({ document: documents[1]!, amount: '7.00' });
    const args = ofUser(thief.by.user_id, '--since', since, '--yes', '--reason', 'stolen token', '--limit', '1');
    const voided = await admin.json<{ grants: object[] }>(...args);
    expect(voided).toMatchObject({
      grant_count: 103,
      granted: '206.00',
      remaining: '0.50',
      held: '0.50',
      voided: '205.50',
    });
    expect(voided.grants).toEqual([expect.objectContaining({ remaining: '0.50', voided: '1.50' })]);
    const [record] = await admin.list('audit', 'list', '--limit', '1');
    expect(record).toMatchObject({
      ...{ command: 'cashback void', outcome: 'done' },
      details: { api_user_id: thief.by.user_id, merchant_id: merchant.id, grants: 103, reason: 'stolen token' },
    });
    expect(await admin.json(...args)).toEqual(voided);
    expect(await merchant.get(`/grants/${kept.id}`)).toMatchObject({ remaining: '7.00', voided: '0.00' });
    const [first] = (await merchant.get<{ data: object[] }>(`/grants?user_id=${thief.by.user_id}&limit=1`)).data;
    expect(first).toMatchObject({ voided: '2.00', voided_by: { name: 'operator' }, void_reason: 'stolen token' });
    await expectInvariants(service);
  });

  it('takes each grant back once, also in two runs at once', async () => {
    const document = aDocument();
    for (let granted = 0; granted < 5; granted++) await thief.grant({ document, amount: '2.00' });
    const args = ofUser(thief.by.user_id, '--since', since, '--yes');
    for (const voided of await atOnce(2, () => admin.builtJson(args)))
      expect(voided).toMatchObject({ voided: '10.00' });
    const fiveTimes = (movement: string): string[] => Array.from({ length: 5 }, () => movement);
    expect(await merchant.movements(document)).toEqual([...fiveTimes('grant 2.00'), ...fiveTimes('void -2.00')]);
  });

  it('refuses an unknown user, a missing or a bad instant, and options of one grant', async () => {
    const unknown = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
    expect(await admin.refusal(...ofUser(unknown, '--since', since))).toContain('no user has this ID');
    expect(await admin.refusal(...ofUser('Caixa 3', '--since', since))).toContain('no user has this ID');
    expect(await admin.refusal(...ofUser('no@one.example', '--since', since))).toContain('no@one.example');
    expect(await admin.refusal(...ofUser(thief.by.user_id))).toContain('--since');
    expect(await admin.refusal(...ofUser(thief.by.user_id, '--since', 'yesterday'))).toContain('instant');
    for (const of of [
      ['--grant', unknown],
      ['--external-id', 'X'],
      ['--merchant', merchant.id],
    ])
      expect(await admin.refusal(...ofUser(thief.by.user_id, '--since', since, ...of))).toContain('cannot be used');
  });
});
