import { IsOptional, IsString } from 'class-validator';
import type { PageRequest } from '../common/cursor.js';
import { IsQueryInteger } from './validators.js';

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
