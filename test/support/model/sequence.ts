import { awaitCampaign, campaignDates, changeCampaign, createCampaign, deleteCampaign } from './campaign-operations.js';
import { endCampaign, readCampaigns, readPolicy } from './campaign-operations.js';
import { inEitherForm } from './content.js';
import { debitCashback, readDebits, repeatDebit, voidDebit } from './debits.js';
import { Dice } from './dice.js';
import { count } from './expected.js';
import { freezeWallet } from './freezing.js';
import { grantCashback, quote, readGrant, repeatGrant, voidGrant } from './grants.js';
import { amendOrder, cancelOrder, changeCustomer, completeOrder } from './order-operations.js';
import {
  createOrder,
  holdCashback,
  earn,
  holdLong,
  recreateOrder,
  resell,
  sell,
  sellLate,
  spend,
} from './order-operations.js';
import { listOrders, readOrder, readRefunds, readWallet } from './reads.js';
import { refundItems, refundOrder, repeatRefund } from './refund-operations.js';
import { voidRefund } from './refund-voids.js';
import type { Sequence, Shop } from './shop.js';
import { DAY, localDate, MINUTE, startOfDay } from './values.js';

type Operation = (shop: Shop, dice: Dice) => Promise<void>;

/** What happens, with how often: single operations, and chains that lead to states which single ones rarely reach. */
const CHAINS: [number, ...Operation[]][] = [
  // Cashback is earned, spent, and returned: that leaves a debt, which a grant or the next sale repays.
  [6, createOrder, completeOrder, createOrder, holdCashback, completeOrder, refundOrder, refundOrder],
  [4, refundOrder, grantCashback],
  [3, grantCashback, createOrder, holdCashback, voidGrant, cancelOrder, voidGrant],
  [3, grantCashback, createOrder, holdCashback, passTime, completeOrder],
  [5, grantCashback, createOrder, holdCashback, amendOrder, amendOrder],
  // Credits expire while they are held or redeemed, and what returns expires and returns again.
  [3, grantCashback, createOrder, holdCashback, passTime, holdCashback, passTime, cancelOrder],
  [5, createOrder, holdCashback, completeOrder, passTime, passTime, refundOrder, passTime, passTime, refundOrder],
  [3, grantCashback, createOrder, holdCashback, completeOrder, passTime, passTime, refundOrder, voidGrant],
  // A refund claims what another order holds, which is then released, redeemed or expired.
  [3, createOrder, completeOrder, createOrder, holdCashback, refundOrder, holdCashback, cancelOrder],
  [3, createOrder, completeOrder, createOrder, holdCashback, passTime, refundOrder, passTime, completeOrder],
  // Items come back one after the other, also between refunds of amounts.
  [5, createOrder, completeOrder, refundItems, refundItems, refundItems, refundItems],
  [3, createOrder, completeOrder, refundItems, refundOrder, refundItems, refundItems],
  // An order gets another customer after its cashback was spent, held, partly taken back, or had expired.
  [4, createOrder, completeOrder, changeCustomer, refundOrder, refundOrder],
  [3, createOrder, completeOrder, refundOrder, passTime, changeCustomer, passTime, refundOrder],
  [3, createOrder, completeOrder, createOrder, holdCashback, changeCustomer, changeCustomer, refundOrder],
  // A sale in one request: refused and sent again with different content, or of an order that exists in any status.
  [2, sell, sell, createOrder, sell],
  [2, createOrder, holdCashback, resell, resell],
  [4, grantCashback, createOrder, holdCashback, passTime, passTime, resell, resell, completeOrder],
  [2, createOrder, cancelOrder, resell],
  [1, createOrder, completeOrder, resell, refundOrder, resell],
  // A debit takes what an order earned, which a refund then need not take back, and its void does not restore.
  [3, sell, debitCashback, refundOrder, voidDebit, voidRefund, voidDebit],
  [2, earn, debitCashback, refundItems, voidDebit, refundOrder, voidDebit],
  [3, earn, debitCashback, changeCustomer, voidDebit, refundOrder],
  [1, sell, changeCustomer, debitCashback, refundOrder, voidDebit],
  [2, grantCashback, grantCashback, debitCashback, passTime, voidDebit, repeatDebit],
  [2, grantCashback, createOrder, holdCashback, debitCashback, cancelOrder, debitCashback, voidDebit],
  // What is released, what moves, or what a debit restores repays a debt.
  [4, earn, spend, grantCashback, createOrder, holdCashback, refundOrder, cancelOrder, voidRefund],
  [4, earn, spend, refundOrder, sell, changeCustomer, debitCashback],
  [4, earn, debitCashback, earn, spend, refundOrder, voidDebit, voidDebit],
  // A refund is undone and made again, or the one before it is undone, too.
  [3, sell, refundOrder, voidRefund, refundOrder, repeatRefund],
  [2, sell, refundItems, voidRefund, refundItems, refundItems],
  [3, earn, refundOrder, refundOrder, voidRefund, voidRefund, refundOrder],
  [1, sell, refundOrder, changeCustomer, voidRefund, refundOrder, voidRefund],
  // What it returned is spent, what it took expires, and its debt is repaid by others, so it cannot be undone.
  [3, grantCashback, spend, refundOrder, spend, voidRefund],
  [2, grantCashback, spend, refundOrder, debitCashback, voidRefund, voidDebit, voidRefund],
  [2, sell, refundOrder, passTime, passTime, voidRefund],
  [3, earn, spend, refundOrder, voidRefund, refundOrder, grantCashback, voidRefund],
  [3, earn, spend, refundOrder, refundOrder, voidRefund],
  // What its void restores repays the debt that another one left.
  [5, earn, refundOrder, earn, spend, refundOrder, voidRefund, voidRefund],
  // It claims what another order holds, until it is undone.
  [3, sell, createOrder, holdCashback, refundOrder, voidRefund, cancelOrder],
  [2, earn, createOrder, holdCashback, refundOrder, holdCashback, voidRefund, completeOrder],
  [3, earn, createOrder, holdLong, passTime, refundOrder, passTime, voidRefund, cancelOrder],
  // A frozen wallet keeps what it holds.
  [3, grantCashback, createOrder, holdCashback, freezeWallet, holdCashback, holdCashback, completeOrder, freezeWallet],
  [3, grantCashback, createOrder, holdCashback, freezeWallet, amendOrder, amendOrder, completeOrder, freezeWallet],
  [2, grantCashback, createOrder, holdCashback, freezeWallet, passTime, completeOrder, freezeWallet],
  [2, freezeWallet, sell, changeCustomer, refundOrder, voidRefund, grantCashback, debitCashback, freezeWallet],
  [1, sell, refundOrder, freezeWallet, quote, voidRefund, changeCustomer, freezeWallet],
  // Campaigns run, change and end, between orders and sales that arrive late.
  [4, createCampaign, awaitCampaign, sell, createOrder, changeCampaign, sell, awaitCampaign, completeOrder, sellLate],
  [4, createCampaign, awaitCampaign, changeCampaign, awaitCampaign, passHours, sellLate, sellLate],
  [4, createCampaign, awaitCampaign, earn, endCampaign, quote, passHours, sellLate, sellLate],
  [3, createCampaign, changeCampaign, readPolicy, awaitCampaign, changeCampaign, changeCampaign, readPolicy, sell],
  [3, createCampaign, createCampaign, changeCampaign, deleteCampaign, readCampaigns],
  [2, createCampaign, awaitCampaign, readPolicy, endCampaign, changeCampaign, deleteCampaign, passTime, changeCampaign],
  [5, createOrder],
  [4, grantCashback],
  [7, holdCashback],
  [6, completeOrder],
  [4, passTime],
  [6, refundOrder],
  [3, refundItems],
  [5, amendOrder],
  [3, changeCustomer],
  [3, quote],
  [2, cancelOrder],
  [2, voidGrant],
  [4, recreateOrder],
  [3, sell],
  [2, resell],
  [3, debitCashback],
  [2, repeatDebit],
  [2, voidDebit],
  [3, voidRefund],
  [1, freezeWallet],
  [2, repeatGrant],
  [3, repeatRefund],
  [2, readOrder],
  [3, readWallet],
  [2, listOrders],
  [1, readRefunds],
  [1, readGrant],
  [1, readDebits],
  [1, readPolicy],
  [1, changePolicy],
  [1, createCampaign],
  [1, endCampaign],
  [1, deleteCampaign],
  [1, readCampaigns],
];
const WEIGHTED = CHAINS.flatMap(([weight, ...chain]) => Array<Operation[]>(weight).fill(chain));
/** The operations that are mostly refused without an order that is pending or expired. */
const NEEDS_OPEN_ORDER = new Set<Operation>([holdCashback, holdLong, completeOrder, amendOrder]);
const NEEDS_NO_ORDER = new Set<Operation>([
  grantCashback,
  ...[passTime, passHours],
  quote,
  readPolicy,
  changePolicy,
  repeatGrant,
  voidGrant,
  ...[sell, sellLate, earn, spend],
  debitCashback,
  repeatDebit,
  voidDebit,
  freezeWallet,
  ...[createCampaign, changeCampaign, endCampaign, deleteCampaign, awaitCampaign, readCampaigns],
]);
/** Those that make credits. */
const EARNS = new Set<Operation>([grantCashback, completeOrder, sell, sellLate, resell, earn, spend]);

