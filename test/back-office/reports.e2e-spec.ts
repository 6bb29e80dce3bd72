import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { SumsService } from '../../src/reports/sums.service.js';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { describeInBrowser, loaded, plain, useBrowser } from '../support/browser.js';
import { aDocument, aMerchant, aUser, grant } from '../support/factories.js';
import type { Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

const today = (): string => dayOf(service.clock.now(), 'America/Sao_Paulo');
const thisMonth = (): string => `${today().slice(0, 7)}-01`;
/** The days of a report from the beginning of this month. */
const untilNow = (): string => `from=${thisMonth()}&to=${addDays(today(), 1)}`;

const tableOf = (page: Page, caption: string): Locator => page.getByRole('group', { name: caption, exact: true });

/** The texts of a table's rows. */
async function rowsOf(page: Page, caption: string): Promise<string[]> {
  const rows = tableOf(page, caption).locator('tbody tr');
  await rows.first().waitFor();
  return (await rows.allInnerTexts()).map(plain);
}

/** Waits until a table has this number of rows. */
async function untilRows(page: Page, caption: string, rows: number): Promise<void> {
  const row = tableOf(page, caption).locator('tbody tr');
  await row.nth(rows - 1).waitFor();
  await row.nth(rows).waitFor({ state: 'detached' });
}

/** What a cell shows of an amount in English. */
const shown = (amount: string): string =>
  Number(amount) === 0
    ? '–'
    : `${amount.startsWith('-') ? '-' : ''}R$${Math.abs(Number(amount)).toLocaleString('en', { minimumFractionDigits: 2 })}`;

/** Clicks a number of a table. */
const openNumber = (page: Page, caption: string, row: string, column: string): Promise<void> =>
  tableOf(page, caption).locator('tr', { hasText: row }).locator(`td[data-head="${column}"] a`).click();

async function download(page: Page, button: string): Promise<{ name: string; text: string }> {
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button, exact: true }).first().dblclick(),
  ]);
  return { name: file.suggestedFilename(), text: await readFile(await file.path(), 'utf8') };
}

interface Ledger {
  data: Record<string, string | null>[];
  total: Record<string, string>;
}

