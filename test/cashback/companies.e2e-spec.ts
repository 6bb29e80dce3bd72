import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem, pointersOf } from '../support/expectations.js';
import { aCnpj, aMerchant, anOrder } from '../support/factories.js';
import type { Grant } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

let counter = 0;
const grantTo = (document: string): Promise<Answer<Grant>> =>
  merchant.grant({ external_id: `SORRY-${++counter}`, document, amount: '80.00' }).answer;

describe('a customer with a CNPJ', () => {
  it.each(['11222333000181', '12ABC34501DE35'])(
    'the company %s is granted cashback, and quotes, holds, completes and refunds like a person',
    async (document) => {
      expect(await grantTo(document)).toMatchObject({ status: 201, body: { document } });
      const quote = await merchant.quote({ document, total: '100.00', redeem: '20.00' }).answer;
      expect(quote.body).toMatchObject({ amount_to_pay: '80.00', cashback: { to_redeem: { available: '60.00' } } });
      const order = await merchant.create({ document, total: '100.00' });
      const held = await merchant.hold(order, '20.00').answer;
      expect(held.body).toMatchObject({ document, amount_to_pay: '80.00' });
      await merchant.complete(order);
      const refund = { external_id: 'DEV-1', amount: '100.00' };
      expect((await merchant.client.post(`/orders/${order.id}/refunds`, refund)).body.cashback_returned).toBe('20.00');
      expect(await merchant.wallet(document)).toMatchObject({ available: '80.00', pending: '0.00', held: '0.00' });
      expect((await merchant.movements(document)).slice(0, 2)).toEqual(['grant 80.00', 'redeem -20.00']);
    },
  );

  it('a company has a wallet with each merchant, and none under another branch or the first 11 characters', async () => {
    const other = await aMerchant(service);
    await grantTo('33000167000101');
    expect((await merchant.wallet('33000167000101')).available).toBe('80.00');
    for (const another of ['33000167000292', '33000167000', '33000167000100'])
      expect((await merchant.wallet(another)).id).toBeNull();
    expect((await other.wallet('33000167000101')).id).toBeNull();
  });

  it('POST /grants, /quotes and /wallets/search return 400 for a CNPJ in lower case, with misplaced punctuation or with another length', async () => {
    for (const document of [
      '12abc34501de35',
      '12.abc.345/01de-35',
      '12.ABC.345-01DE/35',
      '12ABC34501DE3A',
      '12ABC34501DE356',
    ]) {
      for (const answer of [
        await grantTo(document),
        await merchant.quote({ document, total: '100.00' }).answer,
        await merchant.wallet(document).answer,
      ]) {
        expectProblem(answer, 400, 'validation_failed');
        expect(pointersOf(answer)).toEqual(['/document']);
      }
    }
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

  it('a grant of an erased company replays with the pseudonym', async () => {
    const content = { external_id: 'SORRY-erased', document: aCnpj(), amount: '5.00' };
    await merchant.client.post('/grants', content);
    await merchant.completed({ document: content.document });
    const { pseudonym } = await merchant.erase(content.document);
    expect(await merchant.client.post('/grants', content)).toMatchObject({
      status: 201,
      body: { document: pseudonym },
    });
  });
});
