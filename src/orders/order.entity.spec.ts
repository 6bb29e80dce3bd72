import { beforeEach, describe, expect, it } from '@jest/globals';
import { WalletInMemory } from '../../test/support/wallet-in-memory.js';
import { Problem, type ProblemCode } from '../platform/values/problem.js';
import { newId } from '../platform/values/ids.js';
import { DEFAULT_POLICY, type Policy } from '../merchants/policy.js';
import { Order } from './order.entity.js';
import type { Completion, Versions } from './order-content.js';
import { ORDER_STATUSES, type OrderStatus } from './order-transitions.js';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const CONTENT = {
  ...{ totalCents: 10_000, eligibleTotalCents: null, earnAmountCents: null, metadata: null, store: null },
  ...{ items: [{ id: 'sku-1', priceCents: 10_000 }], paymentMethods: [{ id: 'pix', amountCents: 10_000 }] },
};

let rows: WalletInMemory;
beforeEach(() => {
  rows = new WalletInMemory();
});

const USER = 'the user';
/** What a refund only keeps. */
const TOLD = { reason: 'defective', store: 'RJ-003', metadata: null };

const after = (ms: number): Date => new Date(+rows.now + ms);
const wait = (ms: number): void => void (rows.now = after(ms));

function anOrder(policy: Partial<Policy> = {}): Order {
  const requested = { externalId: 'PED-1', document: rows.sums.document, requestedExpiresAt: null, soldAt: null };
  const given = {
    merchantId: rows.sums.merchantId,
    policy: { ...DEFAULT_POLICY, ...policy },
    campaignId: null,
    contentDigest: Buffer.alloc(32),
    createdBy: USER,
  };
  return Order.create({ ...CONTENT, ...requested }, given, rows.now);
}
const grant = (amountCents: number, ms = 30 * DAY_MS): unknown =>
  rows.change((wallet) =>
    wallet.grant({ by: USER, store: null }, amountCents, { availableAt: rows.now, expiresAt: after(ms) }, null),
  );
const expire = (order: Order): void => rows.change((wallet) => order.expireIfDue(wallet));
const hold = (order: Order, cents: number, expiresAt?: Date, versions?: Versions): void =>
  rows.change((wallet) => order.hold(wallet, cents, expiresAt, { by: USER, versions }));
const amend = (order: Order, totalCents: number, lowersHold = false, versions?: Versions): void =>
  rows.change((wallet) =>
    order.amend(wallet, { ...CONTENT, totalCents, paymentMethods: [] }, lowersHold, { by: USER, versions }),
  );
const complete = (
  order: Order,
  redeemCents?: number,
  versions?: Versions,
  paymentMethods?: Completion['paymentMethods'],
) => rows.change((wallet) => order.complete(wallet, { redeemCents, paymentMethods }, { by: USER, versions }));
const cancel = (order: Order, versions?: Versions): void =>
  rows.change((wallet) => order.cancel(wallet, 'sold out', { by: USER, versions }));
const refund = (order: Order, amountCents: number, eligibleCents: number | null = null, versions?: Versions) =>
  rows.change(
    (wallet) =>
      order.refund(
        wallet,
        {
          externalId: newId(rows.now),
          amountCents,
          eligibleCents,
          takeBackCents: null,
          returned: null,
          ...TOLD,
        },
        [],
        { by: USER, versions },
      ),
    order.id,
  );

