import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { refundAmounts, refundParts, type RefundedOrder } from '../cashback/refund-parts.js';
import type { Problem } from '../platform/values/problem.js';
import type { OrderItem } from './order-content.js';
import { amountsOfItems, withQuantities } from './refund-items.js';
import type { Returned } from './refund.entity.js';

type Sold = RefundedOrder & { items: OrderItem[] };
type Items = { id: string; quantity?: number }[];
/** An earlier refund, of which only what a test is about matters. */
type Earlier = { returned: Returned | null; amountCents: number; eligibleCents: number };

/** A completed order. @param items each with its price, and its quantity if that is not 1 */
function sold(totalCents: number, items: [id: string, priceCents: number, quantity?: number][], rest = {}): Sold {
  const zero = { redeemedCents: 0, earnedCents: 0, refundedCents: 0, refundedEligibleCents: 0 };
  return {
    ...{ ...zero, returnedCents: 0, takenBackCents: 0, keptCents: 0, totalCents, eligibleTotalCents: null },
    items: items.map(([id, priceCents, quantity]) => ({ id, priceCents, ...(quantity && { quantity }) })),
    ...rest,
  };
}

const amounts = (order: Sold, items: Items, rest = false, earlier: Earlier[] = []): [number, number] => {
  const { amountCents, eligibleCents } = amountsOfItems(order, withQuantities(order, { items, rest })!, earlier);
  return [amountCents, eligibleCents];
};

function refusalOf(order: Sold, items: Items, rest = false, earlier: Earlier[] = []): Problem {
  try {
    throw new Error(`it is not refused: ${String(amounts(order, items, rest, earlier))}`);
  } catch (error) {
    return error as Problem;
  }
}

/** Refunds items, one refund after the other. @returns the amounts of each, and the order after them. */
function refundAll(order: Sold, refunds: [items: Items, rest?: boolean][]): { given: [number, number][]; after: Sold } {
  const [earlier, after]: [Earlier[], Sold] = [[], { ...order }];
  const given = refunds.map(([items, rest = false]) => {
    const returned = withQuantities(after, { items, rest })!;
    const found = amountsOfItems(after, returned, earlier);
    refund(after, found);
    earlier.push({ returned, ...found });
    return [found.amountCents, found.eligibleCents] as [number, number];
  });
  return { given, after };
}

/** What a refund does to an order. */
function refund(order: Sold, found: { amountCents: number; eligibleCents: number }): void {
  const asked = refundAmounts(order, { ...found, takeBackCents: null }, null);
  const { returnedCents, takenBackCents } = refundParts(order, asked);
  order.refundedCents += asked.amountCents;
  order.refundedEligibleCents += asked.eligibleCents;
  order.returnedCents += returnedCents;
  order.takenBackCents += takenBackCents;
  order.keptCents -= asked.dueCents;
}

const CART: [string, number, number?][] = [
  ['tv', 20_000],
  ['shirt', 5000, 2],
];

