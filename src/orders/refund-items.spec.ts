import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { eligibleBounds, type RefundedOrder } from '../cashback/refund-parts.js';
import type { Problem } from '../common/problem.js';
import type { OrderItem } from './order-content.js';
import { amountsOfItems, type Returned } from './refund-items.js';

type Sold = RefundedOrder & { items: OrderItem[] };

/** A completed order. @param items each with its price, and its quantity if that is not 1 */
function sold(totalCents: number, items: [id: string, priceCents: number, quantity?: number][], rest = {}): Sold {
  const zero = { redeemedCents: 0, earnedCents: 0, refundedCents: 0, refundedEligibleCents: 0 };
  return {
    ...{ ...zero, returnedCents: 0, takenBackCents: 0, keptCents: 0, totalCents, eligibleTotalCents: null },
    items: items.map(([id, priceCents, quantity]) => ({ id, priceCents, ...(quantity && { quantity }) })),
    ...rest,
  };
}

const amounts = (order: Sold, items: Returned['items'], rest = false): [number, number] => {
  const { amountCents, eligibleCents } = amountsOfItems(order, { items, rest });
  return [amountCents, eligibleCents];
};

function faultsOf(order: Sold, items: Returned['items'], rest = false): unknown {
  try {
    return amounts(order, items, rest);
  } catch (error) {
    return (error as Problem).errors;
  }
}

const CART: [string, number, number?][] = [
  ['tv', 20_000],
  ['shirt', 5000, 2],
];

describe('amountsOfItems', () => {
  it.each<[string, Sold, Returned['items'], boolean, [number, number]]>([
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

  it('the eligible part is moved into the bounds that earlier refunds leave', () => {
    const items = ['a', 'b', 'c'].map((id): [string, number] => [id, 100]);
    // Each item is 1 of the 3 centavos, none of which is eligible when it is rounded down alone.
    const order = sold(3, items, { eligibleTotalCents: 2 });
    expect(amounts(order, [{ id: 'a' }])).toEqual([1, 0]);
    expect(amounts({ ...order, refundedCents: 1 }, [{ id: 'b' }])).toEqual([1, 1]);
    expect(amounts({ ...order, refundedCents: 2, refundedEligibleCents: 1 }, [{ id: 'c' }])).toEqual([1, 1]);
    const refunded = { refundedCents: 15_000, refundedEligibleCents: 15_000 };
    expect(amounts(sold(30_000, CART, { eligibleTotalCents: 15_000, ...refunded }), [{ id: 'shirt' }])).toEqual([
      10_000, 0,
    ]);
  });

  it.each<[string, Sold, Returned['items'], boolean, object[]]>([
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
      [{ pointer: '/items', detail: expect.stringContaining('send "rest": true') }],
    ],
    [
      'a free item',
      sold(100, [
        ['gift', 0],
        ['a', 100],
      ]),
      [{ id: 'gift' }],
      false,
      [{ pointer: '/items', detail: 'must cost more than zero' }],
    ],
    [
      'no rest',
      sold(25_000, CART),
      [],
      true,
      [{ pointer: '/rest', detail: expect.stringContaining('nothing beyond the items') }],
    ],
  ])('a refund of %s is refused', (_, order, items, rest, faults) => {
    expect(faultsOf(order, items, rest)).toEqual(faults);
  });

  it('all items and the rest are the total, items one at a time are never more, and each is within its bounds', () => {
    const cents = fc.integer({ min: 1, max: 100_000 });
    const cart = fc.array(fc.tuple(cents, fc.integer({ min: 1, max: 5 })), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(
        cart,
        fc.integer({ min: 100, max: 500_000 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (lines, total, share) => {
          const items = lines.map(([price, quantity], at): [string, number, number] => [String(at), price, quantity]);
          const order = sold(total, items, { eligibleTotalCents: Math.floor(total * share) });
          const all = order.items.map(({ id }) => ({ id }));
          expect(amounts(order, all, true)).toEqual([total, order.eligibleTotalCents]);
          const [goods] = amounts(order, all);
          for (const item of all) {
            const found = faultsOf(order, [item]);
            if (typeof (found as unknown[])[0] !== 'number') continue;
            const [amount, eligible] = found as [number, number];
            const { minimumCents, maximumCents } = eligibleBounds(order, amount);
            expect(eligible >= minimumCents && eligible <= maximumCents).toBe(true);
            order.refundedCents += amount;
            order.refundedEligibleCents += eligible;
          }
          expect(order.refundedCents).toBeLessThanOrEqual(goods);
          expect(goods - order.refundedCents).toBeLessThan(all.length);
        },
      ),
    );
  });
});
