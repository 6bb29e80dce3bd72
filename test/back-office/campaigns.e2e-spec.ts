import { beforeAll, expect, it } from '@jest/globals';
import type { Locator } from 'playwright-core';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { confirm, describeInBrowser, loaded, openDialog, plain, useBrowser, submit } from '../support/browser.js';
import { aMerchant, aUser } from '../support/factories.js';
import type { CampaignOfShop, Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { axeFindings } from './axe.js';

const { service, merchant } = useService({
  merchant: (of) => aMerchant(of, { earnRatesByPaymentMethod: { cash: 300 } }),
});

describeInBrowser('Campaigns and rules in the back office', () => {
  const { enter } = useBrowser(service);
  const inDays = (days: number): string => addDays(dayOf(service.clock.now(), 'America/Sao_Paulo'), days);
  let marketing: Shop;
  beforeAll(async () => {
    marketing = await aUser(service, merchant.id, ['rules', 'reports'], 'Marketing');
  });

  const campaigns = async (shop = merchant): Promise<CampaignOfShop[]> => shop.all('/campaigns');
  const fill = async (dialog: Locator, values: Record<string, string>): Promise<void> => {
    for (const [label, value] of Object.entries(values)) await dialog.getByLabel(label, { exact: true }).fill(value);
  };
  const next = (dialog: Locator): Promise<void> => dialog.getByRole('button', { name: 'Continue' }).click();
  /** What is said below a field. */
  const hintOf = async (dialog: Locator, label: string): Promise<string> => {
    const id = await dialog.getByLabel(label, { exact: true }).getAttribute('aria-describedby');
    return plain(await dialog.locator(`[id="${id}"]`).innerText());
  };

  it('are created once, after a preview that the rules of the service compute, and with what is empty as usual', async () => {
    const page = await enter(marketing, 'campaigns');
    await page.getByText('No campaign is planned.').waitFor();
    const dialog = await openDialog(page, 'Create campaign');
    await fill(dialog, { Name: 'Black Friday', 'First day': inDays(40), 'Last day': inDays(42) });
    await next(dialog);
    await dialog.getByText('Say what is different on these days').waitFor();
    await fill(dialog, { Pix: '12', 'Most cashback per order': '30,00' });
    await next(dialog);
    const preview = dialog.getByRole('status');
    await preview.waitFor();
    expect(plain(await preview.innerText())).toContain(
      // The maximum holds for the example, too.
      'An order of R$300.00 paid with Pix earns R$30.00 (without the campaign: R$15.00).',
    );
    expect(await axeFindings(page)).toEqual([]);
    await fill(dialog, { 'Most cashback per order': '' });
    await next(dialog);
    await dialog.getByText('earns R$36.00').waitFor();
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect(await campaigns()).toMatchObject([
      {
        ...{ name: 'Black Friday', from: inDays(40), through: inDays(42), created_by: marketing.by },
        rules: { earn_rates_by_payment_method: { cash: '0.03', pix: '0.12' } },
      },
    ]);
    const row = page.getByRole('group', { name: 'Upcoming' }).getByRole('row').last();
    expect(await row.innerText()).toMatch(/Black Friday[^]*Pix 12%[^]*Marketing/);
  });

  it('that the service refuses say at the field why: a rate above the ceiling, no rate, and days of another campaign', async () => {
    await merchant.campaign({ name: 'Natal', from: inDays(60), through: inDays(61) });
    const page = await enter(marketing, 'campaigns');
    const dialog = await openDialog(page, 'Create campaign');
    await fill(dialog, {
      Name: 'Two',
      'First day': inDays(61),
      'Last day': inDays(62),
      'Cashback of an order (%)': '21%',
    });
    await next(dialog);
    expect(await hintOf(dialog, 'Cashback of an order (%)')).toContain('A percentage such as 7.5. At most 20%.');
    await fill(dialog, { 'Cashback of an order (%)': '10%', Pix: 'much' });
    await next(dialog);
    await dialog.locator('[aria-invalid="true"]').waitFor();
    expect(await hintOf(dialog, 'Pix')).toBe('A percentage such as 7.5. At most 20%.');
    expect(await hintOf(dialog, 'Cash')).toBe('');
    // What few people need is shown where it is refused.
    await fill(dialog, { Pix: '7,5' });
    await dialog.getByText('More rules').click();
    await fill(dialog, { 'Days for which it is valid': 'long' });
    await dialog.getByText('More rules').click();
    await next(dialog);
    await dialog.getByText('A whole number.').waitFor();
    await fill(dialog, { 'Days for which it is valid': '' });
    await next(dialog);
    await dialog.getByText('There is a campaign on these days').waitFor();
    expect(await hintOf(dialog, 'First day')).toContain('(Natal)');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Two');
    await fill(dialog, { 'First day': inDays(62) });
    await next(dialog);
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect((await campaigns()).find(({ name }) => name === 'Two')?.rules).toEqual({
      ...{ earn_rate: '0.10', earn_rates_by_payment_method: { pix: '0.075' } },
    });
  });

  it('that run say what they brought beside the days before, keep their first day, and are ended once', async () => {
    const shop = await aMerchant(service);
    await shop.completed({ total: '80.00' });
    const { id } = await shop.campaign({ name: 'Weekend', from: inDays(0), through: inDays(2) });
    // What is stored on its first day begins a minute later.
    service.clock.skip(2 * 60_000);
    const order = await shop.completed({ total: '100.00' });
    expect(order.campaign_id).toBe(id);
    const page = await enter(shop, 'campaigns');
    await page.getByRole('article').getByRole('link', { name: 'Weekend' }).click();
    await page.getByRole('heading', { name: 'Weekend running' }).waitFor();
    const sales = page.getByRole('row').filter({ hasText: 'Sales' });
    await sales.waitFor();
    expect(plain(await sales.innerText())).toMatch(/R\$100\.00\s+–$/);
    expect(await sales.getByRole('link').getAttribute('href')).toBe(`#/list/orders?campaign_id=${id}`);

    let dialog = await openDialog(page, 'Change');
    await dialog.getByText('cannot be changed: it has begun').waitFor();
    await fill(dialog, { 'Last day': inDays(3), Pix: '15' });
    await next(dialog);
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    await page.getByText('Paid with Pix: 15%.').waitFor();
    expect(await shop.readCampaign({ id })).toMatchObject({
      ...{
        from: inDays(0),
        through: inDays(3),
        rules: { earn_rate: '0.10', earn_rates_by_payment_method: { pix: '0.15' } },
      },
    });

    dialog = await openDialog(page, 'End now');
    await confirm(dialog);
    await page.getByText('It was ended, and stops at').waitFor();
    expect(await page.getByRole('button', { name: 'End now' }).count()).toBe(0);
    expect(await shop.readCampaign({ id })).toMatchObject({ ended_by: shop.by });
  });

  it('to come are deleted, or used again on other days; one that has begun meanwhile is not', async () => {
    const shop = await aMerchant(service);
    const made = await shop.campaign({
      name: 'Easter',
      from: inDays(9),
      through: inDays(9),
      rules: { release_days: 1 },
    });
    const page = await enter(shop, `campaigns/${made.id}`);
    let dialog = await openDialog(page, 'Use again');
    expect(await dialog.getByLabel('Name').inputValue()).toBe('Easter');
    await fill(dialog, { 'First day': inDays(19), 'Last day': inDays(19) });
    await next(dialog);
    await confirm(dialog);
    await page.getByRole('heading', { name: 'Upcoming', exact: true }).waitFor();
    expect((await campaigns(shop)).map(({ rules }) => rules)).toEqual([{ release_days: 1 }, { release_days: 1 }]);
    await page.goto(`${service.url}/back-office/#/campaigns/${made.id}`);
    await page.route(`**/campaigns/${made.id}`, (route) =>
      route.request().method() === 'DELETE'
        ? route.fulfill({
            status: 409,
            contentType: 'application/problem+json',
            json: {
              ...{ code: 'campaign_status_conflict', status: 409, detail: 'the campaign is running' },
              ...{ retryable: false, next_action: 'fix_request', campaign_status: 'running' },
            },
          })
        : route.continue(),
    );
    dialog = await openDialog(page, 'Delete');
    await confirm(dialog);
    await dialog.getByText('The campaign has begun, is over or was ended meanwhile').waitFor();
    await page.unroute(`**/campaigns/${made.id}`);
    await submit(dialog).click();
    await page.getByRole('heading', { name: 'Upcoming', exact: true }).waitFor();
    expect(await campaigns(shop)).toHaveLength(1);
  });

  it('can be read without the permission to change them, and so can the rules', async () => {
    const page = await enter(await aUser(service, merchant.id, ['reports'], 'Financeiro'), 'campaigns');
    await page.getByRole('link', { name: 'Black Friday' }).click();
    await page.getByText('The figures are here as soon as it begins.').waitFor();
    expect(await page.locator('main').getByRole('button').count()).toBe(0);
    await page.getByRole('link', { name: 'Rules', exact: true }).first().click();
    const rules = page.getByRole('region', { name: 'What holds now' });
    await rules.getByText('An order earns 5% of what is paid without cashback.').waitFor();
    expect(await page.getByRole('button', { name: 'Change rules' }).count()).toBe(0);
  });

  it('rules are changed with a reason, beside what somebody else changed meanwhile, and the history says both', async () => {
    const page = await enter(marketing, 'rules');
    const dialog = await openDialog(page, 'Change rules');
    await fill(dialog, { Reason: 'Christmas' });
    await next(dialog);
    await dialog.getByText('Nothing is different yet.').waitFor();
    await fill(dialog, { 'Cashback of an order (%)': '20,5' });
    await next(dialog);
    await dialog.locator('[aria-invalid="true"]').waitFor();
    expect(await hintOf(dialog, 'Cashback of an order (%)')).toContain('At most 20%.');
    await fill(dialog, { 'Cashback of an order (%)': '7,5', Cash: '' });
    await next(dialog);
    const preview = dialog.getByRole('group', { name: 'Changes' });
    expect((await preview.getByRole('row').allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ' ').trim())).toEqual(
      ['Rule Before After', 'Cashback of an order (%) 5% 7.5%', 'Cash 3% like the others'],
    );
    await merchant.changePolicy({ validity_days: 90, reason: 'Shorter' });
    await confirm(dialog);
    await dialog.getByText('Somebody else has changed the rules.').waitFor();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('Christmas');
    await page.getByText('It can be used for 90 days.').first().waitFor();
    await next(dialog);
    await preview.waitFor();
    expect(await preview.getByText('Days for which it is valid').count()).toBe(0);
    await confirm(dialog);
    await dialog.waitFor({ state: 'detached' });
    expect((await merchant.policy()).base).toMatchObject({
      ...{ earn_rate: '0.075', earn_rates_by_payment_method: {}, validity_days: 90 },
    });
    await page.getByText('Cashback of an order (%): 5% → 7.5%').waitFor();
    const rows = await page.getByRole('group', { name: 'History 1' }).getByRole('row').allInnerTexts();
    expect(rows[1]).toMatch(/Marketing[^]*Christmas[^]*Cash: 3% → like the others/);
    expect(rows[2]).toMatch(/Shorter[^]*Days for which it is valid: 180 → 90/);
    expect(rows[3]).toContain('The first rules');
  });

  it('rules name the campaign that they are from, and what holds without it', async () => {
    const shop = await aMerchant(service);
    const changes = { earnRateBps: 1000, earnRatesByPaymentMethod: { pix: 1200 }, releaseDays: 1 };
    await shop.setVersion({ fromDay: inDays(0), throughDay: inDays(2) }, changes);
    service.clock.skip(2 * 60_000);
    const weekday = (locale: string): string =>
      new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' }).format(new Date(inDays(2)));
    const page = await enter(shop, 'rules');
    await page.getByText(`through ${weekday('en-US')}, `).waitFor();
    await page.getByText('An order earns 10% of what is paid without cashback.').waitFor();
    const base = page.getByRole('region', { name: 'Without the campaign' });
    expect(await base.locator('li').allInnerTexts()).toEqual([
      'An order earns 5% of what is paid without cashback.',
      'Paid with Pix: 5%.',
      'Cashback is available 8 days after completion.',
    ]);
    await page.getByRole('region', { name: 'Now, in the campaign' }).getByRole('link').click();
    await page.getByText('Created by').waitFor();
    const brazilian = await enter(shop, 'rules', { language: 'pt-BR' });
    await brazilian.getByText(`até ${weekday('pt-BR')}, `).waitFor();
    await loaded(brazilian);
    expect(await axeFindings(brazilian)).toEqual([]);
  });
});
