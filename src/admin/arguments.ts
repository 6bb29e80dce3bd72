import { isEmail } from 'class-validator';
import { InvalidArgumentError } from 'commander';
import { isTimeZone } from '../common/calendar-days.js';
import { isDocument } from '../common/document.js';
import { isInstant, isStorable } from '../common/instants.js';
import { MONEY_PATTERN, parseMoney } from '../common/money.js';
import { isSamePaymentMethod } from '../merchants/policy.js';

/** Parsers of the command line's values. A refused value is an error with exit code 1. */

export const wholeNumber =
  (low: number, high: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < low || value > high)
      throw new InvalidArgumentError(`It must be a whole number from ${low} to ${high}.`);
    return value;
  };

export function money(text: string): number {
  if (!MONEY_PATTERN.test(text)) throw new InvalidArgumentError('It must be a decimal string such as 49.90.');
  return parseMoney(text);
}

export function positiveMoney(text: string): number {
  const cents = money(text);
  if (cents === 0) throw new InvalidArgumentError('It must be greater than zero.');
  return cents;
}

export function instant(text: string): Date {
  if (!isInstant(text) || !isStorable(new Date(text)))
    throw new InvalidArgumentError(
      'It must be an instant in the years 1970 to 9998, such as 2026-11-20T13:45:00.000Z.',
    );
  return new Date(text);
}

/** Returns a parser of texts that `isValid` accepts. */
const textThat =
  (isValid: (text: string) => boolean, message: string) =>
  (text: string): string => {
    if (!isValid(text)) throw new InvalidArgumentError(message);
    return text;
  };

const textOf = (most: number): ((text: string) => string) =>
  textThat((text) => text.trim() !== '' && [...text].length <= most, `It must be 1 to ${most} characters.`);

export const documentNumber = textThat(
  isDocument,
  'It must be a CPF of 11 digits or a CNPJ of 14 characters, without punctuation.',
);

export const email = textThat((text) => isEmail(text), 'It must be an email address.');

export const timeZone = textThat(isTimeZone, 'It must be an IANA time zone, such as America/Sao_Paulo.');

export const shortText = textOf(200);

/** The limits are those of an order's external ID. */
export const externalId = textOf(100);

/** `--earn-rate pix=700`, once per payment method: `PIX` is the same one. */
export function earnRate(text: string, before: Record<string, number> = {}): Record<string, number> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be METHOD=BPS, such as pix=700.');
  const method = text.slice(0, at);
  if (Object.keys(before).some((other) => isSamePaymentMethod(other, method)))
    throw new InvalidArgumentError(`${method} already has a rate.`);
  return { ...before, [method]: wholeNumber(0, 10_000)(text.slice(at + 1)) };
}
