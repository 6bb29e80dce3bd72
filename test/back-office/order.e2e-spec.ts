import { beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { confirm, describeInBrowser, openDialog, plain, useBrowser, submit } from '../support/browser.js';
import { documentsOf, randomFrom } from '../../tools/demo-data.mjs';
import { aDocument, aMerchant, aUser, grant } from '../support/factories.js';
import type { Order, Refund, Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

// A clock of its own: an order expires.
const { service, merchant } = useService();

describeInBrowser('An order in the back office', () => {
  const { enter } = useBrowser(service);
  let support: Shop;
  let document: string;
  beforeAll(async () => {
    support = await aUser(service, merchant.id, ['sell', 'refund', 'customers', 'reports'], 'Suporte Ana');
  });
  beforeEach(async () => {
    document = aDocument();
    await grant(service, merchant, document, '80.00');
  });

  /** Three items, and 20.00 of shipping. */
  const aSale = (members: object = {}): Promise<Order> =>
    merchant.completed(
      {
        document,
        items: [
          { id: 'mug', price: '30.00', quantity: 2, description: 'Caneca' },
          { id: 'tv', price: '100.00', description: 'TV' },
          { id: 'cable', price: '20.00', description: 'Cabo' },
        ],
        total: '200.00',
        eligible_total: '180.00',
        payment_methods: [{ id: 'pix', amount: '180.00' }],
        store: 'SP-014',
        ...members,
      },
      { redeem: '20.00' },
    );
  const open = async ({ id }: { id: string }, who = support): Promise<Page> => enter(who, `order/${id}`);
  const refundsOf = async (order: Order): Promise<Refund[]> => (await merchant.refunds(order)).data;
  const facts = async (of: Locator): Promise<string> => plain(await of.locator('dl').last().innerText());
  /** Ticks an item, and says how many of it. */
  const tick = async (dialog: Locator, name: string, quantity?: number): Promise<void> => {
    await dialog.getByLabel(new RegExp(`^${name} \\(`)).check();
    if (quantity !== undefined) await dialog.getByLabel(`Quantity of ${name}`).fill(String(quantity));
  };

  it('shows what was bought, used and earned, with what to tell the customer', async () => {
    const order = await aSale();
    const page = await open(order);
    await page.getByText('Caneca').waitFor();
    const text = plain(await page.locator('main').innerText());
    for (const part of ['Completed', 'R$200.00', 'R$20.00', 'SP-014', merchant.name]) expect(text).toContain(part);
    const { amount } = order.cashback.to_receive;
    expect(plain(await page.locator('blockquote').innerText())).toContain(
      `R$${amount} of order ${order.external_id} will be available on`,
    );
    const rows = page.getByRole('group', { name: 'Timeline 1' }).locator('tbody tr');
    await rows.first().waitFor();
    const lines = await rows.allInnerTexts();
    expect(lines.map((line) => line.split('\t')[1]!.trim())).toEqual(['Created', 'Completed', 'Redeemed', 'Earned']);
  });

  it('is refunded by items with shipping: the amounts are shown before, and are those of the refund, once', async () => {
    const order = await aSale();
    const page = await open(order);
    const dialog = await openDialog(page, 'Refund');
    await tick(dialog, 'Caneca', 1);
    await dialog.getByLabel('Shipping').check();
    await dialog.getByLabel('Reason').fill('Quebrada');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('To pay back to the customer').waitFor();
    const shown = await facts(dialog);
    expect(await refundsOf(order)).toEqual([]);
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    const [refund, ...others] = await refundsOf(order);
    expect(others).toEqual([]);
    await page.getByRole('cell', { name: '1 × Caneca, shipping' }).waitFor();
    expect(refund).toMatchObject({
      amount: '50.00',
      eligible_amount: '30.00',
      items: [{ id: order.items[0]!.id, quantity: 1 }],
      rest: true,
      metadata: {},
      reason: 'Quebrada',
      created_by: { name: 'Suporte Ana' },
    });
    for (const amount of [
      refund!.amount,
      refund!.amount_to_pay_back,
      refund!.cashback_returned,
      refund!.cashback_taken_back,
    ])
      expect(shown).toContain(`R$${amount}`);
    await page.getByText('Partially refunded').first().waitFor();
    await page.getByText('Quebrada').first().waitFor();
  });

  it('is refunded by an amount; more than is left is refused with the maximum, and what was typed stays', async () => {
    const order = await aSale();
    const page = await open(order);
    const dialog = await openDialog(page, 'Refund');
    await dialog.getByLabel('An amount').check();
    await dialog.getByLabel('Amount of the refund').fill('200,01');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('Check the marked fields.').waitFor();
    expect(plain(await dialog.locator('.refusal:not(:empty)').first().innerText())).toContain(
      'At most R$200.00 can still be refunded.',
    );
    await dialog.getByLabel('Amount of the refund').fill('10,00');
    await dialog.getByLabel('Of it, goods').fill('0,00');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('To pay back to the customer').waitFor();
    // Another amount needs another look.
    await dialog.getByLabel('Amount of the refund').fill('12,00');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('R$12.00').waitFor();
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect(await refundsOf(order)).toMatchObject([{ amount: '12.00', eligible_amount: '0.00' }]);
  });

  it('shows what a refund would do also where many items make the dialog longer than the screen', async () => {
    const items = Array.from({ length: 100 }, (_, at) => ({
      id: `sku-${at}`,
      price: '1.00',
      description: `Item ${at};`,
    }));
    const page = await open(await merchant.completed({ document, items, total: '100.00' }));
    const dialog = await openDialog(page, 'Refund');
    const last = dialog.getByLabel('Item 99;');
    const isInView = async (of: Locator): Promise<boolean> => {
      const { y, height } = (await of.boundingBox())!;
      return y >= 0 && y + height <= 900;
    };
    await last.press('Enter');
    await dialog.getByRole('alert').waitFor();
    expect(await isInView(dialog.getByRole('alert'))).toBe(true);
    await last.check();
    await last.press('Enter');
    await dialog.getByText('To pay back to the customer').waitFor();
    expect(await isInView(dialog.getByRole('status'))).toBe(true);
  });

  it('whose refund was a mistake is as before when it is undone, once, as long as nothing came after it', async () => {
    const order = await aSale();
    await merchant.refund(order, '50.00', { reason: 'Pedido errado' });
    const page = await open(order);
    await page.locator('h1').getByText('Partially refunded').waitFor();
    const dialog = await openDialog(page, 'Undo refund');
    expect(plain(await dialog.innerText())).toContain('R$50.00');
    await dialog.getByLabel('Reason').fill('Era de outro pedido');
    await confirm(dialog);
    await page.locator('h1').getByText('Completed').waitFor();
    const row = page.getByRole('group', { name: 'Refunds 1' }).locator('tbody tr');
    await row.getByText('Undone').waitFor();
    expect(await row.innerText()).toContain('Era de outro pedido');
    expect(await page.getByRole('button', { name: 'Undo refund' }).count()).toBe(0);
    expect(await refundsOf(order)).toMatchObject([
      { amount: '50.00', void_reason: 'Era de outro pedido', voided_by: { name: 'Suporte Ana' } },
    ]);
    await merchant.refund(order, '10.00');
    await page.reload();
    const another = await openDialog(page, 'Undo refund');
    await merchant.refund(order, '5.00');
    await confirm(another);
    await another.getByText('This refund cannot be undone any more').waitFor();
  });

  it('is refunded by items that share an ID', async () => {
    const items = ['Um', 'Dois'].map((description) => ({ id: 'mug', price: '30.00', description }));
    const order = await merchant.completed({ document, items, total: '60.00' });
    const page = await open(order);
    const dialog = await openDialog(page, 'Refund');
    await tick(dialog, 'Um');
    await tick(dialog, 'Dois');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('R$60.00').first().waitFor();
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect(await refundsOf(order)).toMatchObject([{ amount: '60.00', items: [{ id: 'mug', quantity: 2 }] }]);
  });

  it('does not refund an item that somebody else has refunded since the amounts were shown', async () => {
    const order = await aSale();
    const page = await open(order);
    const dialog = await openDialog(page, 'Refund');
    await tick(dialog, 'Caneca', 1);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('To pay back to the customer').waitFor();
    await merchant.refund(order, undefined, { items: [{ id: order.items[0]!.id }] });
    await submit(dialog).click();
    await dialog.getByText('Somebody else has changed the order.').waitFor();
    expect(await refundsOf(order)).toHaveLength(1);
    await dialog.getByRole('button', { name: 'Back' }).click();
    await page.getByText('Partially refunded').first().waitFor();
    const again = await openDialog(page, 'Refund');
    await tick(again, 'Caneca', 1);
    await again.getByRole('button', { name: 'Continue' }).click();
    await again.getByText('No item comes back twice.').waitFor();
  });

  it('shows a refund that was made when its dialog was closed, or its answer was lost, so that nobody repeats it', async () => {
    const order = await aSale();
    const page = await open(order);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let isLost = false;
    await page.route('**/refunds', async (route) => {
      if (route.request().method() === 'GET') return route.continue();
      const response = await route.fetch();
      if (isLost) return route.abort('connectionreset');
      await released;
      return route.fulfill({ response });
    });
    const begin = async (): Promise<Locator> => {
      const dialog = await openDialog(page, 'Refund');
      await tick(dialog, 'Caneca', 1);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await submit(dialog).click();
      return dialog;
    };
    const first = await begin();
    await first.getByText('One moment').waitFor();
    await page.keyboard.press('Escape');
    await first.waitFor({ state: 'detached' });
    release();
    const shown = page.getByRole('group', { name: 'Refunds 1' }).locator('tbody tr');
    await shown.first().waitFor();
    isLost = true;
    const second = await begin();
    await second.getByText('The service cannot be reached.').waitFor();
    await page.keyboard.press('Escape');
    await shown.nth(1).waitFor();
    expect(await refundsOf(order)).toHaveLength(2);
  });

  it('offers no correction while it holds cashback, which the service refuses, until the hold is released, once', async () => {
    const order = await merchant.create({ document });
    const page = await open(order);
    const correct = page.getByRole('button', { name: 'Correct CPF' });
    await correct.waitFor();
    await merchant.hold(order, '30.00');
    await page.reload();
    await page.getByRole('button', { name: 'Cancel order' }).waitFor();
    expect(await correct.count()).toBe(0);
    await confirm(await openDialog(page, 'Release hold'));
    await correct.waitFor();
    expect(await merchant.order(order)).toMatchObject({ version: 3, cashback: { to_redeem: { held: '0.00' } } });
    expect(await page.getByRole('button', { name: 'Release hold' }).count()).toBe(0);
  });

  it('that someone else completed is shown as it is, after the refusal to cancel it', async () => {
    const order = await merchant.create({ document });
    const page = await open(order);
    const dialog = await openDialog(page, 'Cancel order');
    await merchant.complete(order);
    await confirm(dialog);
    await dialog.getByText('The order has changed').waitFor();
    await dialog.getByRole('button', { name: 'Back' }).click();
    await page.locator('h1').getByText('Completed').waitFor();
    expect((await merchant.order(order)).status).toBe('completed');
  });

  it('is not refunded by a look at an amount that was changed meanwhile', async () => {
    const order = await aSale();
    const page = await open(order);
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await page.route('**/refunds/quote', async (route) => {
      await released;
      return route.continue();
    });
    const dialog = await openDialog(page, 'Refund');
    await tick(dialog, 'Caneca', 1);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('One moment').waitFor();
    await tick(dialog, 'Caneca', 2);
    release();
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('R$60.00').first().waitFor();
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect(await refundsOf(order)).toMatchObject([{ amount: '60.00' }]);
  });

  it('says what to tell the customer also if the browser does not let the page copy', async () => {
    const page = await open(await aSale());
    await page.evaluate('navigator.clipboard.writeText = () => Promise.reject(new Error("denied"))');
    await page.getByRole('button', { name: 'Copy' }).click();
    expect(await page.getByRole('button', { name: 'Copy', exact: true }).count()).toBe(1);
  });

  it('that was refunded before says so, and offers shipping only where there is more than the items', async () => {
    const order = await merchant.completed({ document, items: [{ id: 'tv', price: '150.00', description: 'TV' }] });
    await merchant.refund(order, '10.00');
    const page = await open(order);
    const dialog = await openDialog(page, 'Refund');
    await dialog.getByText(/R\$\s?10.00 of this order were refunded before:/).waitFor();
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('Choose the items that come back, or an amount.').waitFor();
    expect(await dialog.getByLabel('Shipping').count()).toBe(0);
  });

  it('that is spent or expired promises nothing that is not there', async () => {
    const spent = await merchant.completed({ document, total: '100.00' });
    const unpaid = await merchant.create({ document, expires_at: service.clock.inMinutes(2).toISOString() });
    await service.clock.advance({ minutes: 3 });
    const page = await open(unpaid);
    await page.getByText('expired without a payment: it earns no cashback until it is completed.').waitFor();
    const cancelled = await merchant.create({ document });
    await merchant.post(`/orders/${cancelled.id}/cancel`, {});
    for (const { id } of [unpaid, cancelled]) {
      await page.goto(`${service.url}/back-office/#/order/${id}`);
      await page
        .getByText(id === unpaid.id ? 'Expired' : 'Cancelled', { exact: true })
        .first()
        .waitFor();
      expect((await page.locator('.facts').first().locator('dd').first().innerText()).trim()).toBe('–');
    }
    const { id: walletId } = await merchant.wallet(document);
    await page.goto(`${service.url}/back-office/#/customer/${walletId}`);
    for (const { external_id } of [unpaid, cancelled]) {
      const row = page.getByRole('row').filter({ hasText: external_id });
      await row.first().waitFor();
      expect(await row.getByText('–', { exact: true }).count()).toBeGreaterThanOrEqual(2);
    }
    await page.goto(`${service.url}/back-office/#/order/${spent.id}`);
    await page.getByText(`of order ${spent.external_id} will be available on`).waitFor();
  });

  it('is cancelled once, and releases its hold', async () => {
    const order = await merchant.create({ document });
    await merchant.hold(order, '30.00');
    const page = await open(order);
    const dialog = await openDialog(page, 'Cancel order');
    expect(plain(await dialog.innerText())).toContain('R$30.00 is released');
    await dialog.getByLabel('Reason').fill('Desistiu');
    await confirm(dialog);
    await page.locator('h1').getByText('Cancelled').waitFor();
    expect(await merchant.order(order)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'Desistiu',
      cancelled_by: { name: 'Suporte Ana' },
    });
    expect(await page.getByRole('button', { name: 'Cancel order' }).count()).toBe(0);
  });

  it.each([
    ['everything', '0.00'],
    ['less', '30.00'],
  ])(
    'that expired before the money came is completed by hand: the customer was charged %s',
    async (charged, redeemed) => {
      const order = await merchant.create({ document, expires_at: service.clock.inMinutes(2).toISOString() });
      await merchant.hold(order, '30.00');
      await service.clock.advance({ minutes: 3 });
      const page = await open(order);
      await page.locator('h1').getByText('Expired').waitFor();
      const dialog = await openDialog(page, 'Complete order');
      expect(plain(await dialog.innerText())).toContain('It held R$30.00 of cashback until then.');
      await dialog.getByRole('combobox').selectOption(charged === 'less' ? '30.00' : '0.00');
      await confirm(dialog);
      await page.locator('h1').getByText('Completed').waitFor();
      expect(await merchant.order(order)).toMatchObject({
        completed_by: { name: 'Suporte Ana' },
        cashback: { to_redeem: { redeemed } },
      });
    },
  );

  it('names the orders that hold what it earned if its customer cannot be corrected', async () => {
    const shop = await aMerchant(service, { releaseDays: 0 });
    const order = await shop.completed();
    const holding = await shop.hold(await shop.create({ document: order.document }), '1.00');
    const dialog = await openDialog(await open(order, shop), 'Correct CPF');
    await dialog.getByLabel('CPF or CNPJ').fill('39053344705');
    await dialog.getByLabel('Reason').fill('Digitado errado');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await confirm(dialog);
    await dialog.getByText('Other orders hold cashback of this order').waitFor();
    expect(await dialog.innerText()).toContain(holding.external_id);
    expect(await shop.order(order)).toMatchObject({ document: order.document });
  });

  it('of the wrong customer is corrected, before and after its completion', async () => {
    const [right, later] = documentsOf(randomFrom(520), 2) as [string, string];
    const order = await merchant.create({ document, store: 'SP-014', metadata: { note: 'kept' } });
    const page = await open(order);
    let dialog = await openDialog(page, 'Correct CPF');
    await dialog.getByLabel('CPF or CNPJ').fill('123');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('Check the digits of the CPF or CNPJ.').waitFor();
    // It works once, so a CPF that nobody can have is no customer.
    await dialog.getByLabel('CPF or CNPJ').fill('52998224724');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('The check digits of this CPF or CNPJ are wrong.').waitFor();
    await dialog.getByLabel('CPF or CNPJ').fill(right);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByText('This customer is new').waitFor();
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect(await merchant.order(order)).toMatchObject({
      document: right,
      store: 'SP-014',
      metadata: { note: 'kept' },
      version: 2,
    });

    await merchant.complete(order);
    await page.reload();
    dialog = await openDialog(page, 'Correct CPF');
    await dialog.getByLabel('CPF or CNPJ').fill(later);
    await dialog.getByLabel('Reason').fill('Digitado errado');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await confirm(dialog);
    await dialog.getByText(/ moved\./).waitFor();
    expect(await merchant.order(order)).toMatchObject({
      document: later,
      customer_changed_by: { name: 'Suporte Ana' },
    });
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('Customer corrected').first().waitFor();
    // The order and its timeline are read at the same time.
    await page.getByRole('button', { name: 'Correct CPF' }).waitFor({ state: 'detached' });
  });

  it('offers what the status and the permissions of the user allow, and nothing of another merchant', async () => {
    const order = await aSale();
    const finance = await aUser(service, merchant.id, ['reports'], 'Financeiro');
    const page = await open(order, finance);
    await page.getByText('Caneca').waitFor();
    expect(await page.getByRole('group', { name: 'What can be done now' }).getByRole('button').count()).toBe(0);
    const theirs = await open(order, await aMerchant(service));
    await theirs.getByText('No such order or customer in your shop.').waitFor();
  });

  it('whose cashback has become available says what is left of it, and until when it can be used', async () => {
    const order = await aSale();
    await service.clock.advanceTo(order.cashback.to_receive.available_at, 1);
    const page = await open(order);
    await page.getByText(/R\$\s?8.00 of it are left, and can be used through/).waitFor();
    await page.getByText('Cashback available').waitFor();
    const till = await aUser(service, merchant.id, ['sell']);
    await till.completed({ document, total: '200.00' }, { redeem: '68.00' });
    await page.reload();
    await page.getByText(/The R\$\s?8.00 of order .* have been spent/).waitFor();
  });
});
