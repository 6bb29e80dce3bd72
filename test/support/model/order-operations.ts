import { isDeepStrictEqual } from 'node:util';
import type { Answer } from '../client.js';
import { campaignDates, countCampaign } from './campaign-operations.js';
import type { InForce } from './campaigns.js';
import { type Content, contentBody, contentRefusals, differingMembers, exceedsTotal } from './content.js';
import { randomContent, randomPayments, randomStore, REPEATED_DIGITS } from './content.js';
import type { Dice } from './dice.js';
import { count, invalid, oneOf, type Outcome, pointersTo, problem } from './expected.js';
import { belowMinimum, lateAt, limitsView, type Move, Order } from './order.js';
import { earnedValidity, type Rules, toReceive } from './rules.js';
import { type Request, requestOf, type Shop } from './shop.js';
import { brl, cents, DAY, instant, max, min, MINUTE, MOST } from './values.js';
import type { Credit } from './wallet.js';

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
const isAllowed = ({ maxOrderTtlMinutes: minutes }: Rules, now: number, expiresAt: number | undefined): boolean =>
  expiresAt === undefined || (expiresAt >= now + MINUTE && expiresAt <= now + minutes * MINUTE);

const optional = <T>(value: T | undefined, write: (value: T) => unknown): unknown =>
  value === undefined ? undefined : write(value);

/** When a sale was made, and the rules for it: "the rules and the campaign of that instant decide". */
export function randomSale(shop: Shop, dice: Dice, isLate = dice.once(3)): Sale & { lateAt?: number | undefined } {
  const { now, inForce } = shop;
  if (!isLate) return { inForce };
  const { lateSaleDays: days } = inForce.base;
  const late = days === 0 ? [] : [300_001, 3_600_000, DAY, days * DAY, days * DAY - dice.upTo(DAY)];
  const dates = campaignDates(shop).flatMap((at) => [now - at + 1, now - at]);
  const past = dates.filter((ms) => ms > 0 && ms <= Math.max(days * DAY, 300_000));
  const usual = [0, 300_000, -300_000, ...late, ...late];
  const soldAt = now - dice.pick(past.length > 0 && dice.once(2) ? past.slice(-6) : usual);
  const at = lateAt(soldAt, now);
  const then = shop.inForceAt(at ?? Math.min(soldAt, now), at !== undefined);
  if (then.base !== inForce.base) count('a late sale has rules that have changed since');
  countCampaign(shop, soldAt, at !== undefined, then.campaign);
  return { soldAt, inForce: then, lateAt: at };
}

function creation(dice: Dice, externalId: string, content: Content, document: string, expiresAt?: number): object {
  const identity = { external_id: externalId, document, expires_at: optional(expiresAt, instant) };
  return { ...identity, ...contentBody(dice, content) };
}

type Sale = { soldAt?: number; inForce: InForce };

/** A new order, the body that creates it, and why it may be refused. */
interface NewOrder {
  order: Order;
  body: object;
  refusals: (Outcome | false)[];
}

/** @param wrong a member of the same request */
function newOrder(shop: Shop, dice: Dice, wrong: string | false, sale: Sale = shop): NewOrder {
  const { now } = shop;
  const { inForce, soldAt } = sale;
  const { rules } = inForce;
  const [first, content, requested] = [shop.aNewDocument(dice), randomContent(dice), randomExpiry(shop, dice)];
  // Beside a debt, often for the other customer: what that one earns can move, and repay it.
  const document = shop.wallet(first).debt > 0n && dice.once(2) ? shop.sequence.documents[1]! : first;
  const expiresAt = requested ?? now + rules.orderTtlMinutes * MINUTE;
  const externalId = shop.anExternalId();
  const order = new Order(
    externalId,
    document,
    content,
    now,
    expiresAt,
    inForce,
    shop.wallet(document),
    shop.by,
    soldAt,
  );
  const currency = dice.once(30) && dice.pick(['USD', 'brl']);
  const body = { ...creation(dice, externalId, content, document, requested), ...(currency && { currency }) };
  if (soldAt !== undefined) Object.assign(body, { sold_at: instant(soldAt) });
  const names = [isRefused(document) && 'document', currency && 'currency', wrong];
  const refusals = contentRefusals(rules, content, !isAllowed(rules, now, requested) && 'expires_at', ...names);
  return { order, body, refusals };
}

