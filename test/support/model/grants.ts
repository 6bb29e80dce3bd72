import { contentRefusals, randomContent, randomCurrency, randomStore, REPEATED_DIGITS } from './content.js';
import type { Dice } from './dice.js';
import { anId, count, invalid, oneOf, type Outcome, pointersTo, problem } from './expected.js';
import { belowMinimum, limitsView, paymentsView, quotedToReceive } from './order.js';
import { randomSale, REASONS } from './order-operations.js';
import { grantValidity, maximumOf, rulesView, type Validity } from './rules.js';
import { requestOf, type Shop } from './shop.js';
import { addDays, brl, cents, instant, localDate, startOfDay, sum } from './values.js';
import type { By, Credit } from './wallet.js';

export interface Grant {
  id: string;
  /** The request, with two decimals. */
  request: { external_id: string; document: string; amount: string; metadata: object | undefined } & Record<
    'reason' | 'note' | 'available_on' | 'expires_on',
    string | undefined
  > & { store: string | null };
  validity: Validity;
  credit: Credit;
  createdAt: number;
  createdBy: By;
  voided: bigint;
  voidedAt: number | undefined;
  voidedBy: By;
  voidReason: string | undefined;
}

export function grantView(shop: Shop, { id, request, validity, credit, createdAt, ...grant }: Grant): object {
  const { timeZone } = shop.rules;
  const wallet = shop.wallet(request.document);
  const all = wallet.madeFrom(credit);
  // At which time of today it began is not documented.
  const isToday = request.available_on === localDate(createdAt, timeZone);
  const starts = [validity.availableAt, isToday ? startOfDay(validity.availableOn, timeZone) : validity.availableAt];
  return {
    ...{ ...request, id: id || anId, wallet_id: wallet.id ?? anId },
    // "sums over the grant's credit and the credits that refunds made from it"
    ...{ remaining: brl(sum(all.map(({ remaining }) => remaining))), voided: brl(grant.voided) },
    ...{ held: brl(sum(all.map((one) => wallet.heldOf(one)))), metadata: request.metadata ?? {} },
    // "A past `available_on` means now, and the response shows today."
    ...{ available_at: oneOf(...starts.map(instant)), available_on: validity.availableOn },
    ...{ expires_at: instant(validity.expiresAt), expires_on: validity.expiresOn },
    // "When it was first voided, even if nothing was left to void"
    ...{ created_at: instant(createdAt), voided_at: grant.voidedAt === undefined ? null : instant(grant.voidedAt) },
    ...{ created_by: grant.createdBy, voided_by: grant.voidedBy, void_reason: grant.voidReason },
  };
}

export async function grantCashback(shop: Shop, dice: Dice): Promise<void> {
  const { now, rules } = shop;
  const most = rules.grantMaximum;
  const today = localDate(now, rules.timeZone);
  const aDay = (): string | undefined =>
    dice.pick([undefined, undefined, undefined, today, addDays(today, 1), addDays(today, 3), addDays(today, -1)]);
  const random = [dice.amountUpTo(3000n), dice.amountUpTo(300n)];
  const amount = dice.pick([500n, 1n, 1000n, 2000n, ...random, dice.once(9) ? most : most + 1n]);
  const document = shop.aNewDocument(dice);
  const isRefused = REPEATED_DIGITS.includes(document);
  const request = {
    ...{ external_id: shop.sequence.newExternalId(), document, amount: brl(amount) },
    ...{ reason: dice.pick([undefined, 'Late delivery']), metadata: dice.pick([undefined, { campaign: 'natal' }]) },
    ...{ note: dice.pick([undefined, 'Third complaint']), store: randomStore(dice) },
    ...{ available_on: aDay(), expires_on: aDay() },
  };
  const { available_on: from, expires_on: to } = request;
  const refusals = [
    // "The days are the first and the last on which it can be spent."
    invalid(to !== undefined && (to < today || (from ?? today) > to) && 'expires_on', amount === 0n && 'amount'),
    invalid(isRefused && 'document'),
    amount > most &&
      problem('grant_exceeds_maximum', { maximum: brl(most), limited_by: 'grant' }, pointersTo('amount')),
    exceedsDay(shop, amount),
  ];
  const answer = await shop.write(requestOf(dice, 'POST', '/grants', request), refusals, () => {
    if (shop.wallet(document).isFrozen) count('a frozen wallet is granted');
    const validity = grantValidity(rules, now, from, to);
    const cause = { at: now, by: shop.by, store: request.store };
    const credit = shop.wallet(document).add('grant', request.external_id, amount, validity, cause);
    const never = { voided: 0n, voidedAt: undefined, voidedBy: null, voidReason: undefined };
    shop.grantedToday.add(shop.by, amount);
    shop.grants.push({ id: '', request, validity, credit, createdAt: now, createdBy: shop.by, ...never });
    return { status: 201, body: grantView(shop, shop.grants.at(-1)!), replayed: false };
  });
  if (!answer) return;
  shop.grants.at(-1)!.id = answer.body.id;
  shop.wallet(document).id = answer.body.wallet_id as string;
}

