import { randomStore } from './content.js';
import type { Dice } from './dice.js';
import { anId, count, invalid, type Outcome, pointersTo, problem } from './expected.js';
import type { Order, Refund, Told } from './order.js';
import { type Request, requestOf, type Shop } from './shop.js';
import { brl, cents, instant, max, min } from './values.js';
import { type By, latestFirst, type Part } from './wallet.js';

const isRefundable = (order: Order): boolean => order.isRefundable;
/** What a refund returns comes from a returned amount. */
const isReturned = (order: Order): boolean =>
  order.isRefundable && order.redeemed.some(({ amount, credit }) => amount > 0n && credit.kind === 'return');
const isRedeemed = (order: Order): boolean => order.isRefundable && order.redeemedAmount > 0n;
const isEarnedExpired = (order: Order): boolean => order.isRefundable && (order.credit?.expired ?? 0n) > 0n;
/** The customer has spent, or holds, a part of what the order earned: a refund can leave a debt. */
const isEarnedSpent = (order: Order): boolean => {
  const { remaining, expired } = order.credit ?? { remaining: 0n, expired: 0n };
  return order.isRefundable && remaining + expired + order.refunded('takenBack') < order.granted;
};

const refunding = (dice: Dice, order: Order, request: Refund['request']): Request =>
  requestOf(dice, 'POST', `/orders/${order.id}/refunds`, request);

export async function refundOrder(shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice, isEarnedSpent, isEarnedSpent, isReturned, isEarnedExpired, isRedeemed, isRefundable);
  const [total, eligible] = [cents(order.content.total), cents(order.content.eligible_total)];
  const [refunded, refundedEligible] = [order.refunded('amount'), order.refunded('eligible')];
  const left = total - refunded;
  const parts = [left, left, left, left / 2n, left / 2n, left / 3n, dice.amountUpTo(left), min(left, 1n)];
  const amount = dice.pick([...parts, left + 1n, 0n]);
  // "from `max(0, F − (T − E − (S − e)))` to `min(F, E − e)`"
  const lowest = max(0n, amount - (total - eligible - (refunded - refundedEligible)));
  const highest = min(amount, eligible - refundedEligible);
  const bounds = [lowest, highest, highest, max(0n, lowest - 1n), highest + 1n, (lowest + highest) / 2n, 0n];
  const given = dice.once(2) ? dice.pick(bounds) : undefined;
  // "By default it is `floor(E × (S+F) / T) − floor(E × S / T)`, moved into these bounds."
  const part = (eligible * (refunded + amount)) / total - (eligible * refunded) / total;
  const exceeds = (name: string, from: bigint, to: bigint): Outcome | false =>
    order.isRefundable && problem('refund_exceeds_total', { minimum: brl(from), maximum: brl(to) }, pointersTo(name));
  const isOutside = given !== undefined && (given < lowest || given > highest);
  const concerned = given ?? min(max(part, lowest), highest);
  const { least, usual } = dueFor(order, concerned);
  const dues = [usual, least, least, order.left, order.left + 1n, least - 1n, (least + order.left) / 2n];
  const asked = dice.once(3) ? max(0n, dice.pick(dues)) : undefined;
  const request = {
    external_id: shop.sequence.newExternalId(),
    amount: brl(amount),
    eligible_amount: given === undefined ? undefined : brl(given),
    take_back: asked === undefined ? undefined : brl(asked),
    reason: dice.pick([undefined, 'Defective', '']),
    store: randomStore(dice),
    metadata: dice.pick<Told['metadata']>([undefined, {}, { till: '3' }]),
  };
  const refusals = [
    invalid(amount === 0n && 'amount'),
    !order.isRefundable && order.invalidTransition(),
    amount > left
      ? exceeds('amount', 1n, left)
      : isOutside
        ? exceeds('eligible_amount', lowest, highest)
        : asked !== undefined && (asked < least || asked > order.left) && exceeds('take_back', least, order.left),
  ];
  const concerns = { amount, eligible: concerned, due: asked ?? usual };
  await quoteRefund(shop, dice, order, request, refusals, concerns);
  let refund: Refund | undefined;
  const answer = await shop.write(refunding(dice, order, request), refusals, () => {
    refund = refundOf(order, request, concerns, shop);
    if (asked === least && least < usual) count('a refund takes back the least that it can');
    if (asked === order.left && asked > usual) count('a refund takes back all that is left');
    if (given === lowest && lowest > 0n) count('a refund has the lowest eligible_amount');
    if (given === highest && lowest < highest) count('a refund has the highest eligible_amount');
    return { status: 201, body: refund.body, replayed: false };
  });
  if (answer && refund) refund.body.id = answer.body.id;
}

/** What a refund concerns, and what of the earned cashback. */
type Concerned = Pick<Refund, 'amount' | 'eligible' | 'due'>;

