import { isDeepStrictEqual } from 'node:util';
import { type Content, contentBody, contentRefusals, differingMembers, exceedsTotal } from './content.js';
import { randomContent, randomPayments, randomStore } from './content.js';
import type { Dice } from './dice.js';
import { count, invalid, oneOf, type Outcome, pointersTo, problem } from './expected.js';
import { belowMinimum, limitsView, type Move, Order } from './order.js';
import { earnedValidity, toReceive } from './rules.js';
import { type Request, requestOf, type Shop } from './shop.js';
import { brl, cents, instant, min, MINUTE } from './values.js';

const isHolding = ({ held }: Order): boolean => held > 0n;
const isPending = ({ status }: Order): boolean => status === 'pending';
const isExpired = ({ status }: Order): boolean => status === 'expired';
const isLapsed = ({ lapsed }: Order): boolean => lapsed > 0n;

/** An `expires_at` for a request, at the bounds, at other dates, or absent. */
function randomExpiry(shop: Shop, dice: Dice, ...own: number[]): number | undefined {
  const [first, last] = [shop.now + MINUTE, shop.now + shop.rules.maxOrderTtlMinutes * MINUTE];
  const choices = [first, last, last, first - 1, last + 1, first + dice.upTo(last - first), ...shop.dates(), ...own];
  return dice.once(3) ? dice.pick(choices) : undefined;
}

/** "from 1 minute to the policy's `max_order_ttl_minutes` ahead" */
const isAllowed = ({ now, rules }: Shop, expiresAt: number | undefined): boolean =>
  expiresAt === undefined || (expiresAt >= now + MINUTE && expiresAt <= now + rules.maxOrderTtlMinutes * MINUTE);

const optional = <T>(value: T | undefined, write: (value: T) => unknown): unknown =>
  value === undefined ? undefined : write(value);

function creation(dice: Dice, externalId: string, content: Content, document: string, expiresAt?: number): Request {
  const identity = { external_id: externalId, document, expires_at: optional(expiresAt, instant) };
  return requestOf(dice, 'POST', '/orders', { ...identity, ...contentBody(dice, content) });
}

export async function createOrder(shop: Shop, dice: Dice): Promise<void> {
  const { now, rules } = shop;
  const [document, content, requested] = [shop.aDocument(dice), randomContent(dice), randomExpiry(shop, dice)];
  const expiresAt = requested ?? now + rules.orderTtlMinutes * MINUTE;
  const externalId = shop.sequence.newExternalId();
  const order = new Order(externalId, document, content, now, expiresAt, rules, shop.wallet(document), shop.by);
  const request = creation(dice, externalId, content, document, requested);
  const refusals = contentRefusals(rules, content, !isAllowed(shop, requested) && 'expires_at');
  const answer = await shop.write(request, refusals, () => ({ status: 201, body: order.view(now), replayed: false }));
  if (!answer) return;
  order.id = answer.body.id;
  shop.orders.push(order);
  shop.expectSame(`/orders/${order.id}`, answer.headers.get('location'), 'Location');
}

/** Sends an external ID again, with a content that the order has or had, or with a different one. */
export async function recreateOrder(shop: Shop, dice: Dice): Promise<void> {
  await shop.sweep();
  const order = shop.anOrder(dice);
  const replayed = [order.carts[0]!, order.cart];
  const other = { ...order.content, total: brl(cents(order.content.total) + 100n), metadata: { other: 'x' } };
  const known = dice.pick([...replayed, ...order.carts]);
  const content = dice.pick([known.content, known.content, known.content, other, { ...other, store: 'another' }]);
  const document = dice.once(8) ? dice.pick(shop.sequence.documents) : known.document;
  // "Both replay with the first `expires_at`, with the current one, and without one."
  const expiries = [undefined, order.firstExpiresAt, order.expiresAt];
  const expiresAt = dice.pick([...expiries, shop.now + 5 * MINUTE]);
  // "its `errors` point at each member that differs": from the first content or from the current one.
  const differing = replayed.map((cart) => [
    ...differingMembers(cart.content, content),
    ...(document === cart.document ? [] : ['document']),
    ...(expiries.includes(expiresAt) ? [] : ['expires_at']),
  ]);
  const pointers = oneOf(...differing.map((names) => pointersTo(...names)));
  const conflict = problem('external_id_conflict', { existing_id: order.id }, pointers);
  const request = creation(dice, order.externalId, content, document, expiresAt);
  const replay = (): Outcome => ({ status: 201, body: order.view(shop.now), replayed: true });
  await shop.write(request, [differing.every(({ length }) => length > 0) && conflict], replay);
}

