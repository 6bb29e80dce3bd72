import { beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, type Language, loaded, logIn, useBrowser, submit } from '../support/browser.js';
import { aDocument, grant } from '../support/factories.js';
import { deliver } from '../support/receiver.js';
import { type Order, type Wallet, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { axeFindings, OF_TEXTS } from './axe.js';

const { service, merchant } = useService();

describeInBrowser('The back office', () => {
  const { open, enter } = useBrowser(service);
  const document = aDocument();
  let order: Order;
  let wallet: Wallet;
  beforeAll(async () => {
    await grant(service, merchant, document, '80.00');
    order = await merchant.completed({ document, store: 'SP-014' }, { redeem: '20.00' });
    await merchant.refund(order, '10.00', { reason: 'Defeito' });
    wallet = await merchant.wallet(document);
    await merchant.setVersion({ fromDay: '2099-11-27', throughDay: '2099-11-29' }, { earnRateBps: 1000 });
    await merchant.post('/webhook-endpoints', { url: 'http://127.0.0.1:9/webhooks' });
    await deliver(service);
  });

  const views = (): string[] => [
    '',
    `customer/${wallet.id}`,
    `customer/${wallet.id}/credits?credits=all`,
    `customer/${wallet.id}/statement`,
    `customer/${wallet.id}/notes`,
    `order/${order.id}`,
    'campaigns',
    'sales',
    'list/orders',
    'grants',
    'closing',
    'rules',
    'webhooks',
    'users',
  ];
  async function show(page: Page, view: string): Promise<void> {
    await page.goto(`${service.url}/back-office/#/${view}`);
    await loaded(page);
  }
  /** What axe finds in light, and of contrast in dark; in the other language, only what depends on the texts. */
  async function findings(page: Page, language: Language, within?: string): Promise<string[]> {
    if (language !== 'en') return axeFindings(page, OF_TEXTS, within);
    const light = await axeFindings(page, undefined, within);
    await page.emulateMedia({ colorScheme: 'dark' });
    const dark = await axeFindings(page, ['color-contrast'], within);
    await page.emulateMedia({ colorScheme: 'light' });
    return [...light, ...dark.map((finding) => `dark: ${finding}`)];
  }

  it.each<Language>(['en', 'pt-BR'])(
    'has names and contrast for everyone, light and dark, fits 360 pixels, and is in one language, in each view and dialog, in %s',
    async (language) => {
      const page = await open({ language });
      expect(await findings(page, language)).toEqual([]);
      expect(await page.locator('html').getAttribute('lang')).toBe(language);
      await logIn(page, merchant);
      const foreign =
        language === 'en' ? /\b(Pedido|Loja|Valor|Cliente|Buscar)\b/ : /\b(Order|Amount|Customer|Store|Find|Reason)\b/;
      const opened = new Set<string>();
      for (const view of views()) {
        await show(page, view);
        expect({ view, findings: await findings(page, language) }).toEqual({ view, findings: [] });
        expect(await page.locator('body').innerText()).not.toMatch(foreign);
        // Tables scroll by themselves.
        await page.setViewportSize({ width: 360, height: 900 });
        const width = await page.evaluate('document.documentElement.scrollWidth');
        expect({ view, width }).toEqual({ view, width: 360 });
        await page.setViewportSize({ width: 1280, height: 900 });
        const buttons = page.locator('main [aria-haspopup="dialog"]:visible');
        const names = await buttons.allInnerTexts();
        for (const [index, name] of names.entries()) {
          if (opened.has(name)) continue;
          opened.add(name);
          await buttons.nth(index).click();
          await page.locator('dialog[open]').waitFor();
          const found = await findings(page, language, 'dialog[open]');
          expect({ view, name, found }).toEqual({ view, name, found: [] });
          await page.keyboard.press('Escape');
          await page.locator('dialog[open]').waitFor({ state: 'detached' });
        }
      }
      expect(opened.size).toBeGreaterThan(15);
    },
  );

  it('keeps the language and the theme that somebody chose', async () => {
    const page = await open();
    await logIn(page, merchant);
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: 'Your account' }).click();
    await page.getByRole('button', { name: 'Dark' }).click();
    expect(await ground()).not.toBe(light);
    await page.getByRole('button', { name: 'Português' }).click();
    await page.getByRole('heading', { name: 'Início' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Início' }).waitFor();
    expect(await ground()).not.toBe(light);
  });

  it('works with the keyboard alone: login, search, grant, and back to the button', async () => {
    const page = await open();
    const press = (...keys: string[]): Promise<void> =>
      keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
    await page.locator('#email').waitFor();
    await press('Tab');
    await page.keyboard.type(merchant.email);
    await press('Tab');
    await page.keyboard.type(merchant.password);
    await press('Enter');
    await page.getByRole('heading', { name: 'Home' }).waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    await press('/');
    await page.keyboard.type(document);
    await press('Enter');
    await page.getByRole('heading', { name: 'Customer' }).waitFor();
    await page.getByRole('button', { name: 'Grant cashback' }).focus();
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    const reason = `Tecla ${unique()}`;
    await page.keyboard.type('1,00');
    await press('Tab');
    await page.keyboard.type(reason);
    await press('Enter');
    await page.getByText('The customer gets').waitFor();
    await page.locator('[data-step="confirm"]:enabled').waitFor();
    await press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText('The customer').waitFor({ state: 'detached' });
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Grant cashback');
  });

  it('finds an order while its number is typed, and has what was looked at last, without the mouse', async () => {
    const page = await enter(merchant);
    const hits = page.locator('.hits');
    await page.keyboard.press('Control+k');
    await page.keyboard.type(order.external_id.toLowerCase());
    await hits.getByText(order.external_id).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: order.external_id }).waitFor();
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1');
    await page.goto(`${service.url}/back-office/#/customer/${wallet.id}`);
    await page.locator('blockquote').waitFor();
    await page.keyboard.press('/');
    const seen = await hits.getByRole('link').allInnerTexts();
    expect(seen[0]).toMatch(/^•/);
    expect(seen[1]).toContain(order.external_id);
    await page.keyboard.press('Escape');
    expect(await hits.isVisible()).toBe(false);
    // Parts of a CPF are in no address.
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.keyboard.press('/');
    await page.keyboard.type(document.slice(0, 9), { delay: 50 });
    await page.waitForTimeout(500);
    expect(asked).toEqual([]);
  });

  it('shows what was in sight when somebody comes back', async () => {
    const page = await open();
    await logIn(page, merchant);
    await show(page, `customer/${wallet.id}/statement`);
    await page.getByText('the sum of these lines').waitFor();
    await page.setViewportSize({ width: 1000, height: 400 });
    await page.getByRole('link', { name: order.external_id }).last().scrollIntoViewIfNeeded();
    const before = await page.evaluate<number>('scrollY');
    expect(before).toBeGreaterThan(100);
    await page.getByRole('link', { name: order.external_id }).last().click();
    await page.getByRole('heading', { name: order.external_id }).waitFor();
    expect(await page.evaluate<number>('scrollY')).toBe(0);
    await page.goBack();
    while (Math.abs((await page.evaluate<number>('scrollY')) - before) > 5) await page.waitForTimeout(20);
  });

  it('reads the values of a chart to the keyboard and to screen readers', async () => {
    const page = await enter(merchant);
    const chart = page.getByRole('group', { name: 'Sales. Arrow keys show each value.' });
    await chart.focus();
    await page.keyboard.press('End');
    const said = await chart.locator('output').innerText();
    expect(said).toMatch(/: R\$.* · the period before: R\$/);
    const rows = await page.locator('figure table tr').allInnerTexts();
    expect(rows).toHaveLength(30);
    expect(said).toContain(rows.at(-1)!.split('\t')[0]!.trim());
  });

  it('does each thing once while a third of the requests fail, before or after they are done, and says so', async () => {
    const page = await enter(merchant, `customer/${wallet.id}`);
    await page.locator('blockquote').waitFor();
    let requests = 0;
    await page.route(/\/(grants|wallets|orders)/, async (route) => {
      const number = requests++ % 6;
      if (number === 0) return route.abort('connectionreset');
      // The service has done it, and the answer is lost.
      if (number === 3) return route.fetch().then(() => route.abort('connectionreset'));
      return route.continue();
    });
    for (let attempt = 0; attempt < 3; attempt++) {
      await page.getByRole('button', { name: 'Grant cashback' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Amount').fill('1,00');
      await dialog.getByLabel('Reason').fill(`Rede ${attempt}`);
      await dialog.getByRole('button', { name: 'Continue' }).click();
      await submit(dialog).click();
      await dialog.waitFor({ state: 'detached' });
    }
    const given = await merchant.all<{ reason: string }>('/grants?limit=100');
    expect(
      given
        .map(({ reason }) => reason)
        .filter((reason) => reason?.startsWith('Rede'))
        .sort(),
    ).toEqual(['Rede 0', 'Rede 1', 'Rede 2']);
  });

  it('keeps what was typed when the service cannot be reached, and does it when it can', async () => {
    const page = await enter(merchant, `customer/${wallet.id}`);
    await page.getByRole('button', { name: 'Grant cashback' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Amount').fill('2,00');
    await dialog.getByLabel('Reason').fill('Sem rede');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.context().setOffline(true);
    await submit(dialog).click();
    await page.getByText('The connection is bad.').waitFor();
    await dialog.getByText('The service cannot be reached.').waitFor();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Sem rede');
    await page.context().setOffline(false);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await submit(dialog).click();
    await dialog.waitFor({ state: 'detached' });
    const given = await merchant.all<{ reason: string }>('/grants?limit=100');
    expect(given.filter(({ reason }) => reason === 'Sem rede')).toHaveLength(1);
  });
});
