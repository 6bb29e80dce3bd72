import { eligibleTotal } from '../cashback/earned.js';
import { eligibleBounds, type RefundedOrder } from '../cashback/refund-parts.js';
import { formatMoney, sumCents } from '../platform/values/money.js';
import { type Fault, Problem, validationFailed } from '../platform/values/problem.js';
import type { OrderItem } from './order-content.js';
import type { Returned } from './refund.entity.js';

type Amounts = Record<'amountCents' | 'eligibleCents', number>;
type Sold = RefundedOrder & { items: readonly OrderItem[] };

/** Completes quantities: by default, all that the order has. */
export function withQuantities(
  order: Pick<Sold, 'items'>,
  asked: { items: readonly { id: string; quantity?: number }[]; rest: boolean } | null,
): Returned | null {
  const lines = linesOf(order.items);
  const all = (id: string): number => lines.get(id)?.count ?? 0;
  return asked && { ...asked, items: asked.items.map(({ id, quantity }) => ({ id, quantity: quantity ?? all(id) })) };
}

/**
 * Returns the amount of a refund of items, and its eligible part. A discount on the cart is shared by all items: they
 * cost what the total has of their sum. So do the eligible part of the goods, and of the rest. A refund is what all
 * items cost that have come back by now, less what earlier refunds by items gave, so that the last one leaves no
 * centavo. Refunds of an amount only bound it.
 *
 * @throws Problem validation_failed for items that the order does not have, and if they cost nothing;
 *   refund_exceeds_total for what has come back already.
 */
export function amountsOfItems(
  order: Sold,
  { items, rest }: Returned,
  refunds: readonly (Amounts & { returned: Returned | null })[],
): Amounts {
  const { totalCents } = order;
  const leftCents = totalCents - order.refundedCents;
  const earlier = refunds.flatMap(({ returned, ...amounts }) => (returned === null ? [] : { ...amounts, ...returned }));
  const givenCents = (member: keyof Amounts): number => sumCents(earlier.map((refund) => refund[member]));
  const lines = linesOf(order.items);
  for (const { id, quantity } of earlier.flatMap((refund) => refund.items)) lines.get(id)!.returned += quantity;
  const sum = [...lines.values()].reduce((all, { cost }) => all + cost, 0n);
  const goodsCents = sum < totalCents ? Number(sum) : totalCents;
  const hasRest = earlier.some((refund) => refund.rest);
  const faults = takeBack(lines, items);
  if (rest && hasRest && goodsCents < totalCents)
    faults.push({ pointer: '/rest', detail: 'must be left out: it has come back' });
  if (faults.length > 0) {
    const [minimum, maximum] = [formatMoney(1), formatMoney(leftCents)];
    throw new Problem('refund_exceeds_total', { detail: HAS_COME_BACK, minimum, maximum, errors: faults });
  }
  const shareCents = (goods: number, all: number): number =>
    (sum === 0n ? 0 : Number((costOfReturned(lines) * BigInt(goods)) / sum)) + (rest || hasRest ? all - goods : 0);
  const amountCents = Math.min(shareCents(goodsCents, totalCents) - givenCents('amountCents'), leftCents);
  if (amountCents === 0) throw validationFailed([items.length === 0 ? NO_REST : FREE]);
  const eligibleCents = eligibleTotal(order);
  const wantedCents = shareCents(Math.min(eligibleCents, goodsCents), eligibleCents) - givenCents('eligibleCents');
  const { minimumCents, maximumCents } = eligibleBounds(order, amountCents);
  return { amountCents, eligibleCents: Math.min(Math.max(minimumCents, wantedCents), maximumCents) };
}

const HAS_COME_BACK = 'it is for items, or for the rest, that earlier refunds returned';
const NO_REST = { pointer: '/rest', detail: 'must be left out: the total has nothing beyond the items' };
const FREE = { pointer: '/items', detail: 'must cost more than zero: add other items, or the rest with "rest": true' };

/** All items of an order with one ID; the price is null if they have several. */
type Line = { count: number; cost: bigint; price: bigint | null; returned: number };

function linesOf(items: readonly OrderItem[]): Map<string, Line> {
  const lines = new Map<string, Line>();
  for (const { id, priceCents, quantity = 1 } of items) {
    const own = BigInt(priceCents);
    const { count, cost, price } = lines.get(id) ?? { count: 0, cost: 0n, price: own };
    const all = { count: count + quantity, cost: cost + own * BigInt(quantity) };
    lines.set(id, { ...all, price: price === own ? own : null, returned: 0 });
  }
  return lines;
}

/** Of several prices, all or nothing has come back. */
const costOfReturned = (lines: ReadonlyMap<string, Line>): bigint =>
  [...lines.values()].reduce((sum, { count, cost, price, returned }) => {
    return sum + (returned === count ? cost : (price ?? 0n) * BigInt(returned));
  }, 0n);

/** Counts items as returned. @returns faults of those that have come back already; throws those of all others. */
function takeBack(lines: ReadonlyMap<string, Line>, items: Returned['items']): Fault[] {
  const [faults, exceeding]: [Fault[], Fault[]] = [[], []];
  for (const [at, { id, quantity }] of items.entries()) {
    const line = lines.get(id);
    const fault = (member: string, detail: string): Fault => ({ pointer: `/items/${at}/${member}`, detail });
    const isTwice = items.findIndex((other) => other.id === id) < at;
    if (isTwice) faults.push(fault('id', 'must not occur twice'));
    else if (line === undefined) faults.push(fault('id', 'must be the ID of an item of the order'));
    else if (quantity > line.count) faults.push(fault('quantity', `must be at most ${line.count}`));
    else if (quantity < line.count && line.price === null)
      faults.push(
        fault('quantity', `must be ${line.count} or left out, because the items with this ID have different prices`),
      );
    else if (quantity > line.count - line.returned)
      exceeding.push(
        fault('quantity', `must be at most ${line.count - line.returned}: ${line.returned} have come back`),
      );
    else line.returned += quantity;
  }
  if (faults.length > 0) throw validationFailed(faults);
  return exceeding;
}