/** Sends a request that changes an order, often with `If-Match`. @param happen if the request changes something */
async function change(
  shop: Shop,
  dice: Dice,
  order: Order,
  request: Request,
  refusals: (Outcome | false)[],
  happen: false | (() => void),
  view: () => object = () => order.view(shop.now),
): Promise<void> {
  // "`complete` is repeated only with the version that was completed."
  const completed = request.path.endsWith('/complete') ? order.completedVersion : undefined;
  const version = completed ?? order.version;
  const matching = [`"${version}"`, `"${version - 1}", "${version}"`, '*'];
  const others = [`"${version + 1}"`, `"${version - 1}"`, `W/"${version}"`];
  const malformed = String(version);
  const ifMatch = dice.pick([...Array<undefined>(14).fill(undefined), ...matching, ...others, malformed]);
  const all = [...refusals, ifMatch === malformed && problem('malformed_request')].filter((one) => one !== false);
  // "404, 400 and 409 `invalid_transition` come before 412."
  // "A request that already happened changes nothing, so its repeat is not a 412."
  const isOther = ifMatch !== undefined && others.includes(ifMatch) && (happen || completed);
  const isFirst = ({ status, body }: Outcome): boolean =>
    status === 400 || (body as { code: string }).code === 'invalid_transition';
  if (isOther && !all.some(isFirst)) all.push(problem('precondition_failed'));
  await shop.write({ ...request, ifMatch }, all, () => {
    if (happen) {
      happen();
      order.changed(shop.now);
      if (ifMatch !== undefined) count('If-Match allows a change');
    }
    return { status: 200, body: view() };
  });
}

const exceedsMaximum = (limits: ReturnType<Order['limits']>, ...pointers: string[]): Outcome =>
  problem('redemption_exceeds_maximum', limitsView(limits), pointersTo(...pointers));

export async function holdCashback(shop: Shop, dice: Dice): Promise<void> {
  const { now } = shop;
  const order = shop.anOrder(dice, (one) => one.isOpen && one.limits(now).maximum > 0n, isPending, isExpired);
  const { held, isOpen, lapsed } = order;
  const limits = order.limits(now);
  const { maximum } = limits;
  const isRenewal = isExpired(order);
  const isRepeated = isRenewal && dice.once(4);
  const requested = isRepeated ? order.datedHold?.expiresAt : randomExpiry(shop, dice, order.expiresAt);
  const isLate = isOpen && requested === order.expiresAt && !isAllowed(shop, requested);
  const others = [maximum + 1n, dice.amountUpTo(maximum), lapsed, maximum / 2n];
  const amount = isLate ? held + lapsed : dice.pick([...Array<bigint>(6).fill(maximum), held, 0n, ...others]);
  const body = { amount: brl(amount), expires_at: optional(requested, instant) };
  const request = requestOf(dice, 'PUT', `/orders/${order.id}/redemption`, body);
  const invalidExpiry = invalid(!isAllowed(shop, requested) && 'expires_at');
  if (isLate) {
    // "The same request after its own `expires_at` returns the expired order". Of an `expires_at` that the order was
    // created with, that is not documented.
    const isRepetition = isDeepStrictEqual(order.datedHold, { amount, expiresAt: requested });
    if (isRepetition && isRenewal) count('a hold is repeated after its own expires_at');
    const same: Outcome = { status: 200, body: order.view(now) };
    return void (await shop.write(request, isRepetition ? [] : [same, invalidExpiry], () => same));
  }
  // "`expires_at` replaces the order's own. An expired order is renewed … (default: `order_ttl_minutes`)"
  const expiresAt = requested ?? (isRenewal ? now + shop.rules.orderTtlMinutes * MINUTE : order.expiresAt);
  const happen = (): void => {
    if (isRenewal) count(amount > 0n ? 'an expired order is renewed with a hold' : 'an expired order is renewed');
    Object.assign(order, { status: 'pending', lapsed: 0n, expiresAt });
    order.wallet.hold(order.cause(now, shop.by), amount);
    if (requested !== undefined) order.datedHold = { amount, expiresAt };
  };
  const exceeds = isOpen && amount > maximum && exceedsMaximum(limits, 'amount');
  const below = isOpen && belowMinimum(order.rules, amount, 'amount');
  const refusals = [invalidExpiry, !isOpen && order.invalidTransition(), exceeds, below];
  const isChange = isRenewal || amount !== held || expiresAt !== order.expiresAt;
  await change(shop, dice, order, request, refusals, isChange && happen);
}

