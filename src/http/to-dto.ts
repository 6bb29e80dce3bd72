import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { noteUnknownMembers, type UnknownMember } from './unknown-members.js';

type Conversion = (value: unknown, place: Place) => unknown;

/** Where a value is in the request, and what the request has that no DTO declares. */
interface Place {
  pointer: string;
  unknown: UnknownMember[];
}

const CONVERSION = 'conversion';

/** The members of DTOs, with their conversions. */
const members = new WeakMap<Type<object>, Map<string, Conversion | undefined>>();

/**
 * Converts a member of a DTO before validation. `convert` returns other values unchanged, so that a validator refuses
 * them.
 */
export const Converted = (convert: Conversion): PropertyDecorator => Reflect.metadata(CONVERSION, convert);

/**
 * Creates a DTO from parsed JSON or from a query. A member that is null is absent.
 *
 * It only reads the values of members that the class declares (those with a validator), so a member named `constructor`
 * or `__proto__` has no effect. class-validator's `forbidNonWhitelisted` would need such members in the DTO.
 *
 * @param place gets the members that no class declares, also of nested objects.
 */
export function toDto<T extends object>(type: Type<T>, given: object, { pointer, unknown }: Place): T {
  const dto = new type();
  const declared = membersOf(type);
  for (const [member, convert] of declared) {
    const value = Object.hasOwn(given, member) ? (given as Record<string, unknown>)[member] : undefined;
    if (value === undefined || value === null) continue;
    const converted = convert === undefined ? value : convert(value, { pointer: `${pointer}/${member}`, unknown });
    (dto as Record<string, unknown>)[member] = converted;
  }
  noteUnknownMembers(given, declared, pointer, unknown);
  return dto;
}

function membersOf(type: Type<object>): Map<string, Conversion | undefined> {
  let found = members.get(type);
  if (found === undefined) {
    const validated = getMetadataStorage().getTargetValidationMetadatas(type, '', true, false);
    found = new Map(validated.map(({ propertyName: name }) => [name, conversionOf(type, name)]));
    members.set(type, found);
  }
  return found;
}

/** Also finds the conversion of a member that a base class declares. */
function conversionOf(type: Type<object>, member: string): Conversion | undefined {
  return Reflect.getMetadata(CONVERSION, type.prototype as object, member) as Conversion | undefined;
}
