import type { Calendar } from './calendar.js';

/** The customers of each scenario. Ana's wallet is the one that a row shows, unless it names another one. */
export const CUSTOMERS: Record<string, string> = { Ana: '52998224725', Bia: '11144477735' };

/** What a step does: one of the operations that an order lists, or something else. */
export const ACTS = {
  move: undefined,
  grant: undefined,
  void: undefined,
  debit: undefined,
  'void debit': undefined,
  campaign: undefined,
  'change campaign': undefined,
  'end campaign': undefined,
  freeze: undefined,
  unfreeze: undefined,
  create: undefined,
  sell: 'sell',
  hold: 'hold',
  release: 'hold',
  renew: 'renew',
  amend: 'amend',
  complete: 'complete',
  cancel: 'cancel',
  refund: 'refund',
  'undo refund of': 'void_refund',
  'undo first refund of': 'void_refund',
  correct: 'change_customer',
} as const;
export type Act = keyof typeof ACTS;

/** The name of the longest act with which a step begins. */
const ACT = new RegExp(`^(?:${Object.keys(ACTS).sort().reverse().join('|')})(?= )`);

export interface Step {
  act: Act;
  /** The letter of the order, of the grant or of the debit, the name of the campaign, or the name of the customer. */
  name: string;
  /** What follows the letter: an amount, `the rest`, or an amount `or less`. */
  what: string;
  /** The ID of the refund or of the wallet that is meant. */
  id?: string;
  options: Partial<Record<Option, string>>;
}

const OPTIONS = [
  ...(['for', 'to', 'from', 'through', 'until', 'eligible', 'by', 'earning', 'sold'] as const),
  ...(['redeem', 'taking', 'lowering', 'with', 'items'] as const),
];
type Option = (typeof OPTIONS)[number];

/** Reads a step such as `create A 100.00 eligible 80.00 by pix 60.00`. */
export function readStep(text: string): Step {
  const [head = '', ...rest] = text.split(new RegExp(` (?=(?:${OPTIONS.join('|')})\\b)`));
  const act = ACT.exec(head)?.[0];
  if (act === undefined) throw new Error(`no such step: ${text}`);
  const [name = '', ...what] = head.slice(act.length + 1).split(' ');
  const options = rest.map((option) => [option.split(' ', 1)[0], option.slice(option.indexOf(' ') + 1)]);
  return { act: act as Act, name, what: what.join(' '), options: Object.fromEntries(options) as Step['options'] };
}

export interface Request {
  method: string;
  path: string;
  body?: object | undefined;
}

/**
 * Returns the request of a step. What `the rest` is, and which refund or wallet is meant, is known by then.
 *
 * @param ids those of what the scenario has made so far, by external ID
 */
