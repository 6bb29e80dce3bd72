import type { Dice } from './dice.js';
import { brl, cents, min, sum } from './money.js';
import { problem, type Outcome } from './problems.js';
import type { Content, Item } from './order.js';
import type { Payment } from './rules.js';

const TOTALS = ['100.00', '0.01', '0.19', '10.00', '33.33', '60.00', '150.00', '49.99', '50.00', '1234.56'].map(cents);
const METHODS = ['card', 'pix', 'PIX', 'boleto', 'Boleto'];

/** Writes an amount with as many decimals as it needs or more: `"150"` equals `"150.00"`. */
export function written(dice: Dice, amount: bigint): string {
  const full = brl(amount);
  return dice.pick([
    full,
    full.replace(/0$/, ''),
    full.replace(/\.?0+$/, (zeros) => (zeros.includes('.') ? '' : zeros)),
  ]);
}

/** "An optional member that is `null` counts as absent." */
export const absent = (dice: Dice): null | undefined => dice.pick([undefined, null]);

export function randomContent(dice: Dice): Content {
  const total = dice.once(4) ? 1n + dice.amountUpTo(20_000n) : dice.pick(TOTALS);
  return {
    items: randomItems(dice, total),
    total,
    eligible: dice.pick([total, total, total, dice.amountUpTo(total), 0n, total + 1n]),
    payments: randomPayments(dice, total),
    metadata: dice.pick<Record<string, string>>([{}, {}, { store: 'SP-014' }, { store: 'SP-014', till: '3' }]),
  };
}

function randomItems(dice: Dice, price: bigint): Item[] {
  const quantity = dice.pick([1, 1, 2, 999_999]);
  const items: Item[] = [{ id: 'sku-1', price, quantity }];
  if (dice.once(3)) items.push({ id: 'sku-2', price: 0n, quantity: 1, description: 'Café em grãos' });
  return items;
}

/** Payment methods that usually add up to at most the total, rarely to a centavo more. */
export function randomPayments(dice: Dice, total: bigint): Payment[] {
  const payments: Payment[] = [];
  let left = dice.once(12) ? total + 1n : total;
  for (const id of [dice.pick(METHODS), dice.pick(METHODS)].slice(0, dice.upTo(3))) {
    const amount = dice.pick([left, left / 2n, min(left, 1n), dice.amountUpTo(left)]);
    if (amount === 0n || payments.some((payment) => payment.id === id)) continue;
    payments.push({ id, amount });
    left -= amount;
  }
  return payments;
}

export const paymentsBody = (dice: Dice, payments: Payment[]): unknown[] =>
  payments.map(({ id, amount }) => ({ id, amount: written(dice, amount) }));

/** The members of a content as a request has them, with the optional ones in any of their forms. */
export function contentBody(dice: Dice, content: Content): Record<string, unknown> {
  const { items, total, eligible, payments, metadata } = content;
  return {
    items: items.map(({ id, price, quantity, description }) => ({
      ...{ id, price: written(dice, price) },
      quantity: quantity === 1 ? dice.pick([undefined, null, 1]) : quantity,
      description: description ?? absent(dice),
    })),
    total: written(dice, total),
    // "at most `total`, which is the default"
    eligible_total: eligible === total && !dice.once(3) ? absent(dice) : written(dice, eligible),
    payment_methods: paymentsBody(dice, payments),
    metadata: Object.keys(metadata).length === 0 ? dice.pick([undefined, null, {}]) : metadata,
  };
}

/** What is wrong with a content by itself. */
export function contentRefusals({ total, eligible, payments }: Content): Outcome[] {
  const paid = sum(payments.map(({ amount }) => amount));
  return [
    ...(eligible > total ? [problem('validation_failed', {}, ['eligible_total'])] : []),
    ...(paid > total ? [exceedsTotal(total, 0n, paid)] : []),
  ];
}

export const exceedsTotal = (total: bigint, redeemed: bigint, paid: bigint): Outcome =>
  // "`payments` and `redeemed` add up to more than `total`"
  problem('payments_exceed_total', { total: brl(total), redeemed: brl(redeemed), payments: brl(paid) }, [
    'payment_methods',
  ]);

/** "Content is compared by meaning". @returns the members that differ */
export function differingMembers(a: Content, b: Content): string[] {
  const different = (one: unknown, other: unknown): boolean => canonical(one) !== canonical(other);
  return [
    ...(different(a.items, b.items) ? ['items'] : []),
    ...(a.total !== b.total ? ['total'] : []),
    ...(a.eligible !== b.eligible ? ['eligible_total'] : []),
    ...(different(a.payments, b.payments) ? ['payment_methods'] : []),
    ...(different(a.metadata, b.metadata) ? ['metadata'] : []),
  ];
}

export const sameContent = (a: Content, b: Content): boolean => differingMembers(a, b).length === 0;

export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) => {
    if (typeof member === 'bigint') return String(member);
    if (member === null || typeof member !== 'object' || Array.isArray(member)) return member;
    return Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
