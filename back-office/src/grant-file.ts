import type { CreateGrant } from '@cashback/client';
import { fromCentavos, toCentavos } from '@cashback/client/money';
import { parse } from 'csv-parse/browser/esm/sync';
import { hasValidCheckDigits } from '../../src/platform/values/document.js';
import { amountOf, dayFromToday, documentOf, isDay, language, monthOfToday, slug, t } from './format.js';
import { InputError } from './ui.js';

/** A line of a file: what it grants, or what is wrong with it. */
export interface Line {
  /** As a program for spreadsheets counts: the heads are line 1. */
  number: number;
  fields: Record<string, string>;
  grant: CreateGrant | null;
  fault: string | null;
}

export interface GrantFile {
  /** The same file again grants nothing twice, because its lines have the same external IDs. */
  name: string;
  lines: Line[];
  /** What the good lines add up to. */
  total: string;
}

const MAX_BYTES = 5 * 1024 * 1024;
const MAX_LINES = 10_000;

/** The members of a grant, and how people name their columns: first in English, then in Portuguese. */
const HEADS: Record<string, string[]> = {
  document: ['document', 'cpf', 'documento', 'cnpj', 'cpf/cnpj', 'cpf ou cnpj'],
  amount: ['amount', 'valor'],
  reason: ['reason', 'motivo'],
  expires_on: ['expires_on', 'último dia', 'ultimo dia', 'validade', 'válido até', 'last day'],
  note: ['note', 'observação', 'observacao', 'obs'],
  store: ['store', 'loja'],
  external_id: ['external_id', 'número', 'numero', 'id'],
};

const memberOf = (head: string): string | undefined => {
  const plain = head.trim().toLowerCase();
  return Object.entries(HEADS).find(([, names]) => names.includes(plain))?.[0];
};

/** Programs in Brazil save files as UTF-8, or as Windows-1252 without saying so. */
function textOf(bytes: ArrayBuffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}

/** @returns the name of a list without what an external ID cannot have: `aniversarios-2026-11` */
export const listName = (file: string): string => `${slug(file.replace(/\.\w+$/, '')).slice(0, 40)}-${monthOfToday()}`;

/** `31/12/2026` and `2026-12-31` @throws InputError for a day that no calendar has, or that is over */
function dayOf(text: string): string {
  const day = text.replace(/^(\d{2})\/(\d{2})\/(\d{4})$/, '$3-$2-$1');
  if (!isDay(day) || day < dayFromToday(0)) throw new InputError(t.file.faults.day(text));
  return day;
}

function documentIn(text: string): string {
  const document = documentOf(text);
  if (!hasValidCheckDigits(document)) throw new InputError(t.file.faults.document);
  return document;
}

function amountIn(text: string): string {
  try {
    const amount = amountOf(text);
    if (toCentavos(amount) > 0n) return amount;
  } catch {
    // Two texts for one fault would be one too many.
  }
  throw new InputError(t.file.faults.amount);
}

/** @throws InputError that says what is wrong with the line */
function grantOf(fields: Record<string, string>, external_id: string, reason: string): CreateGrant {
  const { document = '', amount = '', expires_on, note, store } = fields;
  const why = fields.reason ?? reason;
  if (why === '') throw new InputError(t.file.faults.reason);
  return {
    external_id: fields.external_id ?? external_id,
    document: documentIn(document),
    amount: amountIn(amount),
    reason: why,
    ...(note && { note }),
    ...(store && { store }),
    ...(expires_on && { expires_on: dayOf(expires_on) }),
  };
}

/**
 * Reads a file as a program for spreadsheets saves it.
 *
 * @param reason of the lines that have none
 * @throws InputError if it is no such file
 */
export function readFile(file: { name: string; bytes: ArrayBuffer }, name: string, reason: string): GrantFile {
  if (file.bytes.byteLength > MAX_BYTES) throw new InputError(t.file.tooLarge);
  const [heads, ...records] = recordsOf(textOf(file.bytes).replace(/^\ufeff?"?sep=.\r?\n/i, ''));
  const members = (heads ?? []).map(memberOf);
  if (!members.includes('document') || !members.includes('amount')) throw new InputError(t.file.heads);
  if (records.length > MAX_LINES) throw new InputError(t.file.tooLarge);
  const lines = records.flatMap((record, index): Line[] => {
    const given = members.map((member, at) => [member, (record[at] ?? '').trim()] as const);
    const fields = Object.fromEntries(given.filter(([member, text]) => member && text !== '')) as Line['fields'];
    const number = index + 2;
    if (Object.keys(fields).length === 0) return [];
    try {
      return [{ number, fields, grant: grantOf(fields, `${name}-${number}`, reason), fault: null }];
    } catch (error) {
      return [{ number, fields, grant: null, fault: (error as Error).message }];
    }
  });
  return { name, lines: withoutTwins(lines), total: totalOf(lines) };
}

function recordsOf(text: string): string[][] {
  const [first = ''] = text.split('\n', 1);
  const delimiter = [';', '\t', ','].find((sign) => first.includes(sign)) ?? ';';
  try {
    // Lines with blanks only keep their number.
    return parse(text, { bom: true, delimiter, relax_column_count: true, skip_empty_lines: false });
  } catch {
    throw new InputError(t.file.heads);
  }
}

/** Two lines with one external ID would be one grant. */
function withoutTwins(lines: Line[]): Line[] {
  const known = new Set<string>();
  for (const line of lines) {
    if (line.grant === null) continue;
    if (known.has(line.grant.external_id)) Object.assign(line, { grant: null, fault: t.file.faults.twin });
    else known.add(line.grant.external_id);
  }
  return lines;
}

export const totalOf = (lines: Line[]): string =>
  fromCentavos(lines.reduce((sum, { grant }) => sum + (grant ? toCentavos(grant.amount) : 0n), 0n));

/** The lines that were not granted, to correct and drop again: each keeps its external ID. */
export function failedLines(lines: Line[], name: string, whyOf: (line: Line) => string): string {
  const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const rows = lines.map((line) => {
    const fields: Record<string, string> = { external_id: `${name}-${line.number}`, ...line.fields };
    return [...Object.keys(HEADS).map((head) => fields[head] ?? ''), whyOf(line)].map(quoted).join(';');
  });
  const heads = Object.values(HEADS).map(([english, portuguese]) => (language === 'pt-BR' ? portuguese : english));
  return ['\ufeff' + [...heads, t.file.why].join(';'), ...rows, ''].join('\r\n');
}
