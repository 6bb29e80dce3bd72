import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, type Language, loaded, logIn, useBrowser } from '../support/browser.js';
import { aDocument, grant } from '../support/factories.js';
import { deliver } from '../support/receiver.js';
import { type Order, type Wallet, unique } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { axeFindings } from './axe.js';

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
    `order/${order.id}`,
    `customer/${wallet.id}/credits?credits=all`,
    `customer/${wallet.id}/statement`,
    `customer/${wallet.id}/notes`,
    'grants',
    'rules',
    'webhooks',
    'users',
  ];
  async function show(page: Page, view: string): Promise<void> {
    await page.goto(`${service.url}/back-office/#/${view}`);
    await loaded(page);
  }

  describe.each<Language>(['en', 'pt-BR'])('in %s', (language) => {
    it('has names and contrast for everyone, fits 360 pixels, and is in one language, in each view and dialog', async () => {
      const page = await open({ language });
      expect(await axeFindings(page)).toEqual([]);
      expect(await page.locator('html').getAttribute('lang')).toBe(language);
      await logIn(page, merchant);
      const foreign =
        language === 'en' ? /\b(Pedido|Loja|Valor|Cliente|Buscar)\b/ : /\b(Order|Amount|Customer|Store|Find|Reason)\b/;
      for (const view of views()) {
        await show(page, view);
        expect({ view, findings: await axeFindings(page) }).toEqual({ view, findings: [] });
        expect(await page.locator('body').innerText()).not.toMatch(foreign);
        // Tables scroll by themselves.
        await page.setViewportSize({ width: 360, height: 900 });
        const width = await page.evaluate('document.documentElement.scrollWidth');
        expect({ view, width }).toEqual({ view, width: 360 });
        await page.setViewportSize({ width: 1280, height: 900 });
      }
      for (const [view, buttons] of [
        [`customer/${wallet.id}`, 3],
        [`order/${order.id}`, 1],
      ] as const)
        for (let index = 0; index < buttons; index++) {
          await show(page, view);
          await page.locator('main .buttons button, main .bar > button').nth(index).click();
          await page.getByRole('dialog').waitFor();
          expect(await axeFindings(page)).toEqual([]);
          await page.keyboard.press('Escape');
        }
    });
  });

  it('changes its language with a button, and keeps it', async () => {
    const page = await enter(merchant);
    await page.getByRole('button', { name: 'Português' }).click();
    await page.getByRole('heading', { name: 'Buscar' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Buscar' }).waitFor();
  });

  it('works with the keyboard alone: login, find, grant, and back to the button', async () => {
    const page = await open();
    const press = (...keys: string[]): Promise<void> =>
      keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), Promise.resolve());
    await page.locator('#email').waitFor();
    await press('Tab');
    await page.keyboard.type(merchant.email);
    await press('Tab');
    await page.keyboard.type(merchant.password);
    await press('Enter');
    // The field to search is focused.
    await page.getByRole('searchbox').waitFor();
    await page.keyboard.type(document);
    await press('Enter');
    await page.getByRole('button', { name: 'Grant cashback' }).focus();
    await press('Enter');
    await page.getByRole('dialog').waitFor();
    const reason = `Tecla ${unique()}`;
    await page.keyboard.type('1,00');
    await press('Tab');
    await page.keyboard.type(reason);
    await press('Enter');
    await page.getByText('The customer gets').waitFor();
    await page.locator('dialog button:enabled', { hasText: 'Confirm' }).waitFor();
    await press('Enter');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByText(reason).first().waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Grant cashback');
  });

  it('does each thing once while a third of the requests fail, before or after they are done, and says so', async () => {
    const page = await enter(merchant, `customer/${wallet.id}`);
    await page.getByText('These lines add up to').waitFor();
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
      await dialog.getByRole('button', { name: /^Confirm/ }).click();
      await dialog.waitFor({ state: 'detached' });
      await page.getByText(`Rede ${attempt}`).first().waitFor();
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
    await dialog.getByRole('button', { name: /^Confirm/ }).click();
    await page.getByText('The connection is bad.').waitFor();
    await dialog.getByText('The service cannot be reached.').waitFor();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Sem rede');
    await page.context().setOffline(false);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await dialog.getByRole('button', { name: /^Confirm/ }).click();
    await dialog.waitFor({ state: 'detached' });
    const given = await merchant.all<{ reason: string }>('/grants?limit=100');
    expect(given.filter(({ reason }) => reason === 'Sem rede')).toHaveLength(1);
  });
});