/** "`grant_daily_maximum`: per API user and day; all of a merchant's together four times as much" */
function exceedsDay(shop: Shop, amount: bigint): Outcome | false {
  const left = shop.grantedToday.left(shop.by, shop.rules.grantDailyMaximum);
  if (amount <= left) return false;
  count('a user has granted enough for a day');
  return problem('grant_exceeds_maximum', { maximum: brl(left), limited_by: 'day' }, pointersTo('amount'));
}

/** Whether something of a grant can be voided, and whether something of it is held. */
const isUnspent = (shop: Shop, { request, credit }: Grant): boolean =>
  shop
    .wallet(request.document)
    .madeFrom(credit)
    .some(({ remaining }) => remaining > 0n);
const isHeld = (shop: Shop, { request, credit }: Grant): boolean => {
  const wallet = shop.wallet(request.document);
  return wallet.madeFrom(credit).some((one) => wallet.heldOf(one) > 0n);
};

/** A grant, usually one that is partly held or voided, so that something can be voided now or later. */
function aGrant(shop: Shop, dice: Dice): Grant | undefined {
  const isHeldNow = (grant: Grant): boolean => isHeld(shop, grant);
  const isLeft = (grant: Grant): boolean => isUnspent(shop, grant);
  const isReturned = (grant: Grant): boolean => grant.voidedAt !== undefined && isLeft(grant);
  const isInteresting = dice.pick([isHeldNow, isReturned, isLeft]);
  const interesting = shop.grants.filter(isInteresting);
  return dice.pick(interesting.length > 0 ? interesting : shop.grants);
}

/** Sends a grant again, as it was or with a different member. */
export async function repeatGrant(shop: Shop, dice: Dice): Promise<void> {
  const grant = aGrant(shop, dice);
  if (!grant) return;
  const { request, validity, id } = grant;
  const amount = request.amount === '0.01' ? '0.02' : brl(cents(request.amount) - 1n);
  const change = dice.pick([
    ...[{}, {}, {}, { amount }, { reason: 'another' }, { metadata: { other: 'x' } }],
    ...[{ note: 'another' }, { store: 'another' }, { document: REPEATED_DIGITS[0] }],
    ...[{ expires_on: addDays(validity.expiresOn, 1) }, { available_on: addDays(validity.availableOn, 1) }],
  ]);
  const names = Object.keys(change);
  const conflict = problem('external_id_conflict', { existing_id: id }, pointersTo(...names));
  const replay = (): Outcome => ({ status: 201, body: grantView(shop, grant), replayed: true });
  const repeated = requestOf(dice, 'POST', '/grants', { ...request, ...change });
  await shop.write(repeated, [names.length > 0 && conflict], replay);
}

