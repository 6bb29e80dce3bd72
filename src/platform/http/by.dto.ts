import { ApiProperty } from '@nestjs/swagger';
import { ApiId } from '../openapi/decorators.js';
import { type By, OPERATOR } from '../values/caller.js';

/** Who made a change. */
export class ByDto {
  /**
   * The API user; null for the operator of the service.
   * @example 0199c1f2-3c55-7a5e-9b52-6a2a0a3f6f30
   */
  @ApiId({ nullable: true })
  readonly user_id!: string | null;

  /** The user's current name, or `operator`. */
  @ApiProperty({ example: 'Caixa 3' })
  readonly name!: string;
}

/** Returns who made a change; null for what a date does. `UserNames` adds the name of a user to the whole response. */
export function byOf(by: string): ByDto;
export function byOf(by: By): ByDto | null;
export function byOf(by: By): ByDto | null {
  if (by === null) return null;
  return Object.assign(new ByDto(), by === OPERATOR ? { user_id: null, name: OPERATOR } : { user_id: by });
}
