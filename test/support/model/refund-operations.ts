import { randomStore } from './content.js';
import type { Dice } from './dice.js';
import { anId, count, invalid, type Outcome, pointersTo, problem } from './expected.js';
import type { Back, Order, Refund, Told } from './order.js';
import { type Request, requestOf, type Shop } from './shop.js';
import { brl, cents, instant, max, min, MOST, sum } from './values.js';
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

const isUnrefundable = (order: Order): boolean => {
  if (order.isZero && order.completedAt !== undefined) count('an order of 0.00 has nothing to refund');
  return !order.isRefundable;
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
  const part = total === 0n ? 0n : (eligible * (refunded + amount)) / total - (eligible * refunded) / total;
  const exceeds = (name: string, from: bigint, to: bigint): Outcome | false =>
    order.isRefundable && problem('refund_exceeds_total', { minimum: brl(from), maximum: brl(to) }, pointersTo(name));
  const isOutside = given !== undefined && (given < lowest || given > highest);
  const concerned = given ?? min(max(part, lowest), highest);
  const asks = { amount: brl(amount), eligible_amount: given === undefined ? undefined : brl(given) };
  const refusals = [
    invalid((amount === 0n || amount > MOST) && 'amount'),
    isUnrefundable(order) && order.invalidTransition(),
    amount > left ? exceeds('amount', 1n, left) : isOutside && exceeds('eligible_amount', lowest, highest),
  ];
  await make(shop, dice, order, asks, refusals, { amount, eligible: concerned, back: undefined }, () => {
    if (given === lowest && lowest > 0n) count('a refund has the lowest eligible_amount');
    if (given === highest && lowest < highest) count('a refund has the highest eligible_amount');
    if (order.refunds.some(({ back }) => back)) count('a refund of an amount follows one of items');
  });
}

/** Refunds items, and perhaps what the total has beyond them. */
export async function refundItems(shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice, isPartlyBack, isPartlyBack, isRefundable);
  const sold = new Set([...order.content.items.map(({ id }) => id), ...(dice.once(9) ? ['sku-9'] : [])]);
  const faults: (string | false)[] = [];
  let isBack = false;
  const items = [...sold].flatMap((id): Back['items'] => {
    const entries = order.content.items.filter((item) => item.id === id);
    const all = entries.reduce((pieces, { quantity }) => pieces + quantity, 0);
    const left = all - cameBack(order, id);
    const usual = dice.once(3) ? dice.pick([all, left, all + 1, left + 1]) : dice.pick([left, 1, Math.ceil(left / 2)]);
    const quantity = dice.once(4) ? undefined : Math.min(999_999, usual);
    // Of most items, what is left comes back.
    if (quantity === 0 || (dice.once(2) && !dice.once(5)) || (left === 0 && !dice.once(4))) return [];
    const [pieces, prices] = [quantity ?? all, new Set(entries.map(({ price }) => price))];
    faults.push((pieces > all || (prices.size > 1 && pieces < all) || entries.length === 0) && 'items');
    isBack ||= pieces > left;
    return [{ id, quantity }];
  });
  if (items.length > 0 && dice.once(12)) {
    items.push(items[0]!);
    faults.push('items');
  }
  const rest = items.length === 0 || dice.once(4) || dice.pick([undefined, false]);
  const isRestBack = rest === true && order.refunds.some(({ back }) => back?.rest) && restOf(order) > 0n;
  const pieces = items.map(({ id, quantity }) => ({ id, quantity: quantity ?? piecesOf(order, id) }));
  const back = { items: pieces, rest: rest === true };
  const isWrong = faults.some(Boolean) || isBack || isRestBack || !order.isRefundable;
  const found = isWrong ? { amount: 0n, eligible: 0n } : amountsOf(order, back);
  const left = cents(order.content.total) - order.refunded('amount');
  const names = [...(isBack ? ['items'] : []), ...(isRestBack ? ['rest'] : [])];
  const refusals = [
    !order.isRefundable && order.invalidTransition(),
    invalid(...faults),
    names.length > 0 && problem('refund_exceeds_total', { minimum: '0.01', maximum: brl(left) }, pointersTo(...names)),
    // "Items that cost nothing, or less than a centavo so far, come back with others."
    invalid(found.amount === 0n && (items.length > 0 ? 'items' : 'rest')),
  ];
  const asks = { amount: undefined, eligible_amount: undefined, rest, ...(items.length > 0 && { items }) };
  await make(shop, dice, order, asks, refusals, { ...found, back }, () => {
    if (
      order.allRefunds.some(({ back: gone, voided }) => voided && gone?.items.some(({ id }) => cameBack(order, id) > 0))
    )
      count('items come back again after a void');
    const before = order.refunds.slice(0, -1);
    const isWhole = order.status === 'refunded';
    if (before.some((refund) => !refund.back)) count('a refund of items follows one of an amount');
    if (isWhole && before.length > 0 && before.every((refund) => refund.back)) count('the last items come back');
    if (isWhole && [...sold].some((id) => cameBack(order, id) < piecesOf(order, id)))
      count('refunds of amounts left less than items cost');
  });
}