const isRefused = (document: string): boolean => REPEATED_DIGITS.includes(document);

/** Keeps an order that was created. Of a refused one there is nothing. */
function keep(shop: Shop, order: Order, answer: Answer | undefined): void {
  if (!answer) return shop.refuse(order.externalId);
  order.id = answer.body.id;
  shop.orders.push(order);
  if (order.isZero) count('an order of 0.00 is created');
  if (order.campaign) count('an order has a campaign');
  shop.expectSame(`/orders/${order.id}`, answer.headers.get('location'), 'Location');
}

export async function createOrder(shop: Shop, dice: Dice): Promise<void> {
  const { order, body, refusals } = newOrder(shop, dice, false);
  const view = (): Outcome => ({ status: 201, body: order.view(shop.now), replayed: false });
  keep(shop, order, await shop.write(requestOf(dice, 'POST', '/orders', body), refusals, view));
}

/** "created and completed in one transaction, or nothing is" */
export async function sell(shop: Shop, dice: Dice): Promise<void> {
  const unknown = dice.once(20) && { tip: '1.00' };
  const order = newOrder(shop, dice, unknown && 'complete/tip', randomSale(shop, dice));
  await sellNew(shop, dice, order, undefined, unknown);
}

/** A sale in one request that says when it was made. */
export async function sellLate(shop: Shop, dice: Dice): Promise<void> {
  await sellNew(shop, dice, newOrder(shop, dice, false, randomSale(shop, dice, true)));
}

async function sellNew(
  shop: Shop,
  dice: Dice,
  { order, body, refusals }: NewOrder,
  redeem?: bigint,
  unknown?: object | false,
): Promise<void> {
  const completion = completionOf(shop, dice, order, 'complete/', redeem);
  const complete = { ...completion.body, ...unknown };
  // "Otherwise the refusals of a creation, then those of a completion"
  const isCreated = refusals.every((one) => one === false);
  const request = requestOf(dice, 'POST', '/orders', { ...body, complete });
  const answer = await shop.write(request, isCreated ? completion.refusals : refusals, () => {
    completion.happen();
    order.changed(shop.now);
    if (order.redeemedAmount > 0n) count('a sale in one request redeems');
    if (order.isZero) count('a sale in one request is of 0.00');
    return { status: 201, body: order.view(shop.now), replayed: false };
  });
  keep(shop, order, answer);
}

/** A sale in one request of 100.00, for which nothing is redeemed. */
export async function earn(shop: Shop, dice: Dice): Promise<void> {
  await sellPlainly(shop, dice, 10_000n, false);
}

/** A sale in one request that redeems all that the customer can spend, when that is available. */
export async function spend(shop: Shop, dice: Dice): Promise<void> {
  const wallet = shop.wallet(shop.sequence.documents[0]!);
  const first = Math.min(...wallet.open(shop.now).map(({ availableAt }) => availableAt));
  if (first > shop.now && first < Infinity) await shop.sequence.pass(first - shop.now, true);
  const total = (wallet.available(shop.now) * 10_000n) / shop.rules.redeemShare;
  await sellPlainly(shop, dice, total === 0n ? 10_000n : min(total, MOST), true);
}

async function sellPlainly(shop: Shop, dice: Dice, amount: bigint, isSpent: boolean): Promise<void> {
  const { now, inForce } = shop;
  const [document, total, externalId] = [shop.sequence.documents[0]!, brl(amount), shop.anExternalId()];
  const content: Content = {
    ...{ items: [{ id: 'sku-1', price: total, quantity: 1 }], total, eligible_total: total, payment_methods: [] },
    ...{ earn_amount: null, metadata: {}, store: randomStore(dice) },
  };
  const expiresAt = now + inForce.rules.orderTtlMinutes * MINUTE;
  const order = new Order(externalId, document, content, now, expiresAt, inForce, shop.wallet(document), shop.by);
  const body = creation(dice, externalId, content, document);
  await sellNew(shop, dice, { order, body, refusals: [] }, isSpent ? order.limits(now).maximum : 0n);
}

