import { CashbackError } from '@cashback/client';
import { hasValidCheckDigits, isDocument, withPunctuation } from '../../src/platform/values/document.js';
import { now } from './clock.js';
import type { Texts } from './texts/en.js';

export type Language = 'en' | 'pt-BR';
const LANGUAGE = 'language';

const chosen = localStorage.getItem(LANGUAGE) ?? navigator.language;
export const language: Language = chosen.startsWith('pt') ? 'pt-BR' : 'en';
/** Nobody waits for the texts of the other language. */
export const t: Texts =
  language === 'pt-BR' ? (await import('./texts/pt-br.js')).ptBR : (await import('./texts/en.js')).en;

/** The page starts again with the other language. */
export function choose(next: Language): void {
  localStorage.setItem(LANGUAGE, next);
  location.reload();
}

const THEME = 'theme';
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];
export const theme = (): Theme => THEMES.find((name) => name === localStorage.getItem(THEME)) ?? 'system';

/** @param next the choice that stays; without one, the choice that was made before holds */
export function showTheme(next = theme()): void {
  localStorage.setItem(THEME, next);
  document.documentElement.dataset.theme = next;
}

const locale = language === 'en' ? 'en-US' : language;
const currency = new Intl.NumberFormat(locale, { style: 'currency', currency: 'BRL' });
const percentage = new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 });
const wholeNumber = new Intl.NumberFormat(locale);
const dayOnly = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' });
const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 });

/** How an instant or a day is written: in tables, aloud, and whole. */
const formats = (timeZone?: string) => ({
  year: new Intl.DateTimeFormat('en', { year: 'numeric', timeZone }),
  date: new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short', timeZone }),
  weekday: new Intl.DateTimeFormat(locale, { weekday: 'short', timeZone }),
  time: new Intl.DateTimeFormat(locale, { timeStyle: 'short', timeZone }),
  long: new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'long', timeZone }),
  full: new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeZone }),
  whole: new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'medium', timeZone }),
  isoDay: new Intl.DateTimeFormat('sv', { timeZone }),
  isoTime: new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium', timeZone }),
});
// A day has no time zone: it is shown as it is.
const ofDays = formats('UTC');
let ofInstants = formats();
const monthShort = new Intl.DateTimeFormat(locale, { month: 'short', timeZone: 'UTC' });
const monthLong = new Intl.DateTimeFormat(locale, { month: 'long', year: 'numeric', timeZone: 'UTC' });

/** Shows instants in the merchant's time zone from now on. */
export function useTimeZone(timeZone: string): void {
  ofInstants = formats(timeZone);
}

/** @param amount such as `"1234.50"`; it never becomes a number */
export const money = (amount: string): string => currency.format(amount as Intl.StringNumericLiteral).replace('-', '−');
export const percent = (rate: string): string => percentage.format(rate as Intl.StringNumericLiteral);
export const count = (value: number): string => wholeNumber.format(value);
/** For the axis of a chart: `1.2K`. */
export const rough = (value: number): string => compact.format(value);

/** `31 out`, and `31 out 2025` in another year than this one. */
function short(of: typeof ofDays, date: Date, hasYear = false): string {
  const parts = of.date.formatToParts(date).filter(({ type }) => type === 'day' || type === 'month');
  const year = of.year.format(date);
  const isThisYear = !hasYear && year === dayFromToday(0).slice(0, 4);
  return [...parts.map(({ value }) => value.replace('.', '')), ...(isThisYear ? [] : [year])].join(' ');
}
export const day = (value: string): string => short(ofDays, new Date(value));
export const instant = (value: string | Date): string => `${short(ofInstants, new Date(value))}, ${time(value)}`;
/** `14:00` */
export const time = (value: string | Date): string => ofInstants.time.format(new Date(value));
/** The time of a sandbox, which is in another year than people think: `31 out 2027, 17:39`. */
export const clockTime = (value: string | Date): string =>
  `${short(ofInstants, new Date(value), true)}, ${time(value)}`;
/** `terça-feira, 8 de dezembro de 2026` */
export const fullDay = (value: string): string => ofDays.full.format(new Date(value));
export const fullInstant = (value: string | Date): string => ofInstants.whole.format(new Date(value));
/** To read aloud: `8 de dezembro`, with the year if that is another one. */
export function longDay(value: string): string {
  const isThisYear = value.slice(0, 4) === dayFromToday(0).slice(0, 4);
  return isThisYear ? ofDays.long.format(new Date(value)) : dayOnly.format(new Date(value));
}
/** `sex 28 nov – dom 30 nov` */
export const period = (from: string, through: string): string =>
  [...new Set([from, through])]
    .map((value) => `${ofDays.weekday.format(new Date(value)).replace('.', '')} ${day(value)}`)
    .join(' – ');
const firstOf = (value: string): Date => new Date(`${value.slice(0, 7)}-01`);
/** `nov 26` */
export const month = (value: string): string =>
  `${monthShort.format(firstOf(value)).replace('.', '')} ${value.slice(2, 4)}`;
export const longMonth = (value: string): string => monthLong.format(firstOf(value));

/** @param text a date and time in the merchant's zone: `2026-11-25T08:00` @returns the instant */
export function instantOf(text: string): string {
  const asUtc = Date.parse(`${text}Z`);
  const offsetAt = (at: number): number => Date.parse(`${ofInstants.isoTime.format(at).replace(' ', 'T')}Z`) - at;
  // The first guess has the offset of another hour, which differs where clocks change.
  const guess = asUtc - offsetAt(asUtc);
  return new Date(asUtc - offsetAt(guess)).toISOString();
}

/** Whether a text is a day of the calendar, as `2026-11-26`. */
export const isDay = (text: string): boolean =>
  /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(text)) && addDays(text, 0) === text;

/** @returns the merchant's day of an instant, as `2026-11-26` */
export const dayOf = (of: string | Date): string => ofInstants.isoDay.format(new Date(of));

/** @returns the merchant's day that is this number of days from today */
export const dayFromToday = (days: number): string => addDays(dayOf(now()), days);

export const daysBetween = (from: string, to: string): number =>
  Math.round((Date.parse(to) - Date.parse(from)) / 86_400_000);

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

/** `2026-11` */
export const monthOfToday = (): string => dayFromToday(0).slice(0, 7);
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
  return refuse(member, 'must be an amount');
}

/**
 * @param more what another problem than `validation_failed` has
 * @throws CashbackError as the service does for a member that is not valid
 */
export function refuse(member: string, detail: string, more: { code?: string; maximum?: string } = {}): never {
  const failure = { code: 'validation_failed', status: 400, detail, errors: [{ pointer: `/${member}`, detail }] };
  throw new CashbackError({ ...failure, ...more, retryable: false, next_action: 'fix_request' });
}

/** @returns a text as a part of the name of a file: `Mês por loja` is `mes-por-loja` */
export const slug = (text: string): string =>
  text
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-');

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
