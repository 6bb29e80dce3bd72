import { cleanDocument } from './document.js';
import { CashbackError } from './errors.js';
import type { CompleteOrder, CreateOrder, Order, PaymentMethod } from './generated/types.gen.js';
import type { CallOptions } from './http.js';
import { toCentavos } from './money.js';
import type { Operation } from './operations.js';

/** The content of an order that can still change. When it expires is part of a hold. */
export type OrderContent = Omit<CreateOrder, 'external_id' | 'expires_at' | 'complete' | 'sold_at'>;

/**
 * - `open`: the order is pending, and has the content
 * - `completed`, also if it was refunded since, or `cancelled`: it was so before, and nothing was changed. Its
 *   content can be another one: compare `total`
 */
export interface PutOrder {
  outcome: 'open' | 'completed' | 'cancelled';
  order: Order;
}

/** What a customer has paid, as you stored it with the charge. */
export interface PaidOrder {
  /** The `version` of the order that you charged for. */
  version: number;
  /** The cashback that you deducted, in BRL: `"0.00"` without any. */
  redeem: string;
  /** What was really paid. Amounts of 0.00 are left out. */
  payment_methods: PaymentMethod[];
  /** The `total` of the order that you charged for. Default: `redeem` and the payment methods together. */
  total?: string | undefined;
}

/**
 * - `completed`: it is paid, now or before
 * - `cashback_lost`: only `maximum` of what you deducted is left, and the order is not completed. Choose who pays the
 *   rest: the customer (charge it, then pay again with `redeem: "0.00"` and both payments), nobody (cancel the order,
 *   then pay the charge back), or you (put a lower total, then pay again with that version and `redeem: "0.00"`)
 * - `pay_back`: this charge does not pay for the order, which was cancelled, changed, or completed with other values.
 *   Pay the charge back, and never pay with it again
 */
export type Payment =
  | { outcome: 'completed'; order: Order }
  | { outcome: 'cashback_lost'; maximum: string }
  | { outcome: 'pay_back'; order: Order };

/** What is left if an order whose cashback is lost is cancelled. */
export type FinalPayment = Exclude<Payment, { outcome: 'cashback_lost' }>;

/** What a checkout needs of several operations on orders. */
export interface Checkout {
  /**
   * Creates the order. If it exists and is open, renews and amends it until it has this content: a hold that exceeds
   * the new maximum is lowered to it, and that of another customer is released. Put an order only while no charge of it
   * can be paid.
   *
   * @throws CashbackError if the service refuses the content, or `redeem` is more than the maximum
   */
  put(externalId: string, content: OrderContent, options?: PutOptions): Promise<PutOrder>;
  /**
   * Completes an order that is paid, also if it has expired since. Only one charge may pay for an order, and the
   * service cannot tell which: store the charge under a unique key of the order before you call this.
   */
  pay(id: string, paid: PaidOrder, options: PayOptions & { ifLost: 'cancel' }): Promise<FinalPayment>;
  pay(id: string, paid: PaidOrder, options?: PayOptions): Promise<Payment>;
  /** Creates and completes an order in one request, for a till that has the money. A refusal leaves no order. */
  sell(sale: Sale, options?: CallOptions): Promise<Payment>;
}

/** An order that is paid. */
export type Sale = CreateOrder & { complete: CompleteOrder };
type Options = Omit<CallOptions, 'ifMatch'>;
export interface PutOptions extends Options {
  /** What the order then holds, in BRL, or all that it can. Default: what it holds already. */
  redeem?: string | undefined;
  /** Until when, by the clock of the merchant. Default: the order's own, or the policy's time from now. */
  expires_at?: string | undefined;
}
export interface PayOptions extends Options {
  /** `cancel` if nobody pays for cashback that is lost: the order is cancelled, and the outcome is `pay_back`. */
  ifLost?: 'cancel' | undefined;
}
interface Orders {
  create: Operation<'createOrder'>;
  get: Operation<'getOrder'>;
  byExternalId: Operation<'getOrderByExternalId'>;
  hold: Operation<'holdRedemption'>;
  amend: Operation<'amendOrder'>;
  complete: Operation<'completeOrder'>;
  cancel: Operation<'cancelOrder'>;
}

/** How often other requests may change the order in between. */
const TRIES = 10;
/** An order that is due shows it some seconds later, and until then no request finds the version that it reads. */
const pause = (tries: number): Promise<void> =>
  new Promise((done) => setTimeout(done, Math.min(1000, 50 * 2 ** tries)));

const isRefused = (error: unknown, ...codes: string[]): error is CashbackError =>
  error instanceof CashbackError && codes.includes(error.code);
const isChanged = (error: unknown): error is CashbackError =>
  isRefused(error, 'precondition_failed', 'invalid_transition');

const isOpen = ({ status }: Order): boolean => status === 'pending' || status === 'expired';

