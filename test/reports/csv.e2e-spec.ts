import { beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { COLUMNS } from '../../src/platform/http/csv.js';
import { addDays, dayOf, firstOfNextMonth } from '../../src/platform/values/time.js';
import { csvFiles } from '../support/csv-files.js';
import { aDocument, aMerchant, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';

import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

describe('reports as CSV', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let period: string;
  let today: string;

  beforeAll(async () => {
    merchant = await aLongLivedMerchant(service, { releaseDays: 0 });
    today = dayOf(service.clock.now(), 'America/Sao_Paulo');
    period = `from=${today}&to=${addDays(today, 1)}`;
    for (const [amount, store] of [
      ['1234.56', '=HYPERLINK("http://x")'],
      ['2.00', '+1'],
      ['3.00', '-2,50'],
      ['4.00', '@SUM(A1)'],
      ['5.00', '12.50'],
      ['6.00', '2026-11-20'],
      ['8.00', 'x;=1+1,-2;y'],
      ['9.00', '35261112345678000199550010000012341000012345'],
      ['10.00', '001'],
      ['11.00', '1-2'],
      ['12.00', 'true'],
      ['13.00', '2026-11'],
      ['14.00', 'Centro'],
      ['0.10', `'=1`],
      ['0.20', '=1'],
      ['0.30', 'x;"=1+1'],
      ['0.40', '＝1'],
      ['7.00', 'São João; "Centro"'],
    ])
      await give(amount!, store!);
  });

  /** More than the maximum of a grant over HTTP. */
  async function give(amount: string, store: string): Promise<void> {
    for (let left = Math.round(Number(amount) * 100); left > 0; left -= 100_000)
      await merchant.grant({ document: aDocument(), amount: (Math.min(left, 100_000) / 100).toFixed(2), store });
  }

  const read = async (path: string, headers: Record<string, string> = {}) => {
    const answer = await merchant.client.get<string>(path, { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    return answer;
  };
  const bytesOf = async (path: string): Promise<Buffer> => {
    const { accessToken } = { accessToken: merchant.tokens.access_token };
    const response = await fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${accessToken}` } });
    return Buffer.from(await response.arrayBuffer());
  };

  it('a report is CSV with a header and CRLF for `accept: text/csv`, and JSON for other values', async () => {
    const { body } = await read(`/reports/ledger?${period}`, { accept: 'text/csv' });
    expect(body).toBe(
      'from,to,opening,earned,granted,redeemed,returned,taken_back,voided,debited,expired,closing,closing_debt,closed,late\r\n' +
        `${today},${addDays(today, 1)},0.00,0.00,1339.56,0.00,0.00,0.00,0.00,0.00,0.00,1339.56,0.00,false,0\r\n`,
    );
    for (const accept of ['application/json', '*/*', 'application/xml', 'application/json, text/csv;q=0.5'])
      expect((await merchant.client.get(`/reports/ledger?${period}`, { headers: { accept } })).body).toMatchObject({
        data: [{ granted: '1339.56' }],
      });
    await read(`/reports/ledger?${period}`, { accept: 'text/csv, application/json;q=0.5' });
  });

  it('the file of a report has its name and its days or months', async () => {
    const [month, yesterday] = [today.slice(0, 7), addDays(today, -1)];
    for (const [query, file] of [
      [`ledger?${period}&by=store`, `ledger-${today}-${addDays(today, 1)}.csv`],
      [`frequent?${period}`, `frequent-${today}-${addDays(today, 1)}.csv`],
      ['outstanding?', 'outstanding.csv'],
      [`outstanding?as_of=${yesterday}`, `outstanding-${yesterday}.csv`],
      ['expiring?months=1', `expiring-${month}.csv`],
      ['expiring?months=2', `expiring-${month}-${firstOfNextMonth(today).slice(0, 7)}.csv`],
    ]) {
      const { headers } = await read(`/reports/${query}`, { accept: 'text/csv' });
      expect(headers.get('content-disposition')).toBe(`attachment; filename=${file}`);
    }
  });

  it('a text of the merchant that a spreadsheet would take for a formula begins with an apostrophe, a number of ours does not', async () => {
    const { body } = await read(`/reports/ledger?${period}&by=store`, { accept: 'text/csv' });
    expect(body.split('\r\n').map((line) => line.split(/,20\d\d-/)[0])).toEqual([
      'store,from,to,opening,earned,granted,redeemed,returned,taken_back,voided,debited,expired,closing,closing_debt,closed,late',
      // The apostrophe tells what is sent with one from what is not.
      `"''=1"`,
      `"'+1"`,
      `"'-2,50"`,
      '"001"',
      '"1-2"',
      '"12.50"',
      '"2026-11"',
      '"2026-11-20"',
      '"35261112345678000199550010000012341000012345"',
      `"'=1"`,
      `"'=HYPERLINK(""http://x"")"`,
      `"'@SUM(A1)"`,
      '"Centro"',
      '"São João; ""Centro"""',
      '"true"',
      // A program that separates at semicolons would begin a cell at each of them, whatever is quoted.
      `"x;'=1+1,'-2;y"`,
      `"x;""'=1+1"`,
      `"'＝1"`,
      '"TOTAL"',
      '',
    ]);
    const debtor = aDocument();
    const order = await merchant.completed({ document: debtor, total: '100.00' });
    await merchant.completed({ document: debtor, total: '10.00' }, { redeem: '5.00' });
    await merchant.refund(order, '100.00');
    const pair = await read(`/reports/ledger?${period}&by=store`, { accept: 'text/csv' });
    expect(pair.body.split('\r\n').at(-3)).toMatch(/^,20.*,-4\.\d\d,/);
  });

  it('?csv=pt-BR has headers in Portuguese, semicolons, decimal commas, days such as 30/11/2026 and a mark of UTF-8, and leaves texts as they are', async () => {
    const bytes = await bytesOf(`/reports/ledger?${period}&by=store&csv=pt-BR`);
    expect(bytes.subarray(0, 3).toString('hex')).toBe('efbbbf');
    const lines = bytes.subarray(3).toString().split('\r\n');
    const [year, month, day] = today.split('-');
    expect(lines[0]).toMatch(/^loja;de;antes de;abertura;/);
    const row = `${day}/${month}/${year}`;
    const of = (cell: string): string | undefined => lines.find((line) => line.startsWith(`${cell};${row};`));
    expect(of('"=""12.50"""')).toMatch(/;5,00;/);
    expect(of('"=""=HYPERLINK(""""http://x"""")"""')).toMatch(/;1234,56;/);
    for (const text of ['001', '1-2', 'true', '2026-11', '2026-11-20', '+1', '-2,50', '@SUM(A1)'])
      expect([text, of(`"=""${text}"""`)]).toEqual([text, expect.any(String)]);
    expect(of('"=""35261112345678000199550010000012341000012345"""')).toMatch(/;9,00;/);
    expect(of(`"=""x;'=1+1,'-2;y"""`)).toMatch(/;8,00;/);
    // A text that a spreadsheet leaves as it is needs no formula.
    expect(of('"Centro"')).toMatch(/;14,00;/);
    expect(of('"São João; ""Centro"""')).toMatch(/;7,00;/);
    expect(of('(sem loja)')).toMatch(/;-4,\d\d;/);
  });

  it('with ?csv=pt-BR, a text that a formula cannot contain has an apostrophe if it looks like one', async () => {
    const long = `=${'1+'.repeat(200)}1`;
    await merchant.grant({ document: aDocument(), amount: '1.00', reason: long });
    await merchant.grant({ document: aDocument(), amount: '1.00', reason: '=1\n=2' });
    await merchant.grant({ document: aDocument(), amount: '1.00', reason: '1'.repeat(255) });
    const { body } = await read(`/reports/grants?${period}&csv=pt-BR`);
    for (const cell of [`"'${long}"`, `"'=1\n'=2"`, `"=""${'1'.repeat(255)}"""`])
      expect(body).toContain(`;${cell};1;1,00;`);
  });

  it('every column of a report and of a list has a name in Portuguese, and is written as its schema says', async () => {
    interface Schema {
      type?: string;
      format?: string;
      pattern?: string;
      $ref?: string;
      anyOf?: Schema[];
      items: Schema;
      properties: Record<string, Schema>;
    }
    interface Get {
      responses: { 200: { content: Record<string, { schema: Schema }> } };
    }
    const body = JSON.parse(readFileSync('dist/openapi.json', 'utf8')) as {
      components: { schemas: Record<string, Schema> };
      paths: Record<string, { get: Get }>;
    };
    const resolved = (schema: Schema): Schema => {
      const { $ref } = schema;
      if (schema.anyOf !== undefined) return resolved(schema.anyOf[0]!);
      return $ref === undefined ? schema : resolved(body.components.schemas[$ref.split('/').at(-1)!]!);
    };
    const rowOf = (path: string): Schema => {
      const { schema } = body.paths[path]!.get.responses[200].content['application/json']!;
      return resolved(resolved(resolved(schema).properties.data!).items);
    };
    const kindOf = ({ type, format, pattern = '' }: Schema, column: string): string => {
      if (format?.startsWith('date') || column === 'month') return 'date';
      if (type === 'boolean') return 'boolean';
      if (type === 'integer') return 'number';
      return pattern.includes('\\.') ? 'money' : 'text';
    };
    const headers = Object.assign({}, ...Object.values(COLUMNS)) as Record<string, string>;
    const kinds = new Map(Object.entries(COLUMNS).flatMap(([kind, of]) => Object.keys(of).map((name) => [name, kind])));
    const check = (columns: string[], row: Schema): void => {
      for (const column of columns) {
        const schema = column.split('.').reduce((of, name) => resolved(resolved(of).properties[name]!), row);
        expect([column, headers[column]]).toEqual([column, expect.any(String)]);
        // Words and IDs of the service and documents are texts that cannot be anything else.
        expect([column, kinds.get(column)!.replace(/word|document/, 'text')]).toEqual([column, kindOf(schema, column)]);
      }
    };
    const { reports, lists } = csvFiles();
    expect(reports.length).toBeGreaterThan(5);
    expect(lists.length).toBeGreaterThan(4);
    for (const path of reports) check(Object.keys(rowOf(path).properties), rowOf(path));
    for (const name of lists.map((path) => path.slice(1))) {
      const headerOf = async (format: string): Promise<string> =>
        (await admin.text(name, 'list', '--merchant', merchant.id, '--format', format)).split('\r\n')[0]!;
      const columns = (await headerOf('csv')).split(',');
      check(columns, rowOf(`/${name}`));
      const named = (await headerOf('csv-pt-BR')).replace('\uFEFF', '').split(';');
      expect(named).toEqual(columns.map((column) => headers[column]));
      expect(new Set(named).size).toBe(columns.length);
    }
  });

  it('a report without rows is CSV with its header', async () => {
    const { body } = await read(`/reports/frequent?from=2020-01-01&to=2020-01-02&csv=pt-BR`);
    expect(body).toBe('dia;documento;pedidos;total;concluído por\r\n');
  });

  it('the CSV of customers has CPFs and CNPJs with punctuation for Brazil, and as they are otherwise', async () => {
    for (const document of ['01234567890', '12ABC34501DE35'])
      for (let count = 0; count < 3; count++) await merchant.completed({ document, total: '1500.00' });
    const { body } = await read(`/reports/frequent?${period}&csv=pt-BR`);
    const [year, month, day] = today.split('-');
    expect(body.split('\r\n').slice(1, 3)).toEqual([
      `${day}/${month}/${year};012.345.678-90;3;4500,00;"=""${await nameOfUser()}: 3"""`,
      `${day}/${month}/${year};12.ABC.345/01DE-35;3;4500,00;"=""${await nameOfUser()}: 3"""`,
    ]);
    const plain = await read(`/reports/frequent?${period}`, { accept: 'text/csv' });
    expect(plain.body).toContain(`${today},01234567890,3,4500.00,`);
  });

  const nameOfUser = async (): Promise<string> =>
    (await rowsOf<{ name: string }>(service, 'SELECT name FROM api_users WHERE id = ?', [merchant.userId]))[0]!.name;

  it('reports of all merchants begin each row with the merchant', async () => {
    const days = ['--from', today, '--to', addDays(today, 1)];
    await aMerchant(service);
    for (const [format, heads] of [
      ['csv', 'merchant_id,merchant_name,store,'],
      ['csv-pt-BR', 'lojista (ID);lojista;loja;'],
    ] as const) {
      const file = await admin.text('reports', 'ledger', ...days, '--by', 'store', '--format', format);
      const [header, ...rows] = file.replace('\uFEFF', '').trim().split('\r\n');
      expect(header).toMatch(new RegExp(`^${heads.replace(/[()]/g, '.')}`));
      expect(rows.filter((row) => row.startsWith(merchant.id))).not.toEqual([]);
    }
  });
});
