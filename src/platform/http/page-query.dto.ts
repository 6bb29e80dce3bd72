import { IsOptional, IsString } from 'class-validator';
import { type CreatedPageRequest, type PageRequest } from '../database/pages.js';
import { IsInstant, IsQueryInteger } from './validators.js';

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

/** The page of a list by creation, newest first, and its bounds. */
export class CreatedQueryDto extends PageQueryDto implements CreatedPageRequest {
  /** Created at this instant or later. */
  @IsOptional()
  @IsInstant()
  readonly created_from?: string;

  /** Created before this instant. */
  @IsOptional()
  @IsInstant()
  readonly created_to?: string;
}
