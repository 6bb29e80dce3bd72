import { describe, expect, it } from '@jest/globals';
import type { CustomerEntryDto } from '../../src/cashback/entry.dto.js';
import { aMerchant, aUser } from '../support/factories.js';
import { aLongLivedMerchant } from '../support/long-lived-merchant.js';
import { type Entry, type Json, type Page, type Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';
import { FrozenClock } from '../support/clock.js';

const clock = new FrozenClock();
const { service } = useService({ clock });

type CustomerEntry = Json<CustomerEntryDto>;

const all = (shop: Shop, query = ''): Promise<CustomerEntry[]> => shop.all<CustomerEntry>(`/entries?${query}`);
const namesOf = (entries: CustomerEntry[]): string[] => entries.map(({ wallet_id: wallet, seq }) => `${wallet} ${seq}`);

describe('GET /entries', () => {
  it('GET /entries returns the statements of all customers with whose they are, newest first, in pages', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    await other.customerWith('9.00');
    const [ana, rui] = [await shop.customerWith('5.00'), await shop.customerWith('7.00')];
    await shop.credit(ana, '3.00');
    // Redeems two credits and earns a third, at one instant.
    const order = await shop.completed({ document: ana, store: 'SP-014' }, { redeem: '6.00' });
    await shop.refund(order, '150.00');
    const own: CustomerEntry[] = [];
    for (const document of [ana, rui]) {
      const { id } = await shop.wallet(document);
      const { data } = await shop.get<Page<Entry>>(`/wallets/${id}/entries?limit=100`);
      own.push(...data.map((entry) => ({ ...entry, wallet_id: id, document })));
    }
    const keyOf = ({ created_at: at, wallet_id: wallet, seq }: CustomerEntry): string =>
      `${at} ${wallet} ${String(seq).padStart(4, '0')}`;
    const expected = own.sort((one, another) => (keyOf(one) < keyOf(another) ? 1 : -1));
    expect(await all(shop)).toEqual(expected);
    for (const limit of [1, 2, 3]) expect(await all(shop, `limit=${limit}`)).toEqual(expected);
    expect(await all(other)).toMatchObject([{ kind: 'grant', amount: '9.00' }]);
  });

  it('GET /entries returns each entry once in pages when all have the same instant', async () => {
    const shop = await aMerchant(service);
    for (let count = 0; count < 3; count++)
      await shop.completed({ document: await shop.customerWith('5.00') }, { redeem: '5.00' });
    const names = namesOf(await all(shop));
    expect(new Set(names).size).toBe(9);
    for (const limit of [1, 2, 4]) expect(namesOf(await all(shop, `limit=${limit}`))).toEqual(names);
  });

  it('GET /entries has what is behind a figure of the ledger report: what expired in a day, and what a store redeemed', async () => {
    const shop = await aLongLivedMerchant(service);
    const document = await shop.customerWith('10.00', { expiresAt: service.clock.inDays(2) });
    await shop.credit(document, '20.00', { expiresAt: service.clock.inDays(40) });
    await shop.completed({ document, store: 'RJ-003' }, { redeem: '4.00' });
    await service.clock.advance({ hours: 49 });
    const from = new Date(service.clock.now().getTime() - 24 * 3_600_000).toISOString();
    expect(await all(shop, `kind=expire&created_from=${from}`)).toMatchObject([
      { kind: 'expire', amount: '-6.00', document, source: { type: 'grant' }, by: null },
    ]);
    expect(await all(shop, `kind=expire&created_to=${from}`)).toEqual([]);
    const kinds = async (query: string): Promise<string[]> => (await all(shop, query)).map(({ kind }) => kind);
    expect(await kinds('store=RJ-003&limit=1')).toEqual(['earn', 'redeem']);
    expect(await kinds('kind=redeem,expire')).toEqual(['expire', 'redeem']);
    expect(await kinds('kind=redeem&kind=expire&store=RJ-003')).toEqual(['redeem']);
    expect(await kinds('store=RJ-004')).toEqual([]);
  });

  it('GET /entries needs the permission reports, and names what is wrong in a filter', async () => {
    const shop = await aMerchant(service);
    const till = await aUser(service, shop.id, ['sell', 'grants']);
    await till.send('GET', '/entries', {}, 200).refused(403, 'forbidden', { permission: 'reports' });
    for (const [parameter, value] of [
      ['kind', 'expired'],
      ['kind', ''],
      ['store', ' SP'],
      ['created_from', 'yesterday'],
      ['cursor', 'eyJ4Ijp9'],
    ])
      await shop
        .send('GET', `/entries?${parameter}=${value}`, {}, 200)
        .refused(400, 'validation_failed', { errors: [{ parameter }] });
  });

  it('GET /entries of an erased customer have no document', async () => {
    const shop = await aMerchant(service);
    const document = await shop.customerWith('5.00');
    const [entry] = await all(shop);
    await shop.erase(document);
    const after = await all(shop);
    expect(after.map(({ wallet_id: wallet }) => wallet)).toContain(entry!.wallet_id);
    expect(JSON.stringify(after)).not.toContain(document);
  });
});
