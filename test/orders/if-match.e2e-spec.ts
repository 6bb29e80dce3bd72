import { afterEach, describe, expect, it } from '@jest/globals';
import { type Answer, atOnce } from '../support/client.js';
import { expectInvariants, expectProblem } from '../support/expectations.js';
import { aMerchant, type TestMerchant } from '../support/factories.js';
import { aRequest, sendBytes } from '../support/raw.js';
import type { Order } from '../support/shop.js';
import { useService } from '../support/use-service.js';

const { service, merchant } = useService();
afterEach(() => expectInvariants(service));

const aCart = (total: string): object => ({ total, items: [{ id: 'sku-2', price: total }], payment_methods: [] });

const amend = (order: { id: string }, total: string, ifMatch: string, shop = merchant) =>
  shop.amend(order, aCart(total), { headers: { 'if-match': ifMatch } });

describe('If-Match of PUT /orders/{id}', () => {
  it.each(['"1"', '*', '"7", "1"', '"1","7"', ', "1" ,', 'W/"1", "1"', '"a,b", "1"', '"", "1"'])(
    'PUT /orders/{id} with If-Match %s amends version 1',
    async (ifMatch) => {
      const order = await merchant.create();
      expect(await amend(order, '100.00', ifMatch)).toMatchObject({ version: 2 });
    },
  );

  it.each(['"2"', '"0"', '"01"', '""', 'W/"1"', '"1 "'.replace(' ', '!'), '"2", W/"1"', '"a,1"', '"\xe9"', ','])(
    'PUT /orders/{id} with If-Match %s returns 412 for version 1 and changes nothing',
    async (ifMatch) => {
      const order = await merchant.create();
      for (const _attempt of ['first', 'second']) {
        await amend(order, '100.00', ifMatch).refused(412, 'precondition_failed', {
          ...{ next_action: 'read_order', retryable: false },
          detail: expect.stringContaining('If-Match does not name "1"'),
        });
      }
      expect(await merchant.order(order)).toEqual(order);
    },
  );

  it.each(['1', '"1', '1"', "'1'", 'w/"1"', 'W/1', '"1" "2"', '*, "1"', '"1", *', '**', '"1";', '"1 "', '"\t"'])(
    'PUT /orders/{id} with the malformed If-Match %j returns 400 and changes nothing',
    async (ifMatch) => {
      const order = await merchant.create();
      const { detail } = await amend(order, '100.00', ifMatch).refused(400, 'malformed_request');
      expect(detail).toContain('If-Match');
      expect(await merchant.order(order)).toEqual(order);
    },
  );

  it.each([', ', ' ,', '\t, ', '"1" , ', ',', ' '])(
    'PUT /orders/{id} with a malformed If-Match of 10,000 characters that repeats %j returns 400, and holds up no other request',
    async (part) => {
      const order = await merchant.create();
      await amend(order, '100.00', `${part.repeat(10_000 / part.length)}x`).refused(400, 'malformed_request');
    },
  );

  it('PUT /orders/{id} reads several If-Match lines as one list', async () => {
    const order = await merchant.create();
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
    const order = await merchant.create();
    const first = await amend(order, '100.00', '"1"').answer;
    expect(await amend(order, '100.00', '"1"')).toMatchObject(first.body);
    expect(await amend(order, '110.00', '"2"')).toMatchObject({ version: 3 });
    await amend(order, '100.00', '"1"').refused(412, 'precondition_failed');
  });

  it('a hold changes the version, so PUT /orders/{id} with the version before it returns 412', async () => {
    const order = await merchant.orderWith('80.00');
    await merchant.hold(order, '75.00');
    // A stale version is 412, also where the new content would not allow the hold.
    await amend(order, '10.00', '"1"').refused(412, 'precondition_failed');
    await amend(order, '10.00', '"2"').refused(422, 'redemption_exceeds_maximum');
  });

  it('exactly one of 25 concurrent PUT /orders/{id} requests with the same If-Match amends the order', async () => {
    const order = await merchant.create();
    const answers = await atOnce(25, (at) => amend(order, `${at + 1}.00`, '"1"').answer);
    const amended = answers.filter(({ status }) => status === 200);
    expect(amended).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 412, 'precondition_failed');
    expect(await merchant.order(order)).toEqual(amended[0]?.body);
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
  const anOrderWithBalance = async (): Promise<Order> => {
    const document = await merchant.customerWith('80.00');
    return merchant.create({ document });
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
      expect(await merchant.order(order)).toEqual(order);
      const completed = await merchant.completed();
      expectProblem(await send(`/orders/${completed.id}`, '"9"'), 409, 'invalid_transition');
    },
  );

  it('complete with the version of a hold that lapsed is 412, and with the version of the expired order completes it', async () => {
    const order = await anOrderWithBalance();
    await merchant.hold(order, '20.00');
    await service.clock.advance({ minutes: 31 });
    const complete = (ifMatch: string, body = {}) =>
      merchant.complete(order, body, { headers: { 'if-match': ifMatch } });
    await complete('"2"').refused(412, 'precondition_failed');
    await complete('"2"', { redeem: '20.00' }).refused(412, 'precondition_failed');
    await complete('"3"').refused(409, 'redemption_lapsed');
    expect(await complete('"3"', { redeem: '20.00' })).toMatchObject({ version: 4 });
  });

  it('complete with another version than the one that was completed is 412 also with the same values, and after refunds', async () => {
    const order = await merchant.create();
    const complete = (ifMatch?: string) =>
      merchant.complete(order, { redeem: '0.00' }, { headers: ifMatch === undefined ? {} : { 'if-match': ifMatch } });
    await amend(order, '100.00', '"1"');
    expect(await complete('"2"')).toMatchObject({ version: 3 });
    for (const refunds of [0, 1, 2]) {
      if (refunds > 0) await merchant.refund(order, '10.00', { external_id: `R-${refunds}` });
      for (const stale of ['"1"', '"3"', `"${3 + refunds}"`]) {
        const { detail } = await complete(stale).refused(412, 'precondition_failed');
        expect(detail).toContain('version 2 of the order was completed');
      }
      for (const same of ['"2"', '"7", "2"', '*', undefined])
        expect(await complete(same)).toMatchObject({ version: 3 + refunds });
    }
  });

  it('of two refunds with the version that both read, the first refunds, and its repeat returns it again', async () => {
    const order = await merchant.completed();
    const refund = (external_id: string, ifMatch: string) =>
      merchant.refund(order, '30.00', { external_id }, { headers: { 'if-match': ifMatch } });
    const read = `"${order.version}"`;
    const answers = await Promise.all([refund('TILL-1', read).answer, refund('TILL-2', read).answer]);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 412]);
    const [first] = answers.filter(({ status }) => status === 201);
    expect(await refund(first!.body.external_id, read)).toMatchObject(first!.body);
    await refund('TILL-3', read).refused(412, 'precondition_failed');
    await refund('TILL-3', 'x').refused(400, 'malformed_request');
    await refund('TILL-3', `"${order.version + 1}"`);
  });

  it('exactly one of 25 concurrent holds with the same If-Match changes the order', async () => {
    const order = await anOrderWithBalance();
    const hold = (at: number) =>
      merchant.hold(order, `${at + 1}.00`, undefined, { headers: { 'if-match': '"1"' } }).answer;
    const answers = await atOnce(25, hold);
    const held = answers.filter(({ status }) => status === 200);
    expect(held).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 200))
      expectProblem(answer, 412, 'precondition_failed');
    expect(await merchant.order(order)).toEqual(held[0]?.body);
  });
});
