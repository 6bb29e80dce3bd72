/**
 * Returns whether the text is a valid CPF: 11 digits that are not all the same, and two valid check digits (modulo 11,
 * weights 10…2 and 11…2).
 */
export function isCpf(digits: string): boolean {
  if (!/^\d{11}$/.test(digits) || /^(\d)\1{10}$/.test(digits)) return false;
  return [9, 10].every((length) => {
    let sum = 0;
    for (let at = 0; at < length; at++) sum += Number(digits[at]) * (length + 1 - at);
    return ((sum * 10) % 11) % 10 === Number(digits[length]);
  });
}

/** Masks a document for logs: `***.982.247-**`. */
export function maskDocument(digits: string): string {
  return `***.${digits.slice(3, 6)}.${digits.slice(6, 9)}-**`;
}