/**
 * What the customer loses of the earned cashback by default: "`L − floor(L × (E−e−f) / (E−e))`, 0 where `E−e` is 0",
 * and the least that can be asked: "at most `max(what the default leaves, floor((E−e−f) × earn_rate_maximum))` is left"
 */
function dueFor({ left, content, rules, ...order }: Order, eligible: bigint): { least: bigint; usual: bigint } {
  const before = cents(content.eligible_total) - order.refunds.reduce((all, refund) => all + refund.eligible, 0n);
  const rest = before - eligible;
  const usual = before === 0n ? 0n : left - (left * rest) / before;
  const most = max(left - usual, (rest * (rules.earnRateMaximum ?? 0n)) / 10_000n);
  return { least: max(0n, left - most), usual };
}

/** What a refund returns and takes back. */
function movedBy(order: Order, { amount, due }: Concerned): Pick<Refund, 'returned' | 'takenBack'> {
  // "`floor(R × (S+F) / T)` less what was returned before"
  const refunded = order.refunded('amount') + amount;
  const returned = (order.redeemedAmount * refunded) / cents(order.content.total) - order.refunded('returned');
  return { returned, takenBack: max(0n, due - max(0n, order.lost)) };
}

const amountsView = ({ amount, eligible }: Concerned, { returned, takenBack }: ReturnType<typeof movedBy>): object => ({
  ...{ amount: brl(amount), eligible_amount: brl(eligible) },
  ...{ cashback_returned: brl(returned), cashback_taken_back: brl(takenBack) },
  // "money to pay back: `F` less what was returned"
  amount_to_pay_back: brl(amount - returned),
});

/** Often quotes a refund that is then made: it says the same. */
async function quoteRefund(
  shop: Shop,
  dice: Dice,
  order: Order,
  { amount, eligible_amount, take_back }: Refund['request'],
  refusals: (Outcome | false)[],
  parts: Concerned,
): Promise<void> {
  if (!dice.once(3)) return;
  // It stores nothing, also not that an order has expired.
  await shop.sweep();
  const request = requestOf(dice, 'POST', `/orders/${order.id}/refunds/quote`, { amount, eligible_amount, take_back });
  await shop.write(request, refusals, () => ({ status: 200, body: amountsView(parts, movedBy(order, parts)) }));
}

/** cashback.md, "Refunds": refunds an amount, of which a part is eligible. */
function refundOf(
  order: Order,
  request: Refund['request'],
  parts: Concerned,
  { now, by }: { now: number; by: By },
): Refund {
  const { credit, wallet } = order;
  // "a refund without a store counts where the order was made"
  const made = order.cause(now, by);
  const cause = { ...made, refund: request.external_id, store: request.store ?? made.store };
  if (request.store === null && made.store !== null) count('a refund counts where the order was made');
  if (request.store !== null && made.store !== request.store) count('a refund is made in another store');
  const moved = movedBy(order, parts);
  wallet.giveBack(partsToReturn(order, moved.returned), cause);
  if (moved.takenBack < parts.due) {
    count('a refund takes nothing back for cashback that expired');
    if (order.move) count('a refund takes nothing back for cashback that did not move');
  }
  wallet.takeBack(moved.takenBack, credit, cause);
  const body = {
    ...{ id: anId, external_id: request.external_id, order_id: order.id, created_at: instant(now) },
    order_external_id: order.externalId,
    ...amountsView(parts, moved),
    ...{ reason: request.reason, store: request.store, metadata: request.metadata ?? {}, created_by: by },
  };
  const refund = { request, body, ...parts, ...moved };
  order.refunds.push(refund);
  order.status = order.refunded('amount') === cents(order.content.total) ? 'refunded' : 'partially_refunded';
  order.changed(now);
  return refund;
}

/** "to the credits that the order redeemed from, each up to what it redeemed, in reverse: latest expiry first" */
function partsToReturn({ redeemed }: Order, amount: bigint): Part[] {
  return latestFirst(redeemed).flatMap((part) => {
    const returned = min(part.amount, amount);
    part.amount -= returned;
    amount -= returned;
    return returned > 0n ? [{ credit: part.credit, amount: returned }] : [];
  });
}

/** Sends a refund again, with the same content or with a different member. */
export async function repeatRefund(shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice, ({ refunds }) => refunds.length > 0);
  if (order.refunds.length === 0) return;
  const { request, body, amount, due } = dice.pick(order.refunds);
  const others = [
    ...[{ amount: brl(amount + 1n) }, { reason: 'another' }, { store: 'another' }, { metadata: { a: 'b' } }],
    { take_back: brl(due + 1n) },
  ];
  const other = dice.once(2) && dice.pick(others);
  const pointers = pointersTo(...Object.keys(other || {}));
  const conflict = other && problem('external_id_conflict', { existing_id: body.id }, pointers);
  const replay = (): Outcome => ({ status: 201, body, replayed: true });
  await shop.write(refunding(dice, order, { ...request, ...other }), [conflict], replay);
}
