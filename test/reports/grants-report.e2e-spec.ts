import { beforeAll, describe, expect, it } from '@jest/globals';
import { addDays, dayOf, startOfDay } from '../../src/platform/values/time.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aUser, type TestMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { useAdmin } from '../support/use-admin.js';
import { rowsOf } from '../support/wallets.js';

const ZONE = 'America/Sao_Paulo';

interface GrantsReport {
  data: { by: { user_id: string | null; name: string }; reason: string | null; amount: string }[];
  total: { grants: number; amount: string; voided: string };
}

describe('GET /reports/grants', () => {
  const { service, admin } = useAdmin();
  let merchant: TestMerchant;
  let support: TestMerchant;
  let [first, second, period] = ['', '', ''];
  const [ana, bob] = [aDocument(), aDocument()];

  beforeAll(async () => {
    merchant = await aLongLivedMerchant(service);
    const start = startOfDay(addDays(dayOf(service.clock.now(), ZONE), 1), ZONE);
    // Midnight comes before the last grant.
    await service.clock.advance({ ms: +start - +service.clock.now() - 120_000 });
    support = await aUser(service, merchant.id, ['grants'], '=Suporte');
    first = dayOf(service.clock.now(), ZONE);
    second = addDays(first, 1);
    period = `from=${first}&to=${addDays(first, 2)}`;
    const late = 'Atraso';
    await support.grant({ document: ana, amount: '10.00', reason: late });
    await support.grant({ document: ana, amount: '5.00', reason: late });
    const voided = await support.grant({ document: bob, amount: '2.50', reason: late });
    await support.grant({ document: bob, amount: '20.00', reason: 'atraso' });
    await support.grant({ document: bob, amount: '1.00', reason: '' });
    const replayed = { external_id: 'TWICE', document: bob, amount: '0.50' };
    await support.grant(replayed);
    await support.grant(replayed);
    await service.clock.advance({ minutes: 3 });
    await merchant.grant({ document: ana, amount: '40.00', reason: late });
    await merchant.client.post(`/grants/${voided.id}/void`);
  });

  const report = (query: string, shop = merchant): PromiseLike<GrantsReport> =>
    shop.get<GrantsReport>(`/reports/grants?${query}`);
  const by = (): object => ({ user_id: support.userId, name: '=Suporte' });

  it('GET /reports/grants shows what each user granted and why, the highest amount first', async () => {
    const { data, total } = await report(period);
    const owner = { user_id: merchant.userId, name: expect.any(String) };
    expect(data).toEqual([
      { by: owner, reason: 'Atraso', grants: 1, amount: '40.00', voided: '0.00' },
      { by: by(), reason: 'atraso', grants: 1, amount: '20.00', voided: '0.00' },
      { by: by(), reason: 'Atraso', grants: 3, amount: '17.50', voided: '2.50' },
      { by: by(), reason: null, grants: 2, amount: '1.50', voided: '0.00' },
    ]);
    expect(total).toEqual({ grants: 7, amount: '79.00', voided: '2.50' });
  });

  it('GET /reports/grants counts local days from `from` on and before `to`, and only grants of the merchant', async () => {
    const ofFirst = await report(`from=${first}&to=${second}`);
    expect(ofFirst.total).toMatchObject({ grants: 6, amount: '39.00' });
    const ofSecond = await report(`from=${second}&to=${addDays(second, 1)}`);
    expect(ofSecond).toMatchObject({
      data: [{ reason: 'Atraso' }, { grants: 0, voided: '2.50' }],
      total: { grants: 1, amount: '40.00' },
    });
    const nothing = { data: [], total: { grants: 0, amount: '0.00', voided: '0.00' } };
    expect(await report(`from=${addDays(second, 1)}&to=${addDays(second, 2)}`)).toEqual(nothing);
    expect(await report(period, await aLongLivedMerchant(service))).toEqual(nothing);
  });

  it('GET /reports/grants has the grants of the operator, and those of an erased customer without a reason', async () => {
    const shop = await aLongLivedMerchant(service);
    const document = aDocument();
    const options = ['--merchant', shop.id, '--document', document, '--amount', '3.00', '--external-id'];
    await admin.json('grants', 'create', ...options, 'OP-1');
    await shop.grant({ document, amount: '1.00', reason: 'Atraso' });
    await shop.client.post('/customers/erase', { document, confirm: document });
    const today = dayOf(service.clock.now(), ZONE);
    // The command line has the real clock.
    const { data, total } = await report(`from=${addDays(today, -15)}&to=${addDays(today, 16)}`, shop);
    expect(data).toMatchObject([
      { by: { user_id: null, name: 'operator' }, amount: '3.00' },
      { reason: null, amount: '1.00' },
    ]);
    expect(total).toMatchObject({ grants: 2, amount: '4.00' });
  });

  it('GET /reports/grants is CSV with the names of users, and `reports grants` prints the same', async () => {
    const { body } = await merchant.client.get<string>(`/reports/grants?${period}&csv=pt-BR`);
    const lines = body.replace('\uFEFF', '').split('\r\n');
    expect(lines[0]).toBe('quem;motivo;concessões;valor;anulado');
    expect(lines.slice(2, 5)).toEqual([
      '"=""=Suporte""";"atraso";1;20,00;0,00',
      '"=""=Suporte""";"Atraso";3;17,50;2,50',
      '"=""=Suporte""";;2;1,50;0,00',
    ]);
    const empty = await merchant.client.get<string>('/reports/grants?from=2020-01-01&to=2020-01-02', {
      headers: { accept: 'text/csv' },
    });
    expect(empty.body).toBe('by,reason,grants,amount,voided\r\n');
    const days = ['--merchant', merchant.id, '--from', first, '--to', addDays(first, 2)];
    const { data } = await report(period);
    expect(await admin.list('reports', 'grants', ...days)).toMatchObject(data);
    const table = await admin.onTerminal('reports', 'grants', ...days);
    expect(table[0]).toMatch(/^by +reason +grants +amount +voided/);
    expect(table[3]).toMatch(/^=Suporte +Atraso +3 +17.50 +2.50$/);
    expect(table.at(-1)).toMatch(/^TOTAL .* 7 +79.00 +2.50$/);
  });

  it('GET /reports/grants refuses more than 366 days, a report of more than 10,000 rows, and users without `reports`', async () => {
    const refused = async (query: string): Promise<void> => {
      const answer = await merchant.client.get(`/reports/grants?${query}`);
      expectProblem(answer, 400, 'validation_failed');
      expect(answer.body).toMatchObject({ errors: [{ parameter: 'to' }] });
    };
    expect((await report(`from=${first}&to=${addDays(first, 366)}`)).total).toMatchObject({ grants: 7 });
    await refused(`from=${first}&to=${addDays(first, 367)}`);
    await refused(`from=${second}&to=${first}`);
    await refused(`from=${first}`);
    expectProblem(await support.client.get(`/reports/grants?${period}`), 403, 'forbidden');
    expect(
      await admin.refusal('reports', 'grants', '--merchant', merchant.id, '--from', second, '--to', first),
    ).toContain('must be after from');
  });

  it('GET /reports/grants returns 10,000 rows with the total, and refuses one more', async () => {
    const shop = await aLongLivedMerchant(service);
    const day = addDays(dayOf(service.clock.now(), ZONE), -100);
    const add = (from: number, to: number): Promise<unknown> => {
      const reasons = Array.from({ length: to - from }, (_, at) => `R-${from + at}`);
      const rows = reasons.map((reason) => [shop.id, day, shop.userId, reason, 1, 100, 0]);
      return rowsOf(service, 'INSERT INTO grant_days VALUES ?', [rows]);
    };
    await add(0, 10_000);
    const query = `from=${day}&to=${addDays(day, 1)}`;
    const { data, total } = await report(query, shop);
    expect(data).toHaveLength(10_000);
    expect(total).toMatchObject({ grants: 10_000, amount: '10000.00' });
    await add(10_000, 10_001);
    expectProblem(await shop.client.get(`/reports/grants?${query}`), 400, 'validation_failed');
    // Far more are not even read.
    await rowsOf(
      service,
      `INSERT INTO grant_days
       WITH RECURSIVE k (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM k WHERE n < 999)
       SELECT ?, ?, ?, CONCAT(a.n, '-', b.n), 1, 100, 0 FROM k a CROSS JOIN k b WHERE b.n < 301`,
      [shop.id, day, shop.userId],
    );
    expectProblem(await shop.client.get(`/reports/grants?${query}`), 422, 'report_too_large');
    await rowsOf(service, 'DELETE FROM grant_days WHERE merchant_id = ?', [shop.id]);
  });

  it('GET /reports/grants says the same when all is summed, counts a void on its own day, and forgets erased reasons', async () => {
    const shop = await aLongLivedMerchant(service);
    const day = dayOf(service.clock.now(), ZONE);
    const document = aDocument();
    const { id } = await shop.grant({ document, amount: '7.00', reason: 'Segredo' });
    await shop.grant({ document: aDocument(), amount: '2.00', reason: 'Segredo' });
    await shop.grant({ document, amount: '1.00', reason: 'Só dela' });
    const days = (from: string): string => `from=${from}&to=${addDays(from, 1)}`;
    const before = await report(days(day), shop);
    await service.clock.advance({ hours: 26 });
    const next = dayOf(service.clock.now(), ZONE);
    await shop.voidGrant({ id });
    expect(await report(days(day), shop)).toEqual(before);
    await service.clock.advance({ hours: 1 });
    expect(await report(days(day), shop)).toEqual(before);
    const { data } = await report(days(next), shop);
    expect(data).toMatchObject([{ reason: 'Segredo', grants: 0, amount: '0.00', voided: '7.00' }]);
    await expectInvariants(service);
    await shop.client.post('/customers/erase', { document, confirm: document });
    const erased = await report(days(day), shop);
    expect(erased.total).toEqual(before.total);
    expect(erased.data).toMatchObject([
      { reason: null, grants: 2, amount: '8.00' },
      { reason: 'Segredo', grants: 1, amount: '2.00' },
    ]);
    const reasons = await rowsOf(
      service,
      'SELECT day, reason FROM grant_days WHERE merchant_id = ? ORDER BY day, reason',
      [shop.id],
    );
    expect(reasons).toEqual([
      { day, reason: '' },
      { day, reason: 'Segredo' },
      { day: next, reason: '' },
    ]);
    await expectInvariants(service);
  });
});