describe('amountsOfItems', () => {
  it.each<[string, Sold, Items, boolean, [number, number]]>([
    ['the price, where there is no discount', sold(30_000, CART), [{ id: 'tv' }], false, [20_000, 20_000]],
    ['all of the quantity by default', sold(30_000, CART), [{ id: 'shirt' }], false, [10_000, 10_000]],
    ['a part of the quantity', sold(30_000, CART), [{ id: 'shirt', quantity: 1 }], false, [5000, 5000]],
    ['a share of the discount', sold(25_000, CART), [{ id: 'tv' }], false, [16_666, 16_666]],
    [
      'all goods of a cart with a discount',
      sold(25_000, CART),
      [{ id: 'tv' }, { id: 'shirt' }],
      false,
      [25_000, 25_000],
    ],
    ['shipping alone', sold(31_500, CART, { eligibleTotalCents: 30_000 }), [], true, [1500, 0]],
    [
      'an item with shipping',
      sold(31_500, CART, { eligibleTotalCents: 30_000 }),
      [{ id: 'tv' }],
      true,
      [21_500, 20_000],
    ],
    ['eligible shipping', sold(31_500, CART), [{ id: 'tv' }], true, [21_500, 21_500]],
    [
      'a share of what is eligible',
      sold(30_000, CART, { eligibleTotalCents: 15_000 }),
      [{ id: 'tv' }],
      false,
      [20_000, 10_000],
    ],
    ['nothing eligible', sold(30_000, CART, { eligibleTotalCents: 0 }), [{ id: 'tv' }], false, [20_000, 0]],
    ['the rest of free items', sold(1500, [['gift', 0]]), [{ id: 'gift' }], true, [1500, 1500]],
    [
      'prices above the largest exact number',
      sold(99_999_999_999, [
        ['a', 99_999_999_999, 999_999],
        ['b', 99_999_999_999, 999_999],
      ]),
      [{ id: 'a' }],
      false,
      [49_999_999_999, 49_999_999_999],
    ],
    [
      'both items with one ID',
      sold(300, [
        ['a', 100],
        ['a', 200],
      ]),
      [{ id: 'a', quantity: 2 }],
      false,
      [300, 300],
    ],
    [
      'one of two items with one ID and one price',
      sold(200, [
        ['a', 100],
        ['a', 100],
      ]),
      [{ id: 'a', quantity: 1 }],
      false,
      [100, 100],
    ],
  ])('a refund has %s', (_, order, items, rest, expected) => {
    expect(amounts(order, items, rest)).toEqual(expected);
  });

  it.each<[string, Sold, [items: Items, rest?: boolean][], [number, number][]]>([
    [
      'items with a discount',
      sold(
        10_000,
        ['a', 'b', 'c'].map((id): [string, number] => [id, 10_001]),
      ),
      [[[{ id: 'b' }]], [[{ id: 'a' }]], [[{ id: 'c' }]]],
      [
        [3333, 3333],
        [3333, 3333],
        [3334, 3334],
      ],
    ],
    [
      'three pieces of an item, and a centavo of rest',
      sold(10_000, [['a', 3333, 3]]),
      [[[{ id: 'a', quantity: 1 }]], [[{ id: 'a', quantity: 2 }]], [[], true]],
      [
        [3333, 3333],
        [6666, 6666],
        [1, 1],
      ],
    ],
    [
      'items of which a part is eligible',
      sold(
        3,
        ['a', 'b', 'c'].map((id): [string, number] => [id, 100]),
        { eligibleTotalCents: 2 },
      ),
      [[[{ id: 'a' }]], [[{ id: 'b' }]], [[{ id: 'c' }]]],
      [
        [1, 0],
        [1, 1],
        [1, 1],
      ],
    ],
    [
      'items that cost less than a centavo alone',
      sold(2, [
        ['a', 100, 2],
        ['b', 100],
      ]),
      [[[{ id: 'a' }]], [[{ id: 'b' }]]],
      [
        [1, 1],
        [1, 1],
      ],
    ],
  ])('of %s, no centavo is left when they come back one after the other', (_, order, refunds, expected) => {
    const { given, after } = refundAll(order, refunds);
    expect(given).toEqual(expected);
    expect(after).toMatchObject({
      refundedCents: order.totalCents,
      refundedEligibleCents: order.eligibleTotalCents ?? order.totalCents,
    });
  });

  it('a refund of items is at most what refunds of amounts left, and its eligible part is within their bounds', () => {
    const left = (rest: object): Sold => sold(30_000, CART, { eligibleTotalCents: 15_000, ...rest });
    const refunded = { refundedCents: 15_000, refundedEligibleCents: 15_000 };
    expect(amounts(left(refunded), [{ id: 'shirt' }])).toEqual([10_000, 0]);
    expect(amounts(left(refunded), [{ id: 'tv' }])).toEqual([15_000, 0]);
    expect(amounts(left({ refundedCents: 15_000 }), [{ id: 'tv' }])).toEqual([15_000, 15_000]);
    const shirt: Earlier = {
      ...{ amountCents: 5000, eligibleCents: 0 },
      returned: { items: [{ id: 'shirt', quantity: 1 }], rest: false },
    };
    const amount: Earlier = { amountCents: 10_000, eligibleCents: 10_000, returned: null };
    // The next one has what the first did not have of the eligible part.
    expect(amounts(left(refunded), [{ id: 'shirt', quantity: 1 }], false, [shirt, amount])).toEqual([5000, 0]);
    const cheaper = { refundedCents: 15_000, refundedEligibleCents: 10_000 };
    expect(amounts(left(cheaper), [{ id: 'shirt', quantity: 1 }], false, [shirt, amount])).toEqual([5000, 5000]);
  });

  it.each<[string, Items, boolean, object[]]>([
    [
      'an item',
      [{ id: 'tv' }],
      false,
      [{ pointer: '/items/0/quantity', detail: 'must be at most 0: 1 have come back' }],
    ],
    [
      'more of an item than is left, and shipping',
      [{ id: 'shirt' }],
      true,
      [
        { pointer: '/items/0/quantity', detail: 'must be at most 1: 1 have come back' },
        { pointer: '/rest', detail: 'must be left out: it has come back' },
      ],
    ],
    ['shipping', [], true, [{ pointer: '/rest', detail: 'must be left out: it has come back' }]],
  ])('%s that came back does not come back again', (_, items, rest, errors) => {
    const order = sold(31_500, CART, { refundedCents: 26_500, refundedEligibleCents: 26_500 });
    const returned = {
      items: [
        { id: 'tv', quantity: 1 },
        { id: 'shirt', quantity: 1 },
      ],
      rest: true,
    };
    const earlier = [{ returned, amountCents: 26_500, eligibleCents: 26_500 }];
    const refusal = refusalOf(order, items, rest, earlier);
    expect(refusal).toMatchObject({ code: 'refund_exceeds_total', errors });
    expect(refusal.toBody('', '')).toMatchObject({ minimum: '0.01', maximum: '50.00' });
    expect(amounts(order, [{ id: 'shirt', quantity: 1 }], false, earlier)).toEqual([5000, 5000]);
  });

  it.each<[string, Sold, Items, boolean, object[]]>([
    [
      'an unknown item',
      sold(30_000, CART),
      [{ id: 'tv' }, { id: 'TV' }],
      false,
      [{ pointer: '/items/1/id', detail: 'must be the ID of an item of the order' }],
    ],
    [
      'an item twice',
      sold(30_000, CART),
      [{ id: 'tv' }, { id: 'tv' }],
      false,
      [{ pointer: '/items/1/id', detail: 'must not occur twice' }],
    ],
    [
      'more than the order has',
      sold(30_000, CART),
      [{ id: 'shirt', quantity: 3 }],
      true,
      [{ pointer: '/items/0/quantity', detail: 'must be at most 2' }],
    ],
    [
      'a part of items with different prices',
      sold(300, [
        ['a', 100],
        ['a', 200],
      ]),
      [{ id: 'a', quantity: 1 }],
      false,
      [{ pointer: '/items/0/quantity', detail: expect.stringContaining('must be 2 or left out') }],
    ],
    [
      'items that were all free',
      sold(1500, [['gift', 0]]),
      [{ id: 'gift' }],
      false,
      [{ pointer: '/items', detail: expect.stringContaining('the rest with "rest": true') }],
    ],
    [
      'a free item',
      sold(100, [
        ['gift', 0],
        ['a', 100],
      ]),
      [{ id: 'gift' }],
      false,
      [{ pointer: '/items', detail: expect.stringContaining('must cost more than zero') }],
    ],
    [
      'no rest',
      sold(25_000, CART),
      [],
      true,
      [{ pointer: '/rest', detail: expect.stringContaining('nothing beyond the items') }],
    ],
  ])('a refund of %s is refused', (_, order, items, rest, faults) => {
    expect(refusalOf(order, items, rest)).toMatchObject({ code: 'validation_failed', errors: faults });
  });

  it('what comes back piece by piece, in any order, is exactly the total, what is eligible, and all cashback', () => {
    const lines = fc.array(fc.tuple(fc.integer({ min: 0, max: 20_000 }), fc.integer({ min: 1, max: 4 }), fc.nat(5)), {
      minLength: 1,
      maxLength: 6,
    });
    const share = fc.double({ min: 0, max: 1, noNaN: true });
    const total = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 200_000 }));
    const keys = fc.infiniteStream(fc.nat());
    fc.assert(
      fc.property(lines, total, share, share, share, keys, (cart, totalCents, e, r, g, dice) => {
        // Several items can have one ID, and then several prices.
        const items = cart.map(([price, quantity, id]): [string, number, number] => [String(id), price, quantity]);
        const eligibleTotalCents = Math.floor(totalCents * e);
        const earnedCents = Math.floor(eligibleTotalCents * g);
        const order = sold(totalCents, items, {
          eligibleTotalCents,
          redeemedCents: Math.floor(eligibleTotalCents * r),
          earnedCents,
          keptCents: earnedCents,
        });
        const pieces = inAnyOrder(piecesOf(order.items), dice);
        const earlier: Earlier[] = [];
        let waiting: Returned = { items: [], rest: false };
        for (const piece of pieces) {
          waiting = joined(waiting, piece);
          // What costs less than a centavo comes back with the next piece, and the rest of the total with any.
          const returned = waiting;
          const found = order.refundedCents < totalCents && unlessFree(() => amountsOfItems(order, returned, earlier));
          if (!found) continue;
          refund(order, found);
          earlier.push({ returned, ...found });
          waiting = { items: [], rest: false };
        }
        expect(order).toMatchObject({
          refundedCents: totalCents,
          refundedEligibleCents: eligibleTotalCents,
          returnedCents: order.redeemedCents,
          takenBackCents: earnedCents,
          keptCents: 0,
        });
      }),
      { numRuns: 500 },
    );
  });
});

