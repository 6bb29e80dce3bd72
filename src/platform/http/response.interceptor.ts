import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
  type Type,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ApiExtraModels, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import { type Response } from 'express';
import { catchError, mergeMap, type Observable } from 'rxjs';
import { isTimeLimit } from '../database/errors.js';
import { LARGEST_PAGE } from '../database/lists.js';
import { Page } from '../database/reads.js';
import { ApiProblems, headerReferences } from '../openapi/decorators.js';
import { Problem, type ProblemCode } from '../values/problem.js';
import { LONG_WORK_MS } from '../values/time-limits.js';
import { type AppRequest } from './app-request.js';
import { type Column, type CsvLocale, csvOf, withTotal } from './csv.js';

/** Adds to responses what all of them can have: the names of API users. */
export abstract class ResponseNames {
  /** @returns the response. */
  abstract fillIn<T>(response: T): Promise<T>;
}

/** The key of the metadata of an operation that answers CSV. */
export const CSV = 'csv';

/** What an operation sends as CSV to callers that ask for it. */
export interface CsvFile {
  name: string;
  columns: readonly string[];
  isReport: boolean;
}

/** Where a file of a list ends at the latest. The header `Link` says where the next one begins. */
const MAX_ROWS = 10_000;
const MAX_BYTES = 8 * 1024 * 1024;

/** Completes each response: with the names of users, and as CSV for callers that ask for it. */
@Injectable()
export class ResponseInterceptor implements NestInterceptor {
  constructor(
    private readonly reflector: Reflector,
    private readonly names: ResponseNames,
  ) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const file = this.reflector.get<CsvFile | undefined>(CSV, context.getHandler());
    return next.handle().pipe(
      catchError((error: unknown) => {
        // A retry would take as long.
        throw file?.isReport && isTimeLimit(error) ? new Problem('report_too_large', { cause: error }) : error;
      }),
      mergeMap(async (response: unknown) => {
        await this.names.fillIn(response);
        return file === undefined ? response : this.#asFile(context, file, response as Page<object>);
      }),
    );
  }

  async #asFile(context: ExecutionContext, { name, columns }: CsvFile, first: Page<object>): Promise<unknown> {
    const request = context.switchToHttp().getRequest<AppRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    const locale = request.query.csv as CsvLocale | undefined;
    const isCsv = locale !== undefined || request.accepts(['application/json', 'text/csv']) === 'text/csv';
    // The deadline may already have answered.
    if (!isCsv || response.headersSent) return first;
    if (!(first instanceof Page)) {
      const { data, total, next_cursor: next } = first as ReportRows;
      if (next) response.setHeader('Link', linkTo(request, next));
      response.type('text/csv; charset=utf-8').attachment(fileName(name, request, data));
      return csvOf(data[0] === undefined ? columns : Object.keys(data[0]), withTotal(data, total), { locale });
    }
    const until = performance.now() + LONG_WORK_MS;
    const { timeZone } = first;
    let [page, rows, text] = [first, first.data.length, csvOf(columns, first.data, { locale, timeZone })];
    while (rows + LARGEST_PAGE <= MAX_ROWS && text.length < MAX_BYTES && performance.now() < until) {
      const following = await page.next();
      if (following === undefined) break;
      page = await this.names.fillIn(following);
      rows += page.data.length;
      text += csvOf(columns, page.data, { locale, timeZone, isContinued: true });
    }
    if (page.next_cursor !== null) response.setHeader('Link', linkTo(request, page.next_cursor));
    response.type('text/csv; charset=utf-8').attachment(`${name}.csv`);
    return text;
  }
}

/** A report. */
interface ReportRows {
  data: object[];
  /** Of all rows. */
  total?: object;
  /** Of the following rows, if they are not in this answer. */
  next_cursor?: string | null;
}

/** Points to the next file (RFC 8288), relative to the request. */
function linkTo({ url }: AppRequest, cursor: string): string {
  const parameters = new URLSearchParams(url.split('?')[1]);
  parameters.set('cursor', cursor);
  return `<?${parameters.toString()}>; rel="next"`;
}

/** Returns the name of a file with the days or months of the report, such as `ledger-2026-11-01-2026-12-01.csv`. */
function fileName(name: string, { query: { from, to, as_of: asOf } }: AppRequest, rows: { month?: string }[]): string {
  const days = [from, to, asOf, rows.at(0)?.month, rows.at(-1)?.month].filter((day) => typeof day === 'string');
  return `${[name, ...new Set(days)].join('-')}.csv`;
}

/** Documents JSON and CSV. */
const orCsv = (file: CsvFile, type: Type<object>, headers = {}): MethodDecorator => {
  const content = {
    'application/json': { schema: { $ref: getSchemaPath(type) } },
    'text/csv': { schema: { type: 'string' } },
  };
  return applyDecorators(SetMetadata(CSV, file), ApiExtraModels(type), ApiOkResponse({ content, headers }));
};

/** The class of a report or a page, and that of its rows. */
type Rows<Row extends object> = Type<object> & { row: Type<Row> };

/**
 * Documents a report, and sends it as CSV on request: its columns are the members of a row. Those of a mapped type are
 * not there.
 *
 * @param name of the file.
 * @param codes of the problems that only this report has.
 */
export const Report = <Row extends { [Member in keyof Row]: Member extends Column ? unknown : never }>(
  name: string,
  report: Rows<Row>,
  ...codes: ProblemCode[]
): MethodDecorator =>
  applyDecorators(
    orCsv(
      { name, columns: Object.keys(new report.row()), isReport: true },
      report,
      Object.hasOwn(new report(), 'next_cursor') ? headerReferences('Link') : {},
    ),
    ApiProblems.query('report_too_large', ...codes),
  );

/**
 * Documents a list, and sends it as CSV on request: as many pages as fit into a file.
 *
 * @param name of the file.
 * @param columns of the file.
 */
export const ListFile = (name: string, page: Type<object>, columns: readonly Column[]): MethodDecorator =>
  applyDecorators(orCsv({ name, columns, isReport: false }, page, headerReferences('Link')), ApiProblems.query());
