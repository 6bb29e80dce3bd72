import { beforeAll, describe, expect, it } from '@jest/globals';
import { atOnce, Client } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aCnpj, aDocument, aMerchant, punctuated, type TestMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';
import type { Credit, Entry, Tokens } from '../support/shop.js';

const { service, admin } = useAdmin();

describe('admin commands for cashback and wallets', () => {
  let merchant: TestMerchant;
  const shownWallet = (document: string) =>
    admin.json<{ credits: Credit[]; entries: Entry[] }>(
      ...['wallet', 'show', '--merchant', merchant.id, '--document', document],
    );
  beforeAll(async () => {
    merchant = await aMerchant(service);
  });

  it('`cashback grant` grants cashback that can be redeemed at once, whatever the time zone of the operator', async () => {
    const document = aDocument();
    const args = ['cashback', 'grant', '--merchant', merchant.id, '--document', document];
    const given = [...args, '--amount', '80', '--expires-on', '2098-12-31', '--reason', 'Desculpe 🎁'];
    const credit = await admin.builtJson(given, '', { TZ: 'Asia/Tokyo' });
    expect(credit).toMatchObject({
      ...{ amount: '80.00', reason: 'Desculpe 🎁' },
      ...{ expires_on: '2098-12-31', expires_at: '2099-01-01T03:00:00.000Z' },
    });
    const [row] = await rowsOf(service, 'SELECT CAST(expires_at AS CHAR) AS text FROM cashback_credits WHERE id = ?', [
      credit.id,
    ]);
    expect(row!.text).toBe('2099-01-01 03:00:00.000');
    expect(await merchant.wallet(document)).toMatchObject({ id: credit.wallet_id, available: '80.00' });

    const later = await admin.json(...args, '--amount', '5.5', '--available-on', '2098-01-01');
    expect(later).toMatchObject({ available_on: '2098-01-01', available_at: '2098-01-01T03:00:00.000Z' });
    expect(later).toMatchObject({ expires_on: '2098-06-29', expires_at: '2098-06-30T03:00:00.000Z' });
    const shown = await shownWallet(document);
    expect(shown).toMatchObject({
      ...(await merchant.wallet(document)),
      pending: '5.50',
      entries: [{ seq: 2 }, { seq: 1, grant_id: credit.id, grant_external_id: credit.id }],
    });
    expect(shown.credits).toContainEqual(
      expect.objectContaining({
        ...{ id: credit.id, remaining: '80.00', expires_on: credit.expires_on, expires_at: credit.expires_at },
        source: { type: 'grant', id: credit.id, external_id: credit.id, reason: 'Desculpe 🎁', return: false },
      }),
    );
    expect(shown.credits.map(({ remaining }) => remaining).sort()).toEqual(['5.50', '80.00']);
    await expectInvariants(service);
  });

  it.each([
    ['CPF', aDocument()],
    ['CNPJ', aCnpj()],
  ])('admin commands read a %s from stdin, so it does not appear in the process list', async (_, document) => {
    const of = ['--merchant', merchant.id, '--document-stdin'];
    const credit = await admin.builtJson(['cashback', 'grant', ...of, '--amount', '3.00'], `${document}\n`);
    expect(await merchant.wallet(document)).toMatchObject({ id: credit.wallet_id, available: '3.00' });
    const written = punctuated(document);
    for (const input of [document, `${written}\n`])
      expect(await admin.builtJson(['wallet', 'show', ...of], input)).toMatchObject({ id: credit.wallet_id });
    expect(await shownWallet(written)).toMatchObject({ id: credit.wallet_id, available: '3.00' });
    expect(await admin.builtJson(['customer', 'erase', ...of], document)).toMatchObject({ wallets: 1 });
    expect((await merchant.wallet(document)).id).toBeNull();
    const invalid = await admin.built(['wallet', 'show', ...of], '529.982.247-2\n');
    expect(invalid).toMatchObject({
      code: 1,
      stdout: '',
      stderr:
        "error: option '--document-stdin' is invalid. It must be a CPF of 11 digits or a CNPJ of 14 characters.\n",
    });
    expect(await admin.refusal('cashback', 'grant', '--merchant', merchant.id, '--amount', '3.00')).toContain(
      '--document-stdin',
    );
  });

  it('`wallet show` finds the wallet of an erased customer by its ID and lists its credits and entries', async () => {
    const document = await merchant.customerWith('3.00');
    const before = await admin.json('wallet', 'show', '--merchant', merchant.id, '--document', document);
    const of = ['--merchant', merchant.id, '--document', document];
    const { wallet_id: walletId, pseudonym } = await admin.json('customer', 'erase', ...of);
    expect(walletId).toBe(before.id);
    expect(await admin.json('wallet', 'show', '--wallet', walletId as string)).toEqual({
      ...before,
      document: pseudonym,
    });
    expect(await admin.json('customer', 'erase', ...of)).toMatchObject({ wallet_id: null, orders: 0, wallets: 0 });
    await admin.refusal('wallet', 'show', ...of);
    await admin.refusal('wallet', 'show', '--wallet', walletId as string, ...of);
    expect(await admin.refusal('wallet', 'show')).toContain('--wallet');
  });

  it('`wallet show` prints at most 100 open credits and their number', async () => {
    const document = aDocument();
    for (let granted = 0; granted < 103; granted++) await merchant.credit(document, '1.00');
    const shown = await shownWallet(document);
    expect(shown).toMatchObject({ available: '103.00', open_credits: 103 });
    expect([shown.credits.length, shown.entries.length]).toEqual([100, 100]);
    const of = ['wallet', 'show', '--merchant', merchant.id, '--document', document];
    for (const limit of [1, 103]) {
      const { credits, entries } = await admin.json<typeof shown>(...of, '--limit', String(limit));
      expect([credits.length, entries.length]).toEqual([limit, limit]);
    }
    for (const limit of ['0', '10001', 'all'])
      expect(await admin.refusal(...of, '--limit', limit)).toContain('a whole number from 1 to 10000');
  });

  it('`wallet show` prints a summary and the latest entries with local times on a terminal', async () => {
    const document = aDocument();
    for (let granted = 0; granted < 12; granted++) await merchant.credit(document, `${granted + 1}.00`);
    const order = await merchant.completed({ document }, { redeem: '2.00' });
    const of = ['wallet', 'show', '--merchant', merchant.id, '--document', document];
    const { credits, entries } = await admin.json<{ credits: object[]; entries: object[] }>(...of);
    expect([credits.length, entries.length]).toEqual([12, 15]);
    const shown = await admin.onTerminal(...of);
    const sections = shown.join('\n').split('\n\n');
    expect(sections.map((section) => section.split('\n').length)).toEqual([18, 12, 12, 1]);
    const [values, creditTable, entryTable, hint] = sections;
    expect(values).toMatch(
      /^document +[\d.-]+\navailable +76.00\npending +\S+\nheld +0.00\ndebt +0.00\nfrozen +false\nfreeze_changed_at\nfreeze_changed_by\nfreeze_reason\nnext_release.amount +/m,
    );
    expect(values).toMatch(/^next_expiry.at +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d-03:00$/m);
    expect(values).toMatch(/^time_zone +America\/Sao_Paulo\nopen_credits +12$/m);
    expect(creditTable).toMatch(/^credits\namount +remaining .* expires_on +source.type +source.external_id /);
    expect(entryTable).toMatch(/^entries\nseq +kind +amount +balance +debt +order_external_id +/);
    expect(entryTable).toMatch(
      new RegExp(`^ 15 +earn +\\d+\\.\\d\\d .* ${order.external_id} .*-03:00  ${merchant.name}$`, 'm'),
    );
    expect(hint).toBe('at most 10 rows of each list; for more, use --limit');
    expect((await admin.onTerminal(...of, '--limit', '100')).length).toBe(shown.length + 2 + 5);
  });

  it('`cashback grant` grants once per external ID, also when repeated or concurrent', async () => {
    const document = aDocument();
    const shared = ['cashback', 'grant', '--merchant', merchant.id, '--external-id', 'SORRY-1', '--document', document];
    const args = [...shared, '--amount', '7.00', '--reason', 'Desculpe'];
    const [first, atTheSameTime] = await Promise.all([admin.builtJson(args), admin.builtJson(args)]);
    expect(first).toMatchObject({ external_id: 'SORRY-1', amount: '7.00' });
    expect(atTheSameTime).toEqual(first);
    expect(await admin.json(...args)).toEqual(first);
    expect(await merchant.wallet(document)).toMatchObject({ available: '7.00' });
    const refusals = [
      await admin.refusal(...shared, '--amount', '7.01', '--reason', 'Desculpe'),
      await admin.refusal(...args, '--expires-on', '2099-01-01'),
      await admin.refusal(...args.map((arg) => (arg === document ? aDocument() : arg))),
    ];
    for (const [at, member] of ['amount', 'expires_on', 'document'].entries())
      expect(refusals[at]).toMatch(new RegExp(`differs in 1 member ${member} differs`));
    expect(await merchant.wallet(document)).toMatchObject({ available: '7.00' });
  });

  it('`cashback grant` recognizes the repeated grant of an erased customer and grants separately for another merchant', async () => {
    const document = aDocument();
    const args = ['cashback', 'grant', '--external-id', 'SORRY-2', '--document', document, '--amount', '7.00'];
    const first = await admin.json(...args, '--merchant', merchant.id);
    await admin.json('customer', 'erase', '--merchant', merchant.id, '--document', document);
    expect(await admin.json(...args, '--merchant', merchant.id)).toEqual(first);
    expect((await merchant.wallet(document)).id).toBeNull();
    const other = await aMerchant(service);
    expect((await admin.json(...args, '--merchant', other.id)).id).not.toBe(first.id);
  });

  it('`cashback grant` refuses the external ID of an erased customer if the grant was made with another secret', async () => {
    const document = aDocument();
    const of = ['--merchant', merchant.id, '--document', document];
    const args = ['cashback', 'grant', ...of, '--external-id', 'SORRY-3', '--amount', '7.00'];
    const first = await admin.builtJson(args, '', { JWT_SECRET: 'a-secret-that-the-service-does-not-have-0123456789' });
    expect(await admin.json(...args)).toEqual(first);
    await admin.json('customer', 'erase', ...of);
    expect(await admin.refusal(...args)).toMatch(/differs in 1 member document differs/);
    expect((await merchant.wallet(document)).id).toBeNull();
  });

  it.each([
    ['--amount', '0.00'],
    ['--expires-on', '2020-01-01'],
    ['--expires-on', '9999-06-01'],
    ['--expires-on', '2099-01-01T00:00:00Z'],
    ['--available-on', '2099-02-30'],
    ['--available-on', '0000-01-01'],
    ['--available-on', '1969-12-31'],
    // Its cashback would expire in the year 9999.
    ['--available-on', '9998-12-01'],
  ])('`cashback grant` grants nothing and names the invalid value when %s is %j', async (option, value) => {
    const document = aDocument();
    const given: Record<string, string> = {
      '--merchant': merchant.id,
      '--document': document,
      '--amount': '1.00',
      [option]: value,
    };
    const said = await admin.refusal(
      'cashback',
      'grant',
      ...Object.entries(given).map(([name, text]) => `${name}=${text}`),
    );
    expect(said).toMatch(value.startsWith('9998') ? /available_on must/ : new RegExp(`${option}|expires_on must`));
    expect((await merchant.wallet(document)).id).toBeNull();
  });
});

