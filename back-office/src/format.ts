import { CashbackError } from '@cashback/client';
import { hasValidCheckDigits, isDocument, withPunctuation } from '../../src/platform/values/document.js';
import { now } from './clock.js';
import { en, type Texts } from './texts/en.js';
import { ptBR } from './texts/pt-br.js';

export type Language = 'en' | 'pt-BR';
const LANGUAGE = 'language';

const chosen = localStorage.getItem(LANGUAGE) ?? navigator.language;
export const language: Language = chosen.startsWith('pt') ? 'pt-BR' : 'en';
export const t: Texts = language === 'pt-BR' ? ptBR : en;

/** The page starts again with the other language. */
export function choose(next: Language): void {
  localStorage.setItem(LANGUAGE, next);
  location.reload();
}

const locale = language === 'en' ? 'en-US' : language;
const currency = new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' });
const percentage = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 });
const wholeNumber = new Intl.NumberFormat(locale);
// A day has no time zone: it is shown as it is.
// Short in Portuguese (26/11/2026), where the numbers cannot be mistaken.
const dateStyle = language === 'en' ? 'medium' : 'short';
const dayOnly = new Intl.DateTimeFormat(locale, { dateStyle, timeZone: 'UTC' });
const weekdayOnly = new Intl.DateTimeFormat(locale, { weekday: 'long', timeZone: 'UTC' });
const monthOnly = new Intl.DateTimeFormat(locale, {
  month: 'short',
  year: language === 'en' ? 'numeric' : '2-digit',
  timeZone: 'UTC',
});
let moment = new Intl.DateTimeFormat(locale, { dateStyle, timeStyle: 'short' });
let isoDay = new Intl.DateTimeFormat('sv');
let isoTime = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium' });

/** Shows instants in the merchant's time zone from now on. */
export function useTimeZone(timeZone: string): void {
  moment = new Intl.DateTimeFormat(locale, { dateStyle, timeStyle: 'short', timeZone });
  isoDay = new Intl.DateTimeFormat('sv', { timeZone });
  isoTime = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone });
}

/** @param amount such as `"1234.50"`; it never becomes a number */
export const money = (amount: string): string => currency.format(amount as Intl.StringNumericLiteral);
export const percent = (rate: string): string => percentage.format(rate as Intl.StringNumericLiteral);
export const count = (value: number): string => wholeNumber.format(value);
export const day = (value: string): string => dayOnly.format(new Date(value));
/** Such as `Sunday, Nov 29, 2026`. */
export const weekday = (value: string): string => `${weekdayOnly.format(new Date(value))}, ${day(value)}`;
export const month = (value: string): string => monthOnly.format(new Date(`${value.slice(0, 7)}-01`));
export const instant = (value: string | Date): string => moment.format(new Date(value));

/** @param text a date and time in the merchant's zone: `2026-11-25T08:00` @returns the instant */
export function instantOf(text: string): string {
  const asUtc = Date.parse(`${text}Z`);
  const offsetAt = (at: number): number => Date.parse(`${isoTime.format(at).replace(' ', 'T')}Z`) - at;
  // The first guess has the offset of another hour, which differs where clocks change.
  const guess = asUtc - offsetAt(asUtc);
  return new Date(asUtc - offsetAt(guess)).toISOString();
}

/** @returns the merchant's day that is this number of days from today, as `2026-11-26` */
export const dayFromToday = (days: number): string => addDays(isoDay.format(now()), days);

export function addDays(value: string, days: number): string {
  const date = new Date(value);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}

/** @returns the first day of the month that is this number of months from that of a day */
export function addMonths(value: string, months: number): string {
  const date = new Date(`${value.slice(0, 7)}-01`);
  date.setUTCMonth(date.getUTCMonth() + months);
  return date.toISOString().slice(0, 10);
}

export const monthFromNow = (months: number): string => addMonths(dayFromToday(0), months);

/**
 * Reads an amount as people in Brazil write it: `1.234,50`, `R$ 10` or `10.5`. Others could be read in two ways, such
 * as `1.234`.
 *
 * @param member that of the request
 * @throws CashbackError as the service does if the member is not an amount
 */
export function amountOf(text: string, member = 'amount'): string {
  const plain = text.replaceAll(/\s|R\$/g, '');
  const amount = /^(\d+|\d{1,3}(\.\d{3})+),\d+$/.test(plain) ? plain.replaceAll('.', '').replace(',', '.') : plain;
  if (/^\d+(\.\d{1,2})?$/.test(amount)) return amount;
  const errors = [{ pointer: `/${member}`, detail: 'must be an amount' }];
  const failure = { code: 'validation_failed', status: 400, detail: 'an amount is not valid', errors };
  throw new CashbackError({ ...failure, retryable: false, next_action: 'fix_request' });
}

/** @param id of the dialog @returns an external ID that people can read to each other */
export const staffId = (id: string): string => `BO-${dayFromToday(0)}-${id.slice(0, 8)}`;

/**
 * @returns the CPF or CNPJ of a text, whatever is between its digits or beside it (`CPF: 529.982.247-25`); without a
 *   valid one, all digits and letters
 */
export function documentOf(text: string): string {
  const plain = (part: string): string => part.replaceAll(/[^\p{L}\p{N}]/gu, '').toUpperCase();
  const normal = text.normalize('NFKC');
  const all = plain(normal);
  return [all, all.replaceAll(/\D/g, ''), ...normal.split(/\s/).map(plain)].find(hasValidCheckDigits) ?? all;
}

/** @returns a CPF or CNPJ with punctuation; hidden, only its end; an erased customer has none */
export function documentText(document: string, hidden = true): string {
  if (!isDocument(document)) return t.customer.erased;
  return withPunctuation(hidden ? '•'.repeat(document.length - 4) + document.slice(-4) : document);
}
