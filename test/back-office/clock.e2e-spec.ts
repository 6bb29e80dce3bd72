import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { dayOf } from '../../src/platform/values/time.js';
import { confirm, describeInBrowser, type Language, loaded, logIn, openDialog, submit } from '../support/browser.js';
import { useBrowser } from '../support/browser.js';
import { aDocument, aUser } from '../support/factories.js';
import { aSandboxMerchant, SANDBOX, type SandboxShop, NEXT_YEAR } from '../support/sandbox.js';
import type { Grant, Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { axeFindings, OF_TEXTS } from './axe.js';

/** What people read of the clock. */
const strip = (page: Page): Locator => page.locator('.sandbox');

/** Chooses a day or an instant in the dialog. */
async function choose(dialog: Locator, label: string, value: string, kind = label): Promise<void> {
  await dialog.getByRole('radio', { name: kind }).check();
  await dialog.getByLabel(label, { exact: true }).last().fill(value);
}

describeInBrowser('The clock in the back office', () => {
  const { service } = useService({ env: SANDBOX });
  const { enter, open } = useBrowser(service);

  /** A merchant whose clock stands at the beginning of 2027-01-04 in São Paulo, with an order that expires first. */
  async function aShop(): Promise<{ shop: SandboxShop; document: string; completed: Order; left: Order }> {
    const shop = await aSandboxMerchant(service, { release_days: 8, validity_days: 30 });
    await shop.move({ on: `${NEXT_YEAR}-01-04` });
    const document = aDocument();
    const completed = await shop.completed({ document });
    return { shop, document, completed, left: await shop.create({ document }) };
  }

  it('runs in a new sandbox, says before its first move that it stands still after it, and does', async () => {
    const shop = await aSandboxMerchant(service);
    const page = await enter(shop, 'rules');
    await strip(page).getByText('the clock runs').waitFor();
    const dialog = await openDialog(page, 'Move clock');
    await dialog.getByText('After its first move, the clock stands still for good').waitFor();
    await dialog.getByRole('button', { name: 'In 30 days' }).click();
    const day = await dialog.getByLabel('Day', { exact: true }).inputValue();
    const away = Date.parse(`${day}T03:00:00Z`) - Date.now();
    expect(Math.ceil(away / 86_400_000)).toBe(30);
    await confirm(dialog);
    await dialog.getByText('Events of this move: 0.').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).click();
    expect(await shop.get('/sandbox/clock')).toEqual({ now: `${day}T03:00:00.000Z`, frozen: true, moving: false });
    expect(await strip(page).innerText()).toMatch(/12:00 AM\s+the clock stands still/);
    expect(await (await openDialog(page, 'Move clock')).innerText()).not.toContain('first move');
  });

  it('moves to a day, shows the events of the move, and what the view has then', async () => {
    const { shop, document, completed, left } = await aShop();
    const other = await aSandboxMerchant(service);
    await other.move({ on: `${NEXT_YEAR}-01-04` });
    const page = await enter(shop, `customer/${(await shop.wallet(document)).id}`);
    const tile = (name: string): Locator => page.locator('.tile', { has: page.getByText(name, { exact: true }) });
    await tile('Pending').getByText('R$7.50', { exact: true }).waitFor();
    expect(await strip(page).innerText()).toContain(`Jan 4 ${NEXT_YEAR}, 12:00 AM`);
    const dialog = await openDialog(page, 'Move clock');
    await choose(dialog, 'Day', `${NEXT_YEAR}-01-20`, 'a day');
    await dialog.getByRole('button', { name: 'In 7 days' }).click();
    expect(await dialog.getByLabel('Day', { exact: true }).inputValue()).toBe(`${NEXT_YEAR}-01-11`);
    await choose(dialog, 'Day', `${NEXT_YEAR}-01-12`, 'a day');
    await confirm(dialog);
    await dialog.getByText(`The clock is at Jan 12 ${NEXT_YEAR}, 12:00 AM. Events of this move: 2.`).waitFor();
    await tile('Available').getByText('R$7.50', { exact: true }).waitFor();
    await dialog.getByRole('link', { name: 'Show events' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    const rows = page.getByRole('group', { name: 'Events' }).locator('tbody tr');
    await rows.nth(1).waitFor();
    expect(await rows.allTextContents()).toEqual([
      expect.stringMatching(new RegExp(`^Jan 4, 12:30 AM.*\\d+Order expired${left.external_id}`)),
      expect.stringMatching(new RegExp(`^Jan 12, 12:00 AM.*\\d+Cashback available••`)),
    ]);
    await rows.first().getByRole('link').click();
    await page.getByRole('heading', { name: `Order ${left.external_id} Expired` }).waitFor();
    expect(await shop.order(completed)).toMatchObject({ cashback: { to_receive: { status: 'available' } } });
    // The clock of another merchant stays.
    expect(await other.now()).toEqual(new Date(`${NEXT_YEAR}-01-04T03:00:00Z`));
  });

  it('moves to an instant, in Portuguese, once although the answer is lost', async () => {
    const { shop } = await aShop();
    const page = await enter(shop, '', { language: 'pt-BR' });
    let lost = 0;
    await page.route('**/sandbox/clock', async (route) => {
      if (route.request().method() !== 'PUT' || lost++ > 0) return route.continue();
      return route.fetch().then(() => route.abort('connectionreset'));
    });
    const dialog = await openDialog(page, 'Avançar relógio');
    await choose(dialog, 'Momento', `${NEXT_YEAR}-01-04T18:30`, 'um momento');
    await submit(dialog).dblclick();
    await dialog.getByText(`O relógio está em 4 jan ${NEXT_YEAR}, 18:30. Eventos deste avanço: 1.`).waitFor();
    expect(lost).toBe(2);
    expect(await shop.now()).toEqual(new Date(`${NEXT_YEAR}-01-04T21:30:00Z`));
    await dialog.getByRole('button', { name: 'Fechar' }).click();
    expect(await strip(page).innerText()).toMatch(
      new RegExp(`^Sandbox\\s+4 jan ${NEXT_YEAR}, 18:30\\s+o relógio está parado`),
    );
  });

  it('does not move backwards, nor more than five years, and says so at the field', async () => {
    const { shop } = await aShop();
    const page = await enter(shop);
    const dialog = await openDialog(page, 'Move clock');
    const refusal = dialog.locator('.refusal');
    await choose(dialog, 'Instant', `${NEXT_YEAR}-01-03T23:59`, 'an instant');
    await confirm(dialog);
    await dialog.getByRole('alert').getByText('The clock only moves forward.').waitFor();
    expect(await refusal.innerText()).toBe('Not before the clock, and at most five years after it.');
    expect(await dialog.getByLabel('Instant', { exact: true }).inputValue()).toBe(`${NEXT_YEAR}-01-03T23:59`);
    await choose(dialog, 'Day', `${NEXT_YEAR + 6}-01-01`, 'a day');
    await confirm(dialog);
    await dialog.getByRole('alert').getByText('Check the marked fields.').waitFor();
    await refusal.waitFor();
    // Another tab, or a program, moves it while the dialog is open.
    await shop.move({ on: `${NEXT_YEAR}-02-01` });
    await choose(dialog, 'Day', `${NEXT_YEAR}-01-31`, 'a day');
    await confirm(dialog);
    await dialog.getByRole('alert').getByText('The clock only moves forward.').waitFor();
    await dialog.getByText(`Feb 1 ${NEXT_YEAR}, 12:00 AM`).waitFor();
    expect(await shop.now()).toEqual(new Date(`${NEXT_YEAR}-02-01T03:00:00Z`));
  });

  it('that was moved elsewhere is shown in the next view, in the dialog, and when someone comes from another tab', async () => {
    const { shop, document } = await aShop();
    const page = await enter(shop, 'rules');
    await strip(page).getByText(`Jan 4 ${NEXT_YEAR}`).waitFor();
    await shop.move({ on: `${NEXT_YEAR}-01-05` });
    await page.goto(`${service.url}/back-office/#/customer/${(await shop.wallet(document)).id}`);
    await strip(page).getByText(`Jan 5 ${NEXT_YEAR}`).waitFor();
    const pending = page.locator('.tile', { hasText: 'Pending' });
    await pending.getByText('R$7.50', { exact: true }).waitFor();
    await shop.move({ on: `${NEXT_YEAR}-01-12` });
    // What the browser does for a tab that someone comes back to.
    await page.evaluate('void dispatchEvent(new Event("focus"))');
    await strip(page).getByText(`Jan 12 ${NEXT_YEAR}`).waitFor();
    await pending.waitFor({ state: 'detached' });
    await shop.move({ on: `${NEXT_YEAR}-01-13` });
    const dialog = await openDialog(page, 'Move clock');
    await dialog.getByText(`Jan 13 ${NEXT_YEAR}`).waitFor();
    await dialog.getByRole('button', { name: 'Next day' }).click();
    expect(await dialog.getByLabel('Day', { exact: true }).inputValue()).toBe(`${NEXT_YEAR}-01-14`);
  });

  it('shows a move that takes long, which can be left and continued, also after a reload', async () => {
    const { shop, left } = await aShop();
    const page = await enter(shop);
    const holder = service.dataSource.createQueryRunner();
    await holder.startTransaction();
    try {
      // The order cannot expire, so the clock stays at that instant.
      await holder.query('SELECT id FROM orders WHERE id = ? AND merchant_id = ? FOR UPDATE', [left.id, shop.id]);
      let dialog = await openDialog(page, 'Move clock');
      await choose(dialog, 'Day', `${NEXT_YEAR}-01-12`, 'a day');
      await confirm(dialog);
      await dialog.getByText(`The clock is at Jan 4 ${NEXT_YEAR}, 12:30 AM.`).waitFor();
      expect(await dialog.getByRole('progressbar').count()).toBe(1);
      await page.keyboard.press('Escape');
      await strip(page).getByText('the clock is moving', { exact: true }).waitFor();
      await strip(page).getByText(`Jan 4 ${NEXT_YEAR}, 12:30 AM`).waitFor();
      // What was chosen is still there.
      dialog = await openDialog(page, 'Continue move');
      await dialog.getByText('The last move is not done.').waitFor();
      expect(await dialog.getByLabel('Day', { exact: true }).inputValue()).toBe(`${NEXT_YEAR}-01-12`);
      await page.reload();
      await strip(page).getByText('the clock is moving', { exact: true }).waitFor();
      dialog = await openDialog(page, 'Continue move');
      await choose(dialog, 'Day', `${NEXT_YEAR}-01-12`, 'a day');
      await confirm(dialog);
      await dialog.getByText('If you close this, it stops').waitFor();
      await holder.rollbackTransaction();
      await dialog.getByText(`The clock is at Jan 12 ${NEXT_YEAR}, 12:00 AM. Events of this move: 2.`).waitFor();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await strip(page).getByText('the clock stands still').waitFor();
    } finally {
      if (holder.isTransactionActive) await holder.rollbackTransaction();
      await holder.release();
    }
    expect(await shop.get('/sandbox/clock')).toEqual({
      now: `${NEXT_YEAR}-01-12T03:00:00.000Z`,
      frozen: true,
      moving: false,
    });
    expect(await shop.order(left)).toMatchObject({ status: 'expired' });
  });

  it('says only the number of events to a user who may not read them', async () => {
    const { shop } = await aShop();
    const till = await aUser(service, shop.id, ['sell'], 'Caixa 3');
    const page = await enter(till);
    const dialog = await openDialog(page, 'Move clock');
    await dialog.getByRole('button', { name: 'Next day' }).click();
    await confirm(dialog);
    await dialog.getByText(`The clock is at Jan 5 ${NEXT_YEAR}, 12:00 AM. Events of this move: 1.`).waitFor();
    expect(await dialog.getByRole('link').count()).toBe(0);
  });

  it('decides what today is: in reports, in their default periods, and in the number of a grant', async () => {
    const { shop, document } = await aShop();
    const page = await enter(shop, 'sales');
    const days = page.locator('main input[type="date"]');
    await days.nth(1).waitFor();
    expect(await days.nth(1).inputValue()).toBe(`${NEXT_YEAR}-01-04`);
    const dialog = await openDialog(page, 'Move clock');
    await choose(dialog, 'Day', `${NEXT_YEAR + 1}-04-10`, 'a day');
    await confirm(dialog);
    await dialog.getByRole('button', { name: 'Close' }).click();
    await page.getByText('No order was completed in this period.').first().waitFor();
    expect([await days.nth(0).inputValue(), await days.nth(1).inputValue()]).toEqual([
      `${NEXT_YEAR + 1}-03-12`,
      `${NEXT_YEAR + 1}-04-10`,
    ]);
    await page.getByRole('link', { name: 'Closing' }).first().click();
    await page.getByRole('heading', { name: `March ${NEXT_YEAR + 1}` }).waitFor();

    await page.goto(`${service.url}/back-office/#/customer/${(await shop.wallet(document)).id}`);
    const grant = await openDialog(page, 'Grant cashback');
    await grant.getByLabel('Amount').fill('1,00');
    await grant.getByLabel('Reason').fill('Aniversário');
    await grant.getByRole('button', { name: 'Continue' }).click();
    await confirm(grant);
    await grant.waitFor({ state: 'detached' });
    const [given] = await shop.all<Grant>('/grants?limit=100');
    expect(given!.external_id).toMatch(new RegExp(`^BO-${NEXT_YEAR + 1}-04-10-`));
  });

  it.each<Language>(['en', 'pt-BR'])(
    'has names and contrast for everyone, fits 360 pixels, and is in one language: %s',
    async (language) => {
      const rules = language === 'en' ? undefined : OF_TEXTS;
      const { shop } = await aShop();
      const page = await open({ language, width: 360 });
      await logIn(page, shop);
      await strip(page).getByRole('button').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button').nth(2).click();
      expect(await axeFindings(page, rules)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
      const foreign = language === 'en' ? /\b(relógio|dia|dias|Momento)\b/i : /\b(clock|day|days|Instant)\b/i;
      expect(await page.locator('body').innerText()).not.toMatch(foreign);
      await dialog.locator('button:not([type])').dblclick();
      await dialog.getByRole('link').waitFor();
      expect(await axeFindings(page, rules)).toEqual([]);
      expect(await dialog.innerText()).not.toMatch(foreign);
      await dialog.getByRole('link').click();
      await loaded(page);
      expect(await axeFindings(page, rules)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360);
    },
  );
});

describe('A live service', () => {
  const { service, merchant } = useService();

  describeInBrowser('in the back office', () => {
    const { open } = useBrowser(service);

    it('has no clock, asks for it once, and its reports end today', async () => {
      const page = await open();
      const refused: string[] = [];
      page.on('response', (response) => response.status() >= 400 && refused.push(response.url()));
      const requests: string[] = [];
      page.on('request', (request) => request.url().includes('/sandbox') && requests.push(request.url()));
      await logIn(page, merchant);
      const today = (): string => dayOf(new Date(), 'America/Sao_Paulo');
      const before = today();
      for (const view of ['rules', 'sales']) {
        await page.goto(`${service.url}/back-office/#/${view}`);
        await page.evaluate('void dispatchEvent(new Event("focus"))');
        await loaded(page);
      }
      expect(await page.locator('.sandbox').count()).toBe(0);
      expect(await page.locator('body').innerText()).not.toMatch(/sandbox|clock/i);
      expect(refused).toEqual([`${service.url}/sandbox/clock`]);
      expect(requests).toEqual(refused);
      const last = await page.locator('main input[type="date"]').nth(1).inputValue();
      expect([before, today()]).toContain(last);
    });
  });
});
