import {
  applyDecorators,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
  type Type,
  UseInterceptors,
} from '@nestjs/common';
import { ApiExtraModels, ApiOkResponse, getSchemaPath } from '@nestjs/swagger';
import type { Response } from 'express';
import { catchError, map, type Observable } from 'rxjs';
import { Problem } from '../platform/values/problem.js';
import { isTimeLimit } from '../platform/database/errors.js';
import type { AppRequest } from '../platform/http/app-request.js';
import { ApiProblems } from '../platform/openapi/decorators.js';
import { type Column, type CsvLocale, csvOf } from './csv.js';

/** Sends the rows of a report as CSV to callers that ask for it. */
class CsvInterceptor implements NestInterceptor<{ data: object[] }> {
  constructor(
    private readonly name: string,
    private readonly columns: string[],
  ) {}

  intercept(context: ExecutionContext, next: CallHandler<{ data: object[] }>): Observable<unknown> {
    const request = context.switchToHttp().getRequest<AppRequest>();
    const response = context.switchToHttp().getResponse<Response>();
    const locale = request.query.csv as CsvLocale | undefined;
    const isCsv = locale !== undefined || request.accepts(['application/json', 'text/csv']) === 'text/csv';
    return next.handle().pipe(
      // A retry would take as long.
      catchError((error: unknown) => {
        throw isTimeLimit(error) ? new Problem('report_too_large', { cause: error }) : error;
      }),
      map((report) => {
        // The deadline may already have answered.
        if (!isCsv || response.headersSent) return report;
        response.type('text/csv; charset=utf-8').attachment(fileName(this.name, request, report.data));
        const [first] = report.data;
        return csvOf(first === undefined ? this.columns : Object.keys(first), report.data, locale);
      }),
    );
  }
}

/** Returns the name of a file with the days or months of the report, such as `ledger-2026-11-01-2026-12-01.csv`. */
function fileName(name: string, { query: { from, to, as_of: asOf } }: AppRequest, rows: { month?: string }[]): string {
  const days = [from, to, asOf, rows.at(0)?.month, rows.at(-1)?.month].filter((day) => typeof day === 'string');
  return `${[name, ...new Set(days)].join('-')}.csv`;
}

/**
 * Documents a report, and sends it as CSV on request.
 *
 * @param name of the file.
 * @param row the columns of a report without rows.
 */
export function Report<Row extends { [Member in keyof Row]: Member extends Column ? unknown : never }>(
  name: string,
  report: Type<object>,
  row: Type<Row>,
): MethodDecorator {
  const content = {
    'application/json': { schema: { $ref: getSchemaPath(report) } },
    'text/csv': { schema: { type: 'string' } },
  };
  return applyDecorators(
    UseInterceptors(new CsvInterceptor(name, Object.keys(new row()))),
    ApiExtraModels(report),
    ApiOkResponse({ content }),
    ApiProblems.query('report_too_large'),
  );
}
