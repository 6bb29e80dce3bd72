import { type INestApplicationContext } from '@nestjs/common';
import { type Merchant } from '../merchants/merchant.entity.js';
import { withTotal } from '../platform/http/csv.js';
import { isCalendarDay, startOfDay } from '../platform/values/time.js';
import { allMerchants, changing, merchantNamed, oneMerchant, withServices } from './application.js';
import { isOfAll, type Member, type Operation } from './commands.js';
import { Lookups } from './lookups.service.js';
import { type Answer, OperatorClient, type OperatorRequest } from './operator-client.js';
import { type Format, printRecord, printRows, type Row } from './output.js';

const LARGEST_PAGE = 100;

/** A list or a report. */
interface Rows {
  data: Row[];
  total?: object;
  next_cursor?: string | null;
  /** Of the feed, which continues after a sequence. */
  has_more?: boolean;
  next_after?: number;
}

interface Asked {
  request: OperatorRequest;
  format: Format;
}

/** Calls the operation of a command, and prints what it returns: of each merchant, if it is about several. */
export const runOperation = (operation: Operation, asked: Asked): Promise<void> =>
  withServices((services) => perform(services, operation, asked));

async function perform(
  services: INestApplicationContext,
  operation: Operation,
  { request, format }: Asked,
): Promise<void> {
  const merchantId = await merchantNamed(services, request.merchantId);
  const found = await services.get(Lookups).find(operation.path, request.params, merchantId);
  const merchants = await merchantsOf(services, operation, found.merchantId);
  let isContinued = false;
  for (const merchant of merchants) {
    const timeZone = merchant?.policy.timeZone;
    const given = { ...request, params: found.params, merchantId: merchant?.id };
    const asked = timeZone === undefined ? given : inTimeZone(operation, given, timeZone);
    const answer = await call(services, operation, asked);
    if (answer.replayed) console.error('note: it was so before: nothing changed');
    if (isOfNobody(answer.result)) console.error('note: no customer of the merchant has this document');
    if (isRows(answer.result)) {
      const named = merchant && merchants.length > 1 ? { merchant_id: merchant.id, merchant_name: merchant.name } : {};
      const pages: Pages = { request: asked, format, answer, timeZone, named, isContinued };
      isContinued = await printPages(services, operation, pages);
    } else if (answer.result !== undefined) printRecord(answer.result as object, { format, timeZone });
  }
}

/** Lists and reports are of all merchants, unless one is named. @returns undefined for what is of no merchant. */
async function merchantsOf(
  services: INestApplicationContext,
  operation: Operation,
  id: string | undefined,
): Promise<(Merchant | undefined)[]> {
  if (!operation.needsMerchant) return [undefined];
  if (id === undefined && isOfAll(operation)) return allMerchants(services);
  return [await oneMerchant(services, id)];
}

/** A customer that the merchant does not know has an empty answer. */
const isOfNobody = (result: unknown): boolean =>
  typeof result === 'object' &&
  result !== null &&
  (('id' in result && result.id === null) || ('pseudonym' in result && result.pseudonym === null));

/** A day in place of an instant is its beginning in the merchant's time zone. */
function inTimeZone({ members }: Operation, request: OperatorRequest, timeZone: string): OperatorRequest {
  const instants = members.filter(({ schema, at }) => schema.format === 'date-time' && at.length === 1);
  const read = (values: object): object =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]: [string, unknown]) => {
        const isInstant = instants.some(({ at }) => at[0] === name);
        return [name, isInstant && isCalendarDay(value) ? startOfDay(value, timeZone).toISOString() : value];
      }),
    );
  return { ...request, query: read(request.query) as Record<string, string>, body: read(request.body) };
}

const isRows = (result: unknown): result is Rows =>
  typeof result === 'object' && result !== null && 'data' in result && Array.isArray(result.data);

/** Changes are in the audit log. */
async function call(
  services: INestApplicationContext,
  operation: Operation,
  request: OperatorRequest,
): Promise<Answer> {
  const client = services.get(OperatorClient);
  if (!operation.isChange) return client.call(operation.id, request);
  // What is refused can have anything anywhere, also what is personal.
  const { params, merchantId: merchant_id } = request;
  return changing(services, operation.name.join(' '), { merchant_id, ...params }, async () => {
    const result = await client.call(operation.id, request);
    const changed = { ...detailsOf(operation, request), ...idsOf(result.result) };
    return { result, changed: { ...changed, ...(result.replayed && { replayed: true }) } };
  });
}

