import { formatMoney, formatPercent } from '../common/money.js';

/**
 * Returns an entity, or a part of one, as the command line shows it: members in snake case, centavos as decimal
 * strings, rates in percent, binary values in hexadecimal digits. It knows no columns, so it also shows new ones.
 */
export function toJson(entity: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entity).map(([member, value]) => {
      const name = member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
      if (name.endsWith('_cents')) return [name.slice(0, -'_cents'.length), amountOf(value as number | null)];
      if (name.endsWith('_bps')) return [name.slice(0, -'_bps'.length), formatPercent(value as number)];
      return [name, toValue(name, value)];
    }),
  );
}

const amountOf = (cents: number | null): string | null => (cents === null ? null : formatMoney(cents));

/** Other objects are a caller's own, such as metadata: their members keep their names. */
function toValue(name: string, value: unknown): unknown {
  if (name === 'policy') return toJson(value as object);
  if (name === 'earn_rates_by_payment_method')
    return Object.fromEntries(
      Object.entries(value as Record<string, number>).map(([id, bps]) => [id, formatPercent(bps)]),
    );
  if (Array.isArray(value)) return value.map((part: unknown) => (isObject(part) ? toJson(part) : part));
  return Buffer.isBuffer(value) ? value.toString('hex') : value;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;