export function requestOf(step: Step, ids: ReadonlyMap<string, string>, calendar: Calendar): Request {
  const { act, name, what, options, id } = step;
  const order = `/orders/${ids.get(name)}`;
  const { until, redeem, by, from, through, to = 'Ana', eligible, taking } = options;
  const instant = until && calendar.instant(until);
  switch (act) {
    case 'move':
      throw new Error('a move is no request of the shop');
    case 'grant': {
      const days = { available_on: from && calendar.date(from), expires_on: through && calendar.date(through) };
      const body = { external_id: name, document: CUSTOMERS[to], amount: what, ...days };
      return { method: 'POST', path: '/grants', body };
    }
    case 'void':
      return { method: 'POST', path: `/grants/${ids.get(name)}/void` };
    case 'debit': {
      const [amount, ...less] = what.split(' ');
      const take = less.length > 0 ? 'available' : undefined;
      const body = { external_id: name, document: CUSTOMERS[from ?? 'Ana'], amount, reason: 'Granted twice', take };
      return { method: 'POST', path: '/debits', body };
    }
    case 'void debit':
      return { method: 'POST', path: `/debits/${ids.get(name)}/void` };
    case 'campaign':
      return { method: 'POST', path: '/campaigns', body: campaign(step, calendar) };
    case 'change campaign':
      return { method: 'PUT', path: `/campaigns/${ids.get(name)}`, body: campaign(step, calendar) };
    case 'end campaign':
      return { method: 'POST', path: `/campaigns/${ids.get(name)}/end` };
    case 'freeze':
    case 'unfreeze':
      return {
        method: 'PUT',
        path: `/wallets/${id}/freeze`,
        body: { frozen: act === 'freeze', reason: 'Stolen phone' },
      };
    case 'sell': {
      const complete = { redeem, payment_methods: by && payments(by) };
      const content = cart(what, { ...options, by: undefined }, 'Ana');
      const sold_at = options.sold && calendar.instant(options.sold);
      return { method: 'POST', path: '/orders', body: { external_id: name, ...content, complete, sold_at } };
    }
    case 'create':
      return { method: 'POST', path: '/orders', body: { external_id: name, ...cart(what, options, 'Ana') } };
    case 'amend':
      return { method: 'PUT', path: order, body: cart(what, options) };
    case 'hold':
    case 'release':
    case 'renew':
      return { method: 'PUT', path: `${order}/redemption`, body: { amount: what || '0.00', expires_at: instant } };
    case 'complete':
      return { method: 'POST', path: `${order}/complete`, body: { redeem, payment_methods: by && payments(by) } };
    case 'cancel':
      return { method: 'POST', path: `${order}/cancel` };
    case 'refund': {
      const external_id = `DEV-${ids.size}`;
      const asks =
        options.items === undefined ? { amount: what, eligible_amount: eligible } : comingBack(options.items);
      const body = { external_id, ...asks, take_back: taking?.replace('back ', '') };
      return { method: 'POST', path: `${order}/refunds`, body };
    }
    case 'undo refund of':
    case 'undo first refund of':
      return { method: 'POST', path: `${order}/refunds/${id}/void` };
    case 'correct':
      return { method: 'PUT', path: `${order}/customer`, body: { document: CUSTOMERS[to], reason: 'Typed wrongly' } };
  }
}

/** The content of an order. @param customer who has it, unless the step says another one */
function cart(
  total: string,
  { eligible, by, earning, lowering, ...options }: Partial<Record<Option, string | undefined>>,
  customer = '',
): object {
  return {
    document: CUSTOMERS[options.for ?? customer],
    total,
    eligible_total: eligible,
    earn_amount: earning,
    items: options.with === undefined ? [{ id: 'goods', price: total }] : pricesOf(options.with),
    payment_methods: by === undefined ? [] : payments(by),
    ...(lowering !== undefined && { redeem: 'maximum' }),
  };
}

/** A campaign that changes only the rate. */
function campaign({ name, options: { from = '', through = '', earning } }: Step, calendar: Calendar): object {
  return { name, from: calendar.date(from), through: calendar.date(through), rules: { earn_rate: earning } };
}

/** Reads `pix 60.00, card 20.00`. */
const payments = (text: string): object[] =>
  text.split(', ').map((payment) => ({ id: payment.split(' ')[0], amount: payment.split(' ')[1] }));

/** Reads `2 shirts 30.00, 1 shoes 40.00`. */
const pricesOf = (text: string): object[] =>
  text.split(', ').map((item) => {
    const [quantity, id, price] = item.split(' ');
    return { id, price, quantity: Number(quantity) };
  });

/** Reads `1 shirts, 1 shoes, shipping`: what the total has beyond the items is `shipping`. */
function comingBack(text: string): object {
  const names = text.split(', ').filter((name) => name !== 'shipping');
  const items = names.map((item) => ({ id: item.split(' ')[1], quantity: Number(item.split(' ')[0]) }));
  return { ...(items.length > 0 && { items }), rest: text.includes('shipping') };
}
