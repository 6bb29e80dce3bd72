import { ApiProperty } from '@nestjs/swagger';
import { Type } from 'class-transformer';
import { IsInt, IsOptional, IsString, Max, Min } from 'class-validator';

/** A page of something: how many, and from where. */
export class PageQueryDto {
  /**
   * 1 to 100.
   * @example 20
   */
  @ApiProperty({ required: false, type: 'integer' })
  @IsOptional()
  @Type(() => Number)
  @IsInt({ message: 'must be a whole number from 1 to 100' })
  @Min(1, { message: 'must be a whole number from 1 to 100' })
  @Max(100, { message: 'must be a whole number from 1 to 100' })
  readonly limit: number = 20;

  /** The `next_cursor` of the page before. */
  @IsOptional()
  @IsString({ message: 'must be a next_cursor of an earlier page' })
  readonly cursor?: string;
}
