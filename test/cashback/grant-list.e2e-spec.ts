import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { FrozenClock } from '../support/clock.js';
import { aDocument, aMerchant, aUser } from '../support/factories.js';
import { type Grant, idsOf, type Page, type Shop } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service } = useService({ clock: new FrozenClock() });

/** The day in São Paulo (UTC-3). */
const dayOf = (instant: Date): string => new Date(instant.getTime() - 3 * 3_600_000).toISOString().slice(0, 10);

const list = (shop: Shop, query = ''): Promise<Page<Grant>> =>
  Promise.resolve(shop.send<Page<Grant>>('GET', `/grants${query && `?${query}`}`, {}, 200));

/** Grants a second apart. @returns them, newest first. */
async function grantsOf(shop: Shop, count: number): Promise<Grant[]> {
  const grants: Grant[] = [];
  for (let n = 0; n < count; n++) {
    grants.unshift(await shop.grant());
    await service.clock.advance({ seconds: 1 });
  }
  return grants;
}

describe('GET /grants', () => {
  it('GET /grants returns each grant in its current state like GET /grants/{id}, newest first', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    await grantsOf(other, 1);
    const others = await grantsOf(shop, 4);
    const [voided, held] = others as [Grant, Grant];
    // It ends too soon, so a refund returns a credit of its own.
    const redeemed = await shop.grant({ expires_on: dayOf(service.clock.inDays(2)) });
    const grants = [redeemed, ...others];
    await shop.voidGrant(voided);
    await shop.hold(await shop.create({ document: held.document }), '20.00');
    const order = await shop.completed({ document: redeemed.document }, { redeem: '30.00' });
    await shop.refund(order, '75.00');
    const expected: Grant[] = [];
    for (const grant of grants) expected.push(await shop.readGrant(grant));
    expect(expected.map(({ remaining, held, voided }) => [remaining, held, voided]).slice(0, 3)).toEqual([
      ['35.00', '0.00', '0.00'],
      ['0.00', '0.00', '50.00'],
      ['50.00', '20.00', '0.00'],
    ]);
    expect(await list(shop)).toEqual({ data: expected, next_cursor: null });
    expect(await shop.all<Grant>('/grants?limit=2')).toEqual(expected);
  });

  it('GET /grants includes created_from and excludes created_to, to the millisecond', async () => {
    const shop = await aMerchant(service);
    const grants = await grantsOf(shop, 4);
    const ids = idsOf({ data: grants });
    const [second, third] = [grants[1]!.created_at, grants[2]!.created_at];
    const later = (instant: string): string => new Date(Date.parse(instant) + 1).toISOString();
    expect(idsOf(await list(shop, `created_from=${third}`))).toEqual(ids.slice(0, 3));
    expect(idsOf(await list(shop, `created_from=${later(third)}`))).toEqual(ids.slice(0, 2));
    expect(idsOf(await list(shop, `created_to=${second}`))).toEqual(ids.slice(2));
    expect(idsOf(await list(shop, `created_to=${later(second)}`))).toEqual(ids.slice(1));
    expect(idsOf(await list(shop, `created_from=${third}&created_to=${second}`))).toEqual([ids[2]]);
    expect(idsOf(await list(shop, `created_from=${second}&created_to=${third}`))).toEqual([]);
    expect(idsOf(await list(shop, 'created_from=0000-01-01T00:00:00Z&created_to=9999-12-31T23:59:59.999Z'))).toEqual(
      ids,
    );
    expect(idsOf(await list(shop, 'created_to=1960-01-01T00:00:00Z'))).toEqual([]);
  });

  it('GET /grants?user_id returns the grants of an API user, or of the operator', async () => {
    const shop = await aMerchant(service);
    const marketing = await aUser(service, shop.id, ['grants'], 'Marketing');
    const [own, other] = [await grantsOf(shop, 1), await grantsOf(marketing, 3)];
    await shop.credit(aDocument(), '1.00');
    const ids = async (query: string): Promise<string[]> =>
      (await shop.all<Grant>(`/grants?${query}`)).map((g) => g.id);
    expect(await ids(`user_id=${shop.userId}`)).toEqual(idsOf({ data: own }));
    expect(await ids(`user_id=${marketing.userId.toUpperCase()}&limit=1`)).toEqual(idsOf({ data: other }));
    expect(await ids(`user_id=${marketing.userId}&created_to=${other[0]!.created_at}`)).toEqual([
      other[1]!.id,
      other[2]!.id,
    ]);
    const [byOperator] = (await list(shop, 'user_id=operator')).data;
    expect(byOperator).toMatchObject({ amount: '1.00', created_by: { user_id: null, name: 'operator' } });
    expect(await ids('user_id=0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10')).toEqual([]);
  });

  it('GET /grants?external_id returns the grant with this ID, if it matches the other filters', async () => {
    const [shop, other] = [await aMerchant(service), await aMerchant(service)];
    const grant = await shop.grant({ external_id: 'Natal/1' });
    await shop.grant({ external_id: 'natal/1' });
    const query = 'external_id=Natal%2F1';
    expect(idsOf(await list(shop, query))).toEqual([grant.id]);
    expect(idsOf(await list(shop, `${query}&user_id=${shop.userId}&created_from=${grant.created_at}`))).toEqual([
      grant.id,
    ]);
    expect(idsOf(await list(shop, `${query}&user_id=operator`))).toEqual([]);
    expect(idsOf(await list(shop, `${query}&created_to=${grant.created_at}`))).toEqual([]);
    expect(idsOf(await list(other, query))).toEqual([]);
  });

  it('the pages of GET /grants return each grant once when all were made in the same millisecond, while others are added', async () => {
    const shop = await aMerchant(service);
    const grants = await atOnce(9, () => Promise.resolve(shop.grant()));
    const ids = idsOf({ data: grants }).sort().reverse();
    const at = grants[0]!.created_at;
    await service.clock.advance({ seconds: 1 });
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await list(shop, `limit=2&created_from=${at}${cursor}`);
      seen.push(...idsOf(page));
      if (page.next_cursor === null) break;
      await shop.grant();
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(seen).toEqual(ids);
  });

  it('GET /grants has the pseudonym of an erased customer, and no texts', async () => {
    const shop = await aMerchant(service);
    const grant = await shop.grant({ reason: 'For Ana', note: 'Ana called', metadata: { a: 'b' } });
    const { pseudonym } = await shop.erase(grant.document);
    expect((await list(shop)).data).toEqual([
      { ...grant, document: pseudonym, reason: null, note: null, metadata: {} },
    ]);
  });

  it.each([
    ['limit', 'limit=101'],
    ['created_from', 'created_from=2026-11-20'],
    ['created_to', 'created_to=now'],
    ['user_id', 'user_id=Caixa%203'],
    ['user_id', 'user_id='],
    ['external_id', 'external_id='],
    ['document', 'document=52998224725'],
    ['cursor', 'cursor=abc'],
    ['cursor', `cursor=${Buffer.from('["refunds",1,"0193f1c2-7c1e-7d5a-9a53-0f2f4c9f6b10"]').toString('base64url')}`],
  ])('GET /grants returns 400 when %s is invalid: %s', async (parameter, query) => {
    const shop = await aMerchant(service);
    await shop.get(`/grants?${query}`).refused(400, 'validation_failed', { errors: [{ parameter }] });
  });
});