describeInBrowser('Reports in the back office', () => {
  const { enter } = useBrowser(service);
  const cashiers = aDocument();
  const expiring = aDocument();
  let finance: Shop;
  beforeAll(async () => {
    finance = await aUser(service, merchant.id, ['reports'], 'Financeiro');
    const till = await aUser(service, merchant.id, ['sell', 'refund'], 'Caixa 3');
    const [first] = await Promise.all(
      ['10.00', '20.00', '30.00', '40.00'].map((total) =>
        till.completed({ document: cashiers, total, store: 'RJ-003' }),
      ),
    );
    await merchant.completed({ total: '1000.00', store: 'SP-014' });
    await till.refund(first!, '10.00', { reason: 'Defeito', store: 'RJ-003' });
    const support = await aUser(service, merchant.id, ['grants', 'debits'], 'Suporte Ana');
    const { document } = await support.grant({ document: aDocument(), amount: '12.00', reason: 'Atraso' });
    await support.debit({ document, amount: '2.00', reason: 'Engano' });
    await grant(service, merchant, expiring, '7.00', { expiresAt: service.clock.inDays(3) });
  });

  it('of the first view have the sums of the API, and lead to what expires', async () => {
    const page = await enter(finance);
    expect(await rowsOf(page, 'Expires in the next 7 days 1')).toEqual([expect.stringContaining('R$7.00')]);
    const { total } = await merchant.get<{ total: { balance: string } }>('/reports/outstanding');
    const owed = page.locator('.tile', { hasText: 'Owed to customers' });
    expect(plain(await owed.innerText())).toContain(shown(total.balance));
    const expires = page.locator('.tile', { hasText: 'Expires in 30 days' });
    await expires.getByRole('link').click();
    expect(await rowsOf(page, 'Open credits 1')).toEqual([expect.stringContaining('R$7.00')]);
  });

  describe('of sales', () => {
    it('have the numbers of the API, and each opens a list with what it counts', async () => {
      const page = await enter(finance, `sales?${untilNow()}&by=store`);
      const { data, total } = await merchant.get<{ data: { store: string; orders: number; total: string }[] } & Ledger>(
        `/reports/sales?${untilNow()}&by=store`,
      );
      const rows = await rowsOf(page, 'By store');
      for (const { store, orders, total } of data)
        expect(
          rows
            .find((row) => row.startsWith(store))!
            .split(/\s+/)
            .slice(0, 3),
        ).toEqual([...[store, String(orders), shown(total)]]);
      const foot = tableOf(page, 'By store').locator('tfoot tr');
      expect(plain(await foot.innerText())).toContain(shown(total.total!));
      expect(plain(await page.locator('.tiles').innerText())).toContain(shown(total.total!));
      // The mean of five orders.
      expect(plain(await page.locator('.tiles').innerText())).toContain('R$220.00');

      await openNumber(page, 'By store', 'RJ-003', 'Completed orders');
      const orders = await rowsOf(page, 'Orders 1');
      expect(orders).toHaveLength(4);
      for (const order of orders) expect(order).toContain('RJ-003');
      expect(orders.join()).not.toContain(cashiers.slice(0, 6));
      expect(page.url()).not.toContain(cashiers);
    });

    it('are chosen in the address, so that Back restores what somebody chose', async () => {
      const page = await enter(finance, 'sales');
      await rowsOf(page, 'By store');
      await page.getByRole('button', { name: '7 days' }).click();
      await page.getByRole('button', { name: 'By user' }).click();
      await rowsOf(page, 'By user');
      await openNumber(page, 'By user', 'Caixa 3', 'Completed orders');
      expect(await rowsOf(page, 'Orders 1')).toHaveLength(4);
      await page.getByRole('button', { name: 'User: Caixa 3' }).click();
      await untilRows(page, 'Orders 1', 5);
      await page.goBack();
      await page.getByText('User: Caixa 3').waitFor();
      await untilRows(page, 'Orders 1', 4);
      await page.goBack();
      expect(await rowsOf(page, 'By user')).toContainEqual(expect.stringContaining('Caixa 3'));
      expect(await page.getByRole('button', { name: '7 days' }).getAttribute('aria-pressed')).toBe('true');
    });

    it('say who did what, and whose CPF has many orders', async () => {
      const page = await enter(finance, 'sales');
      const users = await rowsOf(page, 'Who did what');
      expect(users.find((row) => row.startsWith('Caixa 3'))).toMatch(
        /^Caixa 3\s+4\s+R\$25\.00\s+1\s+R\$10\.00\s+–\s+–$/,
      );
      expect(users.find((row) => row.startsWith('Suporte Ana'))).toMatch(/^Suporte Ana\s+–\s+–\s+–\s+–\s+1\s+1$/);
      const numbers: [row: string, column: string, list: string, amount: string][] = [
        ['Caixa 3', 'Refunds', 'Refunds', 'R$10.00'],
        ['Suporte Ana', 'Grants', 'Grants', 'R$12.00'],
        ['Suporte Ana', 'Debits', 'Debits', 'R$2.00'],
      ];
      for (const [row, column, list, amount] of numbers) {
        await openNumber(page, 'Who did what', row, column);
        expect(await rowsOf(page, `${list} 1`)).toEqual([expect.stringContaining(amount)]);
        await page.goBack();
      }
      const [frequent] = await rowsOf(page, 'Many orders on one CPF in a day 1');
      expect(frequent).toContain('R$100.00');
      expect(frequent).toContain('Caixa 3 (4)');
      // From a report to the customer, and no document in the address.
      await tableOf(page, 'Many orders on one CPF in a day 1').getByRole('button').click();
      await page.getByRole('heading', { name: 'Customer' }).waitFor();
      expect(page.url()).not.toContain(cashiers);
    });

    it('are a file with a byte order mark and a total', async () => {
      const page = await enter(finance, `sales?${untilNow()}`, { language: 'pt-BR' });
      await rowsOf(page, 'Por loja');
      const { name, text } = await download(page, 'Baixar CSV');
      expect(name).toMatch(/^sales-\d{4}-\d\d-01-.*\.csv$/);
      // Without the mark, Excel takes it for another encoding.
      expect([...Buffer.from(text).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
      expect(text).toContain(';100,00;');
      expect(text).toMatch(/^"TOTAL";.*;1100,00;/m);
    });

    it.each([
      ['from=2026-03-01&to=2026-02-01', 'The last day is before the first one. Check the dates.'],
      ['from=2025-01-01&to=2026-06-01', 'At most 366 days at a time. Choose a shorter period.'],
      ['from=2026-02-30&to=2026-03-04', 'Choose the first and the last day.'],
    ])('of %s are refused in words', async (days, text) => {
      const page = await enter(finance, `sales?${days}`);
      expect(await page.getByRole('alert').innerText()).toContain(text);
      await page.getByRole('button', { name: '30 days' }).click();
      await rowsOf(page, 'By store');
    });

    it('and lists have nothing of another merchant', async () => {
      const page = await enter(await aMerchant(service), `sales?${untilNow()}`);
      await page.getByText('Nobody completed, refunded, granted or debited anything in this period.').waitFor();
      expect(await page.locator('main').innerText()).not.toContain('RJ-003');
      for (const list of ['orders', 'refunds', 'grants', 'debits', 'entries', 'credits', 'customers']) {
        await page.goto(`${service.url}/back-office/#/list/${list}`);
        await page.getByText('Nothing matches these filters.').waitFor();
      }
    });
  });

  it('as lists have their filters, and are files', async () => {
    const page = await enter(finance, 'list/customers', { language: 'pt-BR' });
    const customers = await rowsOf(page, 'Clientes com saldo 1');
    await page.getByRole('textbox', { name: 'Saldo mínimo' }).fill('50,00');
    await page.getByRole('textbox', { name: 'Saldo mínimo' }).press('Enter');
    await page.getByText('Saldo mínimo: R$').waitFor();
    await untilRows(page, 'Clientes com saldo 1', 1);
    expect(customers.length).toBeGreaterThan(1);
    const { name, text } = await download(page, 'Baixar CSV');
    expect(name).toBe('Clientes-com-saldo.csv');
    expect([...Buffer.from(text).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    expect(text.trim().split('\r\n')).toHaveLength(2);

    await page.goto(`${service.url}/back-office/#/list/orders?store=RJ-003&status=completed`);
    await page.getByText('Pedidos têm um destes filtros de cada vez.').waitFor();
    await page.getByRole('button', { name: 'Loja: RJ-003' }).click();
    for (const order of await rowsOf(page, 'Pedidos 1')) expect(order).toContain('Concluído');
    await page.getByRole('button', { name: 'Mês passado' }).click();
    await page.getByText('Nada com estes filtros.').waitFor();
  });

  describe('of a month', () => {
    it('roll forward from opening to closing, and each amount opens its entries', async () => {
      const page = await enter(finance, `closing/${thisMonth().slice(0, 7)}`);
      const movements = await rowsOf(page, 'Movements');
      const { total } = await merchant.get<Ledger>(`/reports/ledger?${untilNow()}`);
      const { opening, closing, closing_debt, ...named } = total;
      const names = [
        ...['+ Earned', '+ Granted', '− Redeemed', '+ Returned to the balance', '− Taken back by refunds', '− Voided'],
        ...['− Debited', '− Expired'],
      ];
      const keys = ['earned', 'granted', 'redeemed', 'returned', 'taken_back', 'voided', 'debited', 'expired'];
      expect(movements.map((row) => row.replaceAll(/\s*\t\s*|\n/g, '|').replaceAll(/\|+/g, '|'))).toEqual([
        `Opening|${shown(opening!)}`,
        ...names.map((name, index) => `${name}|${shown(named[keys[index]!]!)}`).filter((line) => !line.endsWith('|–')),
        `= Closing|${shown(closing!)}`,
        `Debt|${shown(closing_debt!)}`,
      ]);
      await page.getByText('1 completed order', { exact: false }).or(page.getByText('5 completed orders')).waitFor();
      await openNumber(page, 'Movements', '− Taken back', 'Amount');
      expect(await rowsOf(page, 'Entries 1')).toEqual([expect.stringContaining('−R$0.50')]);
      await page.getByText('Kind: Taken back, Debt, Debt paid').waitFor();
      await page.goBack();
      await openNumber(page, 'Movements', '+ Earned', 'Amount');
      const entries = await merchant.all<{ amount: string }>(`/entries?kind=earn&limit=100`);
      expect((await rowsOf(page, 'Entries 1')).length).toBe(entries.length);
    });

    it('say what is open, which stores have to settle, and what was owed on a day; and are files', async () => {
      const owner = await aMerchant(service, { releaseDays: 0 });
      const document = aDocument();
      await owner.completed({ document, total: '200.00', store: 'A' });
      await owner.sell({ document, total: '50.00', store: 'B' }, { redeem: '6.00' });
      while ((await service.app.get(SumsService).run()).hasMore);
      const page = await enter(owner, `closing/${thisMonth().slice(0, 7)}`, { language: 'pt-BR' });
      await page.getByText('1 acerto entre lojas a fazer').waitFor();
      await page.getByText('Ver o acerto').click();
      expect(await rowsOf(page, 'Acerto entre lojas')).toEqual([expect.stringMatching(/^A\s+B\s+R\$ 6,00$/)]);
      expect(await page.getByText(/^Ainda há/).innerText()).toMatch(/aberto/);
      const { name, text } = await download(page, 'Mês por loja');
      expect(name).toBe(`mes-por-loja-${thisMonth().slice(0, 7)}.csv`);
      expect(text).toMatch(/^\ufeff.*;/);
      expect(text).toMatch(/^"TOTAL";/m);
      for (const button of ['Acerto entre lojas', 'Vendas por loja', 'Lançamentos', 'Concessões'])
        expect((await download(page, button)).text).toMatch(/^\ufeff.*;/);

      // A month that is over, and its last day.
      await page.getByRole('link', { name: 'Mês anterior' }).click();
      await page.getByText('Todos os dias estão fechados').waitFor();
      const last = page.getByRole('region', { name: 'Saldo no fim de um dia' }).locator('input');
      expect(await last.inputValue()).toBe(addDays(thisMonth(), -1));
      await page.goto(`${page.url()}?as_of=${today()}`);
      await page.getByText('Escolha um dia que já passou.').waitFor();
      await page.getByRole('combobox', { name: 'Mês' }).selectOption(thisMonth());
      await loaded(page);
      expect(await tableOf(page, 'Por loja').locator('tbody tr').count()).toBe(2);
    });
  });
});
