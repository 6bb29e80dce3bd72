/** Rates are basis points inside the program (`…Bps`), and decimal strings outside of it: `500` is `"0.05"`. */

const BPS_IN_WHOLE = 10_000;

/** Formats basis points as a decimal string with two to four decimals: `500` is `"0.05"`, `725` is `"0.0725"`. */
export function formatRate(bps: number): string {
  if (!Number.isSafeInteger(bps) || bps < 0) throw new RangeError(`not a rate in basis points: ${bps}`);
  const decimals = String(bps % BPS_IN_WHOLE).padStart(4, '0');
  return `${Math.floor(bps / BPS_IN_WHOLE)}.${decimals.replace(/0{1,2}$/, '')}`;
}
