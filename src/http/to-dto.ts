import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';

type Conversion = (value: unknown) => unknown;

const CONVERSION = 'conversion';

/** The members of DTOs, with their conversions. */
const members = new WeakMap<Type<object>, Map<string, Conversion | undefined>>();

/**
 * Converts a member of a DTO before validation. `convert` returns other values unchanged, so that a validator refuses
 * them.
 */
export const Converted = (convert: Conversion): PropertyDecorator => Reflect.metadata(CONVERSION, convert);

/**
 * Creates a DTO from parsed JSON or from a query.
 *
 * It only reads the members that the class declares (those with a validator). So the work depends on the class and not
 * on the number of members in the request, and a member named `constructor` or `__proto__` has no effect.
 */
export function toDto<T extends object>(type: Type<T>, given: object): T {
  const dto = new type();
  for (const [member, convert] of membersOf(type)) {
    if (!Object.hasOwn(given, member)) continue;
    const value = (given as Record<string, unknown>)[member];
    (dto as Record<string, unknown>)[member] = convert === undefined ? value : convert(value);
  }
  return dto;
}

/** Returns whether the class declares the member. */
export function hasMember(type: Type<object>, member: string): boolean {
  return membersOf(type).has(member);
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
