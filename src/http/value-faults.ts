import { isDocument } from '../common/document.js';
import { isCalendarDay, isInstant } from '../common/instants.js';
import { MONEY_PATTERN, parseMoney } from '../common/money.js';

/** Says what is wrong with a value, as a text for the caller; undefined if nothing is. */
export type FaultOf = (value: unknown) => string | undefined;

const CONTROL_CHARACTER = /\p{Cc}/u;

/** What is wrong with a short text that is not money. The first pattern that matches decides. */
const MONEY_FAULTS: [RegExp, string][] = [
  [/^\d+,\d+$/, 'must have a point as decimal separator'],
  [/^[\d.]*,[\d.,]*$/, 'must have a point as decimal separator, and no other separator'],
  [/^\d+\.\d{3,}$/, 'has more than two decimals'],
  [/^[1-9]\d{9,}(\.\d*)?$/, 'must be at most "999999999.99"'],
  [/^-\d/, 'must not be negative'],
];

/** Money in BRL as a decimal string. */
export const moneyFault =
  ({ zero }: { zero: boolean }): FaultOf =>
  (value) => {
    if (typeof value === 'number') return 'must be a string, in quotes, such as "49.90"';
    const text = typeof value === 'string' && value.length <= 30 ? value : '';
    if (MONEY_PATTERN.test(text)) return zero || parseMoney(text) > 0 ? undefined : 'must be greater than zero';
    const known = MONEY_FAULTS.find(([pattern]) => pattern.test(text));
    return known?.[1] ?? 'must be a decimal string such as "49.90", at most "999999999.99"';
  };

export const documentFault: FaultOf = (value) => {
  if (typeof value === 'number') return 'must be a string, in quotes, such as "52998224725"';
  const text = typeof value === 'string' && value.length <= 30 ? value : '';
  if (isDocument(text)) return undefined;
  const unpunctuated = text.replace(/[./-]/g, '');
  if (unpunctuated !== text) return unpunctuated.length > 11 ? 'must have no punctuation' : 'must have digits only';
  if (isDocument(text.toUpperCase())) return 'must have capital letters';
  return 'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)';
};

/** An ID that the caller chooses. */
export const callerIdFault: FaultOf = (value) => {
  if (value === '') return 'must not be empty';
  if (typeof value === 'string' && CONTROL_CHARACTER.test(value)) return 'must not have control characters';
  return textFault(100)(value);
};

/**
 * Text of at most `maximum` characters that the database can store: a lone surrogate, such as `"\ud800"` in JSON,
 * cannot be encoded in UTF-8.
 */
export const textFault =
  (maximum: number): FaultOf =>
  (value) => {
    if (typeof value === 'number') return 'must be a string, in quotes';
    if (typeof value !== 'string') return `must be a string of at most ${maximum} characters`;
    if (!value.isWellFormed()) return 'must be valid Unicode';
    // Code points count, not UTF-16 code units.
    return value.length <= maximum || [...value].length <= maximum ? undefined : `has more than ${maximum} characters`;
  };

/** An instant in RFC 3339 with at most milliseconds. */
export const instantFault: FaultOf = (value) => {
  if (isInstant(value)) return undefined;
  if (typeof value === 'string' && isInstant(`${value}Z`)) return 'must end with Z, or with an offset such as -03:00';
  if (typeof value === 'string' && isInstant(value.replace(' ', '+'))) return 'must have "+" encoded as %2B';
  const isTooExact = typeof value === 'string' && isInstant(value.replace(/(\.\d{3})\d+/, '$1'));
  return isTooExact ? 'has more than three decimals' : 'must be an instant such as "2026-11-20T13:45:00.000Z"';
};

export const dayFault: FaultOf = (value) =>
  isCalendarDay(value) ? undefined : 'must be a calendar day in the years 1970 to 9998, such as "2026-11-20"';
