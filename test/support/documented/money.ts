/** Amounts are centavos as bigint. */

export const cents = (amount: string): bigint => {
  const [whole = '0', fraction = ''] = amount.split('.');
  return BigInt(whole) * 100n + BigInt(fraction.padEnd(2, '0'));
};

export const brl = (amount: bigint): string =>
  `${amount < 0n ? '-' : ''}${abs(amount) / 100n}.${String(abs(amount) % 100n).padStart(2, '0')}`;

const abs = (amount: bigint): bigint => (amount < 0n ? -amount : amount);
export const min = (...amounts: bigint[]): bigint => amounts.reduce((a, b) => (b < a ? b : a));
export const max = (...amounts: bigint[]): bigint => amounts.reduce((a, b) => (b > a ? b : a));
export const sum = (amounts: Iterable<bigint>): bigint => [...amounts].reduce((a, b) => a + b, 0n);
