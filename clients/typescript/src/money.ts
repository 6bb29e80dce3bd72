declare const money: unique symbol;
/** A decimal string in BRL, such as `150.00`: what the service sends and receives, and not just any text. */
export type Money = string & { readonly [money]: true };

/** `150.00`, `150` and `-7.5` are amounts. @returns 15000n, 15000n and -750n */
export function toCentavos(amount: string): bigint {
  const [, sign = '', whole, decimals = ''] = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(amount) ?? [];
  if (whole === undefined) throw new TypeError(`not an amount of money: ${JSON.stringify(amount)}`);
  return BigInt(`${sign}${whole}${decimals.padEnd(2, '0')}`);
}

/** @returns `150.00` for 15000n */
export function fromCentavos(centavos: bigint): Money {
  const digits = String(centavos < 0n ? -centavos : centavos).padStart(3, '0');
  return `${centavos < 0n ? '-' : ''}${digits.slice(0, -2)}.${digits.slice(-2)}` as Money;
}
