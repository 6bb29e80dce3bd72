import { withoutPunctuation } from '../common/document.js';

/** How a column of a file is read. */
interface Column {
  /** Returns the value, which has no blanks around it, as the API takes it. */
  read: (text: string) => string;
  /** Says what is wrong with a refused value, where the API's rules would say what a file need not have. */
  faultOf?: (text: string) => string | undefined;
}

const TEXT: Column = { read: String };
const DAY: Column = { read: plainDay, faultOf: dayFault };

/** The members of `POST /grants` that a file can have as columns, in any order. */
export const COLUMNS: ReadonlyMap<string, Column> = new Map([
  ['document', { read: withoutPunctuation, faultOf: documentFault }],
  ['amount', { read: plainAmount, faultOf: amountFault }],
  // The same accents of another program must not be another grant.
  ['external_id', { read: (text) => text.normalize() }],
  ['available_on', DAY],
  ['expires_on', DAY],
  ['reason', TEXT],
  ['note', TEXT],
  ['store', TEXT],
]);

/** `1.234,56` as the API writes it, `1234.56`. The API's rules refuse what can be read in two ways, such as `1.234`. */
function plainAmount(amount: string): string {
  return /^(\d+|\d{1,3}(\.\d{3})+),\d+$/.test(amount) ? amount.replaceAll('.', '').replace(',', '.') : amount;
}

/** `31/12/2026` as the API writes it. `1/2/2026` is refused: who writes no zeros may begin with the month. */
function plainDay(text: string): string {
  return text.replace(/^(\d{2})\/(\d{2})\/(\d{4})$/, '$3-$2-$1');
}

const AMOUNTS = 'such as "1500,00", "1.500,00" or "1500.00"';

/** What is wrong with an amount. The first pattern that matches decides. */
const AMOUNT_FAULTS: [RegExp, string | undefined][] = [
  // The API says that it is negative, zero or too large.
  [/^(-\d.*|(0|[1-9]\d*)(\.\d\d?)?)$/, undefined],
  [/R\$/i, `must be a number without "R$", ${AMOUNTS}`],
  [/^\d{1,3}[.,]\d{3}$/, `can be read in two ways: write the decimals, ${AMOUNTS}`],
  [/(?:)/, `must be a number with at most two decimals, ${AMOUNTS}`],
];

function amountFault(text: string): string | undefined {
  const amount = plainAmount(text);
  return AMOUNT_FAULTS.find(([pattern]) => pattern.test(amount))?.[1];
}

function dayFault(): string {
  return 'must be a calendar day in the years 1970 to 9998, such as "2026-11-20" or "20/11/2026"';
}

/** A program can take a CPF for a number: then it removes leading zeros, or writes `5,29982E+10` or `52998224725.0`. */
function documentFault(text: string): string | undefined {
  return /^(\d{1,10}|\d{12,13}|\d+[.,]\d+|\d+([.,]\d+)?E\+?\d+)$/i.test(text)
    ? 'must be a CPF of 11 digits or a CNPJ of 14 characters: a spreadsheet may have changed it, so format the column as text'
    : undefined;
}
