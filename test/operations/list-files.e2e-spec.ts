import { beforeAll, describe, expect, it } from '@jest/globals';
import { csvFiles } from '../support/csv-files.js';
import { aDocument, aMerchant, aUser, type TestMerchant } from '../support/factories.js';
import { expectProblem } from '../support/expectations.js';
import { useAdmin } from '../support/use-admin.js';

const LISTS = csvFiles().lists.map((path) => path.slice(1));

describe('lists as CSV', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let other: TestMerchant;

  beforeAll(async () => {
    [merchant, other] = [await aMerchant(service, { releaseDays: 0 }), await aMerchant(service)];
    const document = aDocument();
    const order = await merchant.completed({ document, store: 'Sé; "1"', metadata: { pedido: '=1+1' } });
    await merchant.refund(order, '10.00');
    await merchant.cancel(await merchant.create({ document }), { body: { reason: '-1' } });
    // More than the largest page of JSON.
    for (let count = 0; count < 105; count++)
      await merchant.grant({ document: aDocument(), amount: '1.00', reason: '=cmd' });
    const debit = await merchant.debit({ document, amount: '1.00', reason: '=cmd', note: 'Sé; "1"', store: '+1' });
    await merchant.voidDebit(debit, { reason: '@SUM' });
    await merchant.debit({ document, amount: '9000.00', take: 'available', metadata: { ticket: '=1+1' } });
    await other.grant();
  });

  const read = async (path: string, headers = {}, of = merchant) => {
    const answer = await of.client.get<string>(path, { headers });
    expect({ status: answer.status, type: answer.headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/csv; charset=utf-8',
    });
    return answer;
  };
  const linesOf = (text: string): string[] => text.split('\r\n').filter((line) => line !== '');

  it.each(LISTS)('GET /%s as CSV has the rows and columns of the command line', async (list) => {
    for (const [path, format, headers] of [
      [`/${list}`, 'csv', { accept: 'text/csv' }],
      [`/${list}?csv=pt-BR&limit=1`, 'csv-pt-BR', {}],
    ] as const) {
      const { body, headers: sent } = await read(path, headers);
      expect(sent.get('content-disposition')).toBe(`attachment; filename=${list}.csv`);
      expect(sent.get('link')).toBeNull();
      const printed = await admin.text(list, 'list', '--merchant', merchant.id, '--format', format);
      expect(body.replace('\uFEFF', '')).toBe(printed.replace('\uFEFF', ''));
      expect(linesOf(body).length).toBeGreaterThan(['orders', 'refunds', 'debits'].includes(list) ? 1 : 100);
    }
  });

  it('the filters of the list are those of the file, and another merchant has its own rows', async () => {
    expect(linesOf((await read('/orders?status=cancelled', { accept: 'text/csv' })).body)).toHaveLength(2);
    expect(linesOf((await read('/orders?created_to=2020-01-01T00:00:00Z&csv=pt-BR')).body)).toHaveLength(1);
    expect(linesOf((await read('/grants', { accept: 'text/csv' }, other)).body)).toHaveLength(2);
    expect(linesOf((await read('/orders', { accept: 'text/csv' }, other)).body)).toHaveLength(1);
  });

  it('a file that is full says where the next one begins, until all rows are there once', async () => {
    const debtors = await aMerchant(service);
    await service.dataSource.query(
      `INSERT INTO wallets (id, merchant_id, document, debt_cents, balance_cents, available_cents, pending_cents, held_cents, available_as_of, available_until, last_seq, created_at)
       SELECT UUID(), ?, CONCAT('9', LPAD(a.n * 1000 + b.n * 100 + c.n * 10 + d.n, 10, '0')), 1, 0, 0, 0, 0, NOW(3), '9999-12-31 23:59:59.999', 0, NOW(3)
         FROM (${digits(11)}) a, (${digits(10)}) b, (${digits(10)}) c, (${digits(10)}) d`,
      [debtors.id],
    );
    const rows: string[] = [];
    let files = 0;
    for (let path = '/customers?csv=pt-BR'; path !== ''; files++) {
      const { body, headers } = await read(path, {}, debtors);
      const [, ...lines] = linesOf(body);
      expect(lines.length).toBeLessThanOrEqual(10_000);
      rows.push(...lines);
      const [, next] = /^<(\?.*)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
      path = next === undefined ? '' : `/customers${next}`;
    }
    expect(files).toBeGreaterThan(1);
    expect(rows).toHaveLength(11_000);
    expect(new Set(rows).size).toBe(11_000);
  });

  it('what a list refuses, its file refuses as a problem', async () => {
    const cashier = await aUser(service, merchant.id, ['sell']);
    expectProblem(await cashier.client.get('/grants?csv=pt-BR'), 403, 'forbidden');
    for (const query of ['csv=en', 'csv=pt-BR&cursor=x', 'csv=pt-BR&limit=0', 'csv=pt-BR&csv=pt-BR'])
      expectProblem(await merchant.client.get(`/grants?${query}`), 400, 'validation_failed');
    expectProblem(await merchant.client.get('/users?csv=pt-BR'), 400, 'validation_failed');
  });
});

const digits = (count: number): string =>
  Array.from({ length: count }, (_, n) => `SELECT ${n} AS n`).join(' UNION ALL ');