/** Sends an external ID again, with a content that the order has or had, or with a different one. */
export async function recreateOrder(shop: Shop, dice: Dice): Promise<void> {
  await shop.sweep();
  const order = shop.anOrder(dice);
  const { body, conflict } = recreation(shop, dice, order);
  const replay = (): Outcome => ({ status: 201, body: order.view(shop.now), replayed: true });
  await shop.write(requestOf(dice, 'POST', '/orders', body), [conflict], replay);
}

/** Sends an external ID again, as a sale in one request. */
export async function resell(shop: Shop, dice: Dice): Promise<void> {
  await shop.sweep();
  const isCancelled = ({ status }: Order): boolean => status === 'cancelled';
  const isCompleted = ({ completedAt }: Order): boolean => completedAt !== undefined;
  const order = shop.anOrder(dice, isHolding, isPending, isLapsed, isLapsed, isCompleted, isCancelled);
  const { body, conflict } = recreation(shop, dice, order, true, !dice.once(4));
  const completion = completionOf(shop, dice, order, 'complete/');
  const { isOpen, status, held } = order;
  const request = requestOf(dice, 'POST', '/orders', { ...body, complete: completion.body ?? {}, ...soldAgain(order) });
  // "if it is open, this completes it …; if it was completed, it is compared as a second completion is"
  await shop.write(request, conflict ? [conflict] : completion.refusals, () => {
    count(`a sale in one request finds an order that is ${status}`);
    if (isOpen) {
      completion.happen();
      order.changed(shop.now);
      if (held > 0n) count('a sale in one request finds a hold');
    }
    return { status: 201, body: order.view(shop.now), replayed: !isOpen };
  });
}

/** "A repetition of a sale has the same `sold_at`" */
const soldAgain = ({ soldAt }: Order): object => (soldAt === undefined ? {} : { sold_at: instant(soldAt) });

/** A creation of an order that exists, and how it differs from the first one and from what the order is now. */
function recreation(
  shop: Shop,
  dice: Dice,
  order: Order,
  isSale = false,
  isSame = false,
): { body: object; conflict: Outcome | false } {
  const replayed = [order.carts[0]!, order.cart];
  const other = { ...order.content, total: brl(cents(order.content.total) + 100n), metadata: { other: 'x' } };
  const known = dice.pick([...replayed, ...order.carts]);
  const others = isSame ? [] : [other, { ...other, store: 'another' }];
  const content = dice.pick([known.content, known.content, known.content, ...others]);
  // "(after the replay: an order that exists replays)", so it is no 400.
  const document =
    dice.once(8) && !isSame ? dice.pick([...shop.sequence.documents, REPEATED_DIGITS[0]!]) : known.document;
  // "Both replay with the first `expires_at`, with the current one, and without one."
  const expiries = [undefined, order.firstExpiresAt, order.expiresAt];
  const expiresAt = dice.pick([...expiries, ...(isSame ? [] : [shop.now + 5 * MINUTE])]);
  // "its `errors` point at each member that differs": from the first content or from the current one.
  const differing = replayed.map((cart) => [
    ...differingMembers(cart.content, content),
    ...(document === cart.document ? [] : ['document']),
    ...(expiries.includes(expiresAt) ? [] : ['expires_at']),
  ]);
  const pointers = oneOf(...differing.map((names) => pointersTo(...names)));
  const conflict = problem('external_id_conflict', { existing_id: order.id }, pointers);
  const body = creation(dice, order.externalId, content, document, expiresAt);
  // "a sale of an order that exists needs the *current* content of the order"
  const isOther = isSale ? differing[1]!.length > 0 : differing.every(({ length }) => length > 0);
  if (isSale && isOther && differing[0]!.length === 0)
    count('a sale in one request has content from before an amendment');
  return { body, conflict: isOther && conflict };
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
    return { status: 200, body: view(), replayed: !happen };
  });
}

