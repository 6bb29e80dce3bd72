import { absent, contentRefusals, paymentsBody, randomContent, written } from './content.js';
import { addDays, localDate } from './days.js';
import type { Dice } from './dice.js';
import { brl } from './money.js';
import { paymentsView, quotedToReceive } from './order.js';
import { type Outcome, problem } from './problems.js';
import { grantValidity, maximumOf } from './rules.js';
import type { Request, Session } from './session.js';
import type { Grant, Shop } from './shop.js';

export async function grantCashback(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const document = dice.pick(session.documents);
  const { grantMaximum, timeZone } = shop.rules;
  const amount = dice.pick([
    4000n,
    500n,
    1n,
    dice.amountUpTo(5000n),
    dice.amountUpTo(300n),
    grantMaximum,
    grantMaximum + 1n,
  ]);
  const today = localDate(now, timeZone);
  const from = dice.pick([undefined, undefined, today, addDays(today, 1), addDays(today, 3), addDays(today, -1)]);
  const to = dice.pick([undefined, undefined, today, addDays(today, 1), addDays(today, 2), addDays(today, -1)]);
  const reason = dice.pick([undefined, 'Late delivery']);
  const metadata = dice.pick<Record<string, string>>([{}, { campaign: 'natal' }]);
  const externalId = session.externalId();
  const body = grantBody(dice, { externalId, document, amount, reason, metadata, from, to });
  const request: Request = { method: 'POST', path: '/grants', body };
  const refusals: Outcome[] = [];
  // "The days are the first and the last on which it can be spent." A past first day means now, a past last one cannot.
  if (to !== undefined && (to < today || (from !== undefined && to < from))) {
    refusals.push(problem('validation_failed', {}, ['expires_on']));
  }
  if (amount > grantMaximum) {
    refusals.push(problem('grant_exceeds_maximum', { maximum: brl(grantMaximum) }, ['amount']));
  }
  if (refusals.length > 0) return void (await session.write(shop, request, ...refusals));
  const validity = grantValidity(shop.rules, now, from, to);
  const credit = shop.wallet(document).add('grant', amount, validity, { at: now });
  const grant: Grant = {
    ...{ externalId, document, amount, reason, metadata, from, to, validity, credit },
    ...{ createdAt: now, voided: 0n, voidedAt: undefined },
  };
  const answer = await session.write(shop, request, { status: 201, body: shop.grantView(grant), replayed: false });
  grant.id = answer.body.id as string;
  shop.wallet(document).id ??= answer.body.wallet_id as string;
  shop.grants.push(grant);
}

function grantBody(
  dice: Dice,
  grant: Pick<Grant, 'externalId' | 'document' | 'amount' | 'reason' | 'metadata' | 'from' | 'to'>,
): Record<string, unknown> {
  return {
    ...{ external_id: grant.externalId, document: grant.document, amount: written(dice, grant.amount) },
    reason: grant.reason ?? absent(dice),
    metadata: Object.keys(grant.metadata).length > 0 ? grant.metadata : absent(dice),
    ...{ available_on: grant.from ?? absent(dice), expires_on: grant.to ?? absent(dice) },
  };
}

/** Sends a grant again, as it was or with a different member. */
export async function repeatGrant(session: Session, shop: Shop, dice: Dice): Promise<void> {
  if (shop.grants.length === 0) return;
  const grant = dice.pick(shop.grants);
  const [change, pointers] = dice.pick<[Partial<Grant>, string[]]>([
    [{}, []],
    [{}, []],
    [{ amount: grant.amount === 1n ? 2n : grant.amount - 1n }, ['amount']],
    [{ reason: 'another' }, ['reason']],
    [{ metadata: { other: 'x' } }, ['metadata']],
    [{ to: addDays(grant.validity.expiresOn, 1) }, ['expires_on']],
    [{ from: addDays(grant.validity.availableOn, 1) }, ['available_on']],
  ]);
  const request: Request = { method: 'POST', path: '/grants', body: grantBody(dice, { ...grant, ...change }) };
  const same: Outcome = { status: 201, body: shop.grantView(grant), replayed: true };
  const conflict = problem('external_id_conflict', {}, pointers);
  // Without `to`, the days that a first day in the future would leave are not a reason to refuse a repetition.
  await session.write(shop, request, pointers.length === 0 ? same : conflict);
}

export async function voidGrant(session: Session, shop: Shop, dice: Dice): Promise<void> {
  if (shop.grants.length === 0) return;
  const grant = dice.pick(shop.grants);
  const voided = shop.wallet(grant.document).void(grant.credit, session.now);
  grant.voided += voided;
  // "When it was first voided, even if nothing was left to void"
  grant.voidedAt ??= session.now;
  const request: Request = { method: 'POST', path: `/grants/${grant.id}/void`, body: dice.pick([undefined, {}]) };
  await session.write(shop, request, { status: 200, body: shop.grantView(grant) });
}

/** "the `cashback`, `payment_methods` and `amount_to_pay` of such an order that holds `redeem`, and the `policy`" */
export async function quote(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const { rules } = shop;
  const document = dice.once(4) ? undefined : dice.pick(session.documents);
  const content = randomContent(dice);
  const { total, eligible, payments } = content;
  const balance = document === undefined ? undefined : shop.wallet(document).available(now);
  const { maximum, limitedBy } = maximumOf(rules, content, balance);
  const given = dice.once(2) ? dice.pick([maximum, maximum + 1n, 0n, dice.amountUpTo(maximum)]) : undefined;
  const redeem = given ?? 0n;
  const body = {
    document: document ?? absent(dice),
    ...{ total: written(dice, total), eligible_total: eligible === total ? absent(dice) : written(dice, eligible) },
    payment_methods: payments.length === 0 ? dice.pick([undefined, null, []]) : paymentsBody(dice, payments),
    redeem: given === undefined ? absent(dice) : written(dice, given),
  };
  const request: Request = { method: 'POST', path: '/quotes', body };
  const refusals = contentRefusals(content);
  const limits = { maximum: brl(maximum), limited_by: limitedBy };
  if (redeem > maximum && eligible <= total) refusals.push(problem('redemption_exceeds_maximum', limits));
  if (refusals.length > 0) return void (await session.send(shop, request, ...refusals));
  const toRedeem = balance !== undefined && {
    ...{ available: brl(balance - redeem), ...limits, held: brl(redeem) },
    ...{ lapsed: '0.00', redeemed: '0.00', returned: '0.00' },
  };
  await session.send(shop, request, {
    status: 200,
    body: {
      cashback: { to_redeem: toRedeem || null, to_receive: quotedToReceive(rules, content, redeem, now) },
      payment_methods: paymentsView(rules, payments),
      amount_to_pay: brl(total - redeem),
      policy: shop.policyView(),
    },
  });
}
