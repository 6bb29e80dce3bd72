import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import type { QueryRunner } from 'typeorm';
import { atOnce, Client } from '../support/client.js';
import { eventsOf } from '../support/events.js';
import { changesAmong, expectInvariants } from '../support/expectations.js';
import { aDocument, aMerchant, anOrder, aUser } from '../support/factories.js';
import { lockOrder } from '../support/locked-order.js';
import { startService } from '../support/service.js';
import { useSharing } from '../support/use-sharing.js';

const COUNT = 24;

describe.each([true, false])('use cases that come together, with BATCH=%s', (isShared) => {
  const { service, merchant, other, operator, shared } = useSharing(isShared);

  /** Sends requests whose first transactions wait for a lock on a table, so that the others gather. */
  async function gathered<T>(
    send: () => Promise<T>,
    table = 'wallets',
    meanwhile?: () => Promise<unknown>,
  ): Promise<T> {
    const before = await shared('order_use_cases');
    const lock: QueryRunner = operator.createQueryRunner();
    await lock.query(`LOCK TABLES ${table} WRITE`);
    try {
      const sent = send();
      for (let tries = 0; tries < 200; tries++) {
        if ((await shared('order_use_cases')).requests - before.requests >= (isShared ? COUNT : 4)) break;
        await sleep(10);
      }
      await meanwhile?.();
      await lock.query('UNLOCK TABLES');
      return await sent;
    } finally {
      await lock.query('UNLOCK TABLES');
      await lock.release();
    }
  }

  const statusesOf = (answers: readonly { status: number }[]): number[] => answers.map(({ status }) => status);

  it('each order is completed with its own amounts, and they share transactions', async () => {
    const orders = await atOnce(COUNT, (index) =>
      merchant.orderWith(`${index + 1}.00`, { total: `${200 + index}.00` }),
    );
    await atOnce(COUNT, (index) => merchant.hold(orders[index]!, `${index + 1}.00`));
    const before = await shared('order_use_cases');
    const answers = await gathered(() => atOnce(COUNT, (index) => merchant.complete(orders[index]!)));
    const after = await shared('order_use_cases');
    answers.forEach((order, index) => {
      expect(order).toMatchObject({
        id: orders[index]!.id,
        status: 'completed',
        version: 3,
        total: `${200 + index}.00`,
      });
      expect(order.cashback.to_redeem.redeemed).toBe(`${index + 1}.00`);
    });
    expect(after.count - before.count < COUNT).toBe(isShared);
    expect(await atOnce(COUNT, (index) => merchant.order(orders[index]!))).toEqual(answers);
    await expectInvariants(service);
  });

  it('refused, repeated, conflicting and unknown use cases, and those of two merchants, have their own results', async () => {
    const [completed, cancelled, twice] = await Promise.all([
      merchant.completed(),
      merchant.create(),
      merchant.orderWith('20.00'),
    ]);
    await merchant.cancel(cancelled);
    const plain = await atOnce(12, () => merchant.orderWith('10.00'));
    const theirs = await atOnce(4, () => other.orderWith('10.00'));
    const answers = await gathered(() =>
      Promise.all([
        ...plain.map((order) => merchant.hold(order, '10.00').answer),
        ...theirs.map((order) => other.hold(order, '10.00').answer),
        merchant.hold(twice, '20.01').answer,
        merchant.complete(completed).answer,
        merchant.complete(completed, { redeem: '0.01' }).answer,
        merchant.complete(cancelled).answer,
        merchant.cancel(cancelled).answer,
        merchant.cancel(plain[0]!, { headers: { 'if-match': '"7"' } }).answer,
        merchant.refund({ id: '00000000-0000-7000-8000-000000000000' }, '1.00').answer,
        merchant.complete(theirs[0]!).answer,
      ]),
    );
    expect(statusesOf(answers.slice(0, 16))).toEqual(Array(16).fill(200));
    expect(statusesOf(answers.slice(16))).toEqual([422, 200, 409, 409, 200, 412, 404, 404]);
    expect((await merchant.order(twice)).version).toBe(1);
    await expectInvariants(service);
  });

  it('users who change the debt of one customer together are each named, with what they changed', async () => {
    const shop = await aMerchant(service, { releaseDays: 0, redeemShareBps: 10_000 });
    const till = await aUser(service, shop.id);
    const document = aDocument();
    const sold = await atOnce(COUNT, () => shop.completed({ document }));
    await shop.completed({ document, total: '180.00', payment_methods: [] }, { redeem: '180.00' });
    const users = [shop, till];
    const refunds = await gathered(() => atOnce(COUNT, (index) => users[index % 2]!.refund(sold[index]!, '150.00')));
    expect(refunds.map(({ created_by }) => created_by)).toEqual(refunds.map((_, index) => users[index % 2]!.by));
    const events = await eventsOf(service, shop, '&types=wallet.debt_changed');
    for (const { by } of users) {
      const own = events.filter((event) => event.by!.user_id === by.user_id);
      expect(own.map((event) => event.by)).toEqual(own.map(() => by));
      const cents = own.map(({ data }) => Math.round(Number(data.change) * 100));
      expect(cents.reduce((sum, change) => sum + change, 0)).toBe((COUNT / 2) * 750);
    }
    // Of a shared transaction, each user has one event, with the sums after all of it.
    expect(events.length < COUNT).toBe(isShared);
    const debts = events.map(({ data }) => data.wallet.debt);
    expect(new Set(debts).size < debts.length).toBe(isShared);
    await expectInvariants(service);
  });

  it('orders of one customer never hold more than there is', async () => {
    const document = await merchant.customerWith('15.00');
    const orders = await atOnce(COUNT, () => merchant.create({ document }));
    const answers = await gathered(() => atOnce(COUNT, (index) => merchant.hold(orders[index]!, '1.00').answer));
    const counts = [200, 422].map((status) => statusesOf(answers).filter((one) => one === status).length);
    expect(counts).toEqual([15, COUNT - 15]);
    expect(await merchant.wallet(document)).toMatchObject({ available: '0.00', held: '15.00' });
    await expectInvariants(service);
  });

  it('the same refund, sent many times with others of the order, is made once', async () => {
    const order = await merchant.completed({ document: await merchant.customerWith('10.00') });
    const answers = await gathered(() =>
      atOnce(COUNT, (index) => merchant.refund(order, '5.00', { external_id: `DEV-${index % 3}` }).answer),
    );
    expect(statusesOf(answers)).toEqual(Array(COUNT).fill(201));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(3);
    expect((await merchant.order(order)).refunded.amount).toBe('15.00');
    await expectInvariants(service);
  });

  it('an order that another transaction has locked holds up no other order', async () => {
    const orders = await atOnce(COUNT, () => merchant.orderWith('5.00'));
    const lock = await lockOrder(service.databaseUrl, orders[3]!.id);
    try {
      const locked = merchant.complete(orders[3]!).answer;
      await lock.untilWaiting();
      const free = orders.filter((_, index) => index !== 3);
      const answers = await atOnce(free.length, (index) => merchant.complete(free[index]!).answer);
      expect(statusesOf(answers)).toEqual(Array(COUNT - 1).fill(200));
      await lock.release();
      expect((await locked).status).toBe(200);
    } finally {
      await lock.release().catch(() => undefined);
    }
    await expectInvariants(service);
  });

  it('a wallet that another transaction has locked holds up no other wallet', async () => {
    const orders = await atOnce(COUNT, () => merchant.orderWith('5.00'));
    const holder = operator.createQueryRunner();
    await holder.startTransaction('READ COMMITTED');
    const sql = 'SELECT id FROM wallets WHERE merchant_id = ? AND document = ? FOR UPDATE';
    await holder.query(sql, [merchant.id, orders[3]!.document]);
    const sent = orders.map((order) => merchant.hold(order, '5.00').answer);
    const free = await Promise.all(sent.filter((_, index) => index !== 3));
    await holder.commitTransaction();
    await holder.release();
    expect(statusesOf(free)).toEqual(Array(COUNT - 1).fill(200));
    expect((await sent[3]!).status).toBe(200);
    await expectInvariants(service);
  });

  it('use cases whose connections are killed change nothing, and succeed when they are repeated', async () => {
    const orders = await atOnce(COUNT, () => merchant.orderThatHolds('5.00'));
    const kill = async (): Promise<void> => {
      const waiting = `
        SELECT id FROM information_schema.processlist
         WHERE db = DATABASE() AND info LIKE '%FROM wallets%FOR UPDATE%' AND id <> CONNECTION_ID()`;
      let killed: { id: string }[] = [];
      while (killed.length === 0) killed = await operator.query(waiting);
      for (const { id } of killed) await operator.query(`KILL ${id}`);
    };
    // The client sends a request again after a 503.
    const answers = await gathered(
      () => atOnce(COUNT, (index) => merchant.complete(orders[index]!).answer),
      'wallets',
      kill,
    );
    expect(statusesOf(answers)).toEqual(Array(COUNT).fill(200));
    expect(answers.some(({ isRepeated }) => isRepeated)).toBe(true);
    for (const { body } of answers) expect(body).toMatchObject({ status: 'completed', version: 3 });
    await expectInvariants(service);
  });

  it('a use case that the database refuses fails alone', async () => {
    const orders = await atOnce(COUNT, () => merchant.orderWith('5.00'));
    await operator.query(`
      CREATE TRIGGER tr_holds_refused BEFORE INSERT ON cashback_holds FOR EACH ROW
        IF NEW.order_id = '${orders[5]!.id}' THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'; END IF`);
    try {
      const answers = await gathered(() => atOnce(COUNT, (index) => merchant.hold(orders[index]!, '5.00').answer));
      expect(statusesOf(answers)).toEqual(Array.from({ length: COUNT }, (_, index) => (index === 5 ? 500 : 200)));
    } finally {
      await operator.query('DROP TRIGGER tr_holds_refused');
    }
    await expectInvariants(service);
  });

  it('a customer whose first orders and grants come together gets one wallet', async () => {
    const document = aDocument();
    const orders = await atOnce(8, () => merchant.create({ document }));
    const [completed, granted] = await Promise.all([
      atOnce(8, (index) => merchant.complete(orders[index]!)),
      atOnce(8, (index) => merchant.grant({ document, external_id: `OI-${index % 4}-${document}`, amount: '1.00' })),
    ]);
    expect(completed.map(({ status }) => status)).toEqual(Array(8).fill('completed'));
    expect(new Set(granted.map(({ id }) => id)).size).toBe(4);
    const wallets = await operator.query<unknown[]>('SELECT id FROM wallets WHERE document = ?', [document]);
    expect(wallets).toHaveLength(1);
    expect((await merchant.wallet(document)).available).toBe('4.00');
    await expectInvariants(service);
  });

  it('grants that are voided together, some twice and some of one customer, are each voided once', async () => {
    const documents = [aDocument(), aDocument(), aDocument()];
    const grants = await atOnce(9, (index) => merchant.grant({ document: documents[index % 3]!, amount: '2.00' }));
    const unknown = merchant.voidGrant({ id: '00000000-0000-7000-8000-000000000000' }).answer;
    const voided = await atOnce(18, (index) => merchant.voidGrant(grants[index % 9]!));
    for (const { voided: amount, remaining } of voided)
      expect({ amount, remaining }).toEqual({ amount: '2.00', remaining: '0.00' });
    expect((await unknown).status).toBe(404);
    for (const document of documents) expect((await merchant.wallet(document)).available).toBe('0.00');
    await expectInvariants(service);
  });

  it('two instances complete and refund the same orders of the same customers, each once', async () => {
    const second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
    try {
      const clients = [merchant, merchant.with(new Client(second, merchant.client.token))];
      const documents = await atOnce(4, () => merchant.customerWith('50.00'));
      const orders = await atOnce(COUNT, (index) => merchant.create({ document: documents[index % 4]! }));
      await atOnce(2 * COUNT, (index) => clients[index % 2]!.complete(orders[index >> 1]!));
      const refunds = await atOnce(2 * COUNT, (index) =>
        clients[index % 2]!.refund(orders[index >> 1]!, '10.00', { external_id: 'DEV' }),
      );
      expect(new Set(refunds.map(({ id }) => id)).size).toBe(COUNT);
      for (const { version } of await atOnce(COUNT, (index) => merchant.order(orders[index]!))) expect(version).toBe(3);
    } finally {
      await second.stop();
    }
    await expectInvariants(service);
  });

  it('equal sales at two instances, whose customer has enough cashback for one, all return the order that one of them made', async () => {
    const second = await startService({ databaseUrl: service.databaseUrl, clock: service.clock });
    try {
      const clients = [merchant, merchant.with(new Client(second, merchant.client.token))];
      const documents = await atOnce(COUNT, () => merchant.customerWith('20.00'));
      const bodies = documents.map((document) => anOrder({ document, complete: { redeem: '20.00' } }));
      const answers = await atOnce(4 * COUNT, (index) => clients[index % 2]!.create(bodies[index >> 2]).answer);
      expect(statusesOf(answers)).toEqual(Array(4 * COUNT).fill(201));
      for (let at = 0; at < answers.length; at += 4) expect(changesAmong(answers.slice(at, at + 4))).toBe(1);
      expect(new Set(answers.map(({ body }) => body.id)).size).toBe(COUNT);
    } finally {
      await second.stop();
    }
    await expectInvariants(service);
  });

  it('a debt that many orders repay together is in each event as it was then', async () => {
    const shop = await aMerchant(service);
    const policy = { earnRateBps: 1000, releaseDays: 0, redeemShareBps: 10_000 };
    await shop.setPolicy(policy);
    const large = await shop.completed({ total: '20000.00', payment_methods: [] });
    const { document } = large;
    const { available } = await shop.wallet(document);
    await shop.setPolicy({ ...policy, earnRateBps: 0 });
    await shop.completed({ document, total: '20000.00', payment_methods: [] }, { redeem: available });
    await shop.setPolicy(policy);
    await shop.refund(large, '20000.00');
    expect(Number((await shop.wallet(document)).debt)).toBeGreaterThan(1000);
    const orders = await atOnce(45, () => shop.create({ document }));
    await gathered(() => atOnce(45, (index) => shop.complete(orders[index]!)));
    await expectInvariants(service);
  });

  it('an order that is due expires with its use case, and not if that is refused', async () => {
    const orders = await atOnce(4, () => merchant.orderThatHolds('5.00'));
    service.clock.skip(30 * 60_000);
    const [, , , late] = orders;
    const answers = await Promise.all([
      ...orders.slice(0, 3).map((order) => merchant.hold(order, '100.00').answer),
      merchant.hold(late!, '4.00').answer,
      ...(await atOnce(8, () => merchant.create())).map((order) => merchant.complete(order).answer),
    ]);
    expect(statusesOf(answers)).toEqual([422, 422, 422, ...Array<number>(9).fill(200)]);
    const sql = "SELECT id, version FROM orders WHERE id IN (?) AND status = 'pending'";
    const rows = await operator.query<{ id: string; version: number }[]>(sql, [orders.map(({ id }) => id)]);
    const versions = new Map(rows.map(({ id, version }) => [id, version]));
    expect(orders.map(({ id }) => versions.get(id))).toEqual([2, 2, 2, 4]);
    await expectInvariants(service);
  });
});
