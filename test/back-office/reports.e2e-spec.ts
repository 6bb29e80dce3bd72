import { readFile } from 'node:fs/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { describeInBrowser, plain, useBrowser } from '../support/browser.js';
import { aDocument, aUser, grant } from '../support/factories.js';
import type { Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

describeInBrowser('Reports in the back office', () => {
  const { enter } = useBrowser(service);
  const cashiers = aDocument();
  const expiring = aDocument();
  let finance: Shop;
  beforeAll(async () => {
    finance = await aUser(service, merchant.id, ['reports'], 'Financeiro');
    const till = await aUser(service, merchant.id, ['sell', 'refund'], 'Caixa 3');
    for (const total of ['10.00', '20.00', '30.00', '40.00'])
      await till.completed({ document: cashiers, total, store: 'RJ-003' });
    await merchant.completed({ total: '100.00', store: 'SP-014' });
    const support = await aUser(service, merchant.id, ['grants'], 'Suporte Ana');
    await support.grant({ document: aDocument(), amount: '12.00', reason: 'Atraso' });
    await grant(service, merchant, expiring, '7.00', { expiresAt: service.clock.inDays(3) });
  });

  it('of today have the sums of the API, the cashier with many orders on one CPF, grants by user, and what expires', async () => {
    const page = await enter(finance, 'today');
    const rowsOf = async (name: string): Promise<string[]> => {
      const rows = page.getByRole('region', { name, exact: false }).locator('tbody tr');
      await rows.first().waitFor();
      return (await rows.allInnerTexts()).map(plain);
    };
    const stores = await rowsOf('Stores, 30 days');
    expect(stores.find((row) => row.startsWith('RJ-003'))).toContain('R$5.00');
    const [frequent] = await rowsOf('Many orders on one CPF in a day');
    expect(frequent).toContain('R$100.00');
    expect(frequent).toContain('Caixa 3 (4)');
    expect(frequent).not.toContain(cashiers.slice(0, 3));
    expect((await rowsOf('Who granted, 30 days')).find((row) => row.startsWith('Suporte Ana'))).toContain('R$12.00');
    expect(await rowsOf('Expires in the next 7 days')).toEqual([expect.stringContaining('R$7.00')]);
    const { total } = await merchant.get<{ total: { balance: string } }>('/reports/outstanding');
    expect(plain(await page.locator('.tiles').innerText())).toContain(`R$${total.balance}`);

    // From a report to the customer, and no document in the address.
    await page.getByRole('region', { name: 'Many orders' }).getByRole('button').click();
    await page.getByRole('heading', { name: 'Customer' }).waitFor();
    expect(page.url()).not.toContain(cashiers);
  });

  it('of the last 30 days are a chart of what is chosen, with its numbers as a list', async () => {
    const page = await enter(finance, 'today');
    const days = page.locator('figure ol li');
    await days.first().waitFor({ state: 'attached' });
    expect(await days.count()).toBe(30);
    expect(plain((await days.last().textContent())!)).toMatch(/ 5$/);
    await page.getByRole('button', { name: 'Granted' }).click();
    expect(plain((await days.last().textContent())!)).toContain('R$19.00');
  });

  it('of months roll forward from opening to closing, by store, and are saved as CSV for Brazil', async () => {
    const page = await enter(finance, 'months', { language: 'pt-BR' });
    const months = page.getByRole('region', { name: 'Meses' });
    await months.waitFor();
    expect(await months.locator('tbody tr').count()).toBe(12);
    const byStore = page.locator('section', { hasText: 'por loja' });
    await byStore.locator('tfoot').waitFor();
    expect(await byStore.locator('tbody tr').count()).toBe(3);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      byStore.getByRole('button', { name: /^Baixar CSV: .* por loja$/ }).dblclick(),
    ]);
    expect(file.suggestedFilename()).toMatch(/^ledger-\d{4}-\d\d-01-\d{4}-\d\d-01\.csv$/);
    const csv = await readFile(await file.path(), 'utf8');
    // The byte order mark, without which Excel takes it for another encoding.
    expect(csv).toMatch(/^\ufeff\w/);
    expect(csv).toContain(';');
    expect(csv).toContain('RJ-003');
    expect(csv).toContain('5,00');
    await months.getByRole('button').nth(1).click();
    await byStore.getByText('Nada aqui.').waitFor();
  });
});