describe("the operator's grants above the maximum of the merchant", () => {
  it('`cashback grant` warns above the maximum of the merchant and grants all the same, once', async () => {
    const merchant = await aMerchant(service, { grantMaximumCents: 500 });
    const document = aDocument();
    const args = ['cashback', 'grant', '--merchant', merchant.id, '--document', document, '--external-id', 'MUCH'];
    const { code, stdout, stderr } = await admin.run(...args, '--amount', '5.01');
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: "warning: the grant is above the merchant's maximum of 5.00\n",
    });
    expect(await admin.json(...args, '--amount', '5.01')).toEqual(JSON.parse(stdout));
    await admin.json(...args.slice(0, -1), 'LITTLE', '--amount', '5.00');
    expect(await merchant.wallet(document)).toMatchObject({ available: '10.01' });
  });
});

describe('`cashback void`', () => {
  let merchant: TestMerchant;
  beforeAll(async () => {
    merchant = await aMerchant(service);
  });
  const voiding = (...of: string[]): string[] => ['cashback', 'void', '--merchant', merchant.id, ...of];
  const grantOf = (document: string, ...options: string[]) =>
    admin.json(
      ...['cashback', 'grant', '--merchant', merchant.id, '--document', document, '--amount', '7.00', ...options],
    );

  it('`cashback void` takes back what is left of a grant, and prints the same grant when it is repeated', async () => {
    const document = aDocument();
    const { id, wallet_id } = await grantOf(document);
    const voided = await admin.json(...voiding('--grant', id));
    expect(voided).toEqual({
      id,
      wallet_id,
      external_id: id,
      amount: '7.00',
      remaining: '0.00',
      voided: '7.00',
      voided_at: expect.stringMatching(/Z$/),
    });
    expect(await admin.json(...voiding('--grant', id))).toEqual(voided);
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', debt: '0.00' });
    const [record] = await admin.list('audit', 'list', '--limit', '1');
    expect(record).toMatchObject({
      command: 'cashback void',
      outcome: 'done',
      details: { merchant_id: merchant.id, credit_id: id, voided: '7.00' },
    });
    await expectInvariants(service);
  });

  it('`cashback void` finds a grant of the API by its external ID and leaves what an order holds', async () => {
    const order = await merchant.create();
    const { document } = order;
    const body = await merchant.grant({ external_id: 'MISTAKE', document, amount: '50.00' });
    await merchant.hold(order, '20.00');
    expect(await admin.json(...voiding('--external-id', 'MISTAKE'))).toMatchObject({ id: body.id, voided: '30.00' });
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', held: '20.00' });
    await expectInvariants(service);
  });

  it('two concurrent runs of `cashback void` take the cashback back once', async () => {
    const document = aDocument();
    const { id } = await grantOf(document);
    const [first, second] = await atOnce(2, () => admin.builtJson(voiding('--grant', id)));
    expect(first).toMatchObject({ voided: '7.00' });
    expect(second).toEqual(first);
    expect(await merchant.movements(document)).toEqual(['grant 7.00', 'void -7.00']);
  });

  it('`cashback void` changes nothing for another merchant, an unknown grant, and without one', async () => {
    const document = aDocument();
    const { id } = await grantOf(document, '--external-id', 'KEPT');
    const other = await aMerchant(service);
    for (const of of [
      ['--grant', id],
      ['--external-id', 'KEPT'],
    ])
      await admin.refusal('cashback', 'void', '--merchant', other.id, ...of);
    await admin.refusal(...voiding('--grant', '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10'));
    expect(await admin.refusal(...voiding())).toContain('--external-id');
    expect(await admin.refusal(...voiding('--grant', id, '--external-id', 'KEPT'))).toContain('--grant');
    expect(await merchant.wallet(document)).toMatchObject({ available: '7.00' });
  });
});