const isPartlyBack = (order: Order): boolean => order.isRefundable && order.refunds.some(({ back }) => back);

const piecesOf = ({ content }: Order, id: string): number =>
  content.items.reduce((pieces, item) => pieces + (item.id === id ? item.quantity : 0), 0);

const cameBack = ({ refunds }: Order, id: string): number =>
  refunds
    .flatMap(({ back }) => back?.items ?? [])
    .reduce((all, item) => all + (item.id === id ? item.quantity! : 0), 0);

/** "`I` the sum of price × quantity, the goods are `g = min(I, T)`" */
const goodsOf = ({ content }: Order): { all: bigint; goods: bigint } => {
  const all = sum(content.items.map(({ price, quantity }) => cents(price) * BigInt(quantity)));
  return { all, goods: min(all, cents(content.total)) };
};

const restOf = (order: Order): bigint => cents(order.content.total) - goodsOf(order).goods;

/** cashback.md, "Refunds": "what they cost with all that came back by items before, less what that gave" */
function amountsOf(order: Order, back: Required<Back>): { amount: bigint; eligible: bigint } {
  const [total, eligible] = [cents(order.content.total), cents(order.content.eligible_total)];
  const { all, goods } = goodsOf(order);
  const before = order.refunds.filter((refund) => refund.back);
  // The pieces that have come back, from one item of the order after the other.
  const pieces = new Map<string, number>();
  for (const { id, quantity } of [...before.flatMap((refund) => refund.back!.items), ...back.items])
    pieces.set(id, (pieces.get(id) ?? 0) + quantity!);
  let cost = 0n;
  for (const { id, price, quantity } of order.content.items) {
    const taken = Math.min(quantity, pieces.get(id) ?? 0);
    pieces.set(id, (pieces.get(id) ?? 0) - taken);
    cost += cents(price) * BigInt(taken);
  }
  const hasRest = back.rest || before.some((refund) => refund.back!.rest);
  const share = (ofGoods: bigint, of: bigint): bigint =>
    (all === 0n ? 0n : (cost * ofGoods) / all) + (hasRest ? of - ofGoods : 0n);
  const [refunded, refundedEligible] = [order.refunded('amount'), order.refunded('eligible')];
  const amount = min(share(goods, total) - sum(before.map((refund) => refund.amount)), total - refunded);
  const lowest = max(0n, amount - (total - eligible - (refunded - refundedEligible)));
  const highest = min(amount, eligible - refundedEligible);
  const part = share(min(eligible, goods), eligible) - sum(before.map((refund) => refund.eligible));
  return { amount, eligible: min(max(part, lowest), highest) };
}

/** Often quotes a refund, then makes it, unless it is refused. It may ask for what it takes back. */
async function make(
  shop: Shop,
  dice: Dice,
  order: Order,
  asks: Pick<Refund['request'], 'amount' | 'eligible_amount' | 'items' | 'rest'>,
  refusals: (Outcome | false)[],
  what: Omit<Concerned, 'due'>,
  done: () => void,
): Promise<void> {
  const { least, usual } = dueFor(order, what.eligible);
  const dues = [usual, least, least, order.left, order.left + 1n, least - 1n, (least + order.left) / 2n];
  const asked = dice.once(3) ? max(0n, dice.pick(dues)) : undefined;
  const request = {
    external_id: shop.sequence.newExternalId(),
    ...asks,
    take_back: asked === undefined ? undefined : brl(asked),
    reason: dice.pick([undefined, 'Defective', '']),
    store: randomStore(dice),
    metadata: dice.pick<Told['metadata']>([undefined, {}, { till: '3' }]),
  };
  const isOutside = asked !== undefined && (asked < least || asked > order.left);
  const bounds = { minimum: brl(least), maximum: brl(order.left) };
  refusals.push(isOutside && problem('refund_exceeds_total', bounds, pointersTo('take_back')));
  const concerns = { ...what, due: asked ?? usual };
  await quoteRefund(shop, dice, order, request, refusals, concerns);
  let refund: Refund | undefined;
  const answer = await shop.write(refunding(dice, order, request), refusals, () => {
    if (asked === least && least < usual) count('a refund takes back the least that it can');
    if (asked === order.left && asked > usual) count('a refund takes back all that is left');
    refund = refundOf(order, request, concerns, shop);
    if (order.allRefunds.some(({ voided }) => voided)) count('a refund follows one that was voided');
    done();
    return { status: 201, body: order.refundView(refund, shop.now), replayed: false };
  });
  if (answer && refund) refund.body.id = answer.body.id;
}