const exceedsMaximum = (limits: ReturnType<Order['limits']>, ...pointers: string[]): Outcome =>
  problem('redemption_exceeds_maximum', limitsView(limits), pointersTo(...pointers));

/** Holds for as long as an order can last, so that credits expire meanwhile. */
export async function holdLong(shop: Shop, dice: Dice): Promise<void> {
  await hold(shop, dice, shop.now + shop.rules.maxOrderTtlMinutes * MINUTE);
}

export async function holdCashback(shop: Shop, dice: Dice): Promise<void> {
  await hold(shop, dice);
}

async function hold(shop: Shop, dice: Dice, until?: number): Promise<void> {
  const { now } = shop;
  const order = shop.anOrder(dice, (one) => one.isOpen && one.limits(now).maximum > 0n, isPending, isExpired);
  const { held, isOpen, lapsed } = order;
  const limits = order.limits(now);
  const { maximum } = limits;
  const isRenewal = isExpired(order);
  const isRepeated = isRenewal && until === undefined && dice.once(4);
  const random = isRepeated ? order.datedHold?.expiresAt : randomExpiry(shop, dice, order.expiresAt);
  const requested = until ?? random;
  const isLate = isOpen && requested === order.expiresAt && !isAllowed(order.rules, now, requested);
  const others = [maximum + 1n, dice.amountUpTo(maximum), lapsed, maximum / 2n];
  const amount = isLate ? held + lapsed : dice.pick([...Array<bigint>(6).fill(maximum), held, 0n, ...others]);
  const body = { amount: brl(amount), expires_at: optional(requested, instant) };
  const request = requestOf(dice, 'PUT', `/orders/${order.id}/redemption`, body);
  const invalidExpiry = invalid(!isAllowed(order.rules, now, requested) && 'expires_at');
  if (isLate) {
    // "The same request after its own `expires_at` returns the expired order". Of an `expires_at` that the order was
    // created with, that is not documented.
    const isRepetition = isDeepStrictEqual(order.datedHold, { amount, expiresAt: requested });
    if (isRepetition && isRenewal) count('a hold is repeated after its own expires_at');
    // "An order that is due expires before the operation; that alone is no change by the request."
    const same: Outcome = { status: 200, body: order.view(now), replayed: true };
    return void (await shop.write(request, isRepetition ? [] : [same, invalidExpiry], () => same));
  }
  // "`expires_at` replaces the order's own. An expired order is renewed … (default: `order_ttl_minutes`)"
  const expiresAt = requested ?? (isRenewal ? now + order.rules.orderTtlMinutes * MINUTE : order.expiresAt);
  const happen = (): void => {
    if (isRenewal) count(amount > 0n ? 'an expired order is renewed with a hold' : 'an expired order is renewed');
    if (order.wallet.isFrozen && amount < held) count('a hold in a frozen wallet is lowered');
    Object.assign(order, { status: 'pending', lapsed: 0n, expiresAt });
    order.wallet.hold(order.cause(now, shop.by), amount);
    if (requested !== undefined) order.datedHold = { amount, expiresAt };
  };
  const exceeds = isOpen && amount > maximum && exceedsMaximum(limits, 'amount');
  if (exceeds && limits.limitedBy === 'frozen') count('a frozen wallet refuses a hold');
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
    [{ currency: 'USD' }, 'currency'],
    [{ document: dice.pick(REPEATED_DIGITS) }, 'document'],
  ]);
  const body = { ...contentBody(dice, content), ...own, redeem };
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
    if (order.wallet.isFrozen && held > 0n) count('an amendment of an order that holds of a frozen wallet');
    Object.assign(order, { content, document, wallet: shop.wallet(document) });
    order.carts.push(order.cart);
    order.wallet.hold(order.cause(shop.now, shop.by), min(held, limits.maximum));
  };
  // "The content that the order already has changes nothing, so `version` and `updated_at` stay."
  const isChange = isMoved || differingMembers(content, current).length > 0;
  await change(shop, dice, order, requestOf(dice, 'PUT', `/orders/${order.id}`, body), refusals, isChange && happen);
}