/** All that can come back on its own: each piece of an item, items with several prices as a whole, and the rest. */
function piecesOf(items: OrderItem[]): Returned[] {
  const alone = [...new Set(items.map(({ id }) => id))].flatMap((id) => {
    const own = items.filter((item) => item.id === id);
    const count = own.reduce((all, { quantity = 1 }) => all + quantity, 0);
    const isWhole = own.some(({ priceCents }) => priceCents !== own[0]!.priceCents);
    return isWhole
      ? [{ id, quantity: count }]
      : Array<{ id: string; quantity: number }>(count).fill({ id, quantity: 1 });
  });
  return [...alone.map((item) => ({ items: [item], rest: false })), { items: [], rest: true }];
}

const inAnyOrder = <T>(all: T[], keys: Iterator<number, unknown>): T[] =>
  all
    .map((one) => [Number(keys.next().value), one] as const)
    .sort(([a], [b]) => a - b)
    .map(([, one]) => one);

function joined(a: Returned, b: Returned): Returned {
  const quantities = new Map<string, number>();
  for (const { id, quantity } of [...a.items, ...b.items]) quantities.set(id, (quantities.get(id) ?? 0) + quantity);
  return { items: Array.from(quantities, ([id, quantity]) => ({ id, quantity })), rest: a.rest || b.rest };
}

/** @returns undefined for what costs nothing, or less than a centavo so far */
function unlessFree<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    const detail = (error as Problem).errors?.[0]?.detail ?? '';
    if (!/must cost more than zero|nothing beyond the items/.test(detail)) throw error;
    return undefined;
  }
}
