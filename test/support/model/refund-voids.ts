import type { Dice } from './dice.js';
import { count, invalid, type Outcome, problem } from './expected.js';
import type { Order, Refund } from './order.js';
import { aReason } from './order-operations.js';
import { requestOf, type Shop } from './shop.js';
import { min } from './values.js';

const hasLeftDebt = ({ refunds, wallet }: Order): boolean => refunds.length > 0 && wallet.debt > 0n;
const hasClaims = ({ refunds, credit }: Order): boolean =>
  refunds.length > 0 && (credit?.claims.some(({ amount }) => amount > 0n) ?? false);
const hasSeveral = ({ refunds }: Order): boolean => refunds.length > 1;
const hasVoided = ({ refunds, allRefunds }: Order): boolean => refunds.length < allRefunds.length;

/** What a void would restore repays what other refunds left. */
const repaysDebt =
  ({ now }: Shop) =>
  (order: Order): boolean => {
    const refund = order.refunds.at(-1);
    return refund !== undefined && refund.takenBack > 0n && hasLeftDebt(order) && !order.obstacle(refund, now);
  };

/** Voids a refund, usually the last one that counts, sometimes one that was voided. */
export async function voidRefund(shop: Shop, dice: Dice): Promise<void> {
  const hasRefunds = ({ refunds }: Order): boolean => refunds.length > 0;
  const isSpecial = [hasLeftDebt, repaysDebt(shop), hasClaims, hasSeveral, hasVoided];
  const order = shop.anOrder(dice, hasRefunds, hasRefunds, ...isSpecial);
  const refund = dice.once(4) ? dice.pick(order.allRefunds) : (order.refunds.at(-1) ?? order.allRefunds.at(-1));
  if (!refund) return;
  const [body, wrong] = aReason(dice);
  const path = `/orders/${order.id}/refunds/${String(refund.body.id)}/void`;
  const view = (): Outcome['body'] => order.refundView(refund, shop.now);
  // "then replay of a voided refund, then 409 refund_not_voidable"
  const obstacle = refund.voided ? undefined : order.obstacle(refund, shop.now);
  if (obstacle !== undefined) count(`a refund is not voidable: ${obstacle}`);
  const refusal = obstacle === undefined ? false : notVoidable(obstacle);
  const isRepeated = refund.voided !== undefined;
  // "404 (order, refund), 400, then …"
  await shop.write(requestOf(dice, 'POST', path, body), wrong === false ? [refusal] : [invalid(wrong)], () => {
    if (isRepeated) count('a refund is voided again');
    else undo(shop, order, refund, body?.reason);
    return { status: 200, body: view(), replayed: isRepeated };
  });
}

/** "`next_action` is read_order for `later_change`, otherwise fix_request." */
const notVoidable = (obstacle: string): Outcome =>
  problem('refund_not_voidable', {
    obstacle,
    next_action: obstacle === 'later_change' ? 'read_order' : 'fix_request',
  });

function undo(shop: Shop, order: Order, refund: Refund, reason: string | undefined): void {
  const { now, by } = shop;
  const { request, parts, returned } = refund;
  const isNested = order.allRefunds.indexOf(refund) < order.allRefunds.length - 1;
  // "so the last refund is undone first, then the one before"
  if (isNested) count('the refund before a voided one is voided');
  if (order.status === 'refunded') count('a whole refund is voided');
  if (order.wallet.isFrozen) count('a refund is voided in a frozen wallet');
  // "store of the refund, `by` who voids"
  const made = order.cause(now, by);
  order.wallet.undo({ ...made, refund: request.external_id, store: request.store ?? made.store });
  for (const part of order.redeemed) part.amount += parts.find(({ credit }) => credit === part.credit)?.amount ?? 0n;
  if (min(returned, refund.takenBack) > 0n) count('a refund is voided that returned and took back');
  refund.voided = { at: now, by, reason };
  // "The order's amounts and status are those before the refund … version + 1"
  order.status = order.refunds.length > 0 ? 'partially_refunded' : 'completed';
  order.changed(now);
}
