import { eligibleTotal } from '../cashback/quote.js';
import { eligibleBounds, type RefundedOrder } from '../cashback/refund-parts.js';
import { type Fault, validationFailed } from '../common/problem.js';
import type { OrderItem } from './order-content.js';

/** What a refund is for. */
export interface Returned {
  items: readonly { id: string; quantity?: number }[];
  /** Whether also for what the total has beyond the items, such as shipping. */
  rest: boolean;
}

/**
 * Returns the amount of a refund of items, and its eligible part. A discount on the cart is shared by all items: they
 * cost what the total has of their sum. So do the eligible part of the goods, and of the rest. The eligible part is
 * moved into the bounds that earlier refunds leave, because it does not know which items they returned.
 *
 * @throws Problem validation_failed for items that the order does not have, and if they cost nothing.
 */
export function amountsOfItems(
  order: RefundedOrder & { items: readonly OrderItem[] },
  { items, rest }: Returned,
): { amountCents: number; eligibleCents: number } {
  const { totalCents } = order;
  const sum = costOf(order.items);
  const chosen = chosenCost(order.items, items);
  const shareOf = (cents: number): number => (sum === 0n ? 0 : Number((chosen * BigInt(cents)) / sum));
  const goodsCents = sum < totalCents ? Number(sum) : totalCents;
  const eligibleGoodsCents = Math.min(eligibleTotal(order), goodsCents);
  const amountCents = shareOf(goodsCents) + (rest ? totalCents - goodsCents : 0);
  if (amountCents === 0 && items.length === 0)
    throw validationFailed([{ pointer: '/rest', detail: 'must be left out: the total has nothing beyond the items' }]);
  if (amountCents === 0) {
    const detail = sum === 0n ? 'must be left out, because all items of the order are free: send "rest": true' : COST;
    throw validationFailed([{ pointer: '/items', detail }]);
  }
  const shareCents = shareOf(eligibleGoodsCents) + (rest ? eligibleTotal(order) - eligibleGoodsCents : 0);
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  return { amountCents, eligibleCents: Math.min(Math.max(minimumCents, shareCents), maximumCents) };
}

const COST = 'must cost more than zero';

const costOf = (items: readonly OrderItem[]): bigint =>
  items.reduce((sum, { priceCents, quantity = 1 }) => sum + BigInt(priceCents) * BigInt(quantity), 0n);

/** An order can have several items with one ID, and then also several prices of it. */
function chosenCost(items: readonly OrderItem[], chosen: Returned['items']): bigint {
  const faults: Fault[] = [];
  let cost = 0n;
  for (const [at, { id, quantity }] of chosen.entries()) {
    const own = items.filter((item) => item.id === id);
    const count = own.reduce((sum, item) => sum + (item.quantity ?? 1), 0);
    const isTwice = chosen.findIndex((other) => other.id === id) < at;
    const isPart = quantity !== undefined && quantity !== count;
    const fault = (member: string, detail: string): unknown =>
      faults.push({ pointer: `/items/${at}/${member}`, detail });
    if (isTwice) fault('id', 'must not occur twice');
    else if (own.length === 0) fault('id', 'must be the ID of an item of the order');
    else if (isPart && quantity > count) fault('quantity', `must be at most ${count}`);
    else if (isPart && own.some(({ priceCents }) => priceCents !== own[0]!.priceCents))
      fault('quantity', `must be ${count} or left out, because the items with this ID have different prices`);
    else cost += isPart ? costOf([{ ...own[0]!, quantity }]) : costOf(own);
  }
  if (faults.length > 0) throw validationFailed(faults);
  return cost;
}