/** What a refund concerns, and what of the earned cashback. */
type Concerned = Pick<Refund, 'amount' | 'eligible' | 'due' | 'back'>;

/**
 * What the customer loses of the earned cashback by default: "`L − floor(L × (E−e−f) / (E−e))`, 0 where `E−e` is 0",
 * and the least that can be asked: "at most `max(what the default leaves, floor((E−e−f) × earn_rate_maximum))` is left"
 */
function dueFor(order: Order, eligible: bigint): { least: bigint; usual: bigint } {
  const { left, content, rules } = order;
  const before = cents(content.eligible_total) - order.refunded('eligible');
  const rest = before - eligible;
  const usual = before === 0n ? 0n : left - (left * rest) / before;
  const most = max(left - usual, (rest * (rules.earnRateMaximum ?? 0n)) / 10_000n);
  return { least: max(0n, left - most), usual };
}

/** What a refund returns and takes back. */
function movedBy(order: Order, { amount, due }: Omit<Concerned, 'back'>): Pick<Refund, 'returned' | 'takenBack'> {
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
  { amount, eligible_amount, take_back, items, rest }: Refund['request'],
  refusals: (Outcome | false)[],
  parts: Concerned,
): Promise<void> {
  if (!dice.once(3)) return;
  // It stores nothing, also not that an order has expired.
  await shop.sweep();
  const asks = { amount, eligible_amount, take_back, items, rest };
  const request = requestOf(dice, 'POST', `/orders/${order.id}/refunds/quote`, asks);
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
  const returned = partsToReturn(order, moved.returned);
  wallet.giveBack(returned, cause);
  if (moved.takenBack < parts.due) {
    if (credit && credit.expired > 0n) count('a refund takes nothing back for cashback that expired');
    if (credit && credit.debited > 0n) count('a refund takes nothing back for cashback that was debited');
    if (order.move) count('a refund takes nothing back for cashback that did not move');
  }
  wallet.takeBack(moved.takenBack, credit, cause);
  const body = {
    ...{ id: anId, external_id: request.external_id, order_id: order.id, created_at: instant(now) },
    order_external_id: order.externalId,
    ...amountsView(parts, moved),
    ...(parts.back ?? { items: [], rest: false }),
    ...{ reason: request.reason, store: request.store, metadata: request.metadata ?? {}, created_by: by },
  };
  const refund = { request, body, ...parts, ...moved, parts: returned, voided: undefined };
  order.allRefunds.push(refund);
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
  const isVoided = ({ voided }: Refund): boolean => voided !== undefined;
  const order = shop.anOrder(
    dice,
    ({ refunds }) => refunds.length > 0,
    ({ allRefunds }) => allRefunds.some(isVoided),
  );
  if (order.allRefunds.length === 0) return;
  const refund = dice.pick(order.allRefunds);
  const { request, body, amount, due, back } = refund;
  const others = [
    back ? { items: [{ id: 'another' }] } : { amount: brl(amount + 1n) },
    ...[{ reason: 'another' }, { store: 'another' }, { metadata: { a: 'b' } }],
    { take_back: brl(due + 1n) },
  ];
  const other = dice.once(2) && dice.pick(others);
  const pointers = pointersTo(...Object.keys(other || {}));
  const conflict = other && problem('external_id_conflict', { existing_id: body.id }, pointers);
  const replay = (): Outcome => {
    if (isVoided(refund)) count('a voided refund is requested again');
    return { status: 201, body: order.refundView(refund, shop.now), replayed: true };
  };
  await shop.write(refunding(dice, order, { ...request, ...other }), [conflict], replay);
}
