import { isDeepStrictEqual } from 'node:util';
import { punctuated } from '../factories.js';
import type { Dice } from './dice.js';
import { invalid, type Outcome, pointersTo, problem } from './expected.js';
import { type Amounts, mostToAsk, paid, type Rules } from './rules.js';
import { brl, cents, min } from './values.js';

/** What a caller can create an order with, or amend it to, as responses say it. */
export interface Content extends Amounts {
  items: { id: string; price: string; quantity: number; description?: string }[];
  metadata: Record<string, string>;
  store: string | null;
}

/** "A document of one repeated digit … is 400 … where it would be *new*" */
export const REPEATED_DIGITS = ['00000000000', '11111111111', '99999999999999'];

const STORES = [null, null, 'SP-014', 'RJ-003', 'rj-003', 'Loja do João'];

export const randomStore = (dice: Dice): string | null => dice.pick(STORES);

const TOTALS = [
  10_000n,
  19n,
  1000n,
  3333n,
  6000n,
  15_000n,
  4999n,
  5000n,
  10_000n,
  10_000n,
  1n,
  123_456n,
  99_999_999_000n,
  0n,
];
const METHODS = ['card', 'pix', 'PIX', 'boleto', 'Boleto'];

export function randomContent(dice: Dice): Content {
  const total = dice.once(4) ? 1n + dice.amountUpTo(20_000n) : dice.pick(TOTALS);
  const eligible = dice.pick([...Array<bigint>(6).fill(total), dice.amountUpTo(total), total / 2n, 0n, total + 1n]);
  const coffee = { id: 'sku-2', price: '0.00', quantity: 1, description: 'Café em grãos' };
  const [part, price] = [dice.pick([1n, 1n, 3n, 7n]), dice.pick(['10.01', '0.01', '0.03'])];
  return {
    items: [
      { id: 'sku-1', price: brl(total / part), quantity: dice.pick([1, 1, 2, 7, 999_999]) },
      ...(dice.once(3) ? [coffee] : []),
      ...(dice.once(3) ? [{ id: dice.pick(['sku-3', 'sku-1']), price, quantity: dice.pick([1, 3]) }] : []),
    ],
    ...{ total: brl(total), eligible_total: brl(eligible), payment_methods: randomPayments(dice, total) },
    earn_amount: randomEarnAmount(dice, eligible),
    metadata: dice.pick<Record<string, string>>([{}, {}, { channel: 'app' }, { channel: 'app', till: '3' }]),
    store: randomStore(dice),
  };
}

/** Usually none, and otherwise often exactly what a policy allows, or a centavo more. */
function randomEarnAmount(dice: Dice, eligible: bigint): string | null {
  if (!dice.once(3)) return null;
  return brl(dice.pick([eligible / 20n, eligible / 20n, eligible / 5n, eligible / 20n + 1n, eligible, 0n]));
}

/** Payment methods that usually add up to at most an amount, rarely to a centavo more. */
export function randomPayments(dice: Dice, most: bigint): Amounts['payment_methods'] {
  let left = dice.once(7) ? most + 1n : most;
  const payments = new Map<string, string>();
  for (const id of [dice.pick(METHODS), dice.pick(METHODS)].slice(0, dice.upTo(3))) {
    const amount = dice.pick([left, left / 2n, min(left, 1n), dice.amountUpTo(left)]);
    if (amount === 0n || payments.has(id)) continue;
    payments.set(id, brl(amount));
    left -= amount;
  }
  return [...payments].map(([id, amount]) => ({ id, amount }));
}

/** A content as a request can have it: members that have their default can be absent. */
export function contentBody(dice: Dice, content: Content): object {
  const { items, total, eligible_total, metadata, payment_methods } = content;
  return {
    ...content,
    items: items.map(({ quantity, description, ...item }) => ({
      ...{ ...item, description, quantity: quantity === 1 && dice.once(2) ? undefined : quantity },
    })),
    eligible_total: eligible_total === total && !dice.once(3) ? undefined : eligible_total,
    metadata: Object.keys(metadata).length === 0 && dice.once(2) ? undefined : metadata,
    // "absent, null and `[]` are the same"
    payment_methods: payment_methods.length === 0 && dice.once(2) ? undefined : payment_methods,
    currency: randomCurrency(dice),
  };
}

/** "`currency` is optional …; only "BRL"" */
export const randomCurrency = (dice: Dice): string | undefined => dice.pick([undefined, undefined, 'BRL']);

/** "punctuation is accepted (`529.982.247-25`, `12.ABC.345/01DE-35`) and removed" */
export const inEitherForm = (dice: Dice, document: string): string => (dice.once(4) ? punctuated(document) : document);

/** Writes a value in a form that means the same: `"150"` equals `"150.00"`, and "`null` counts as absent". */
export function inAnyForm(dice: Dice, value: unknown, name?: string): unknown {
  if (name === 'document' && typeof value === 'string') return inEitherForm(dice, value);
  if (value === undefined) return dice.pick([undefined, null]);
  if (typeof value === 'string' && /^\d+\.\d\d$/.test(value))
    return dice.pick([value, value.replace(/0$/, ''), value.replace(/\.?0*$/, '')]);
  if (Array.isArray(value)) return value.map((one) => inAnyForm(dice, one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, inAnyForm(dice, member, key)]));
}

/** What is wrong with a content by itself and under a policy, and with other members of its request. */
export const contentRefusals = (rules: Rules, content: Amounts, ...others: (string | false)[]): (Outcome | false)[] => [
  invalid(cents(content.eligible_total) > cents(content.total) && 'eligible_total', ...others),
  exceedsTotal(content.total, 0n, content.payment_methods),
  asksTooMuch(rules, content),
];

function asksTooMuch(rules: Rules, content: Amounts): Outcome | false {
  const most = mostToAsk(rules, content);
  const isTooMuch = content.earn_amount !== null && cents(content.earn_amount) > most;
  return isTooMuch && problem('earn_amount_exceeds_maximum', { maximum: brl(most) }, pointersTo('earn_amount'));
}

export function exceedsTotal(
  total: string,
  redeem: bigint,
  payments: Amounts['payment_methods'],
  pointer = 'payment_methods',
): Outcome | false {
  const members = { total, redeemed: brl(redeem), payments: brl(paid(payments)) };
  const isExceeded = paid(payments) + redeem > cents(total);
  return isExceeded && problem('payments_exceed_total', members, pointersTo(pointer));
}

/** "Content is compared by meaning". @returns the members that differ */
export function differingMembers(a: Content, b: Content): string[] {
  // "at most `total`, which is the default": by default it does not differ where `total` does.
  const isDefault = a.eligible_total === a.total && b.eligible_total === b.total;
  const names = ['items', 'total', 'payment_methods', 'metadata', 'store', 'earn_amount'];
  if (!isDefault) names.push('eligible_total');
  return (names as (keyof Content)[]).filter((name) => !isDeepStrictEqual(a[name], b[name]));
}