export async function completeOrder(shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice, isHolding, isPending, isLapsed);
  const { body, refusals, happen } = completionOf(shop, dice, order);
  const request = requestOf(dice, 'POST', `/orders/${order.id}/complete`, body);
  await change(shop, dice, order, request, refusals, order.isOpen && happen);
}

/** What a completion sends, why it may be refused, and what it does to an open order. */
interface Completion {
  body: object | undefined;
  refusals: (Outcome | false)[];
  happen: () => void;
}

/** @param at where the completion is in the request @param asked what it redeems, if that is not random */
function completionOf(shop: Shop, dice: Dice, order: Order, at = '', asked?: bigint): Completion {
  const { now } = shop;
  const { held, status, isOpen, lapsed, content, redeemedAmount, wallet, rules } = order;
  const limits = order.limits(now);
  const { maximum } = limits;
  const others = [0n, 1n, maximum, maximum, maximum + 1n, dice.amountUpTo(maximum)];
  const amounts = lapsed > 0n ? [lapsed, lapsed, lapsed, ...others] : [held, redeemedAmount, ...others];
  const given = asked ?? (dice.once(2) ? dice.pick(amounts) : undefined);
  const redeem = given ?? held + redeemedAmount;
  const payable = cents(content.total) - (dice.once(8) ? 0n : min(redeem, cents(content.total)));
  const payments = asked === undefined && dice.once(2) ? randomPayments(dice, payable) : undefined;
  const hasBody = given !== undefined || payments !== undefined || !dice.once(3);
  const body = hasBody ? { redeem: optional(given, brl), payment_methods: payments } : undefined;
  // "Completing again with the same values returns the order." An omitted member has no other value.
  const isOther = redeem !== redeemedAmount || (payments !== undefined && !isDeepStrictEqual(payments, order.payments));
  const isImpossible = !isOpen && (status === 'cancelled' || isOther);
  const isExceeding = isOpen && redeem > maximum;
  const isFrozen = limits.limitedBy === 'frozen';
  if (isExceeding && isFrozen) count(`a frozen wallet refuses what an order redeems that is ${status}`);
  const noLonger = problem('redemption_no_longer_available', limitsView(limits), pointersTo(`${at}redeem`));
  const compared = payments !== undefined && (isOpen || isImpossible);
  const refusals = [
    isImpossible && order.invalidTransition(),
    compared && exceedsTotal(content.total, isOpen ? redeem : 0n, payments, `${at}payment_methods`),
    given === undefined && lapsed > 0n && problem('redemption_lapsed', { lapsed: brl(lapsed), maximum: brl(maximum) }),
    // Of an amount that an expired order did not hold, the documents do not say which of the two it is.
    isOpen && belowMinimum(rules, redeem, `${at}redeem`),
    isExceeding && status === 'expired' && noLonger,
    // "A completion of an expired order with `redeem` above the (frozen) maximum: `redemption_no_longer_available`"
    isExceeding && (status === 'pending' || (redeem !== lapsed && !isFrozen)) && exceedsMaximum(limits, `${at}redeem`),
  ];
  const happen = (): void => {
    if (lapsed > 0n) count(`a lapsed hold is ${redeem === lapsed ? '' : 'not '}redeemed at completion`);
    const cause = order.cause(now, shop.by);
    order.redeemed = wallet.redeem(cause, redeem);
    Object.assign(order, { status: 'completed', completedAt: now, completedVersion: order.version, lapsed: 0n });
    order.completedBy = shop.by;
    Object.assign(order, { redeemedAmount: redeem, finalPayments: payments });
    order.granted = toReceive(rules, { ...content, payment_methods: order.payments }, redeem).amount;
    if (wallet.isFrozen && redeem > 0n) count('what a frozen wallet holds is redeemed');
    if (wallet.isFrozen && order.granted > 0n) count('a frozen wallet earns');
    if (order.granted > 0n)
      order.credit = wallet.add(
        'earn',
        order.externalId,
        order.granted,
        earnedValidity(rules, now, order.lateAt),
        cause,
      );
  };
  return { body, refusals, happen };
}