describe('`session prune`', () => {
  const DAYS_AGO = (days: number): Date => new Date(Date.now() - days * 86_400_000);
  const end = (merchant: TestMerchant, column: string, at: Date): Promise<unknown> =>
    rowsOf(
      service,
      `UPDATE sessions s JOIN api_users u ON u.id = s.api_user_id SET s.${column} = ? WHERE u.email = ?`,
      [at, merchant.email.toLowerCase()],
    );
  const refresh = (merchant: TestMerchant) =>
    new Client(service).post<Tokens>('/auth/refresh', { refresh_token: merchant.tokens.refresh_token });

  it('`session prune` deletes sessions that ended long ago with their token sets and finds nothing the second time', async () => {
    const [expired, revoked, lately, live] = (await Promise.all(
      Array.from({ length: 4 }, () => aMerchant(service)),
    )) as [TestMerchant, TestMerchant, TestMerchant, TestMerchant];
    expect((await refresh(revoked)).status).toBe(201);
    await end(expired, 'expires_at', DAYS_AGO(31));
    await end(revoked, 'revoked_at', DAYS_AGO(31));
    await end(lately, 'revoked_at', DAYS_AGO(29));

    expect(await admin.json('session', 'prune')).toEqual({ sessions: 2, token_sets: 3 });
    expect(await admin.json('session', 'prune')).toEqual({ sessions: 0, token_sets: 0 });
    await live.orders();
    for (const gone of [expired, revoked, lately]) {
      await gone.orders().refused(401, 'invalid_token');
      expectProblem(await refresh(gone), 401, 'invalid_refresh_token');
    }
    expect(await admin.json('session', 'prune', '--ended-days', '1')).toEqual({ sessions: 1, token_sets: 1 });
    expect((await refresh(live)).status).toBe(201);
  });

  it('`session prune` deletes sessions whose refresh tokens have expired, even if the session has not', async () => {
    const [idle, used] = [await aMerchant(service), await aMerchant(service)];
    const expireTokens = ({ email }: TestMerchant): Promise<unknown> =>
      rowsOf(
        service,
        `UPDATE token_sets t JOIN sessions s ON s.id = t.session_id JOIN api_users u ON u.id = s.api_user_id
            SET t.refresh_expires_at = ?, t.access_expires_at = ? WHERE u.email = ?`,
        [DAYS_AGO(31), DAYS_AGO(60), email],
      );
    const { body } = await refresh(used);
    await expireTokens(idle);
    await rowsOf(service, 'UPDATE token_sets SET refresh_expires_at = ? WHERE rotated_at IS NOT NULL', [DAYS_AGO(31)]);
    expect(await admin.json('session', 'prune')).toEqual({ sessions: 1, token_sets: 1 });
    expectProblem(await refresh(idle), 401, 'invalid_refresh_token');
    expect((await new Client(service, String(body.access_token)).get('/orders')).status).toBe(200);
  });

  it.each(['0', '-1', 'all'])('`session prune` rejects %j as a number of days', async (days) => {
    expect(await admin.refusal('session', 'prune', `--ended-days=${days}`)).toContain('whole number');
  });
});
