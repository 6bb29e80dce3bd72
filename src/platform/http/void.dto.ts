import { IsOptional } from 'class-validator';
import { IsText } from './validators.js';

/** Why something is voided. The body is optional. */
export class VoidDto {
  /**
   * For your records: at most 500 characters. Do not write names or addresses.
   * @example Made by mistake
   */
  @IsOptional()
  @IsText('reason', 500)
  readonly reason?: string;
}
