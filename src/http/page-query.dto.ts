import { IsOptional, IsString } from 'class-validator';
import type { PageRequest } from '../common/cursor.js';
import { IsQueryInteger } from './validators.js';

/** Which page of a list: its size and where it starts. */
export class PageQueryDto implements PageRequest {
  /**
   * 1 to 100.
   * @example 20
   */
  @IsOptional()
  @IsQueryInteger(1, 100)
  readonly limit: number = 20;

  /** The `next_cursor` of the previous page. */
  @IsOptional()
  @IsString({ message: 'must be a next_cursor of an earlier page' })
  readonly cursor?: string;
}
