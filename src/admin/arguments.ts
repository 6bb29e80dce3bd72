import { isEmail } from 'class-validator';
import { InvalidArgumentError } from 'commander';
import { isTimeZone } from '../common/calendar-days.js';
import { isInstant, isStorable } from '../common/instants.js';
import { MONEY_PATTERN, parseMoney } from '../common/money.js';
import { asciiLowerCase } from '../common/text.js';

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

export function moneyOverZero(text: string): number {
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

export function documentNumber(text: string): string {
  if (!/^\d{11}$/.test(text)) throw new InvalidArgumentError('It must be 11 digits.');
  return text;
}

export function email(text: string): string {
  if (!isEmail(text)) throw new InvalidArgumentError('It must be an email address.');
  return text;
}

export function shortText(text: string): string {
  if (text.trim() === '' || [...text].length > 200) throw new InvalidArgumentError('It must be 1 to 200 characters.');
  return text;
}

/** `--earn-rate pix=700`, once per payment method: `PIX` is the same one. */
export function earnRate(text: string, before: Record<string, number> = {}): Record<string, number> {
  const at = text.lastIndexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be METHOD=BPS, such as pix=700.');
  const method = text.slice(0, at);
  if (Object.keys(before).some((other) => asciiLowerCase(other) === asciiLowerCase(method)))
    throw new InvalidArgumentError(`${method} already has a rate.`);
  return { ...before, [method]: wholeNumber(0, 10_000)(text.slice(at + 1)) };
}

export function timeZone(text: string): string {
  if (!isTimeZone(text)) throw new InvalidArgumentError('It must be an IANA time zone, such as America/Sao_Paulo.');
  return text;
}

/** The limits are those of an order's external ID. */
export function externalId(text: string): string {
  if (text.trim() === '' || [...text].length > 100) throw new InvalidArgumentError('It must be 1 to 100 characters.');
  return text;
}