/** Runs a chain that the numbers describe, then compares a wallet. */
export async function runChain(sequence: Sequence, numbers: number[]): Promise<void> {
  const dice = new Dice(numbers);
  const chain = dice.pick(WEIGHTED);
  const shop = sequence.shops[dice.once(6) ? 1 : 0] as Shop;
  for (const operation of chain) {
    const hasOrder =
      NEEDS_NO_ORDER.has(operation) || shop.orders.some(({ isOpen }) => isOpen || !NEEDS_OPEN_ORDER.has(operation));
    if (!hasOrder) await createOrder(shop, dice);
    if (hasOrder || shop.orders.length > 0) await operation(shop, dice);
    // Of two credits that expire together, the documents do not say which comes first. The older one does.
    if (EARNS.has(operation)) await sequence.pass(1, false);
  }
  const document = shop.aDocument(dice);
  await shop.compareWallet(document, inEitherForm(dice, document));
}

async function changePolicy(shop: Shop, dice: Dice): Promise<void> {
  const earnRate = dice.pick([0n, 100n, 500n, 10_000n]);
  if (shop.orders.some(({ isOpen }) => isOpen)) count('the policy changes while an order is open');
  await shop.changePolicy(earnRate, dice.pick([3000n, 5000n, 10_000n]));
}

/** Lets so much time pass that a sale from before arrives late. */
async function passHours(shop: Shop, dice: Dice): Promise<void> {
  await shop.sequence.pass(dice.pick([6, 60, 20 * 60]) * MINUTE, dice.once(2));
}

/** Lets time pass: a little, to exactly a date at which something happens, to a millisecond before or after it. */
async function passTime(shop: Shop, dice: Dice): Promise<void> {
  const { now, rules } = shop;
  const midnight = startOfDay(localDate(now + DAY, rules.timeZone), rules.timeZone);
  const dates = shop.sequence.shops.flatMap((one) => one.dates()).sort((a, b) => a - b);
  const steps = [1, 30_000, ...[1, 11, 31, 60 * (1 + dice.upTo(30)), 9 * 24 * 60].map((minutes) => minutes * MINUTE)];
  const date =
    dice.pick([midnight, ...dates.slice(0, 3), ...shop.heldUntil(), ...campaignDates(shop).filter((at) => at > now)]) +
    dice.pick([0, -1, 1]);
  const target = dice.once(2) ? now + dice.pick(steps) : date;
  await shop.sequence.pass(Math.max(target - now, 0), dice.once(2));
}