/** Expects a refusal that changes neither the order nor the wallet. */
function expectRefusal(order: Order, code: ProblemCode, act: () => unknown, members: object = {}): void {
  const before = { ...order, changes: order.changes.length, movements: rows.movements, sums: rows.sums };
  let thrown: unknown;
  try {
    act();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(Problem);
  expect((thrown as Problem).toBody('', '')).toMatchObject({ code, ...members });
  expect({ ...order, changes: order.changes.length, movements: rows.movements, sums: rows.sums }).toEqual(before);
}

/** An order in each status. */
const IN_STATUS: Record<OrderStatus, () => Order> = {
  pending: anOrder,
  expired: () => {
    const order = anOrder();
    wait(30 * MINUTE_MS);
    expire(order);
    return order;
  },
  completed: () => {
    const order = anOrder();
    complete(order);
    return order;
  },
  cancelled: () => {
    const order = anOrder();
    cancel(order);
    return order;
  },
  partially_refunded: () => {
    const order = IN_STATUS.completed();
    refund(order, 5000);
    return order;
  },
  refunded: () => {
    const order = IN_STATUS.completed();
    refund(order, 10_000);
    return order;
  },
};

describe('the transitions of an order', () => {
  const ALLOWED: Record<string, [act: (order: Order) => unknown, after: Partial<Record<OrderStatus, OrderStatus>>]> = {
    hold: [(order) => hold(order, 0, after(45 * MINUTE_MS)), { pending: 'pending', expired: 'pending' }],
    amend: [(order) => amend(order, 9000), { pending: 'pending' }],
    complete: [(order) => complete(order, 0, undefined, []), { pending: 'completed', expired: 'completed' }],
    cancel: [(order) => cancel(order), { pending: 'cancelled', expired: 'cancelled' }],
    refund: [
      (order) => refund(order, 1000),
      { completed: 'partially_refunded', partially_refunded: 'partially_refunded' },
    ],
  };

  const pairs = ORDER_STATUSES.flatMap((status) =>
    Object.entries(ALLOWED).map(([operation, [act, statusAfter]]) => {
      return { status, operation, act, expected: statusAfter[status] };
    }),
  );

  it.each(pairs.filter(({ expected }) => expected !== undefined))(
    'an order that is $status can $operation, and then is $expected in its next version',
    ({ status, act, expected }) => {
      const order = IN_STATUS[status]();
      const { version } = order;
      wait(1);
      act(order);
      expect(order).toMatchObject({ status: expected, version: version + 1, updatedAt: rows.now });
      expect(order.changes.at(-1)).toMatchObject({ order: { version: version + 1 } });
    },
  );

  it.each(pairs.filter(({ expected, operation }) => expected === undefined && operation !== 'cancel'))(
    'an order that is $status cannot $operation',
    ({ status, act }) => {
      const order = IN_STATUS[status]();
      expectRefusal(order, 'invalid_transition', () => act(order), { current_status: status });
    },
  );

  it('only an open order can be cancelled, and a repeated cancellation changes nothing', () => {
    for (const status of ['completed', 'partially_refunded', 'refunded'] as const) {
      const order = IN_STATUS[status]();
      expectRefusal(order, 'invalid_transition', () => cancel(order), { current_status: status });
    }
    const order = IN_STATUS.cancelled();
    cancel(order, ['1']);
    expect(order).toMatchObject({ status: 'cancelled', version: 2 });
  });

  it('an order expires at its expires_at, once, and only while it is pending', () => {
    const order = anOrder();
    wait(30 * MINUTE_MS - 1);
    expire(order);
    expect(order).toMatchObject({ status: 'pending', version: 1 });
    wait(1);
    for (const _attempt of ['first', 'second']) expire(order);
    expect(order).toMatchObject({ status: 'expired', version: 2 });
    const completed = IN_STATUS.completed();
    wait(DAY_MS);
    expire(completed);
    expect(completed.status).toBe('completed');
  });
});

describe('the hold of an order', () => {
  it('a hold that is repeated changes nothing, and one above the maximum is refused with it', () => {
    grant(8000);
    const order = anOrder();
    hold(order, 5000);
    hold(order, 5000);
    expect(order).toMatchObject({ heldCents: 5000, version: 2 });
    expectRefusal(order, 'redemption_exceeds_maximum', () => hold(order, 5001), {
      ...{ maximum: '50.00', limited_by: 'order_share', errors: [{ pointer: '/amount' }] },
    });
    expect(order.maximum({ availableCents: rows.sums.availableCents, isFrozen: false })).toEqual({
      maximumCents: 5000,
      limitedBy: 'order_share',
    });
    hold(order, 0);
    expect(order).toMatchObject({ heldCents: 0, version: 3 });
    expect(order.changes.map(({ type }) => type)).toEqual(['order.redemption_held', 'order.redemption_released']);
  });

  it('an order that expires shows what it held as lapsed until it changes again', () => {
    grant(8000);
    const order = anOrder();
    hold(order, 2000);
    wait(30 * MINUTE_MS);
    expire(order);
    expect(order).toMatchObject({ heldCents: 0, lapsedCents: 2000, version: 3 });
    expect(rows.sums).toMatchObject({ availableCents: 8000, heldCents: 0 });
    expectRefusal(order, 'redemption_lapsed', () => complete(order), { lapsed: '20.00', maximum: '50.00' });
    hold(order, 1000, after(60 * MINUTE_MS));
    expect(order).toMatchObject({ status: 'pending', heldCents: 1000, lapsedCents: 0 });
  });

  it('an amendment keeps a hold that is allowed, lowers it if asked, and otherwise is refused', () => {
    grant(8000);
    const order = anOrder();
    hold(order, 4000);
    amend(order, 8000);
    expect(order).toMatchObject({ totalCents: 8000, heldCents: 4000, version: 3 });
    expectRefusal(order, 'redemption_exceeds_maximum', () => amend(order, 7998), { maximum: '39.99' });
    amend(order, 7998, true);
    expect(order).toMatchObject({ totalCents: 7998, heldCents: 3999, version: 4 });
    amend(order, 7998, true, ['1']);
    expect(order.version).toBe(4);
  });
});

describe('the completion of an order', () => {
  it('a completion redeems what is held, earns on the rest, and keeps the version that it completed', () => {
    grant(8000);
    const order = anOrder();
    hold(order, 2000);
    complete(order);
    expect(order).toMatchObject({
      ...{ status: 'completed', heldCents: 0, redeemedCents: 2000, earnedCents: 400 },
      ...{ completedAt: rows.now, version: 3, completedVersion: 2 },
    });
    expect(rows.movements).toEqual(['grant 80.00', 'redeem -20.00', 'earn 4.00']);
    expect(rows.sums).toMatchObject({ availableCents: 6000, pendingCents: 400, heldCents: 0 });
  });

  it('a repeated completion changes nothing; with other values or for another version it is refused', () => {
    const order = anOrder();
    complete(order, 0, ['1']);
    complete(order, undefined, ['1']);
    expect(order.version).toBe(2);
    expectRefusal(order, 'invalid_transition', () => complete(order, 1), { errors: [{ pointer: '/redeem' }] });
    expectRefusal(order, 'precondition_failed', () => complete(order, 0, ['2']));
  });

  it('a late completion redeems only what is available then', () => {
    grant(2000);
    const order = anOrder();
    hold(order, 2000);
    wait(30 * MINUTE_MS);
    expire(order);
    const other = anOrder();
    complete(other, 1500);
    expectRefusal(order, 'redemption_no_longer_available', () => complete(order, 2000), { maximum: '5.00' });
    complete(order, 500);
    expect(order).toMatchObject({ status: 'completed', redeemedCents: 500, lapsedCents: 0 });
  });

  it('payments above the total are refused', () => {
    const order = anOrder();
    const paid = [{ id: 'pix', amountCents: 10_001 }];
    expectRefusal(order, 'payments_exceed_total', () => complete(order, 0, undefined, paid));
  });
});

describe('refunds of an order', () => {
  it('refunds of the whole order return what it redeemed and take back what it earned, exactly', () => {
    grant(8000);
    const order = anOrder();
    complete(order, 1000);
    expect(order.earnedCents).toBe(450);
    const parts = [3333, 3333, 3334].map((cents) => refund(order, cents));
    expect(parts.map(({ returnedCents }) => returnedCents)).toEqual([333, 333, 334]);
    expect(parts.map(({ takenBackCents }) => takenBackCents)).toEqual([150, 150, 150]);
    expect(order).toMatchObject({
      ...{ status: 'refunded', refundedCents: 10_000, returnedCents: 1000, takenBackCents: 450, version: 5 },
    });
    expect(rows.sums).toMatchObject({ balanceCents: 8000, availableCents: 8000, debtCents: 0 });
    expect(order.changes.map(({ type, refund: made }) => [type, made?.amountCents])).toEqual([
      ...[['order.completed', undefined], ...[3333, 3333, 3334].map((cents) => ['order.refunded', cents])],
    ]);
  });

  it('a refund above what is left is refused with the bounds', () => {
    const order = IN_STATUS.partially_refunded();
    expectRefusal(order, 'refund_exceeds_total', () => refund(order, 5001), { minimum: '0.01', maximum: '50.00' });
  });

  it('a refund takes nothing back for cashback of the order that expired unspent', () => {
    const order = anOrder({ releaseDays: 0, validityDays: 1 });
    complete(order);
    wait(2 * DAY_MS);
    refund(order, 10_000);
    expect(order).toMatchObject({ status: 'refunded', earnedCents: 500, takenBackCents: 0 });
    expect(rows.movements).toEqual(['earn 5.00', 'expire -5.00']);
  });
});

describe('the versions of an order', () => {
  it.each<[string, (order: Order, versions: Versions) => unknown]>([
    ['hold', (order, versions) => hold(order, 0, after(60 * MINUTE_MS), versions)],
    ['amend', (order, versions) => amend(order, 9000, false, versions)],
    ['complete', (order, versions) => complete(order, 0, versions)],
    ['cancel', cancel],
  ])('%s is refused if the versions do not name that of the order', (_, act) => {
    const order = anOrder();
    for (const versions of [['2'], [], ['01', '1.0']])
      expectRefusal(order, 'precondition_failed', () => act(order, versions));
    act(order, ['7', '1']);
    expect(order.version).toBe(2);
  });

  it('a refund is refused if the versions do not name that of the order', () => {
    const order = IN_STATUS.completed();
    expectRefusal(order, 'precondition_failed', () => refund(order, 100, null, ['1']));
    refund(order, 100, null, ['2']);
    expect(order.version).toBe(3);
  });
});
