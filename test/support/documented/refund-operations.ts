import { absent, written } from './content.js';
import { countReached, unchecked } from './comparison.js';
import type { Dice } from './dice.js';
import { brl, max, min, sum } from './money.js';
import { type Order, partsToReturn, type Refund, refundView } from './order.js';
import { type Outcome, problem } from './problems.js';
import type { Request, Session } from './session.js';
import type { Shop } from './shop.js';

const refundable = ({ status }: Order): boolean => status === 'completed' || status === 'partially_refunded';

/** What was refunded before: `S`, and its eligible part `e`. */
const before = ({ refunds }: Order): [bigint, bigint] => [
  sum(refunds.map(({ amount }) => amount)),
  sum(refunds.map(({ eligible }) => eligible)),
];

export async function refundOrder(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const candidates = shop.orders.filter(refundable);
  const order = candidates.length > 0 && !dice.once(6) ? dice.pick(candidates) : shop.anOrder(dice);
  const { total, eligible } = order.content;
  const [refunded, refundedEligible] = before(order);
  const left = total - refunded;
  const amount = dice.pick([left, dice.amountUpTo(left), left / 2n, left / 3n, left + 1n, min(left, 1n), 0n]);
  // "from `max(0, F − (T − E − (S − e)))` to `min(F, E − e)`"
  const lowest = max(0n, amount - (total - eligible - (refunded - refundedEligible)));
  const highest = min(amount, eligible - refundedEligible);
  const choices = [lowest, highest, max(0n, lowest - 1n), highest + 1n, (lowest + highest) / 2n, 0n];
  const explicit = dice.once(2) ? dice.pick(choices) : undefined;
  const externalId = session.externalId();
  const body = {
    ...{ external_id: externalId, amount: written(dice, amount) },
    eligible_amount: explicit === undefined ? absent(dice) : written(dice, explicit),
  };
  const request: Request = { method: 'POST', path: `/orders/${order.id}/refunds`, body };
  const refusals: Outcome[] = [
    ...(amount === 0n ? [problem('validation_failed', {}, (names) => names.includes('amount'))] : []),
    ...(refundable(order) ? [] : [problem('invalid_transition', order.transitions())]),
  ];
  // "the member in `errors` must be from `minimum` to `maximum`"; the least amount is not documented.
  const minimum = unchecked('refund_exceeds_total.minimum of the amount');
  if (amount > left && refundable(order)) {
    refusals.push(problem('refund_exceeds_total', { minimum, maximum: brl(left) }, ['amount']));
  } else if (explicit !== undefined && (explicit < lowest || explicit > highest) && refundable(order)) {
    const bounds = { minimum: brl(lowest), maximum: brl(highest) };
    refusals.push(problem('refund_exceeds_total', bounds, ['eligible_amount']));
  }
  if (refusals.length > 0) return void (await session.write(shop, request, ...refusals));
  // "By default it is `floor(E × (S+F) / T) − floor(E × S / T)`, moved into these bounds."
  const share = (eligible * (refunded + amount)) / total - (eligible * refunded) / total;
  const part = explicit ?? min(max(share, lowest), highest);
  const refund = apply(order, { externalId, amount, eligible: part, explicit: explicit !== undefined }, session.now);
  const answer = await session.write(shop, request, {
    ...{ status: 201, body: refundView(order, refund), replayed: false },
  });
  refund.id = answer.body.id as string;
  identify(order, externalId, refund.id);
}

function apply(
  order: Order,
  request: Pick<Refund, 'externalId' | 'amount' | 'eligible' | 'explicit'>,
  now: number,
): Refund {
  const { total, eligible } = order.content;
  const [refunded, refundedEligible] = before(order);
  const cause = { at: now, order: order.externalId, refund: request.externalId };
  // "floor(R × (S+F) / T) less what was returned before"
  const returned = (order.redeemedAmount * (refunded + request.amount)) / total - order.returned;
  order.wallet.giveBack('restore', partsToReturn(order, returned), cause);
  // "G − floor(G × (E−e−f) / E) less what was taken back before, or nothing where `E` is 0"
  const { granted, credit } = order;
  const rest = eligible - refundedEligible - request.eligible;
  const target = eligible === 0n ? 0n : granted - (granted * rest) / eligible;
  // "The part of `G` that expired unspent counts first, and nothing is taken back for it."
  const takenBack = max(0n, target - (credit?.expiredUnspent ?? 0n) - order.takenBack);
  if (credit && credit.expiredUnspent > 0n) countReached('a refund of an order whose cashback has expired');
  if (returned > 0n) countReached('a refund returns cashback');
  order.wallet.takeBack(takenBack, credit, cause);
  const refund = { ...request, returned, takenBack, at: now };
  order.refunds.push(refund);
  order.status = refunded + request.amount === total ? 'refunded' : 'partially_refunded';
  order.changed(now);
  return refund;
}

/** The entries of a refund have its ID, which its response is the first to tell. */
function identify({ wallet }: Order, externalId: string, id: string): void {
  for (const entry of wallet.entries) if (entry.refund === externalId) entry.refund = id;
}

/** Sends a refund again, with the same content or with another amount. */
export async function repeatRefund(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const orders = shop.orders.filter(({ refunds }) => refunds.length > 0);
  if (orders.length === 0) return;
  const order = dice.pick(orders);
  const refund = dice.pick(order.refunds);
  const same = !dice.once(3);
  const body = {
    ...{ external_id: refund.externalId, amount: written(dice, same ? refund.amount : refund.amount + 1n) },
    eligible_amount: refund.explicit ? written(dice, refund.eligible) : absent(dice),
  };
  const request: Request = { method: 'POST', path: `/orders/${order.id}/refunds`, body };
  const outcome = same
    ? { status: 201, body: refundView(order, refund), replayed: true }
    : problem('external_id_conflict', {}, ['amount']);
  await session.write(shop, request, outcome);
}