export async function voidGrant(shop: Shop, dice: Dice): Promise<void> {
  const grant = aGrant(shop, dice);
  if (!grant) return;
  const [body, wrong] = dice.pick(REASONS);
  const { credit, request } = grant;
  const wallet = shop.wallet(request.document);
  await shop.write(requestOf(dice, 'POST', `/grants/${grant.id}/void`, body), [invalid(wrong)], () => {
    const isMade = wallet.madeFrom(credit).some((one) => one !== credit && wallet.free(one) > 0n);
    const voided = wallet.void(credit, shop.now, shop.by);
    if (isMade) count('a void takes what a refund returned as a new credit');
    if (voided > 0n && isHeld(shop, grant)) count('a grant is voided while a part is held');
    if (voided > 0n && grant.voidedAt !== undefined) count('a grant is voided again after an amount returned');
    if (voided > 0n && voided < credit.amount) count('a grant is voided partly');
    // "if the request changed nothing because what it asks for is already so"
    const isRepeated = voided === 0n && grant.voidedAt !== undefined;
    grant.voided += voided;
    // "who voided it first, and why"
    if (grant.voidedAt === undefined)
      Object.assign(grant, { voidedAt: shop.now, voidedBy: shop.by, voidReason: body?.reason });
    return { status: 200, body: grantView(shop, grant), replayed: isRepeated };
  });
}

export async function readGrant(shop: Shop, dice: Dice): Promise<void> {
  const grant = aGrant(shop, dice);
  if (!grant) return;
  await shop.send({ method: 'GET', path: `/grants/${grant.id}` }, { status: 200, body: grantView(shop, grant) });
}

/** "the `cashback`, `payment_methods` and `amount_to_pay` of such an order that holds `redeem`, and the `policy`" */
export async function quote(shop: Shop, dice: Dice): Promise<void> {
  const { now } = shop;
  const { soldAt, inForce, lateAt } = randomSale(shop, dice);
  const { rules } = inForce;
  const document = dice.once(4) ? undefined : shop.aNewDocument(dice);
  const content = randomContent(dice);
  const { total, eligible_total, payment_methods, earn_amount } = content;
  const wallet = document === undefined ? undefined : shop.wallet(document);
  const balance = wallet?.available(now);
  // "Quotes: maximum 0.00, `frozen`."
  const limits = maximumOf(rules, content, balance, wallet?.isFrozen ? 0n : undefined);
  if (limits.limitedBy === 'frozen') count('a quote of a frozen wallet');
  const { maximum } = limits;
  const given = dice.once(2)
    ? dice.pick([maximum, maximum, maximum + 1n, 0n, 1n, dice.amountUpTo(maximum)])
    : undefined;
  const redeem = given ?? 0n;
  const body = {
    ...{ document, total, earn_amount, redeem: given === undefined ? undefined : brl(given) },
    sold_at: soldAt === undefined ? undefined : instant(soldAt),
    currency: randomCurrency(dice),
    eligible_total: eligible_total === total ? undefined : eligible_total,
    payment_methods: payment_methods.length === 0 ? dice.pick([undefined, []]) : payment_methods,
  };
  const exceeds = problem('redemption_exceeds_maximum', limitsView(limits), pointersTo('redeem'));
  const toRedeem = balance !== undefined && {
    ...{ available: brl(balance - redeem), ...limitsView(limits), held: brl(redeem) },
    ...{ lapsed: '0.00', redeemed: '0.00', returned: '0.00' },
  };
  const quoted = {
    cashback: { to_redeem: toRedeem || null, to_receive: quotedToReceive(rules, content, redeem, now, lateAt) },
    ...{ payment_methods: paymentsView(rules, content), amount_to_pay: brl(cents(total) - redeem) },
    policy: rulesView(rules),
  };
  const refusals = [
    ...contentRefusals(rules, content, document !== undefined && REPEATED_DIGITS.includes(document) && 'document'),
    belowMinimum(rules, redeem, 'redeem'),
    redeem > maximum && exceeds,
  ];
  await shop.write(requestOf(dice, 'POST', '/quotes', body), refusals, () => ({ status: 200, body: quoted }));
}
