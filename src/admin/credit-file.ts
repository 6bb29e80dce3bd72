import { Problem } from '../common/problem.js';
import type { NamedGrant } from '../cashback/grant-batches.service.js';
import type { RequestValidationPipe } from '../http/validation.pipe.js';
import { CreateGrantDto } from '../wallets/dto/grant.dto.js';
import { readGrant } from '../wallets/grant.mapper.js';
import { fieldsOf, type Line, linesOf } from './csv-lines.js';

/** The columns of a file, in any order. The last two are optional. */
const COLUMNS = ['document', 'amount', 'external_id', 'available_on', 'expires_on'];
const REQUIRED = 3;

/** A grant in a file, or the errors of its line. */
export type CreditLine =
  { number: number; grant: NamedGrant } | { number: number; externalId?: string; errors: string[] };

interface Layout {
  separator: ',' | ';';
  columns: string[];
}

/**
 * Reads the grants of a CSV file, line by line.
 *
 * @param rules the rules of `POST /grants`.
 * @throws Error if the first line does not name the columns.
 */
export async function* creditsOf(
  chunks: AsyncIterable<Buffer>,
  rules: RequestValidationPipe,
): AsyncGenerator<CreditLine, void> {
  let layout: Layout | undefined;
  for await (const line of linesOf(chunks)) {
    if (layout === undefined) layout = layoutOf(line);
    else if (!('text' in line) || line.text.trim() !== '') yield creditOf(line, layout, rules);
  }
  if (layout === undefined) throw new Error('the file is empty');
}

function layoutOf(line: Line): Layout {
  const header = 'text' in line ? line.text : '';
  const separator = header.includes(';') ? ';' : ',';
  const columns = fieldsOf(header, separator)?.map((name) => name.trim()) ?? [];
  const isComplete = COLUMNS.slice(0, REQUIRED).every((name) => columns.includes(name));
  if (!isComplete || columns.some((name) => !COLUMNS.includes(name)) || new Set(columns).size < columns.length)
    throw new Error(`the first line must name the columns ${COLUMNS.join(',')}; the last two are optional`);
  return { separator, columns };
}

function creditOf(line: Line, { separator, columns }: Layout, rules: RequestValidationPipe): CreditLine {
  const { number } = line;
  if ('error' in line) return { number, errors: [line.error] };
  const fields = fieldsOf(line.text, separator);
  if (fields === undefined) return { number, errors: ['the quotes are not closed, or text is next to them'] };
  if (fields.length !== columns.length)
    return { number, errors: [`has ${fields.length} fields instead of ${columns.length}`] };
  const members = columns.map((name, at) => [name, fields[at]] as const).filter(([, text]) => text !== '');
  const row = Object.fromEntries(members) as Record<string, string>;
  try {
    const valid = rules.transform(row, { type: 'body', metatype: CreateGrantDto }) as CreateGrantDto;
    return { number, grant: readGrant(valid) };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return { number, ...(row.external_id !== undefined && { externalId: row.external_id }), errors: errorsOf(error) };
  }
}

/** Returns the errors of a problem by column. They contain no value, because a document is personal data. */
export function errorsOf(problem: Problem): string[] {
  return problem.errors?.map(({ pointer, detail }) => `${pointer?.slice(1)} ${detail}`) ?? [problem.message];
}
