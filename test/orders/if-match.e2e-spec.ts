import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import {
  aCompletedOrder,
  aCreatedOrder,
  aDocument,
  aMerchant,
  grant,
  type TestMerchant,
} from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const aCart = (total: string): object => ({ total, items: [{ id: 'sku-2', price: total }], payment_methods: [] });

const amend = (order: { id: string }, total: string, ifMatch: string, shop = merchant): Promise<Answer> =>
  shop.client.put(`/orders/${order.id}`, aCart(total), { headers: { 'if-match': ifMatch } });
const read = async (order: { id: string }): Promise<any> => (await merchant.client.get(`/orders/${order.id}`)).body;

describe('If-Match of PUT /orders/{id}', () => {
  it.each(['"1"', '*', '"7", "1"', '"1","7"', ', "1" ,', 'W/"1", "1"', '"a,b", "1"', '"", "1"'])(
    'PUT /orders/{id} with If-Match %s amends version 1',
    async (ifMatch) => {
      const order = await aCreatedOrder(merchant);
      expect(await amend(order, '100.00', ifMatch)).toMatchObject({ status: 200, body: { version: 2 } });
    },
  );

  it.each(['"2"', '"0"', '"01"', '""', 'W/"1"', '"1 "'.replace(' ', '!'), '"2", W/"1"', '"a,1"', '"\xe9"', ','])(
    'PUT /orders/{id} with If-Match %s returns 412 for version 1 and changes nothing',
    async (ifMatch) => {
      const order = await aCreatedOrder(merchant);
      for (const _attempt of ['first', 'second']) {
        const answer = await amend(order, '100.00', ifMatch);
        expectProblem(answer, 412, 'precondition_failed');
        expect(answer.body).toMatchObject({ next_action: 'read_order', retryable: false });
        expect(answer.body.detail).toContain('If-Match does not name "1"');
      }
      expect(await read(order)).toEqual(order);
    },
  );

  it.each(['1', '"1', '1"', "'1'", 'w/"1"', 'W/1', '"1" "2"', '*, "1"', '"1", *', '**', '"1";', '"1 "', '"\t"'])(
    'PUT /orders/{id} with the malformed If-Match %j returns 400 and changes nothing',
    async (ifMatch) => {
      const order = await aCreatedOrder(merchant);
      const answer = await amend(order, '100.00', ifMatch);
      expectProblem(answer, 400, 'malformed_request');
      expect(answer.body.detail).toContain('If-Match');
      expect(await read(order)).toEqual(order);
    },
  );

  it.each([', ', ' ,', '\t, ', '"1" , ', ',', ' '])(
    'PUT /orders/{id} with a malformed If-Match of 10,000 characters that repeats %j returns 400, and holds up no other request',
    async (part) => {
      const order = await aCreatedOrder(merchant);
      expectProblem(await amend(order, '100.00', `${part.repeat(10_000 / part.length)}x`), 400, 'malformed_request');
    },
  );

  it('PUT /orders/{id} reads several If-Match lines as one list', async () => {
    const order = await aCreatedOrder(merchant);
    const body = JSON.stringify(aCart('100.00'));
    const send = (...lines: string[]): Promise<Answer> => {
      const headers = {
        'content-type': 'application/json',
        authorization: `Bearer ${merchant.tokens.access_token}`,
        'if-match': lines.join('\r\nif-match: '),
      };
      return sendBytes(service, aRequest(`PUT /orders/${order.id}`, headers, body));
    };
    expectProblem(await send('"2"', '"3"'), 412, 'precondition_failed');
    expectProblem(await send('*', '"1"'), 400, 'malformed_request');
    expect(await send('"3"', '"1"')).toMatchObject({ status: 200, body: { version: 2 } });
  });

  it('a repeated PUT /orders/{id} with If-Match returns the same order, until another request changed it', async () => {
    const order = await aCreatedOrder(merchant);
    const first = await amend(order, '100.00', '"1"');
    expect(await amend(order, '100.00', '"1"')).toMatchObject({ status: 200, body: first.body });
    expect(await amend(order, '110.00', '"2"')).toMatchObject({ status: 200, body: { version: 3 } });
    expectProblem(await amend(order, '100.00', '"1"'), 412, 'precondition_failed');
  });

  it('a hold changes the version, so PUT /orders/{id} with the version before it returns 412', async () => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    const order = await aCreatedOrder(merchant, { document });
    await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '75.00' });
    // A stale version is 412, also where the new content would not allow the hold.
    expectProblem(await amend(order, '10.00', '"1"'), 412, 'precondition_failed');
    expectProblem(await amend(order, '10.00', '"2"'), 422, 'redemption_exceeds_maximum');
  });

  it('PUT /orders/{id} with If-Match returns 404 and 409 where it would without If-Match', async () => {
    const other = await aMerchant(service);
    const [pending, completed] = [await aCreatedOrder(merchant), await aCompletedOrder(merchant)];
    for (const ifMatch of ['*', '"1"', '"9"']) {
      expectProblem(await amend(pending, '100.00', ifMatch, other), 404, 'not_found');
      expectProblem(await amend(completed, '100.00', ifMatch), 409, 'invalid_transition');
    }
  });

  it('exactly one of 25 concurrent PUT /orders/{id} requests with the same If-Match amends the order', async () => {
    const order = await aCreatedOrder(merchant);
    const answers = await atOnce(25, (at) => amend(order, `${at + 1}.00`, '"1"'));
    const amended = answers.filter(({ status }) => status === 200);
    expect(amended).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 412, 'precondition_failed');
    expect(await read(order)).toEqual(amended[0]?.body);
    expect(amended[0]?.body.version).toBe(2);
  });
});

