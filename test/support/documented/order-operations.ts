import {
  absent,
  canonical,
  contentBody,
  contentRefusals,
  differingMembers,
  exceedsTotal,
  paymentsBody,
  randomContent,
  randomPayments,
  sameContent,
  written,
} from './content.js';
import { instant } from './days.js';
import type { Dice } from './dice.js';
import { brl, min, sum } from './money.js';
import { type Content, Order } from './order.js';
import { type Outcome, problem } from './problems.js';
import { earnedValidity, toReceive } from './rules.js';
import type { Request, Session } from './session.js';
import type { Shop } from './shop.js';

const MINUTE = 60_000;

/** An `expires_at` for a request, at the bounds, at other dates, or absent. */
function randomExpiry(session: Session, shop: Shop, dice: Dice, own?: number): number | undefined {
  if (!dice.once(3)) return undefined;
  const { now } = session;
  const longest = shop.rules.maxOrderTtlMinutes * MINUTE;
  const choices = [now + MINUTE, now + longest, now + MINUTE - 1, now + longest + 1, now + MINUTE + dice.upTo(longest)];
  return dice.pick([...choices, ...shop.dates(now), ...(own === undefined ? [] : [own, own])]);
}

/** "from 1 minute to the policy's `max_order_ttl_minutes` ahead" */
const isAllowed = (session: Session, shop: Shop, at: number | undefined): boolean =>
  at === undefined || (at >= session.now + MINUTE && at <= session.now + shop.rules.maxOrderTtlMinutes * MINUTE);

const invalidExpiry = problem('validation_failed', {}, (pointers) => pointers.includes('expires_at'));
/** Which errors of a request are reported together is not documented if the service has to compare members. */
const someOf =
  (names: string[]) =>
  (pointers: string[]): boolean =>
    pointers.length > 0 && pointers.every((pointer) => names.includes(pointer));
const conflict = (pointers: Outcome['pointers']): Outcome => problem('external_id_conflict', {}, pointers);
const view = (order: Order, now: number, status = 200): Outcome => ({ status, body: order.view(now) });

export async function createOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const document = dice.pick(session.documents);
  const content = randomContent(dice);
  const expiresAt = randomExpiry(session, shop, dice);
  const externalId = session.externalId();
  const body = {
    ...{ external_id: externalId, document, ...contentBody(dice, content) },
    expires_at: expiresAt === undefined ? absent(dice) : instant(expiresAt),
  };
  const request: Request = { method: 'POST', path: '/orders', body };
  const refusals = contentRefusals(content);
  if (!isAllowed(session, shop, expiresAt)) refusals.push(invalidExpiry);
  const invalid = refusals.filter(({ status }) => status === 400);
  // "All errors of a request are reported together"
  if (invalid.length === 2)
    refusals.splice(0, 2, problem('validation_failed', {}, someOf(['eligible_total', 'expires_at'])));
  if (refusals.length > 0) return void (await session.write(shop, request, ...refusals));
  const end = expiresAt ?? session.now + shop.rules.orderTtlMinutes * MINUTE;
  const wallet = shop.wallet(document);
  const order = new Order(externalId, document, content, session.now, end, shop.rules, wallet);
  const answer = await session.write(shop, request, { ...view(order, session.now, 201), replayed: false });
  order.id = answer.body.id as string;
  shop.orders.push(order);
  const location = answer.headers.get('location');
  if (location !== `/orders/${order.id}`) session.fail(`Location is ${location}`);
}

/** Sends an external ID again, with a content that the order has or had, or with a different one. */
export async function recreateOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const order = shop.anOrder(dice);
  const other: Content = { ...order.content, total: order.content.total + 100n, metadata: { other: 'x' } };
  const content = dice.pick([order.first.content, order.content, ...order.contents, other]);
  const document = dice.once(8) ? dice.pick(session.documents) : order.document;
  const ends = [undefined, order.first.expiresAt, order.expiresAt, session.now + 5 * MINUTE];
  const expiresAt = dice.pick(ends);
  const body = {
    ...{ external_id: order.externalId, document, ...contentBody(dice, content) },
    expires_at: expiresAt === undefined ? absent(dice) : instant(expiresAt),
  };
  const request: Request = { method: 'POST', path: '/orders', body };
  // "Both replay with the first `expires_at`, with the current one, and without one."
  const sameEnd = ends.slice(0, 3).includes(expiresAt);
  const known = [order.first.content, order.content].some((one) => sameContent(one, content));
  if (known && sameEnd && document === order.document) {
    return void (await session.write(shop, request, { ...view(order, session.now, 201), replayed: true }));
  }
  // "its `errors` point at each member that differs": from the first content or from the current one.
  const expected = [order.first.content, order.content].map((one) =>
    [
      ...differingMembers(one, content),
      ...(document === order.document ? [] : ['document']),
      ...(sameEnd ? [] : ['expires_at']),
    ].sort(),
  );
  await session.write(
    shop,
    request,
    conflict((pointers) => expected.some((members) => agrees(members, pointers))),
  );
}

