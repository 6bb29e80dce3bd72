/**
 * Money is a whole number of centavos inside the program (`…Cents`), and a decimal string in BRL outside of it. Only
 * this file parses and formats it.
 */

/** No sign, no exponent, no spaces, at most two decimals, at most 999999999.99. */
export const MONEY_PATTERN = /^(0|[1-9]\d{0,8})(\.\d{1,2})?$/;

/** Money in a response always has two decimals. The sum of many amounts can be larger than a single one. */
export const AMOUNT_PATTERN = /^(0|[1-9]\d*)\.\d{2}$/;

/** The largest amount a request can carry, in centavos. */
export const MAX_CENTS = 99_999_999_999;

/** Parses a decimal string such as `"150"`, `"150.5"` or `"150.00"` as centavos. */
export function parseMoney(text: string): number {
  if (!MONEY_PATTERN.test(text)) throw new RangeError(`not an amount of money: ${text}`);
  const [reais = '0', decimals = ''] = text.split('.');
  return Number(reais) * 100 + Number(decimals.padEnd(2, '0'));
}

/** Formats centavos as a decimal string with two decimals: `15000` is `"150.00"`, `-5` is `"-0.05"`. */
export function formatMoney(cents: number): string {
  const digits = Math.abs(exactCents(cents)).toString().padStart(3, '0');
  return `${cents < 0 ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}`;
}

/** Formats centavos by name. What is not known is null. */
export function amountsOf<T extends Partial<Record<string, number | null>>>(
  cents: T,
): { [Name in keyof T]: null extends T[Name] ? string | null : string } {
  const amounts = Object.entries(cents).map(([name, value]) => [name, value === null ? null : formatMoney(value!)]);
  return Object.fromEntries(amounts) as ReturnType<typeof amountsOf<T>>;
}

/**
 * Converts centavos as the database returns them: BIGINT as a number, SUM() as a string.
 *
 * @throws RangeError if a double cannot represent the value exactly: a wrong balance is worse than none.
 */
export function exactCents(value: number | string | bigint | null): number {
  const cents = Number(value ?? 0);
  if (!Number.isSafeInteger(cents)) throw new RangeError(`centavos out of range: ${value}`);
  return cents;
}

export function sumCents(amounts: Iterable<number>): number {
  let sum = 0;
  for (const amount of amounts) sum = exactCents(sum + amount);
  return sum;
}

const BPS_IN_WHOLE = 10_000;

/** Formats basis points as a decimal string with two to four decimals: `500` is `"0.05"`, `725` is `"0.0725"`. */
export function formatRate(bps: number): string {
  if (!Number.isSafeInteger(bps) || bps < 0) throw new RangeError(`not a rate in basis points: ${bps}`);
  const decimals = String(bps % BPS_IN_WHOLE).padStart(4, '0');
  return `${Math.floor(bps / BPS_IN_WHOLE)}.${decimals.replace(/0{1,2}$/, '')}`;
}

/** The largest rate is 1, which is 100 %. */
export const RATE_PATTERN = /^(0(\.\d{1,4})?|1(\.0{1,4})?)$/;

/** Parses a decimal string such as `"0.05"` as basis points: 500. */
export function parseRate(text: string): number {
  if (!RATE_PATTERN.test(text)) throw new RangeError(`not a rate: ${text}`);
  return Math.round(Number(text) * BPS_IN_WHOLE);
}

/** Formats a rate for operators: `500` basis points are `"5%"`, `725` are `"7.25%"`. */
export function formatPercent(bps: number): string {
  if (!Number.isSafeInteger(bps) || bps < 0) throw new RangeError(`not a rate in basis points: ${bps}`);
  const decimals = String(bps % 100)
    .padStart(2, '0')
    .replace(/0{1,2}$/, '');
  return `${Math.floor(bps / 100)}${decimals === '' ? '' : `.${decimals}`}%`;
}