export async function amendOrder(shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice, isHolding, isPending);
  const { content: current, held } = order;
  const more = { ...current, total: brl(cents(current.total) + 1n) };
  const less = { ...current, total: '1.00', eligible_total: '1.00', payment_methods: [], earn_amount: null };
  const overpaid = { ...current, payment_methods: [{ id: 'pix', amount: more.total }] };
  const moved = { ...current, store: randomStore(dice) };
  const first = order.carts[0]!.content;
  const content = dice.pick([randomContent(dice), less, less, current, first, more, overpaid, moved]);
  const redeem = dice.pick([undefined, 'maximum']);
  const other = dice.pick(shop.sequence.documents);
  const [own, wrong] = dice.pick<[Partial<Record<string, string>>, string | false]>([
    ...Array<[object, false]>(5).fill([{}, false]),
    [{ external_id: order.externalId, document: order.document }, false],
    ...Array<[object, false]>(2).fill([{ document: other }, false]),
    // "any other member of the response, or another value, is a 400"
    [{ external_id: 'another' }, 'external_id'],
    [{ currency: 'BRL' }, 'currency'],
  ]);
  const body = { ...own, ...contentBody(dice, content), redeem };
  const { document = order.document } = own;
  const isMoved = document !== order.document;
  const limits = order.limits(shop.now, content);
  const refusals = [
    ...contentRefusals(order.rules, content, wrong),
    !isPending(order) && order.invalidTransition(),
    // "its document only while it holds nothing"
    isMoved && held > 0n && order.invalidTransition('document'),
    held > limits.maximum && redeem === undefined && exceedsMaximum(limits),
  ];
  const happen = (): void => {
    if (held > 0n) count(held > limits.maximum ? 'an amendment lowers a hold' : 'an amendment keeps a hold');
    if (content.store !== current.store) count('an amendment changes the store');
    if (isMoved) count('an amendment changes the customer');
    Object.assign(order, { content, document, wallet: shop.wallet(document) });
    order.carts.push(order.cart);
    order.wallet.hold(order.cause(shop.now, shop.by), min(held, limits.maximum));
  };
  // "The content that the order already has changes nothing, so `version` and `updated_at` stay."
  const isChange = isMoved || differingMembers(content, current).length > 0;
  await change(shop, dice, order, requestOf(dice, 'PUT', `/orders/${order.id}`, body), refusals, isChange && happen);
}

