import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { confirm, describeInBrowser, logIn, look, openDialog, plain, useBrowser, submit } from '../support/browser.js';
import { aDocument, aMerchant, aUser, grant, punctuated } from '../support/factories.js';
import { DAY_MS } from '../../src/platform/values/time.js';
import { hasValidCheckDigits } from '../../src/platform/values/document.js';
import type { Grant, Order, Shop, Wallet } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

/** What the page shows. */
const textOf = async (page: Page, selector = 'main'): Promise<string> =>
  plain(await page.locator(selector).innerText());

describeInBrowser('A customer in the back office', () => {
  const { enter } = useBrowser(service);
  let support: Shop;
  let document: string;
  let wallet: Wallet;
  let order: Order;
  beforeAll(async () => {
    support = await aUser(service, merchant.id, ['grants', 'reports'], 'Suporte Ana');
  });
  beforeEach(async () => {
    document = aDocument();
    await grant(service, merchant, document, '80.00');
    order = await merchant.completed({ document, total: '150.00', store: 'SP-014' }, { redeem: '20.00' });
    wallet = await merchant.wallet(document);
  });
  const grantsOf = async (): Promise<Grant[]> =>
    (await merchant.all<Grant>('/grants?limit=100')).filter((given) => given.document === document);

  it('is found by the CPF with and without punctuation, by an order number, and by IDs', async () => {
    const page = await enter(support);
    for (const what of [document, punctuated(document), ` ${document} `, wallet.id]) {
      await look(page, what);
      await page.waitForURL(`**/#/customer/${wallet.id}`);
      await page.locator('blockquote').waitFor();
      await page.goto(`${service.url}/back-office/#/`);
    }
    for (const what of [order.external_id, order.id]) {
      await look(page, what);
      await page.getByRole('heading', { name: order.external_id }).waitFor();
      await page.goto(`${service.url}/back-office/#/`);
    }
    const [given] = await grantsOf();
    await look(page, given!.id);
    await page.waitForURL(`**/#/customer/${wallet.id}`);
  });

  it('is found by a CPF as other programs write it, which is in no address', async () => {
    const range = (first: number, last: number): string[] =>
      Array.from({ length: last - first + 1 }, (_, at) => String.fromCharCode(first + at));
    const between = [
      ...[...range(0x2010, 0x2015), '\u2212', '\u00ad', ...range(0x200b, 0x200f), ...range(0x202a, 0x202e)],
      ...['\u2060', '\ufeff', '\u00a0', ...range(0x2000, 0x200a), '\u202f', '\u205f', '\u3000', '\u2044', '·', '_'],
    ];
    let cpf = aDocument();
    while (!hasValidCheckDigits(cpf)) cpf = aDocument();
    await grant(service, merchant, cpf, '1.00');
    const { id } = await merchant.wallet(cpf);
    const digits = [...cpf];
    const texts = Array.from({ length: Math.ceil(between.length / 11) }, (_, part) =>
      digits.map((digit, at) => digit + (between[part * 11 + at] ?? '')).join(''),
    );
    texts.push(digits.map((digit) => String.fromCharCode(digit.charCodeAt(0) + 0xfee0)).join(''));
    texts.push(`CPF: ${punctuated(cpf)}`, `CPF:${cpf}`, `Pedido 7 de ${punctuated(cpf)}`);
    const page = await enter(support);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    for (const what of texts) {
      await look(page, what);
      await page.waitForURL(`**/#/customer/${id}`);
    }
    const digitsOf = (url: string): string => decodeURIComponent(url).normalize('NFKC').replaceAll(/\D/g, '');
    expect(asked.filter((url) => digitsOf(url).includes(cpf))).toEqual([]);
  });

  it.each(['11 digits', '14 letters and digits'])(
    'an order is found by a number of %s, as a CPF or CNPJ has',
    async (of) => {
      const number = of === '11 digits' ? '20261126001' : 'Pedido-2026-0001';
      const { id } = await merchant.create({ external_id: number, document });
      const page = await enter(support);
      await look(page, number);
      await page.getByRole('heading', { name: number }).waitFor();
      expect(page.url()).toContain(id);
    },
  );

  it('without cashback, but with an order, is shown, and not known by the address to another user of the tab', async () => {
    const newcomer = aDocument();
    await merchant.create({ document: newcomer });
    const page = await enter(support);
    await look(page, newcomer);
    await page.waitForURL('**/#/customer/new/0');
    await page.getByRole('link', { name: 'Orders' }).waitFor();
    await page.getByText('after completion').waitFor();
    await leave(page);
    await logIn(page, await aUser(service, (await aMerchant(service)).id, ['reports'], 'Other'));
    await page.getByText('No such order or customer in your shop.').waitFor();
    await leave(page);
    await logIn(page, support);
    await page.getByRole('link', { name: 'Orders' }).waitFor();
  });

  it('that does not exist, or belongs to another merchant, is said in words', async () => {
    const page = await enter(support);
    await look(page, aDocument());
    await page.getByText('This customer has no cashback and no orders.').waitFor();
    await look(page, 'PED-nothing');
    await page.getByText('No order has this number.').waitFor();
    const other = await aUser(service, (await aMerchant(service)).id, ['reports'], 'Other');
    const theirs = await enter(other);
    await look(theirs, document);
    await theirs.getByText('This customer has no cashback and no orders.').waitFor();
    await look(theirs, wallet.id);
    await theirs.getByText('No order has this number.').waitFor();
  });

  it('is a call sheet: what to say, the last orders, and tabs whose amounts are those of the API', async () => {
    const page = await enter(support, `customer/${wallet.id}`);
    const answer = plain(await page.locator('blockquote p').innerText());
    expect(answer).toMatch(/^R\$60.00 to use through \w+ \d+, \d+; R\$6.50 more from \w+ \d+/);
    await page.getByRole('link', { name: order.external_id }).first().waitFor();
    await page.getByRole('link', { name: 'Credits' }).click();
    await page.getByRole('cell', { name: 'R$60.00' }).first().waitFor();
    await page.getByRole('link', { name: 'Statement' }).click();
    await page.getByText('the sum of these lines').waitFor();
    expect(await textOf(page)).toContain(
      `Available R$60.00 + Pending R$${wallet.pending} = R$66.50, the sum of these lines.`,
    );
    const lines = await page.getByRole('group', { name: 'Statement 1' }).locator('tbody tr').allInnerTexts();
    const cells = lines.map((line) => line.split('\t').map((cell) => cell.trim()));
    expect(cells.map(([, kind, source]) => [kind, source])).toEqual([
      ['Earned', order.external_id],
      ['Redeemed', order.external_id],
      ['Granted', ''],
    ]);
    expect(lines[0]).toContain('SP-014');
    expect(lines[0]).toContain(merchant.name);
    expect(lines[2]).toContain('Operator');
    await page.goBack();
    await page.getByRole('cell', { name: 'R$60.00' }).first().waitFor();
  });

  it('has one line per purchase, which opens to its credits, and what staff wrote among the notes', async () => {
    const reason = 'Atraso na entrega';
    await support.post('/grants', {
      ...{ external_id: `grant-${order.external_id}`, document, amount: '30.00' },
      ...{ reason, note: 'Protocolo 8812' },
    });
    await merchant.completed({ document, total: '500.00' }, { redeem: '90.00' });
    const page = await enter(support, `customer/${wallet.id}/statement`);
    const rows = page.getByRole('group', { name: 'Statement 1' }).locator('tbody tr');
    await rows.first().waitFor();
    expect(await rows.filter({ hasText: 'Redeemed' }).count()).toBe(2);
    expect(await rows.filter({ hasText: reason }).count()).toBe(1);
    const purchase = rows.filter({ hasText: 'in 2 credits' });
    await purchase.locator('summary').click();
    await purchase.locator('li').nth(1).waitFor();
    const parts = (await purchase.locator('li').allInnerTexts()).map((text) => plain(text).replace(/^\D*/, ''));
    expect(parts.sort()).toEqual(['R$30.00', 'R$60.00'].map((text) => text.replace(/^\D*/, '')));
    await page.getByRole('link', { name: 'Notes' }).click();
    const note = page.getByRole('row').filter({ hasText: 'Protocolo 8812' });
    expect(await note.innerText()).toContain('Suporte Ana');
  });

  it('loses cashback that was granted twice, once, and gets it back when that was wrong', async () => {
    const head = await aUser(service, merchant.id, ['debits', 'reports'], 'Chefia');
    const page = await enter(head, `customer/${wallet.id}`);
    const dialog = await openDialog(page, 'Take cashback');
    await dialog.getByLabel('Amount').fill('100');
    await dialog.getByLabel('Reason').fill('Concedido duas vezes');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('R$100.00').waitFor();
    await confirm(dialog);
    await dialog.getByText('Check the marked fields.').waitFor();
    expect(plain(await dialog.locator('.refusal:not(:empty)').first().innerText())).toContain('There is only R$66.50.');
    await dialog.getByLabel('take what there is').check();
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await confirm(dialog);
    await dialog.getByText('There was only R$66.50, which was taken.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', pending: '0.00' });
    await page.getByRole('link', { name: 'Notes' }).click();
    const undo = await openDialog(page, 'Undo debit');
    await confirm(undo);
    await undo.getByText('R$66.50 returned.').waitFor();
    await undo.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Debit undone').waitFor();
    expect(await merchant.wallet(document)).toMatchObject({ available: '60.00', pending: '6.50' });
  });

  it('can be frozen with a reason that stays in sight, and unfrozen; others do not see the button', async () => {
    const head = await aUser(service, merchant.id, ['customers', 'reports'], 'Chefia');
    const page = await enter(head, `customer/${wallet.id}`);
    const dialog = await openDialog(page, 'Freeze wallet');
    await dialog.getByLabel('Reason').fill('Compras estranhas');
    await confirm(dialog);
    await page.getByText('Compras estranhas').waitFor();
    await page.getByText('The wallet is frozen: the R$60.00 cannot be used now').waitFor();
    expect(await merchant.wallet(document)).toMatchObject({ frozen: true });
    const till = await enter(support, `customer/${wallet.id}`);
    await till.getByText('Compras estranhas').waitFor();
    expect(await till.getByRole('button', { name: 'Unfreeze wallet' }).count()).toBe(0);
    const undo = await openDialog(page, 'Unfreeze wallet');
    await undo.getByLabel('Reason').fill('Esclarecido');
    await confirm(undo);
    await page.getByRole('button', { name: 'Freeze wallet', exact: true }).waitFor();
    expect(await merchant.wallet(document)).toMatchObject({ frozen: false });
  });

  it('gets an amount as people in Brazil write it, and what could be another one is refused before', async () => {
    const page = await enter(support, `customer/${wallet.id}`);
    const dialog = await openDialog(page, 'Grant cashback');
    const amount = dialog.getByLabel('Amount');
    const shown = dialog.getByText('The customer gets');
    await dialog.getByLabel('Reason').fill('Atraso na entrega');
    for (const [text, read] of Object.entries({
      '1.000,00': '1,000.00',
      '999.56': '999.56',
      ' R$ 12,5 ': '12.50',
    })) {
      await amount.fill(text);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await shown.waitFor();
      expect({ text, shown: await shown.innerText() }).toEqual({ text, shown: expect.stringContaining(`R$${read} `) });
    }
    for (const text of ['1.234', '1,234.56', '1,2.3', '10.50,00', '-5', '1e3', 'ten']) {
      await amount.fill(text);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText('An amount such as 10,00.').waitFor();
      expect(await shown.count()).toBe(0);
      await amount.fill('1');
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await shown.waitFor();
    }
  });

  it('gets a grant once, whatever is clicked twice, with the name of who made it', async () => {
    const page = await enter(support, `customer/${wallet.id}`);
    await page.getByRole('button', { name: 'Grant cashback' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount').fill('10,00');
    await dialog.getByLabel('Reason').fill('Atraso na entrega');
    await dialog.getByLabel('Note').fill('Ligou duas vezes');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('The customer gets').waitFor();
    await submit(dialog).dblclick();
    await dialog.waitFor({ state: 'detached' });
    expect((await grantsOf()).filter(({ reason }) => reason === 'Atraso na entrega')).toMatchObject([
      { amount: '10.00', note: 'Ligou duas vezes', created_by: { name: 'Suporte Ana' } },
    ]);
    await page.getByRole('link', { name: 'Notes' }).click();
    await page.getByRole('cell', { name: 'Suporte Ana' }).waitFor();
  });

  it('gets no grant above the maximum: the refusal names it, and what was typed stays', async () => {
    const page = await enter(support, `customer/${wallet.id}`);
    await page.getByRole('button', { name: 'Grant cashback' }).click();
    const dialog = page.getByRole('dialog');
    const { grant_maximum } = await merchant.policy();
    const field = dialog.locator('.field', { has: page.getByLabel('Amount') });
    await dialog.getByLabel('Reason').fill('Muito');
    for (const amount of ['1000,01', '9999999999,99']) {
      await dialog.getByLabel('Amount').fill(amount);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await dialog.getByText('Check the marked fields.').waitFor();
      const refusal = plain(await field.locator('.refusal').innerText()).replaceAll(',', '');
      expect(refusal).toBe(`You can grant at most R$${grant_maximum} now.`);
      expect(await dialog.getByLabel('Reason').inputValue()).toBe('Muito');
    }
    await dialog.getByLabel('Amount').fill('dez');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('An amount such as 10,00.').waitFor();
    expect(await grantsOf()).toHaveLength(1);
  });

  it('gets nothing from a double click on what only shows the grant', async () => {
    const page = await enter(support, `customer/${wallet.id}`);
    const dialog = await openDialog(page, 'Grant cashback');
    await dialog.getByLabel('Amount').fill('10');
    await dialog.getByLabel('Reason').fill('Clique duplo');
    await dialog.getByRole('button', { name: 'Continue' }).dblclick();
    await dialog.getByText(/gets R\$\s?10.00 of cashback, which can be used for \d+ days/).waitFor();
    await submit(dialog).isEnabled();
    expect(await grantsOf()).toHaveLength(1);
  });

  it('who has nothing yet can be opened by who grants, with a warning of wrong check digits', async () => {
    const newcomer = '11144477736';
    const page = await enter(support);
    await look(page, newcomer);
    await page.getByText('The check digits of this CPF or CNPJ are wrong.').waitFor();
    await page.getByRole('button', { name: 'Open anyway, to grant' }).click();
    const dialog = await openDialog(page, 'Grant cashback');
    await dialog.getByLabel('Amount').fill('10');
    await dialog.getByLabel('Reason').fill('Boas-vindas');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await submit(dialog).click();
    await dialog.waitFor({ state: 'detached' });
    expect(await merchant.wallet(newcomer)).toMatchObject({ available: '10.00' });
  });

  it('loses a grant that is voided, once', async () => {
    const page = await enter(support, `customer/${wallet.id}/credits`);
    await page.getByRole('button', { name: 'Void', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('Engano');
    await submit(dialog).dblclick();
    await dialog.getByText('voided.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await grantsOf()).toMatchObject([
      { voided: '60.00', void_reason: 'Engano', voided_by: { name: 'Suporte Ana' } },
    ]);
    await page.getByRole('link', { name: 'Notes' }).click();
    await page.getByText('Voided').first().waitFor();
  });

  it('that was erased has nothing to show, to get or to erase, and its order no customer to open', async () => {
    await merchant.post('/customers/erase', { document, confirm: document });
    const page = await enter(merchant, `customer/${wallet.id}`);
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    for (const [path, last] of [
      [`customer/${wallet.id}`, 'Credits'],
      [`order/${order.id}`, 'Refunds'],
    ] as const) {
      await page.goto(`${service.url}/back-office/#/${path}`);
      await page.getByText(last).first().waitFor();
      await page.locator('main .document').getByText('Erased customer').waitFor();
      for (const name of ['Show', 'Grant cashback', 'Export (LGPD)', 'Erase (LGPD)'])
        expect({ name, buttons: await page.getByRole('button', { name, exact: true }).count() }).toEqual({
          name,
          buttons: 0,
        });
    }
    expect(asked.filter((url) => url.endsWith('/wallets/search'))).toEqual([]);
  });

  it('is exported and erased by who may do it, with the document typed again', async () => {
    const told = await enter(support, `customer/${wallet.id}`);
    await told.getByRole('button', { name: 'LGPD' }).click();
    await told.getByText('Ask the person in your shop with the permission LGPD').waitFor();
    expect(await told.getByRole('button', { name: 'Erase (LGPD)' }).count()).toBe(0);
    const privacy = await aUser(service, merchant.id, ['privacy', 'reports'], 'DPO');
    const page = await enter(privacy, `customer/${wallet.id}`);
    await page.getByRole('button', { name: 'Export (LGPD)' }).click();
    const [file] = await Promise.all([page.waitForEvent('download'), submit(page).click()]);
    const chunks: Buffer[] = [];
    for await (const chunk of await file.createReadStream()) chunks.push(chunk as Buffer);
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ document, orders: [{ id: order.id }] });
    expect(file.suggestedFilename()).not.toContain(document);
    await page.getByRole('button', { name: 'Erase (LGPD)' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').fill(aDocument());
    await submit(dialog).click();
    await dialog.getByText('This is not the CPF or CNPJ of this customer.').waitFor();
    await dialog.getByRole('textbox').fill(punctuated(document));
    await submit(dialog).dblclick();
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(await merchant.wallet(document)).toMatchObject({ id: null });
    await page.goto(`${service.url}/back-office/#/customer/${wallet.id}`);
    await page.locator('main .document').getByText('Erased customer').waitFor();
  });

  it('with more than one page of lines has all of them', async () => {
    for (let day = 0; day < 130; day++)
      await grant(service, merchant, document, '0.01', { expiresAt: new Date(Date.now() + (40 + day) * DAY_MS) });
    const page = await enter(support, `customer/${wallet.id}/statement`);
    await page.getByRole('group', { name: 'Statement 1' }).waitFor();
    const third = page.getByRole('group', { name: 'Statement 3' });
    while ((await third.count()) === 0) await page.mouse.wheel(0, 2000);
    expect(await page.locator('main tbody tr').count()).toBe(133);
  });

  async function leave(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByRole('button', { name: 'Log out' }).click();
  }
});
