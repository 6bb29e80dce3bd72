import { withPunctuation } from '../values/document.js';
import { localTime } from '../values/time.js';

/**
 * The columns of reports and lists by what they contain, with what they are called in Brazil. A column that is not here
 * contains texts of callers: what it is taken for depends on the column, never on the value.
 */
export const COLUMNS = {
  text: {
    ...{ merchant_name: 'lojista', store: 'loja', in_store: 'na loja', by: 'quem', completed_by: 'concluído por' },
    ...{
      'by.name': 'quem',
      'source.store': 'loja que deve',
      refund_external_id: 'devolução',
      debit_external_id: 'retirada',
    },
    ...{ external_id: 'identificador externo', order_external_id: 'pedido', metadata: 'metadados' },
    ...{ reason: 'motivo', note: 'nota', void_reason: 'motivo da anulação', cancel_reason: 'motivo do cancelamento' },
    ...{ customer_change_reason: 'motivo da correção', 'created_by.name': 'criado por' },
    ...{ 'completed_by.name': 'concluído por', 'cancelled_by.name': 'cancelado por' },
    ...{ 'customer_changed_by.name': 'cliente corrigido por', 'voided_by.name': 'anulado por' },
    ...{ 'source.external_id': 'identificador da origem', 'source.reason': 'motivo da origem' },
  },
  word: {
    ...{ id: 'ID', merchant_id: 'lojista (ID)', order_id: 'ID do pedido', wallet_id: 'ID da carteira' },
    ...{ status: 'situação', kind: 'tipo', 'source.type': 'origem', campaign_id: 'ID da campanha' },
  },
  document: { document: 'documento' },
  number: { orders: 'pedidos', late: 'atrasados', grants: 'concessões', refunds: 'devoluções' },
  boolean: { closed: 'fechado', frozen: 'bloqueada' },
  date: {
    ...{ day: 'dia', month: 'mês', from: 'de', to: 'antes de', created_at: 'criado em', completed_at: 'concluído em' },
    ...{ cancelled_at: 'cancelado em', customer_changed_at: 'cliente corrigido em', voided_at: 'anulado em' },
    ...{
      available_on: 'disponível a partir de',
      expires_on: 'válido até',
      last_order_at: 'último pedido em',
      sold_at: 'vendido em',
      effective_at: 'vale desde',
    },
    ...{ 'cashback.to_receive.available_on': 'cashback disponível a partir de' },
    ...{ 'cashback.to_receive.expires_on': 'cashback válido até', 'next_expiry.expires_on': 'próximo vencimento' },
  },
  money: {
    ...{ opening: 'abertura', earned: 'gerado', granted: 'concedido', redeemed: 'resgatado', returned: 'devolvido' },
    ...{ taken_back: 'estornado', voided: 'anulado', debited: 'retirado', expired: 'vencido', closing: 'fechamento' },
    ...{ requested_amount: 'pedido', restored: 'recolocado', not_restored: 'não recolocado' },
    ...{ closing_debt: 'débito no fechamento', balance: 'saldo', debt: 'débito', available: 'disponível' },
    ...{ pending: 'pendente', held: 'reservado', expiring_in_30_days: 'vence em 30 dias', expiring: 'vence' },
    ...{ total: 'total', paid: 'pago', refunded: 'reembolsado', amount: 'valor', remaining: 'resta' },
    ...{ eligible_total: 'total elegível', eligible_amount: 'valor elegível', amount_to_pay: 'a pagar' },
    ...{ amount_to_pay_back: 'a reembolsar', 'refunded.amount': 'reembolsado', 'next_expiry.amount': 'a vencer' },
    ...{ cashback_returned: 'cashback devolvido', cashback_taken_back: 'cashback estornado' },
    ...{ 'cashback.to_redeem.redeemed': 'cashback resgatado', 'cashback.to_redeem.returned': 'cashback devolvido' },
    ...{ 'cashback.to_receive.amount': 'cashback gerado', 'cashback.to_receive.taken_back': 'cashback estornado' },
  },
} satisfies Record<string, Record<string, string>>;

type Kind = keyof typeof COLUMNS;
export type Column = { [Each in Kind]: keyof (typeof COLUMNS)[Each] }[Kind];

const KINDS = Object.keys(COLUMNS) as Kind[];
const kindOf = (column: string): Kind => KINDS.find((kind) => column in COLUMNS[kind]) ?? 'text';
const HEADERS = Object.assign({}, ...Object.values(COLUMNS)) as Partial<Record<string, string>>;