export async function completeOrder(shop: Shop, dice: Dice): Promise<void> {
  const { now } = shop;
  const order = shop.anOrder(dice, isHolding, isPending, isLapsed);
  const { held, status, isOpen, lapsed, content, redeemedAmount, wallet, rules } = order;
  const limits = order.limits(now);
  const { maximum } = limits;
  const others = [0n, 1n, maximum, maximum, maximum + 1n, dice.amountUpTo(maximum)];
  const amounts = lapsed > 0n ? [lapsed, lapsed, lapsed, ...others] : [held, redeemedAmount, ...others];
  const given = dice.once(2) ? dice.pick(amounts) : undefined;
  const redeem = given ?? held + redeemedAmount;
  const payable = cents(content.total) - (dice.once(8) ? 0n : min(redeem, cents(content.total)));
  const payments = dice.once(2) ? randomPayments(dice, payable) : undefined;
  const hasBody = given !== undefined || payments !== undefined || !dice.once(3);
  const body = hasBody ? { redeem: optional(given, brl), payment_methods: payments } : undefined;
  // "Completing again with the same values returns the order." An omitted member has no other value.
  const isOther = redeem !== redeemedAmount || (payments !== undefined && !isDeepStrictEqual(payments, order.payments));
  const isImpossible = !isOpen && (status === 'cancelled' || isOther);
  const isExceeding = isOpen && redeem > maximum;
  const noLonger = problem('redemption_no_longer_available', limitsView(limits), pointersTo('redeem'));
  const refusals = [
    isImpossible && order.invalidTransition(),
    (isOpen || isImpossible) && payments !== undefined && exceedsTotal(content.total, isOpen ? redeem : 0n, payments),
    given === undefined && lapsed > 0n && problem('redemption_lapsed', { lapsed: brl(lapsed), maximum: brl(maximum) }),
    // Of an amount that an expired order did not hold, the documents do not say which of the two it is.
    isOpen && belowMinimum(rules, redeem, 'redeem'),
    isExceeding && status === 'expired' && noLonger,
    isExceeding && (status === 'pending' || redeem !== lapsed) && exceedsMaximum(limits, 'redeem'),
  ];
  const happen = (): void => {
    if (lapsed > 0n) count(`a lapsed hold is ${redeem === lapsed ? '' : 'not '}redeemed at completion`);
    const cause = order.cause(now, shop.by);
    order.redeemed = wallet.redeem(cause, redeem);
    Object.assign(order, { status: 'completed', completedAt: now, completedVersion: order.version, lapsed: 0n });
    order.completedBy = shop.by;
    Object.assign(order, { redeemedAmount: redeem, finalPayments: payments });
    order.granted = toReceive(rules, { ...content, payment_methods: order.payments }, redeem).amount;
    if (order.granted > 0n)
      order.credit = wallet.add('earn', order.externalId, order.granted, earnedValidity(rules, now), cause);
  };
  const request = requestOf(dice, 'POST', `/orders/${order.id}/complete`, body);
  await change(shop, dice, order, request, refusals, isOpen && happen);
}

/** Corrects the customer of an order, or sends an earlier correction again. */
export async function changeCustomer(shop: Shop, dice: Dice): Promise<void> {
  const isFree = ({ move, credit, status, redeemedAmount, wallet }: Order): boolean =>
    !move && status !== 'refunded' && redeemedAmount === 0n && credit !== undefined && wallet.free(credit) > 0n;
  const isUsed = (order: Order): boolean => !order.move && order.redeemedAmount === 0n && order.credit !== undefined;
  const order = shop.anOrder(dice, isFree, isFree, isUsed, ({ move }) => move !== undefined);
  const { move, document: first, redeemedAmount } = order;
  const documents = [...shop.sequence.documents].sort((a, b) => Number(a === first) - Number(b === first));
  const document = dice.once(6) || move ? dice.pick(documents) : documents[0]!;
  const [reason, wrong] = dice.pick<[string | undefined, string | false]>([
    ...Array<[string, false]>(5).fill(['Typed wrongly', false]),
    ['', 'reason'],
    [' ', 'reason'],
    [undefined, 'reason'],
    ['x'.repeat(501), 'reason'],
  ]);
  const request = requestOf(dice, 'PUT', `/orders/${order.id}/customer`, { document, reason });
  const refusals = [
    invalid(wrong),
    invalid(move === undefined && document === first && 'document'),
    !order.completedAt && order.invalidTransition(),
    move !== undefined && document !== move.request.document && order.invalidTransition(),
    move === undefined && redeemedAmount > 0n && order.invalidTransition(),
    move === undefined && isHeld(shop, order),
  ];
  const isChange = move === undefined;
  const happen = (): void => {
    order.move = moveCredit(shop, order, { document, reason: reason! });
  };
  await change(shop, dice, order, request, refusals, isChange && happen, () => {
    const { request: done, moved, notMoved, ...made } = order.move!;
    return {
      ...{ order: order.view(shop.now), moved: brl(moved), not_moved: brl(notMoved), reason: done.reason },
      ...{ created_at: instant(made.at), created_by: made.by },
    };
  });
}

