import type { FeedEvent, Order } from '../shop.js';
import type { Calendar } from './calendar.js';
import { CUSTOMERS } from './steps.js';

const isMoney = (amount: string): boolean => amount !== '0.00';

const nameOf = (document: string | null): string =>
  Object.keys(CUSTOMERS).find((name) => CUSTOMERS[name] === document) ?? 'nobody';

/** The sums of a wallet: available, pending, held, debt. */
export const sumsOf = ({ available, pending, held, debt }: Sums): string[] => [available, pending, held, debt];

type Sums = Record<'available' | 'pending' | 'held' | 'debt', string>;

/** What an event says to a person. The figures are those of the event. */
export function says(event: FeedEvent, calendar: Calendar): string {
  const { type, data } = event;
  const document = data.order === undefined ? data.wallet.document : data.order.document;
  const text = data.order === undefined ? ofWallet(event, calendar) : ofOrder(event, data.order, calendar);
  const customer = document === CUSTOMERS.Ana || type === 'order.customer_changed' ? '' : `${nameOf(document)}: `;
  return `${customer}${text}`;
}

function ofWallet({ type, timestamp, data }: FeedEvent, calendar: Calendar): string {
  const on = (date: string): string => `day ${calendar.dayOf(date)}`;
  if (data.change !== undefined) return data.change;
  if (type === 'wallet.frozen' || type === 'wallet.unfrozen') return data.wallet.frozen ? 'frozen' : 'not frozen';
  if (type === 'cashback.debit_voided') return `${data.amount} of ${data.debit!.amount}`;
  if (data.available_on !== undefined) {
    const isExact = data.available_at === timestamp;
    return `${data.amount} from ${on(data.available_on)}${isExact ? '' : `, at ${data.available_at}`}`;
  }
  if (data.expires_on !== undefined) return `${data.amount} through ${on(data.expires_on)}`;
  if (type !== 'cashback.granted') return data.amount!;
  const { available_on, expires_on } = data.grant!;
  const isLater = calendar.dayOf(available_on) !== calendar.at(timestamp)[0];
  return `${data.amount} ${isLater ? `from ${on(available_on)} ` : ''}through ${on(expires_on)}`;
}

function ofOrder({ type, data }: FeedEvent, order: Order, calendar: Calendar): string {
  const subject = `${order.external_id} ${order.status}`;
  if (type === 'order.refund_voided') return `${subject}: undoes ${data.refund!.amount}${stillRefunded(order)}`;
  if (data.refund !== undefined) {
    const { amount, amount_to_pay_back: paid, cashback_returned, cashback_taken_back } = data.refund;
    const parts = [`pays back ${paid}`, `returns ${cashback_returned}`, `takes back ${cashback_taken_back}`];
    return `${subject}: refunds ${amount}, ${parts.filter((part) => !part.endsWith(' 0.00')).join(', ')}`;
  }
  if (data.previous_wallet !== undefined) {
    const before = data.previous_wallet;
    return `${subject}: ${nameOf(order.document)}, before ${nameOf(before.document)} (${sumsOf(before).join(', ')})`;
  }
  const { held, lapsed, redeemed } = order.cashback.to_redeem;
  const hasTime = ['order.redemption_held', 'order.renewed'].includes(type);
  const parts = [
    `pays ${order.amount_to_pay}`,
    ...(isMoney(held) ? [`holds ${held}`] : []),
    ...(isMoney(lapsed) ? [`lapsed ${lapsed}`] : []),
    ...(isMoney(redeemed) ? [`redeems ${redeemed}`] : []),
    ...earning(order, calendar),
    ...(hasTime ? [`until day ${calendar.at(order.expires_at).join(' ')}`] : []),
  ];
  return `${subject}: ${parts.join(', ')}`;
}

/** What the refunds that stand have refunded, returned and taken back, if any does. */
function stillRefunded({ refunded, cashback: { to_redeem, to_receive } }: Order): string {
  const { amount, amount_to_pay_back: paid } = refunded;
  const parts = [`pays back ${paid}`, `returns ${to_redeem.returned}`, `takes back ${to_receive.taken_back}`];
  const sums = [`still refunds ${amount}`, ...parts].filter((part) => !part.endsWith(' 0.00'));
  return sums.map((part) => `, ${part}`).join('');
}

function earning({ status, cashback: { to_receive } }: Order, calendar: Calendar): string[] {
  const { amount, limited_by, available_on, expires_on } = to_receive;
  const limit = limited_by === null ? '' : ` (${limited_by})`;
  const isOver = ['expired', 'cancelled'].includes(status);
  if (isOver && !isMoney(amount) && limited_by === null && available_on === null) return [];
  if (status !== 'completed') return [`will earn ${amount}${limit}`];
  const days = isMoney(amount)
    ? ` from day ${calendar.dayOf(available_on!)} through day ${calendar.dayOf(expires_on!)}`
    : '';
  return [`earns ${amount}${limit}${days}`];
}
