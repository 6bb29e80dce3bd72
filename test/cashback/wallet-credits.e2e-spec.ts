import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import type { Credit, Grant } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { rowsOf } from '../support/wallets.js';

const { service, merchant } = useService({ merchant: aLongLivedMerchant });

const UNKNOWN_ID = '0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10';
/** The day in São Paulo (UTC-3). */
const dayOf = (instant: Date): string => new Date(instant.getTime() - 3 * 3_600_000).toISOString().slice(0, 10);

/** All open credits of a customer, as the pages list them. */
async function creditsOf(document: string, limit = 100): Promise<Credit[]> {
  const { id } = await merchant.wallet(document);
  return merchant.all(`/wallets/${id}/credits?limit=${limit}`);
}

/** A customer with `number` credits of 1.00, which all expire in the same millisecond. @returns the wallet. */
async function aWalletOf(number: number): Promise<{ id: string; document: string; expiresAt: Date }> {
  const [document, expiresAt] = [aDocument(), service.clock.inDays(30)];
  for (let at = 0; at < number; at++) await merchant.credit(document, '1.00', { expiresAt });
  return { id: (await merchant.wallet(document)).id, document, expiresAt };
}

describe('GET /wallets/{id}/credits', () => {
  it('GET /wallets/{id}/credits returns each open credit with its amounts, days and source, earliest expiry first', async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '12.00', reason: 'Late delivery' };
    const granted = await merchant.grant({ ...sorry, expires_on: dayOf(service.clock.inDays(9)) });
    const order = await merchant.completed({ document });
    const promo = {
      external_id: `PROMO-${document}`,
      document,
      amount: '5.00',
      expires_on: dayOf(service.clock.inDays(3)),
    };
    const soon = await merchant.grant(promo);
    const { id } = await merchant.wallet(document);
    const [earned] = await rowsOf(service, 'SELECT id FROM cashback_credits WHERE order_id = ?', [order.id]);
    const { available_at, expires_at, expires_on } = order.cashback.to_receive;
    const pick = ({ amount, remaining, available_at, expires_at, expires_on }: Credit | Grant): object => ({
      ...{ amount, remaining, held: '0.00', available_at, expires_at, expires_on },
    });
    const source = { type: 'grant', reason: null, return: false };
    for (const path of [`/wallets/${id}/credits`, `/wallets/${id.toUpperCase()}/credits`])
      expect(await merchant.client.get(path)).toMatchObject({
        status: 200,
        body: {
          next_cursor: null,
          data: [
            { ...pick(soon), id: soon.id, source: { ...source, id: soon.id, external_id: promo.external_id } },
            {
              ...pick(granted),
              id: granted.id,
              source: { ...source, id: granted.id, external_id: sorry.external_id, reason: 'Late delivery' },
            },
            {
              ...{
                id: earned!.id,
                amount: '7.50',
                remaining: '7.50',
                held: '0.00',
                available_at,
                expires_at,
                expires_on,
              },
              source: { type: 'order', id: order.id, external_id: order.external_id, reason: null, return: false },
            },
          ],
        },
      });
  });

  it('GET /wallets/{id}/credits adds up to the available, pending and held balance, without credits that are wholly held, spent or expired', async () => {
    const document = await merchant.customerWith('5.00', { expiresAt: service.clock.inDays(2) });
    await merchant.credit(document, '10.00', { expiresAt: service.clock.inDays(20) });
    await merchant.credit(document, '30.00', { expiresAt: service.clock.inDays(40) });
    await merchant.completed({ document });
    const order = await merchant.create({ document });
    const remaining = async (): Promise<string[]> =>
      (await creditsOf(document)).map(({ remaining, held }) =>
        held === '0.00' ? remaining : `${remaining} (${held})`,
      );
    await merchant.hold(order, '7.00');
    expect(await merchant.wallet(document)).toMatchObject({ available: '38.00', pending: '7.50', held: '7.00' });
    expect(await remaining()).toEqual(['10.00 (2.00)', '30.00', '7.50']);
    await merchant.cancel(order);
    expect(await remaining()).toEqual(['5.00', '10.00', '30.00', '7.50']);
    service.clock.skip(3 * 86_400_000);
    // The sweep has not written the expiry yet.
    expect(await remaining()).toEqual(['10.00', '30.00', '7.50']);
    await service.clock.advance({ days: 40 });
    expect(await remaining()).toEqual(['7.50']);
  });

  /** A customer with credits that are spent, expired, voided, wholly held, partly held and open. */
  async function aCustomerOfAllStates(): Promise<{ document: string; id: string; amounts: string[] }> {
    const document = aDocument();
    for (const [amount, days] of [
      ['4.00', 1],
      ['1.00', 2],
      ['2.00', 20],
      ['3.00', 40],
    ] as const)
      await merchant.credit(document, amount, { expiresAt: service.clock.inDays(days) });
    // It redeems 4.00 and 0.50 of 1.00, the rest of which expires, and holds 2.00 and 0.50 of 3.00.
    await merchant.completed({ document, total: '100.00' }, { redeem: '4.50' });
    await service.clock.advance({ days: 3 });
    await merchant.voidGrant(await merchant.grant({ document, amount: '6.00' }));
    await merchant.hold(await merchant.create({ document, total: '100.00' }), '2.50');
    const { id } = await merchant.wallet(document);
    return { document, id, amounts: ['4.00', '1.00', '2.00', '3.00', '6.00', '4.77'] };
  }

  it('GET /wallets/{id}/credits?status=all returns each credit, also spent and expired ones, earliest expiry first', async () => {
    const { id, amounts } = await aCustomerOfAllStates();
    const shown = ({ amount, remaining, held }: Credit): string[] => [amount, remaining, held];
    const all = (await merchant.credits({ id }, 'status=all')).data;
    expect(all.map(shown)).toEqual([
      ['4.00', '0.00', '0.00'],
      ['1.00', '0.00', '0.00'],
      ['2.00', '2.00', '2.00'],
      ['3.00', '3.00', '0.50'],
      ['6.00', '0.00', '0.00'],
      ['4.77', '4.77', '0.00'],
    ]);
    expect(all.map(({ amount }) => amount)).toEqual(amounts);
    expect(all.map(({ expires_at }) => expires_at)).toEqual(all.map(({ expires_at }) => expires_at).sort());
    const open = (await merchant.credits({ id })).data;
    expect(open.map(shown)).toEqual([
      ['3.00', '3.00', '0.50'],
      ['4.77', '4.77', '0.00'],
    ]);
    for (const credit of open) expect(all).toContainEqual(credit);
    expect((await merchant.credits({ id }, 'status=open')).data).toEqual(open);
  });

  it('GET /wallets/{id}/credits?status=all lists a credit that has expired before its expiry is written', async () => {
    const document = await merchant.customerWith('5.00', { expiresAt: service.clock.inDays(2) });
    const { id } = await merchant.wallet(document);
    const before = (await merchant.credits({ id }, 'status=all')).data;
    expect(before).toMatchObject([{ amount: '5.00', remaining: '5.00' }]);
    service.clock.skip(3 * 86_400_000);
    expect((await merchant.credits({ id })).data).toEqual([]);
    expect((await merchant.credits({ id }, 'status=all')).data).toMatchObject([{ id: before[0]!.id, amount: '5.00' }]);
    await service.clock.advance({ ms: 1 });
    expect((await merchant.credits({ id }, 'status=all')).data).toMatchObject([{ amount: '5.00', remaining: '0.00' }]);
  });

  it.each([1, 2, 4, 6])('GET /wallets/{id}/credits?status=all pages of %d return each credit once', async (limit) => {
    const { id, amounts } = await aCustomerOfAllStates();
    const pages = await merchant.client.pages<Credit>(`/wallets/${id}/credits?status=all&limit=${limit}`);
    expect(pages.flatMap(({ data }) => data.map(({ amount }) => amount))).toEqual(amounts);
    expect(pages.map(({ data }) => data.length)).toEqual(
      Array.from({ length: Math.ceil(6 / limit) }, (_, at) => Math.min(limit, 6 - at * limit)),
    );
  });

  it('GET /wallets/{id}/credits names a grant of the operator without an external ID by its ID', async () => {
    const document = await merchant.customerWith('5.00');
    const { id, source } = (await creditsOf(document))[0]!;
    expect(source).toEqual({ type: 'grant', id, external_id: id, reason: null, return: false });
    expect(await merchant.readGrant({ id })).toMatchObject({ external_id: id });
  });

  it.each([1, 3, 7])(
    'GET /wallets/{id}/credits pages of %d return each credit once while credits with the same expiry are granted',
    async (limit) => {
      const { id, document, expiresAt } = await aWalletOf(7);
      await merchant.credit(document, '2.00', { expiresAt: service.clock.inDays(1) });
      await merchant.credit(document, '3.00', { expiresAt: service.clock.inDays(60) });
      const before = (await creditsOf(document)).map((credit) => credit.id);
      expect(before).toHaveLength(9);
      const seen: string[] = [];
      for (let cursor = ''; ;) {
        const body = await merchant.credits({ id }, `limit=${limit}${cursor}`);
        seen.push(...body.data.map((credit: { id: string }) => credit.id));
        if (body.next_cursor === null) break;
        cursor = `&cursor=${body.next_cursor}`;
        if (seen.length < 9) await merchant.credit(document, '1.00', { expiresAt });
      }
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter((credit) => before.includes(credit))).toEqual(before);
    },
  );

  it('GET /wallets/{id}/credits continues after a credit that has expired since', async () => {
    const document = aDocument();
    for (const days of [1, 2, 3])
      await merchant.credit(document, `${days}.00`, { expiresAt: service.clock.inDays(days) });
    const { id } = await merchant.wallet(document);
    const body = await merchant.credits({ id }, 'limit=1');
    await service.clock.advance({ hours: 49 });
    const next = await merchant.credits({ id }, `cursor=${body.next_cursor}`).answer;
    expect(next.body).toMatchObject({ data: [{ amount: '3.00' }], next_cursor: null });
  });

  it('GET /wallets/{id}/credits is consistent with the balance while an order holds and releases', async () => {
    const document = aDocument();
    for (let at = 0; at < 4; at++) await merchant.credit(document, '10.00');
    const { id } = await merchant.wallet(document);
    const order = await merchant.create({ document });
    const holds = atOnce(10, (at) => merchant.hold(order, at % 2 ? '25.00' : '0.00').answer);
    const sums = new Set<number>();
    for (const { body } of await atOnce(20, () => merchant.credits({ id }).answer))
      sums.add(body.data.reduce((sum, { remaining, held }) => sum + Number(remaining) - Number(held), 0));
    await holds;
    expect([...sums].filter((sum) => sum !== 40 && sum !== 15)).toEqual([]);
  });

  it('GET /wallets/{id}/credits returns the credits of an erased customer without reasons', async () => {
    const document = aDocument();
    const sorry = { external_id: `SORRY-${document}`, document, amount: '12.00', reason: 'Late delivery' };
    await merchant.client.post('/grants', sorry);
    const { id } = await merchant.wallet(document);
    await merchant.erase(document);
    const body = await merchant.credits({ id });
    expect(body.data).toMatchObject([{ remaining: '12.00', source: { external_id: sorry.external_id, reason: null } }]);
  });

  it('GET /wallets/{id}/credits returns 404 for a wallet of another merchant and for an unknown wallet', async () => {
    const { id } = await aWalletOf(2);
    const other = await aMerchant(service);
    const body = await merchant.credits({ id }, 'limit=1');
    for (const query of ['', `?cursor=${body.next_cursor}`])
      expectProblem(await other.client.get(`/wallets/${id}/credits${query}`), 404, 'not_found');
    for (const unknown of [UNKNOWN_ID, 'null', aDocument()])
      await merchant.credits({ id: unknown }).refused(404, 'not_found');
  });

  it.each([
    ['limit', 'limit=0'],
    ['limit', 'limit=101'],
    ['limit', 'limit=x'],
    ['cursor', 'cursor='],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["credits",1]').toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from(`["credits","${UNKNOWN_ID}",1]`).toString('base64url')}`],
    ['cursor', `cursor=${Buffer.from(`["credits",8640000000000001,"${UNKNOWN_ID}"]`).toString('base64url')}`],
    ['summary', 'summary=true'],
    ['status', 'status=x'],
    ['status', 'status='],
    ['status', 'status=spent'],
    ['status', 'status=open,all'],
  ])('GET /wallets/{id}/credits returns 400 when %s is invalid: %s', async (parameter, query) => {
    const { id } = await aWalletOf(1);
    await merchant.credits({ id }, query).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });
});