describe('If-Match of the other operations on an order', () => {
  const OPERATIONS: [path: string, send: (path: string, ifMatch: string, shop?: TestMerchant) => Promise<Answer>][] = [
    [
      'redemption',
      (path, ifMatch, shop = merchant) =>
        shop.client.put(`${path}/redemption`, { amount: '20.00' }, { headers: { 'if-match': ifMatch } }),
    ],
    [
      'complete',
      (path, ifMatch, shop = merchant) =>
        shop.client.post(`${path}/complete`, { redeem: '10.00' }, { headers: { 'if-match': ifMatch } }),
    ],
    [
      'cancel',
      (path, ifMatch, shop = merchant) =>
        shop.client.send('POST', `${path}/cancel`, { headers: { 'if-match': ifMatch } }),
    ],
  ];
  const anOrderWithBalance = async (): Promise<any> => {
    const document = aDocument();
    await grant(service, merchant, document, '80.00');
    return aCreatedOrder(merchant, { document });
  };

  it.each(OPERATIONS)(
    '%s with the version of the order changes it, and repeating that returns the same order',
    async (_, send) => {
      const order = await anOrderWithBalance();
      const first = await send(`/orders/${order.id}`, '"1"');
      expect(first).toMatchObject({ status: 200, body: { version: 2 } });
      expect(await send(`/orders/${order.id}`, '"1"')).toMatchObject({ status: 200, body: first.body });
    },
  );

  it.each(OPERATIONS)(
    '%s with another version is 412 and changes nothing; 400, 404, and 409 come first',
    async (_, send) => {
      const [order, other] = [await anOrderWithBalance(), await aMerchant(service)];
      for (const _attempt of ['first', 'second'])
        expectProblem(await send(`/orders/${order.id}`, '"2"'), 412, 'precondition_failed');
      expectProblem(await send(`/orders/${order.id}`, '1'), 400, 'malformed_request');
      expectProblem(await send(`/orders/${order.id}`, '"1"', other), 404, 'not_found');
      expect(await read(order)).toEqual(order);
      const completed = await aCompletedOrder(merchant);
      expectProblem(await send(`/orders/${completed.id}`, '"9"'), 409, 'invalid_transition');
    },
  );

  it.each(OPERATIONS)(
    '%s with a version that an amendment replaced is 412, also for the old total',
    async (_, send) => {
      const order = await anOrderWithBalance();
      await amend(order, '100.00', '"1"');
      expectProblem(await send(`/orders/${order.id}`, '"1"'), 412, 'precondition_failed');
      expect(await send(`/orders/${order.id}`, '"2"')).toMatchObject({ status: 200, body: { version: 3 } });
    },
  );

  it('complete with the version of a hold that lapsed is 412, and with the version of the expired order completes it', async () => {
    const order = await anOrderWithBalance();
    await merchant.client.put(`/orders/${order.id}/redemption`, { amount: '20.00' });
    await service.clock.advance({ minutes: 31 });
    const complete = (ifMatch: string, body = {}): Promise<Answer> =>
      merchant.client.post(`/orders/${order.id}/complete`, body, { headers: { 'if-match': ifMatch } });
    expectProblem(await complete('"2"'), 412, 'precondition_failed');
    expectProblem(await complete('"2"', { redeem: '20.00' }), 412, 'precondition_failed');
    expectProblem(await complete('"3"'), 409, 'redemption_lapsed');
    expect(await complete('"3"', { redeem: '20.00' })).toMatchObject({ status: 200, body: { version: 4 } });
  });

  it('complete with another version than the one that was completed is 412 also with the same values, and after refunds', async () => {
    const order = await aCreatedOrder(merchant);
    const complete = (ifMatch?: string): Promise<Answer> =>
      merchant.client.post(
        `/orders/${order.id}/complete`,
        { redeem: '0.00' },
        { headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } },
      );
    await amend(order, '100.00', '"1"');
    expect(await complete('"2"')).toMatchObject({ status: 200, body: { version: 3 } });
    for (const refunds of [0, 1, 2]) {
      if (refunds > 0)
        await merchant.client.post(`/orders/${order.id}/refunds`, { external_id: `R-${refunds}`, amount: '10.00' });
      for (const stale of ['"1"', '"3"', `"${3 + refunds}"`]) {
        const answer = await complete(stale);
        expectProblem(answer, 412, 'precondition_failed');
        expect(answer.body.detail).toContain('version 2 of the order was completed');
      }
      for (const same of ['"2"', '"7", "2"', '*', undefined])
        expect(await complete(same)).toMatchObject({ status: 200, body: { version: 3 + refunds } });
    }
  });

  it('of two refunds with the version that both read, the first refunds, and its repeat returns it again', async () => {
    const order = await aCompletedOrder(merchant);
    const refund = (external_id: string, ifMatch: string): Promise<Answer> =>
      merchant.client.post(
        `/orders/${order.id}/refunds`,
        { external_id, amount: '30.00' },
        { headers: { 'if-match': ifMatch } },
      );
    const read = `"${order.version}"`;
    const answers = await Promise.all([refund('TILL-1', read), refund('TILL-2', read)]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 412]);
    const [first] = answers.filter(({ status }) => status === 201);
    expect(await refund(first!.body.external_id, read)).toMatchObject({ status: 201, body: first!.body });
    expectProblem(await refund('TILL-3', read), 412, 'precondition_failed');
    expectProblem(await refund('TILL-3', 'x'), 400, 'malformed_request');
    expect((await refund('TILL-3', `"${order.version + 1}"`)).status).toBe(201);
  });

  it('exactly one of 25 concurrent holds with the same If-Match changes the order', async () => {
    const order = await anOrderWithBalance();
    const hold = (at: number): Promise<Answer> =>
      merchant.client.put(
        `/orders/${order.id}/redemption`,
        { amount: `${at + 1}.00` },
        { headers: { 'if-match': '"1"' } },
      );
    const answers = await atOnce(25, hold);
    const held = answers.filter(({ status }) => status === 200);
    expect(held).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 412, 'precondition_failed');
    expect(await read(order)).toEqual(held[0]?.body);
  });
});
