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

/** @returns `29.98` for 2998, for programs that count in centavos with plain numbers */
export function fromMinor(minor: number): Money {
  if (!Number.isSafeInteger(minor)) throw new TypeError(`not a whole number of centavos: ${minor}`);
  return fromCentavos(BigInt(minor));
}

/** @returns 2998 for `29.98` */
export const toMinor = (amount: string): number => Number(toCentavos(amount));

/** Money that a customer has paid, in BRL, and what of it was paid back before. */
export interface PaidAmount<I extends string | number = string> {
  id: I;
  amount: string;
  refunded?: string | undefined;
}

/**
 * Divides what is paid back over several payments, in their order: each gives at most what is left of it.
 *
 * @param amount such as the `amount_to_pay_back` of a refund
 * @returns the payments that give something, with what each gives. Store it with the refund before you pay it back:
 * with another `refunded`, the result is another one
 * @throws TypeError if the payments have less than that left
 */
export function splitRefund<I extends string | number>(
  amount: string,
  payments: readonly PaidAmount<I>[],
): { id: I; amount: Money }[] {
  let left = toCentavos(amount);
  if (left < 0n) throw new TypeError(`${amount} cannot be paid back`);
  const parts = payments.map((payment) => {
    const rest = toCentavos(payment.amount) - toCentavos(payment.refunded ?? '0');
    const part = rest < left ? rest : left;
    left -= part;
    return { id: payment.id, part };
  });
  if (left > 0n) throw new TypeError(`${fromCentavos(left)} of ${amount} is more than the payments have left`);
  return parts.filter(({ part }) => part > 0n).map(({ id, part }) => ({ id, amount: fromCentavos(part) }));
}
