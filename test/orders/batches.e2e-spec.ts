import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { atOnce } from '../support/client.js';
import { changesAmong, expectCreation, expectInvariants, expectProblem } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { useSharing } from '../support/use-sharing.js';

describe.each([true, false])('concurrent requests with BATCH=%s', (isBatched) => {
  const { service, merchant, other, operator, shared } = useSharing(isBatched);

  it('each of 120 concurrent orders is created with its own content and balance', async () => {
    const customers = Array.from({ length: 4 }, () => aDocument());
    for (const [index, document] of customers.entries()) await merchant.credit(document, `${index + 1}.00`);
    const before = await shared('new_orders');
    const orders = Array.from({ length: 120 }, (_, index) =>
      anOrder({ document: customers[index % 4], total: `${200 + index}.00` }),
    );
    const table = operator.createQueryRunner();
    await table.query('LOCK TABLES orders WRITE');
    const sent = atOnce(120, (index) => merchant.create(orders[index]).answer);
    // The first statements wait for the table. Meanwhile, further requests gather.
    while ((await shared('new_orders')).requests - before.requests < 10) await sleep(20);
    await table.query('UNLOCK TABLES');
    await table.release();
    const answers = await sent;
    answers.forEach(({ status, body }, index) => {
      expect({ status, total: body.total, external_id: body.external_id }).toEqual({
        status: 201,
        total: `${200 + index}.00`,
        external_id: orders[index]?.external_id,
      });
      expect(body.cashback.to_redeem.available).toBe(`${(index % 4) + 1}.00`);
    });
    const after = await shared('new_orders');
    // On a slow machine, a statement waits for the table too long, and its requests are tried again one by one.
    expect(after.requests - before.requests).toBeGreaterThanOrEqual(120);
    expect(after.count - before.count < 120).toBe(isBatched);
    // Reads in any order return the same orders.
    const read = await atOnce(120, (index) => merchant.order(answers[119 - index]!.body).answer);
    expect(read.map(({ body }) => body)).toEqual(answers.map(({ body }) => body).reverse());
  });

  it('60 identical orders are one order and 59 replays, also beside new orders and conflicts', async () => {
    const existing = await atOnce(20, async () => {
      const order = anOrder();
      await merchant.create(order);
      return order;
    });
    const twin = anOrder();
    const [twins, replays, conflicts, fresh] = await Promise.all([
      atOnce(60, () => merchant.create(twin).answer),
      atOnce(20, (index) => merchant.client.post('/orders', existing[index])),
      atOnce(20, (index) => merchant.client.post('/orders', { ...existing[index], total: '151.00' })),
      atOnce(20, () => merchant.create().answer),
    ]);
    expect([...twins, ...replays].map(({ status }) => status)).toEqual(Array(80).fill(201));
    expect(changesAmong(twins)).toBe(1);
    expect(new Set(twins.map(({ body }) => body.id)).size).toBe(1);
    for (const { headers } of replays) expect(headers.get('idempotency-replayed')).toBe('true');
    conflicts.forEach((answer) => expectProblem(answer, 409, 'external_id_conflict'));
    fresh.forEach(expectCreation);
    await expectInvariants(service);
  });

  it('two merchants with the same external_ids have their own orders', async () => {
    const orders = Array.from({ length: 20 }, () => anOrder());
    const [mine, theirs] = await Promise.all([
      atOnce(20, (index) => merchant.create(orders[index])),
      atOnce(20, (index) => other.create(orders[index])),
    ]);
    expect(new Set([...mine, ...theirs].map(({ id }) => id)).size).toBe(40);
    await Promise.all([
      atOnce(20, (index) => merchant.order(mine[index]!)),
      atOnce(20, (index) => merchant.order(theirs[index]!).refused(404, 'not_found')),
    ]);
  });

  it('a token that was revoked is refused, while other tokens in the same statement work', async () => {
    const leaving = await aMerchant(service);
    expect((await leaving.client.post('/auth/logout', {})).status).toBe(204);
    const answers = await atOnce(30, (index) =>
      (index % 3 === 0 ? leaving : index % 3 === 1 ? merchant : other).client.get('/policy'),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 30 }, (_, at) => (at % 3 ? 200 : 401)));
  });

  it('the replay of an order that another transaction has locked does not wait, nor do new orders', async () => {
    const order = anOrder();
    const lock = await lockOrder(service.databaseUrl, (await merchant.create(order)).id);
    try {
      const answers = await atOnce(20, (index) => merchant.client.post('/orders', index % 2 ? anOrder() : order));
      expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    } finally {
      await lock.release();
    }
  });

  it('an order that the database refuses fails alone', async () => {
    await operator.query(`
      CREATE TRIGGER tr_orders_refused BEFORE INSERT ON orders FOR EACH ROW
        IF NEW.external_id = 'REFUSED' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF`);
    try {
      const answers = await atOnce(
        30,
        (index) => merchant.create(index === 15 ? { external_id: 'REFUSED' } : {}).answer,
      );
      expect(answers.map(({ status }) => status)).toEqual(
        Array.from({ length: 30 }, (_, index) => (index === 15 ? 500 : 201)),
      );
    } finally {
      await operator.query('DROP TRIGGER tr_orders_refused');
    }
  });
});
