import { withPunctuation } from '../common/document.js';

/** The texts of callers: a spreadsheet must not take them for a number, a date or a formula. */
const TEXTS = new Set([
  ...['name', 'store', 'in_store', 'document', 'completed_by', 'by'],
  ...['external_id', 'reason', 'void_reason', 'customer_change_reason', 'note', 'metadata'],
]);

/** What the members of reports are called in Brazil. */
const BRAZILIAN: Record<string, string> = {
  ...{ store: 'loja', in_store: 'na loja', day: 'dia', month: 'mês', from: 'de', to: 'até (exclusive)' },
  ...{ opening: 'abertura', earned: 'gerado', granted: 'concedido', redeemed: 'resgatado', returned: 'devolvido' },
  ...{ taken_back: 'estornado', voided: 'anulado', expired: 'vencido', closing: 'fechamento', closing_debt: 'débito' },
  ...{
    closed: 'fechado',
    orders: 'pedidos',
    customers: 'clientes',
    balance: 'saldo',
    debt: 'débito',
    grants: 'concessões',
  },
  ...{ available: 'disponível', pending: 'pendente', held: 'reservado', expiring_in_30_days: 'vence em 30 dias' },
  ...{
    expiring: 'vence',
    document: 'documento',
    total: 'total',
    completed_by: 'concluído por',
    refunded: 'reembolsado',
  },
  ...{ by: 'quem', reason: 'motivo', amount: 'valor' },
};

/** With `pt-BR`, spreadsheets in Brazil open the file with a double click, and amounts and days are no texts. */
export type CsvLocale = 'pt-BR';

/**
 * Returns rows as CSV (RFC 4180) with a header.
 *
 * @param columns their members. Those of a part, such as `source.external_id`, are treated like members.
 * @param isContinued whether these rows follow others, which had the header.
 */
export function csvOf(
  columns: readonly string[],
  rows: readonly object[],
  locale?: CsvLocale,
  isContinued = false,
): string {
  const isBrazilian = locale === 'pt-BR';
  const separator = isBrazilian ? ';' : ',';
  const cells = rows.map((row) =>
    columns.map((column) => {
      const text = textOf((row as Record<string, unknown>)[column]);
      if (TEXTS.has(column.split('.').at(-1)!))
        // A spreadsheet would take a CPF for a number, without its leading zeros.
        return withoutFormula(isBrazilian && column === 'document' ? withPunctuation(text) : text);
      return isBrazilian ? inBrazilian(text) : text;
    }),
  );
  const quoted = (cell: string): string =>
    /["\r\n]/.test(cell) || cell.includes(separator) ? `"${cell.replaceAll('"', '""')}"` : cell;
  const header = isBrazilian ? columns.map((column) => BRAZILIAN[column] ?? column) : columns;
  const lines = [...(isContinued ? [] : [header]), ...cells].map((line) => `${line.map(quoted).join(separator)}\r\n`);
  return (isBrazilian && !isContinued ? '\uFEFF' : '') + lines.join('');
}

/** The author of a change, or a list of them with their orders, is their names. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.map(({ name, orders }) => `${name}: ${orders}`).join(', ');
  if (value !== null && typeof value === 'object' && 'name' in value) return String(value.name);
  return typeof value === 'string' ? value : JSON.stringify(value ?? '').replace('""', '');
}

const withoutFormula = (text: string): string => (/^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text);

const inBrazilian = (text: string): string =>
  text
    .replace(/^true$/, 'sim')
    .replace(/^false$/, 'não')
    .replace(/^(-?\d+)\.(\d\d)$/, '$1,$2')
    .replace(/^(\d{4})-(\d\d)-(\d\d)( [\d:]{8})?$/, '$3/$2/$1$4')
    .replace(/^(\d{4})-(\d\d)$/, '$2/$1');
