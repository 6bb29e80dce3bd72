import { type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { IsOptional, IsString } from 'class-validator';
import { type CreatedPageRequest, type PageRequest } from '../database/lists.js';
import type { CsvLocale } from './csv.js';
import { IsInstant, IsQueryInteger, IsQueryWord } from './validators.js';

/** The page of a list to return. */
export class PageQueryDto implements PageRequest {
  /**
   * Maximum number of elements, 1 to 100. Default: 20.
   * @example 20
   */
  @IsOptional()
  @IsQueryInteger(1, 100)
  readonly limit: number = 20;

  /** The `next_cursor` of the previous page. */
  @IsOptional()
  @IsString({ message: 'must be the next_cursor of an earlier page of this list' })
  readonly cursor?: string;
}

/** A request that can be answered with CSV. */
export class CsvQueryDto {
  /** `pt-BR`: CSV for spreadsheets in Brazil, with semicolons, decimal commas and days such as 30/11/2026. */
  @IsOptional()
  @IsQueryWord(['pt-BR'])
  readonly csv?: CsvLocale;
}

/** The page of a list that is also a file. With CSV, `limit` is ignored. */
export class ListQueryDto extends PageQueryDto {
  /** `pt-BR`: CSV for spreadsheets in Brazil, with semicolons, decimal commas and days such as 30/11/2026. */
  @IsOptional()
  @IsQueryWord(['pt-BR'])
  readonly csv?: CsvLocale;
}

/** The page of a list by creation, newest first, and its bounds. */
export class CreatedQueryDto extends ListQueryDto implements CreatedPageRequest {
  /** Created at this instant or later. */
  @IsOptional()
  @IsInstant()
  readonly created_from?: string;

  /** Created before this instant. */
  @IsOptional()
  @IsInstant()
  readonly created_to?: string;
}

/** The rows of a report: a class for a DTO to extend. */
export function ReportOf<Dto extends object>(row: Type<Dto>) {
  class ReportDto {
    static readonly row = row;

    readonly data!: Dto[];
  }
  ApiProperty({ type: row, isArray: true })(ReportDto.prototype, 'data');
  return ReportDto;
}

/** A page of a list: a class for a DTO to extend. */
export function PageOf<Dto extends object>(
  element: Type<Dto>,
  nextCursor = 'The `cursor` for the next page; null on the last page.',
) {
  class PageDto extends ReportOf(element) {
    readonly next_cursor!: string | null;
  }
  ApiProperty({ type: String, nullable: true, description: nextCursor })(PageDto.prototype, 'next_cursor');
  return PageDto;
}
