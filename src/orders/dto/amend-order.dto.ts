import { ApiProperty } from '@nestjs/swagger';
import { IsIn, IsOptional } from 'class-validator';
import { OrderContentDto } from './create-order.dto.js';

/** The new content of a pending order. It replaces all of the earlier content. Other members are ignored. */
export class AmendOrderDto extends OrderContentDto {
  /**
   * "maximum" lowers a hold that exceeds the new maximum to that maximum. Without it, such a hold is a 422. A hold is
   * never raised.
   */
  @IsOptional()
  @IsIn(['maximum'], { message: 'must be "maximum"' })
  @ApiProperty({ type: String, enum: ['maximum'], example: 'maximum', required: false })
  readonly redeem?: 'maximum';
}