/** Texts that are no names, reasons or notes: IDs that merchants give, amounts, rates and zones. */
const RECORDED =
  /^(external_id|store|amount|total|redeem|time_zone)$|_(amount|total|minimum|maximum|rate|share|ceiling)$/;

/** Whether the audit log keeps a member: what is neither personal nor secret, and no free text. */
function isRecorded({ at, schema, in: place }: Member): boolean {
  if (place === 'header') return false;
  const type = [schema.type].flat()[0];
  const isChosen = (schema.enum ?? schema.items?.enum ?? schema.const ?? schema.format) !== undefined;
  if (isChosen && schema.format !== 'email') return true;
  return type === 'integer' || type === 'boolean' || (type === 'string' && RECORDED.test(at.at(-1)!));
}

/** Returns what the audit log keeps of a request. */
export function detailsOf({ members }: Pick<Operation, 'members'>, request: OperatorRequest): Row {
  const parts = { path: request.params, query: request.query, header: {}, body: request.body };
  const kept = members.filter(isRecorded).map(({ at, in: place }) => {
    const value = at.reduce<unknown>((part, name) => (part as Row | undefined)?.[name], parts[place]);
    return [at.join('.'), value] as const;
  });
  return { merchant_id: request.merchantId, ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)) };
}

const idsOf = (result: unknown): Row =>
  Object.fromEntries(
    Object.entries(result ?? {}).filter(
      ([name, value]) => /^(id|.*_id|pseudonym|version|voided|sessions)$/.test(name) && value !== null,
    ),
  );

interface Pages extends Asked {
  answer: Answer;
  timeZone: string | undefined;
  /** What rows begin with, if they are of several merchants. */
  named: Row;
  isContinued: boolean;
}

/**
 * Prints a list page by page, so that a long one needs no memory. A table has one page, for a person.
 *
 * @returns whether it printed a row.
 */
async function printPages(services: INestApplicationContext, operation: Operation, pages: Pages): Promise<boolean> {
  const { request, format, timeZone, named } = pages;
  let { answer, isContinued } = pages;
  for (;;) {
    const { data, total, ...rest } = answer.result as Rows;
    const rows = (format === 'json' ? data : withTotal(data, total)).map((row) => ({ ...named, ...row }));
    const columns = answer.columns && [...Object.keys(named), ...answer.columns];
    // A file without rows has a header, if its columns are known.
    const isShown = rows.length > 0 || format === 'table' || (!isContinued && columns !== undefined);
    if (isShown) printRows(rows, { format, timeZone, columns, isContinued });
    isContinued ||= isShown;
    const next = nextOf(operation, request, rest);
    if (next === undefined || !process.stdout.writable) return isContinued;
    if (format === 'table' || isLimited(request)) {
      console.error('note: more rows follow: without --limit, --format csv or json prints all of them');
      return isContinued;
    }
    answer = await services.get(OperatorClient).call(operation.id, next);
  }
}

const isLimited = ({ query, body }: OperatorRequest): boolean => 'limit' in query || 'limit' in body;

/** Returns the request for the next page, which is as large as can be; undefined after the last one. */
function nextOf(
  { members }: Operation,
  request: OperatorRequest,
  { next_cursor: cursor, has_more: hasMore, next_after: after }: Omit<Rows, 'data' | 'total'>,
): OperatorRequest | undefined {
  if (hasMore === true) {
    const { from: _from, last: _last, ...query } = request.query;
    return { ...request, query: { ...query, after: String(after) } };
  }
  if (!cursor) return undefined;
  const has = (name: string, place: Member['in']): boolean =>
    members.some(({ at, in: own }) => own === place && at[0] === name);
  const page = (place: 'query' | 'body', limit: unknown): object => ({
    ...(has('cursor', place) && { cursor }),
    ...(has('cursor', place) && has('limit', place) && { limit }),
  });
  return {
    ...request,
    query: { ...request.query, ...page('query', String(LARGEST_PAGE)) },
    body: { ...request.body, ...page('body', LARGEST_PAGE) },
  };
}
