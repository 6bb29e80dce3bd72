import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { MAX_METADATA_MEMBERS, MAX_METADATA_VALUE, METADATA_KEY } from '../common/metadata.js';
import { rule } from './validators.js';
import { textFault } from './value-faults.js';

/** An object of a few strings that the service keeps for the caller. */
export function IsMetadata(): PropertyDecorator {
  return applyDecorators(rule('isMetadata', faultOf), ApiMetadata({ isLimited: true }));
}

/** Documents metadata. @param isLimited whether the limits are part of it, as in requests. */
export function ApiMetadata({ isLimited = false } = {}): PropertyDecorator {
  return ApiProperty({
    type: 'object',
    ...(isLimited && { maxProperties: MAX_METADATA_MEMBERS, propertyNames: { pattern: METADATA_KEY.source } }),
    additionalProperties: { type: 'string', ...(isLimited && { maxLength: MAX_METADATA_VALUE }) },
    example: { store: 'SP-014', till: '3' },
  });
}

function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'must be an object of strings, such as {"store":"SP-014"}';
  const members = Object.entries(value);
  if (members.length > MAX_METADATA_MEMBERS) return `must have at most ${MAX_METADATA_MEMBERS} members`;
  const [key] = members.find(([name]) => !METADATA_KEY.test(name)) ?? [];
  if (key !== undefined) return 'must have keys of 1 to 40 characters, which are A-Z, a-z, 0-9, "_", "." and "-"';
  const wrong = members.find(([, text]) => textFault(MAX_METADATA_VALUE)(text) !== undefined);
  return wrong && `has the member "${wrong[0]}", which ${textFault(MAX_METADATA_VALUE)(wrong[1])}`;
}