/** Makes the methods from the operations. */
export const checkout = (orders: Orders): Checkout => ({
  put: (...args) => put(orders, ...args),
  pay: (...args: Parameters<Checkout['pay']>) => pay(orders, ...args) as Promise<FinalPayment>,
  sell: (...args) => sell(orders, ...args),
});

async function put(
  orders: Orders,
  externalId: string,
  content: OrderContent,
  { redeem, expires_at, ...options }: PutOptions = {},
): Promise<PutOrder> {
  for (let tries = 1; ; tries++)
    try {
      const { outcome, order } = await putContent(orders, externalId, content, options);
      const { held, maximum } = order.cashback.to_redeem;
      const amount = redeem === 'maximum' ? maximum : redeem;
      if (outcome !== 'open' || ((amount ?? held) === held && expires_at === undefined)) return { outcome, order };
      const hold = { amount: amount ?? held, ...(expires_at !== undefined && { expires_at }) };
      return { outcome, order: await orders.hold(order.id, hold, { ...options, ifMatch: order.version }) };
    } catch (error) {
      // Something else was faster: another call, or another order of the customer.
      const isLess = redeem === 'maximum' && isRefused(error, 'redemption_exceeds_maximum');
      if (!(isChanged(error) || isLess) || tries === TRIES) throw error;
      await pause(tries);
    }
}

async function putContent(
  orders: Orders,
  external_id: string,
  content: OrderContent,
  options: Options,
): Promise<PutOrder> {
  let order: Order;
  try {
    order = await orders.create({ ...content, external_id }, options);
    // Later versions can have different content, also in the response to a repeat.
    if (order.version === 1) return { outcome: 'open', order };
  } catch (error) {
    if (!(error instanceof CashbackError && error.code === 'external_id_conflict')) throw error;
    order = await orders.get(error.existing_id, options);
  }
  const { id, status } = order;
  if (!isOpen(order)) return { outcome: status === 'cancelled' ? status : 'completed', order };
  const isOther = (cleanDocument(content.document) ?? content.document) !== order.document;
  const isHeld = toCentavos(order.cashback.to_redeem.held) > 0n;
  if (status === 'expired' || (isOther && isHeld))
    order = await orders.hold(id, { amount: '0.00' }, { ...options, ifMatch: order.version });
  order = await orders.amend(id, { ...content, redeem: 'maximum' }, { ...options, ifMatch: order.version });
  return { outcome: 'open', order };
}

async function pay(
  orders: Orders,
  id: string,
  paid: PaidOrder,
  { ifLost, ...options }: PayOptions = {},
): Promise<Payment> {
  const { version, total, redeem } = paid;
  // Where cashback or a coupon pays for all of it, nothing was charged.
  const payment_methods = paid.payment_methods.filter(({ amount }) => toCentavos(amount) !== 0n);
  const amounts = [redeem, ...payment_methods.map(({ amount }) => amount)].map(toCentavos);
  const charged = total === undefined ? amounts.reduce((sum, amount) => sum + amount, 0n) : toCentavos(total);
  let ifMatch: number | undefined = version;
  for (let tries = 1; ; tries++) {
    try {
      return {
        outcome: 'completed',
        order: await orders.complete(id, { redeem, payment_methods }, { ...options, ifMatch }),
      };
    } catch (error) {
      const lost = lossOf(error);
      if (lost !== undefined && ifLost !== 'cancel') return lost;
      if (lost !== undefined) await cancel(orders, id, options);
      else if (!isChanged(error) || tries === TRIES) throw error;
      const order = await orders.get(id, options);
      const isCharged = toCentavos(order.total) === charged;
      if (isRefused(error, 'invalid_transition') || !isCharged) return { outcome: 'pay_back', order };
      if (order.version === ifMatch) await pause(tries);
      // What was completed with the same values is a repeat, whatever its version was.
      ifMatch = isOpen(order) ? order.version : undefined;
    }
  }
}

/** Cancels an order, unless another call has ended it otherwise. */
async function cancel(orders: Orders, id: string, options: Options): Promise<void> {
  try {
    await orders.cancel(id, {}, options);
  } catch (error) {
    if (!isRefused(error, 'invalid_transition')) throw error;
  }
}

async function sell(orders: Orders, sale: Sale, options?: CallOptions): Promise<Payment> {
  try {
    return { outcome: 'completed', order: await orders.create(sale, options) };
  } catch (error) {
    const lost = lossOf(error);
    if (lost !== undefined) return lost;
    if (!isChanged(error)) throw error;
    return { outcome: 'pay_back', order: await orders.byExternalId(sale.external_id, options) };
  }
}

function lossOf(error: unknown): Payment | undefined {
  const isLost =
    error instanceof CashbackError &&
    (error.code === 'redemption_exceeds_maximum' || error.code === 'redemption_no_longer_available');
  return isLost ? { outcome: 'cashback_lost', maximum: error.maximum } : undefined;
}