/** How spreadsheets in Brazil write it. */
const IN_BRAZIL: Partial<Record<Kind, (value: string) => string>> = {
  // A spreadsheet would take a CPF for a number, without its leading zeros.
  document: withPunctuation,
  boolean: (value) => (value === 'true' ? 'sim' : 'não'),
  date: (value) => value.replace(/^[\d-]+/, (day) => day.split('-').reverse().join('/')),
  money: (value) => value.replace('.', ','),
};

/** What no spreadsheet takes for a number, a date, a formula or an error: a letter, and no digit after it. */
const PLAIN = /^(?!(?:true|false|verdadeiro|falso)\s*$)\p{L}\P{N}*$/iu;

/** With `pt-BR`, spreadsheets in Brazil open the file with a double click, and amounts and days are no texts. */
export type CsvLocale = 'pt-BR';

interface CsvOptions {
  locale?: CsvLocale | undefined;
  /** Of instants. */
  timeZone?: string | undefined;
  /** Whether these rows follow others, which had the header. */
  isContinued?: boolean;
}

/**
 * Returns rows as CSV (RFC 4180) with a header.
 *
 * @param columns their members, or those of a part, such as `source.external_id`.
 */
export function csvOf(
  columns: readonly string[],
  rows: readonly object[],
  { locale, timeZone, isContinued = false }: CsvOptions = {},
): string {
  const isBrazilian = locale === 'pt-BR';
  const cells = rows.map((row) =>
    columns.map((column) => {
      const value = valueAt(row, column, timeZone);
      // A total has no store.
      const isNoStore = isBrazilian && value === null && column.endsWith('store');
      return isNoStore ? '(sem loja)' : cellOf(column, textOf(value), isBrazilian);
    }),
  );
  const header = isBrazilian ? columns.map((column) => HEADERS[column] ?? column) : columns;
  const lines = [...(isContinued ? [] : [header]), ...cells].map((line) => `${line.join(isBrazilian ? ';' : ',')}\r\n`);
  return (isBrazilian && !isContinued ? '\uFEFF' : '') + lines.join('');
}

/** What the last row of a report has in its first column: it is the same word in Portuguese. */
const TOTAL = 'TOTAL';

/** Returns the rows of a report with their total, unless it is the only row. */
export function withTotal(rows: readonly object[], total: object | undefined): readonly object[] {
  const [first] = rows;
  if (total === undefined || first === undefined || rows.length === 1) return rows;
  return [...rows, { ...total, [Object.keys(first)[0]!]: TOTAL }];
}

/** Without an offset, a spreadsheet takes an instant for one. */
function valueAt(row: object, column: string, timeZone: string | undefined): unknown {
  const value = column.split('.').reduce<unknown>((part, name) => (part as Row | null)?.[name], row);
  if (value instanceof Date && timeZone !== undefined) return localTime(value, timeZone).slice(0, 19);
  if (column !== 'metadata') return value;
  return Object.keys(value ?? {}).length === 0 ? null : JSON.stringify(value);
}

type Row = Record<string, unknown>;

/** Only texts of callers can contain a separator, and all of them are quoted. */
function cellOf(column: string, value: string, isBrazilian: boolean): string {
  const kind = kindOf(column);
  if (value === '') return '';
  if (kind !== 'text') return isBrazilian ? (IN_BRAZIL[kind]?.(value) ?? value) : value;
  // A program that separates at other characters than the file begins a cell within the text.
  const text = value.replace(/([,;\t\r\n]"*)(?=[=+\-@＝＋－＠])/g, "$1'");
  // Spreadsheets keep the text of a formula as it is, such as `="001"`. Excel reads up to 255 characters there.
  const isFormula = isBrazilian && !PLAIN.test(text) && /^.{1,255}$/.test(text);
  return quoted(isFormula ? `=${quoted(text)}` : text.replace(/^(?='*[=+\-@＝＋－＠\t\r\n])/, "'"));
}

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;

/** The author of a change, or a list of them with their orders, is their names. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(({ name, orders }) => `${name}: ${orders}`).join(', ');
  if (value !== null && typeof value === 'object' && 'name' in value) return String(value.name);
  return typeof value === 'string' ? value : JSON.stringify(value ?? '').replace('""', '');
}