/** "while another order holds a part of it: `held_by` names them" */
function isHeld(shop: Shop, { credit, wallet }: Order): Outcome | false {
  const holders = credit === undefined ? [] : wallet.holders(credit);
  const named = holders.map((holder) => shop.orders.find(({ externalId }) => externalId === holder)!);
  const byId = named.map(({ id, externalId: external_id }) => ({ id, external_id }));
  const heldBy = (value: unknown): boolean =>
    isDeepStrictEqual(
      [...(value as typeof byId)].sort((a, b) => (a.id < b.id ? -1 : 1)),
      byId.sort((a, b) => (a.id < b.id ? -1 : 1)).slice(0, 10),
    );
  return holders.length > 0 && problem('cashback_held', { held_by: heldBy });
}

function moveCredit(shop: Shop, order: Order, request: Move['request']): Move {
  const { now, by } = shop;
  const { credit, granted, wallet } = order;
  const cause = order.cause(now, by);
  const moved = credit === undefined ? 0n : wallet.moveOut(credit, order.left, cause);
  const notMoved = granted - order.refunded('takenBack') - moved;
  count(moved > 0n ? (notMoved > 0n ? 'a part moves' : 'all that was earned moves') : 'nothing moves');
  if (order.refunds.length > 0) count('a refunded order gets another customer');
  const other = shop.wallet(request.document);
  if (moved > 0n && other.debt > 0n) count('what moves repays a debt');
  const { availableAt, expiresAt } = credit ?? { availableAt: 0, expiresAt: 0 };
  const validity = { availableAt, expiresAt, availableOn: '', expiresOn: '' };
  const made = moved > 0n ? other.add('move_in', order.externalId, moved, validity, cause) : undefined;
  Object.assign(order, { document: request.document, wallet: other, credit: made });
  return { request, moved, notMoved, at: now, by };
}

export async function cancelOrder(shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice, isHolding, isExpired);
  const [body, wrong] = dice.pick(REASONS);
  const request = requestOf(dice, 'POST', `/orders/${order.id}/cancel`, body);
  const isPossible = order.isOpen || order.status === 'cancelled';
  const happen = (): void => {
    order.wallet.hold(order.cause(shop.now, shop.by), 0n);
    Object.assign(order, { status: 'cancelled', cancelledAt: shop.now, lapsed: 0n });
    Object.assign(order, { cancelledBy: shop.by, cancelReason: body?.reason });
    if (body?.reason !== undefined) count('an order is cancelled with a reason');
  };
  const refusals = [invalid(wrong), !isPossible && order.invalidTransition()];
  await change(shop, dice, order, request, refusals, order.isOpen && happen);
}

/** Bodies of what takes only a reason, with the member that is refused: "The body is optional." */
export const REASONS: [body: { reason?: string; amount?: string } | undefined, wrong: string | false][] = [
  [undefined, false],
  [{}, false],
  [{ reason: 'Out of stock' }, false],
  [{ reason: 'Não há mais' }, false],
  [{ reason: 'x'.repeat(501) }, 'reason'],
  [{ amount: '1.00' }, 'amount'],
];