/** An omitted `eligible_total` is the total: whether it differs when the total does is not documented. */
const agrees = (expected: string[], actual: string[]): boolean => {
  const comparable = (members: string[]): string =>
    members.filter((member) => member !== 'eligible_total' || !expected.includes('total')).join();
  return comparable(expected) === comparable(actual);
};

export async function holdCashback(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const order = shop.anOrder(dice);
  const { maximum, limitedBy } = order.maximum(now);
  const amounts = [
    maximum,
    maximum,
    order.held,
    0n,
    maximum + 1n,
    dice.amountUpTo(maximum),
    order.lapsed,
    maximum / 2n,
  ];
  let amount = dice.pick(amounts);
  const expiresAt = randomExpiry(session, shop, dice, order.expiresAt);
  const allowed = isAllowed(session, shop, expiresAt);
  const own = expiresAt === order.expiresAt;
  if (own && !allowed) amount = order.status === 'pending' ? order.held : order.lapsed;
  const body = {
    amount: written(dice, amount),
    expires_at: expiresAt === undefined ? absent(dice) : instant(expiresAt),
  };
  const request: Request = { method: 'PUT', path: `/orders/${order.id}/redemption`, body };
  // "The same request after its own `expires_at` returns the expired order"
  if (own && !allowed && order.isOpen) {
    const same = order.datedHold?.expiresAt === expiresAt && order.datedHold.amount === amount;
    return void (await session.write(shop, request, view(order, now), ...(same ? [] : [invalidExpiry])));
  }
  const refusals: Outcome[] = [
    ...(allowed ? [] : [invalidExpiry]),
    ...(order.isOpen ? [] : [problem('invalid_transition', order.transitions())]),
    ...(order.isOpen && amount > maximum
      ? [problem('redemption_exceeds_maximum', { maximum: brl(maximum), limited_by: limitedBy })]
      : []),
  ];
  if (refusals.length > 0) return void (await session.write(shop, request, ...refusals));
  // "`expires_at` replaces the order's own. An expired order is renewed … (default: `order_ttl_minutes`)"
  const renewed = order.status === 'expired';
  const end = expiresAt ?? (renewed ? now + shop.rules.orderTtlMinutes * MINUTE : order.expiresAt);
  if (renewed || amount !== order.held || end !== order.expiresAt) order.changed(now);
  Object.assign(order, { status: 'pending', lapsed: 0n, expiresAt: end });
  order.wallet.hold(order.externalId, amount, now);
  if (expiresAt !== undefined) order.datedHold = { amount, expiresAt };
  await session.write(shop, request, view(order, now));
}

export async function amendOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const order = shop.anOrder(dice);
  const { content: current, held } = order;
  const content = dice.pick([
    randomContent(dice),
    current,
    order.first.content,
    { ...current, total: current.total + 1n },
  ]);
  const lower = dice.once(2);
  const [ifMatch, matches] = dice.pick(ifMatches(order));
  const [own, wrong] = dice.pick<[Record<string, string>, string[]]>([
    [{}, []],
    [{ external_id: order.externalId, document: order.document }, []],
    // "any other member of the response, or another value, is a 400"
    [{ document: '00000000000' }, ['document']],
    [{ currency: 'BRL' }, ['currency']],
  ]);
  const body = { ...own, ...contentBody(dice, content), redeem: lower ? 'maximum' : absent(dice) };
  const request: Request = { method: 'PUT', path: `/orders/${order.id}`, body, ifMatch };
  const { maximum, limitedBy } = order.maximum(now, content);
  const invalid = [...(content.eligible > content.total ? ['eligible_total'] : []), ...wrong];
  const [validation, others] = [invalid.length > 0, contentRefusals(content).filter(({ status }) => status !== 400)];
  const first: Outcome[] = [
    ...(validation ? [problem('validation_failed', {}, someOf(invalid))] : []),
    ...(matches === undefined ? [problem('malformed_request')] : []),
    ...(order.status === 'pending' ? [] : [problem('invalid_transition', order.transitions())]),
  ];
  const refusals = [
    ...first,
    ...others,
    // "404, 400 and 409 come before 412."
    ...(matches === false && first.length === 0 ? [problem('precondition_failed')] : []),
    ...(order.status === 'pending' && held > maximum && !lower && !validation
      ? [problem('redemption_exceeds_maximum', { maximum: brl(maximum), limited_by: limitedBy })]
      : []),
  ];
  if (refusals.length > 0) return void (await session.write(shop, request, ...refusals));
  const remaining = min(held, maximum);
  // "The content that the order already has changes nothing, so `version` and `updated_at` stay."
  const changes = !sameContent(content, current) || remaining !== held;
  order.content = content;
  order.contents.push(content);
  if (changes) order.changed(now);
  order.wallet.hold(order.externalId, remaining, now);
  if (ifMatch === undefined || ifMatch === '*' || !changes) {
    return void (await session.write(shop, request, view(order, now)));
  }
  await session.send(shop, request, view(order, now));
  // "With `If-Match`, a repeat after a lost response is 412."
  await session.send(shop, request, problem('precondition_failed'));
}

