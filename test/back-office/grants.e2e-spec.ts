import { beforeAll, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { describeInBrowser, plain, useBrowser } from '../support/browser.js';
import { aUser, punctuated } from '../support/factories.js';
import { documentsOf, randomFrom } from '../../tools/demo-data.mjs';
import type { Grant, Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();

describeInBrowser('Grants from a file in the back office', () => {
  const { enter } = useBrowser(service);
  let marketing: Shop;
  beforeAll(async () => {
    marketing = await aUser(service, merchant.id, ['grants', 'reports'], 'Marketing');
  });

  const random = randomFrom(52);
  /** With check digits, as a list of customers has. */
  const valid = (count: number): string[] => documentsOf(random, count);
  const aDocument = (): string => valid(1)[0]!;
  const grants = (): Promise<Grant[]> => merchant.all<Grant>('/grants?limit=100');
  /** As Excel in Brazil saves it. */
  const excel = (...lines: string[]): Buffer =>
    Buffer.from(['CPF;Valor;Motivo;Último dia;Observação', ...lines, ''].join('\r\n'), 'latin1');

  /** Drops a file, and goes on to its lines. */
  async function drop(page: Page, name: string, buffer: Buffer, list?: string): Promise<void> {
    await page.locator('#file').setInputFiles({ name, mimeType: 'text/csv', buffer });
    await page.getByLabel('Reason, where a line has none').fill('Aniversário');
    if (list !== undefined) await page.getByLabel('Name of the list').fill(list);
    await page.getByRole('button', { name: 'Check lines' }).click();
  }
  const figures = async (page: Page): Promise<string[]> => page.locator('.tile strong').allInnerTexts();
  const grantAll = async (page: Page): Promise<string> => {
    await page.getByRole('button', { name: /^Grant R/ }).dblclick();
    const done = page.getByText(/^Granted now:/);
    await done.waitFor();
    return done.innerText();
  };

  it('are made once for each good line, with the name of the user; the faulty ones are named, and saved to correct', async () => {
    const documents = valid(205);
    const page = await enter(marketing, 'grants');
    const good = documents.map((document) => `${punctuated(document)};15,00;;;Ligação de março`);
    const faulty = ['1234567890;15,00;;;', `${aDocument()};1.500;;;`, `${aDocument()};15,00;;31/02/2099;`];
    const file = excel(...good.slice(0, 2), ...faulty, ...good.slice(2));
    await drop(page, 'Aniversários de março.csv', file);
    await page.getByText('This CPF or CNPJ is wrong.').waitFor();
    await page.getByText('Write the amount with cents').waitFor();
    await page.getByText('The day 31/02/2099 does not exist or is over.').waitFor();
    expect((await figures(page)).slice(0, 2)).toEqual(['205', '3']);
    expect(plain((await figures(page))[2]!)).toBe('R$3,075.00');
    expect(await grants()).toEqual([]);
    // A busy service can make a batch and answer too late: then the page sends it again.
    const [now, before, refused] = (await grantAll(page)).match(/\d+/g)!.map(Number);
    expect([now! + before!, refused]).toEqual([205, 0]);
    const made = await grants();
    expect(made).toHaveLength(205);
    expect(new Set(made.map(({ document }) => document))).toEqual(new Set(documents));
    expect(made[0]).toMatchObject({
      ...{ amount: '15.00', reason: 'Aniversário', note: 'Ligação de março' },
      created_by: { name: 'Marketing' },
    });
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save the 3 with a fault' }).click(),
    ]);
    const chunks: Buffer[] = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk as Buffer);
    const saved = Buffer.concat(chunks).toString();
    expect(saved.startsWith('\ufeff')).toBe(true);
    expect(saved.trim().split('\r\n')).toHaveLength(4);
    // Corrected in the file that was saved, the three are granted, and nothing else.
    await page.getByRole('button', { name: 'Another file' }).click();
    const corrected = saved
      .replace('1234567890', aDocument())
      .replace('1.500', '1,50')
      .replace('31/02/2099', '28/02/2099');
    await drop(page, 'x.csv', Buffer.from(corrected));
    expect(await grantAll(page)).toBe('Granted now: 3. Granted before: 0. Refused: 0.');
    // The first file again, which somebody else has corrected otherwise, grants none of its lines again.
    await page.getByRole('button', { name: 'Another file' }).click();
    await drop(page, 'Aniversários de março.csv', file);
    expect(await grantAll(page)).toBe('Granted now: 0. Granted before: 205. Refused: 0.');
    expect(await grants()).toHaveLength(208);
  });

  it('go on where they were when the connection fails in the middle, and grant no line twice', async () => {
    const before = (await grants()).length;
    const page = await enter(marketing, 'grants');
    const lines = Array.from({ length: 120 }, () => `${aDocument()};1,00;Rede;;`);
    await drop(page, 'rede.csv', excel(...lines));
    let requests = 0;
    await page.route('**/grants/batch', async (route) => {
      requests++;
      // The first batch is made, and its answer is lost; the second one does not arrive at first.
      if (requests === 1) return route.fetch().then(() => route.abort('connectionreset'));
      return requests === 3 ? route.abort('connectionreset') : route.continue();
    });
    expect(await grantAll(page)).toMatch(/^Granted now: 20. Granted before: 100. Refused: 0.$/);
    expect(await grants()).toHaveLength(before + 120);
  });

  it('above the limit of the day are refused line by line, which the page says before', async () => {
    const limited = await aUser(service, merchant.id, ['grants'], 'Limite');
    const page = await enter(limited, 'grants');
    const lines = Array.from({ length: 6 }, () => `${aDocument()};1000,00;Prêmio;;`);
    await drop(page, 'premio.csv', excel(...lines));
    await page.getByText('The total exceeds what you can still grant today.').waitFor();
    expect(await grantAll(page)).toBe('Granted now: 5. Granted before: 0. Refused: 1.');
    await page.getByText(/You can grant at most R\$\s?0.00 now./).waitFor();
  });

  it('need columns, and a permission', async () => {
    const page = await enter(marketing, 'grants');
    await drop(page, 'errado.csv', Buffer.from('Nome;Telefone\r\nAna;1\r\n'));
    await page.getByText('The first line needs the names of the columns').waitFor();
    const finance = await aUser(service, merchant.id, ['reports'], 'Financeiro');
    const theirs = await enter(finance, 'grants');
    await theirs.getByText('Who granted, 30 days').waitFor();
    expect(await theirs.locator('#file').count()).toBe(0);
  });
});