/** Corrects the customer of an order, or sends an earlier correction again. */
export async function changeCustomer(shop: Shop, dice: Dice): Promise<void> {
  const isFree = ({ move, credit, status, redeemedAmount, wallet }: Order): boolean =>
    !move && status !== 'refunded' && redeemedAmount === 0n && credit !== undefined && wallet.free(credit) > 0n;
  const repaysDebt = (order: Order): boolean =>
    isFree(order) && shop.sequence.documents.some((one) => one !== order.document && shop.wallet(one).debt > 0n);
  const isUsed = (order: Order): boolean => !order.move && order.redeemedAmount === 0n && order.credit !== undefined;
  const order = shop.anOrder(dice, isFree, isFree, repaysDebt, isUsed, ({ move }) => move !== undefined);
  const { move, document: first, redeemedAmount, wallet } = order;
  const documents = [...shop.sequence.documents].sort((a, b) => Number(a === first) - Number(b === first));
  const known = dice.once(6) || move ? dice.pick(documents) : documents[0]!;
  const document = dice.once(20) ? dice.pick(REPEATED_DIGITS) : known;
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
    invalid(isRefused(document) && 'document'),
    !order.completedAt && order.invalidTransition(),
    move !== undefined && document !== move.request.document && order.invalidTransition(),
    move === undefined && redeemedAmount > 0n && order.invalidTransition(),
    move === undefined && isHeld(shop, order),
    // "*away from* a frozen wallet"
    move === undefined && wallet.isFrozen && problem('wallet_frozen'),
  ];
  const isChange = move === undefined;
  const happen = (): void => {
    order.move = moveCredit(shop, order, { document, reason: reason! });
  };
  await change(shop, dice, order, request, refusals, isChange && happen, () => {
    const { request: done, moved, notMoved, at, by } = order.move!;
    return {
      ...{ order: order.view(shop.now), moved: brl(moved), not_moved: brl(notMoved), reason: done.reason },
      ...{ created_at: instant(at), created_by: by },
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
  if (credit && credit.debited > 0n) count('an order gets another customer after a debit');
  if (credit) keepDebited(shop, credit, notMoved);
  const other = shop.wallet(request.document);
  if (other.isFrozen) count('an order gets a customer whose wallet is frozen');
  if (moved > 0n && other.debt > 0n) count('what moves repays a debt');
  const { availableAt, expiresAt } = credit ?? { availableAt: 0, expiresAt: 0 };
  const validity = { availableAt, expiresAt, availableOn: '', expiresOn: '' };
  const made = moved > 0n ? other.add('move_in', order.externalId, moved, validity, cause) : undefined;
  Object.assign(order, { document: request.document, wallet: other, credit: made });
  return { request, moved, notMoved, refunds: order.allRefunds.length, at: now, by };
}

/** Not restored is "of cashback … whose customer was corrected after the debit: what is in `not_moved`". */
function keepDebited(shop: Shop, credit: Credit, notMoved: bigint): void {
  const correction = { left: max(0n, credit.expired + credit.debited - notMoved) };
  for (const { parts } of shop.debits)
    for (const part of parts) if (part.credit === credit) part.correction = correction;
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

/** Mostly one that is not refused. */
export const aReason = (dice: Dice): (typeof REASONS)[number] =>
  dice.pick(dice.once(3) ? REASONS : REASONS.slice(0, 4));

/** Bodies of what takes only a reason, with the member that is refused: "The body is optional." */
export const REASONS: [body: { reason?: string; amount?: string } | undefined, wrong: string | false][] = [
  [undefined, false],
  [{}, false],
  [{ reason: 'Out of stock' }, false],
  [{ reason: 'Não há mais' }, false],
  [{ reason: 'x'.repeat(501) }, 'reason'],
  [{ amount: '1.00' }, 'amount'],
];