/** Fields with whether they allow the amendment; `undefined` if malformed. */
function ifMatches({ version }: Order): [string | undefined, boolean | undefined][] {
  return [
    [undefined, true],
    [undefined, true],
    [undefined, true],
    [`"${version}"`, true],
    [`"${version}"`, true],
    [`"${version + 1}"`, false],
    [`"${version - 1}", "${version}"`, true],
    ['*', true],
    // "A weak tag (`W/"3"`) never matches. A malformed field is 400 `malformed_request`."
    [`W/"${version}"`, false],
    [String(version), undefined],
  ];
}

export async function completeOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const order = shop.anOrder(dice);
  const { maximum, limitedBy } = order.maximum(now);
  const lapsed = order.status === 'expired' ? order.lapsed : 0n;
  const amounts = [
    order.held,
    lapsed,
    lapsed,
    0n,
    maximum,
    maximum + 1n,
    dice.amountUpTo(maximum),
    order.redeemedAmount,
  ];
  const given = dice.once(2) ? dice.pick(amounts) : undefined;
  const redeem = given ?? order.held;
  const payable = order.content.total - (dice.once(8) ? 0n : min(redeem, order.content.total));
  const payments = dice.once(2) ? randomPayments(dice, payable) : undefined;
  const body =
    dice.once(6) && given === undefined && payments === undefined
      ? undefined
      : {
          redeem: given === undefined ? absent(dice) : written(dice, given),
          payment_methods: payments ? paymentsBody(dice, payments) : absent(dice),
        };
  const request: Request = { method: 'POST', path: `/orders/${order.id}/complete`, body };
  const completion = canonical({ given, payments });
  const paid = sum((payments ?? []).map(({ amount }) => amount));
  const exceeding = paid + redeem > order.content.total ? [exceedsTotal(order.content.total, redeem, paid)] : [];
  if (!order.isOpen) {
    const outcomes = repeated(order, now, given, payments, completion);
    const refused = outcomes.every(({ status }) => status > 299);
    return void (await session.write(shop, request, ...outcomes, ...(refused ? exceeding : [])));
  }
  const refusals: Outcome[] = [...exceeding];
  const limits = { maximum: brl(maximum), limited_by: limitedBy };
  if (given === undefined && lapsed > 0n) {
    // "If it held cashback (`lapsed`), say how much to `redeem`, otherwise 409 `redemption_lapsed`"
    refusals.push(problem('redemption_lapsed', { lapsed: brl(lapsed), maximum: brl(maximum) }));
  }
  if (redeem > maximum) {
    // "If the balance no longer allows it: 409": of an amount other than what lapsed, the documents do not say which.
    if (order.status === 'expired') refusals.push(problem('redemption_no_longer_available', limits));
    if (order.status === 'pending' || redeem !== lapsed) refusals.push(problem('redemption_exceeds_maximum', limits));
  }
  if (refusals.length > 0) return void (await session.write(shop, request, ...refusals));
  complete(order, redeem, payments, now);
  order.completion = completion;
  await session.write(shop, request, view(order, now));
}

function complete(order: Order, redeem: bigint, payments: Order['finalPayments'], now: number): void {
  order.redeemed = order.wallet.capture(order.externalId, redeem, now);
  Object.assign(order, { status: 'completed', completedAt: now, redeemedAmount: redeem, finalPayments: payments });
  order.changed(now);
  const content = { ...order.content, payments: payments ?? order.content.payments };
  order.granted = toReceive(order.rules, content, redeem);
  if (order.granted === 0n) return;
  const cause = { at: now, order: order.externalId };
  order.credit = order.wallet.add('earn', order.granted, earnedValidity(order.rules, now), cause);
}

/** The outcomes of completing an order that is completed, refunded or cancelled. */
function repeated(
  order: Order,
  now: number,
  redeem: bigint | undefined,
  payments: Order['finalPayments'],
  completion: string,
): Outcome[] {
  const refusal = problem('invalid_transition', order.transitions());
  if (order.status === 'cancelled') return [refusal];
  // "Completing again with the same values returns the order."
  if (order.completion === completion) return [view(order, now)];
  const final = order.finalPayments ?? order.content.payments;
  const differs =
    (redeem !== undefined && redeem !== order.redeemedAmount) ||
    (payments !== undefined && canonical(payments) !== canonical(final));
  if (differs) return [refusal];
  // The values are the same, or a default; which default a repetition has is not documented.
  return redeem !== undefined && payments !== undefined ? [view(order, now)] : [view(order, now), refusal];
}

export async function cancelOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const order = shop.anOrder(dice);
  const request: Request = { method: 'POST', path: `/orders/${order.id}/cancel`, body: dice.pick([undefined, {}]) };
  if (order.isOpen) {
    order.wallet.release(order.externalId, now);
    Object.assign(order, { status: 'cancelled', cancelledAt: now });
    order.changed(now);
  } else if (order.status !== 'cancelled') {
    return void (await session.write(shop, request, problem('invalid_transition', order.transitions())));
  }
  await session.write(shop, request, view(order, now));
}
