import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants } from '../support/expectations.js';
import { aCnpj, aMerchant, anOrder } from '../support/factories.js';
import type { Grant } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

let counter = 0;
const grantTo = (document: string): Promise<Answer<Grant>> =>
  merchant.grant({ external_id: `SORRY-${++counter}`, document, amount: '80.00' }).answer;

describe('a customer with a CNPJ', () => {
  it('a company has a wallet with each merchant, and none under another branch or the first 11 characters', async () => {
    const other = await aMerchant(service);
    await grantTo('33000167000101');
    expect((await merchant.wallet('33000167000101')).available).toBe('80.00');
    for (const another of ['33000167000292', '33000167000', '33000167000100'])
      expect((await merchant.wallet(another)).id).toBeNull();
    expect((await other.wallet('33000167000101')).id).toBeNull();
  });

  it('10 concurrent POST /orders requests of a company create one order, which replays also after its erasure', async () => {
    const order = anOrder({ document: aCnpj() });
    const answers = await atOnce(10, () => merchant.create(order).answer);
    expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
    const { pseudonym } = await merchant.erase(order.document);
    expect(await merchant.create(order)).toMatchObject({ document: pseudonym });
    await merchant.create({ ...order, document: aCnpj() }).refused(409, 'external_id_conflict', ['/document']);
  });
});
