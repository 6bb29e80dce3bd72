import { isEmail } from 'class-validator';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { text } from 'node:stream/consumers';
import { isSamePaymentMethod } from '../merchants/policy.js';
import { isOperatorName, type Permission, PERMISSIONS } from '../platform/values/caller.js';
import { isDocument, withoutPunctuation } from '../platform/values/document.js';
import { MONEY_PATTERN, parseMoney } from '../platform/values/money.js';
import { textFault, type TextKind } from '../platform/values/texts.js';
import { isCalendarDay, isInstant, isTimeZone } from '../platform/values/time.js';

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

/** Leaves `none`, because Commander replaces null, and parses everything else with another parser. */
export const orNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | 'none' =>
    text === 'none' ? text : parse(text);

const textThat =
  (isValid: (text: string) => boolean, message: string) =>
  (text: string): string => {
    if (!isValid(text)) throw new InvalidArgumentError(message);
    return text;
  };

const textOf =
  (kind: TextKind, most: number) =>
  (text: string): string => {
    const fault = textFault(kind, most, true)(text);
    if (fault !== undefined) throw new InvalidArgumentError(`It ${fault}.`);
    return text;
  };

const plainDocument = textThat(isDocument, 'It must be a CPF of 11 digits or a CNPJ of 14 characters.');
const documentNumber = (text: string): string => plainDocument(withoutPunctuation(text));

export const day = textThat(isCalendarDay, 'It must be a day in the years 1970 to 9998, such as 2026-11-20.');

export const month = textThat(
  (text) => isCalendarDay(`${text}-01`),
  'It must be a month in the years 1970 to 9998, such as 2026-11.',
);

const anInstant = textThat(isInstant, 'It must be an instant such as 2026-11-20T14:30:00-03:00.');

export const instant = (text: string): Date => new Date(anInstant(text));

export const flag = (text: string): boolean =>
  textThat((given) => given === 'true' || given === 'false', 'It must be true or false.')(text) === 'true';

export const email = textThat((text) => isEmail(text), 'It must be an email address.');

export const timeZone = textThat(isTimeZone, 'It must be an IANA time zone, such as America/Sao_Paulo.');

export const merchantName = textOf('name', 200);
export const userName = (text: string): string =>
  textThat((name) => !isOperatorName(name), 'It must not be the name of the operator.')(textOf('name', 100)(text));
export const reasonText = textOf('reason', 500);
export const noteText = textOf('note', 500);
export const externalId = textOf('id', 100);

/** Permissions, separated by commas; `all` is each of them. */
export function permissions(text: string): Permission[] {
  const given = text.split(',');
  if (text === 'all') return [...PERMISSIONS];
  if (given.every((one) => PERMISSIONS.some((known) => known === one)))
    return PERMISSIONS.filter((permission) => given.includes(permission));
  throw new InvalidArgumentError(`It must be all, or some of ${PERMISSIONS.join(',')}.`);
}

/** A rate of 0 % to 100 % with its unit, `5%` or `500bps`, in basis points: a bare `5` can mean either. */
export function rate(text: string): number {
  const [, percent, decimals = '', bps] = /^(?:(\d{1,3})(?:\.(\d{1,2}))?%|(\d{1,5})bps)$/.exec(text) ?? [];
  const value = bps === undefined ? Number(percent) * 100 + Number(decimals.padEnd(2, '0')) : Number(bps);
  if (Number.isNaN(value) || value > 10_000)
    throw new InvalidArgumentError(
      'It must be a rate from 0% to 100% with its unit, such as 5%, 7.25% or 500bps (which is 5%).',
    );
  return value;
}

export interface EarnRates {
  general?: number;
  byPaymentMethod?: Record<string, number>;
}

/** `--earn-rate 5%`, and `--earn-rate pix=7%` once per payment method: `PIX` is the same one. */
export function earnRate(text: string, before: EarnRates = {}): EarnRates {
  const at = text.lastIndexOf('=');
  const [method, bps] = [text.slice(0, Math.max(at, 0)), rate(text.slice(at + 1))];
  const { general, byPaymentMethod = {} } = before;
  const isKnown = Object.keys(byPaymentMethod).some((other) => isSamePaymentMethod(other, method));
  if (at > 0) externalId(method);
  if (at === 0) throw new InvalidArgumentError('It must name a payment method before the =, such as pix=7%.');
  if (at < 0 ? general !== undefined : isKnown)
    throw new InvalidArgumentError(at < 0 ? 'The general rate is given twice.' : `${method} already has a rate.`);
  return at < 0 ? { ...before, general: bps } : { ...before, byPaymentMethod: { ...byPaymentMethod, [method]: bps } };
}

/** Options for private values. An argument is visible in `ps` and in the shell's history; stdin is not. */

const VISIBLE = "visible to other users of this machine and kept in the shell's history";

export interface DocumentOptions {
  document?: string;
  documentStdin?: true;
}

export interface PasswordOptions {
  password?: string;
  passwordStdin?: true;
}

export function withDocument(command: Command): Command {
  return command
    .option('--document <document>', `the customer's CPF or CNPJ, such as 529.982.247-25; ${VISIBLE}`, documentNumber)
    .addOption(new Option('--document-stdin', "read the customer's CPF or CNPJ from stdin").conflicts('document'));
}

export async function documentOf({ document, documentStdin }: DocumentOptions): Promise<string> {
  if (document !== undefined) return document;
  if (documentStdin === undefined) throw new Error("one of '--document' and '--document-stdin' is required");
  try {
    return documentNumber(await lineFromStdin());
  } catch (error) {
    // Commander reports only errors of arguments.
    throw new Error(`option '--document-stdin' is invalid. ${(error as Error).message}`, { cause: error });
  }
}

export function withPassword(command: Command): Command {
  return command
    .option('--password <password>', `12 to 72 bytes; ${VISIBLE}`)
    .addOption(new Option('--password-stdin', 'read the password from stdin').conflicts('password'));
}

export async function passwordOf({ password, passwordStdin }: PasswordOptions): Promise<string | undefined> {
  return passwordStdin === undefined ? password : lineFromStdin();
}

async function lineFromStdin(): Promise<string> {
  return (await text(process.stdin)).replace(/\r?\n$/, '');
}
