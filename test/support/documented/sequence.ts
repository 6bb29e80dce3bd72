import { localDate, startOfDay } from './days.js';
import { Dice } from './dice.js';
import { grantCashback, quote, repeatGrant, voidGrant } from './grant-operations.js';
import {
  amendOrder,
  cancelOrder,
  completeOrder,
  createOrder,
  holdCashback,
  recreateOrder,
} from './order-operations.js';
import {
  listOrders,
  readForeign,
  readGrant,
  readOrder,
  readPolicy,
  readRefunds,
  readStatement,
} from './read-operations.js';
import { refundOrder, repeatRefund } from './refund-operations.js';
import type { Session } from './session.js';
import type { Shop } from './shop.js';

type Operation = (session: Session, shop: Shop, dice: Dice) => Promise<void>;

/** The operations with how often they occur. */
const OPERATIONS: [number, Operation][] = [
  [12, createOrder],
  [9, grantCashback],
  [18, holdCashback],
  [13, completeOrder],
  [8, passTime],
  [11, refundOrder],
  [9, amendOrder],
  [6, quote],
  [4, cancelOrder],
  [5, voidGrant],
  [6, recreateOrder],
  [3, repeatGrant],
  [3, repeatRefund],
  [4, readOrder],
  [3, readStatement],
  [2, listOrders],
  [2, readRefunds],
  [2, readGrant],
  [2, readForeign],
  [1, readPolicy],
];
const WEIGHTED = OPERATIONS.flatMap(([weight, operation]) => Array<Operation>(weight).fill(operation));
const NEEDS_NO_ORDER = new Set<Operation>([
  createOrder,
  grantCashback,
  passTime,
  quote,
  readPolicy,
  repeatGrant,
  voidGrant,
]);

/** Runs one operation that the numbers describe, then compares wallets. */
export async function runOperation(session: Session, numbers: number[]): Promise<void> {
  const dice = new Dice(numbers);
  const operation = dice.pick(WEIGHTED);
  const shop = dice.pick(session.shops);
  if (shop.orders.length === 0 && !NEEDS_NO_ORDER.has(operation)) await createOrder(session, shop, dice);
  else await operation(session, shop, dice);
  // Of two credits that expire together, the documents do not say which comes first. The older one does.
  if (operation === grantCashback || operation === completeOrder) await session.pass(1, false);
  await session.compareWallets(shop, dice.once(3) ? session.documents : [dice.pick(session.documents)]);
}

/** Lets time pass: a little, to exactly a date at which something happens, to a millisecond before or after it. */
async function passTime(session: Session, shop: Shop, dice: Dice): Promise<void> {
  const { now } = session;
  const midnight = startOfDay(localDate(now + 86_400_000, shop.rules.timeZone), shop.rules.timeZone);
  const dates = [midnight, ...session.shops.flatMap((one) => one.dates(now))];
  const steps = [
    1,
    30_000,
    60_000,
    11 * 60_000,
    31 * 60_000,
    3_600_000 * (1 + dice.upTo(30)),
    86_400_000 * (1 + dice.upTo(4)),
  ];
  const target = dice.once(2) ? dice.pick(dates) + dice.pick([0, -1, 1]) : now + dice.pick(steps);
  await session.pass(Math.max(target - now, 0), dice.once(2));
}
