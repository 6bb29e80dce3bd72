import 'reflect-metadata';
import { type Type } from '@nestjs/common';
import { getMetadataStorage } from 'class-validator';
import { type Fault, MAX_FAULTS } from '../values/problem.js';

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

const NULLABLE = 'nullable';

/** Keeps null in a member of a DTO, where it says something. Otherwise a member that is null is absent. */
export const Nullable = (): PropertyDecorator => Reflect.metadata(NULLABLE, true);

/**
 * Creates a DTO from parsed JSON or from a query. A member that is null is absent, unless it is {@link Nullable}.
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
    if (value === undefined || (value === null && !isNullable(type, member))) continue;
    const converted =
      convert === undefined || value === null ? value : convert(value, { pointer: `${pointer}/${member}`, unknown });
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

const isNullable = (type: Type<object>, member: string): boolean =>
  Reflect.hasMetadata(NULLABLE, type.prototype as object, member);

/** Also finds the conversion of a member that a base class declares. */
function conversionOf(type: Type<object>, member: string): Conversion | undefined {
  return Reflect.getMetadata(CONVERSION, type.prototype as object, member) as Conversion | undefined;
}

/** A member of a request that the DTO of its object does not declare. */
export interface UnknownMember {
  /** JSON Pointer to the object. */
  parent: string;
  name: string;
  /** The members that the object can have. */
  known: readonly string[];
}

/** A longer name is shortened in errors, so that a response is not as large as the request. */
const MAX_NAME = 100;

/** Stops when there are more than a response lists, because a body can have tens of thousands. */
export function noteUnknownMembers(
  given: object,
  declared: ReadonlyMap<string, unknown>,
  parent: string,
  to: UnknownMember[],
): void {
  for (const name of Object.keys(given)) {
    if (to.length > MAX_FAULTS) return;
    if (!declared.has(name)) to.push({ parent, name, known: [...declared.keys()] });
  }
}

export function memberFault({ parent, name, known }: UnknownMember): Fault {
  const token = shortened(name).replaceAll('~', '~0').replaceAll('/', '~1');
  return { pointer: `${parent}/${token}`, detail: `is not a member of this request${didYouMean(name, known)}` };
}

/** A misspelled filter must not return everything. */
export function parameterFault({ name, known }: Pick<UnknownMember, 'name' | 'known'>): Fault {
  const detail = `is not a query parameter of this operation${didYouMean(name, known)}`;
  return { parameter: shortened(name), detail };
}

const shortened = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, MAX_NAME)}…` : name);

function didYouMean(name: string, known: readonly string[]): string {
  const meant = known.find((candidate) => isCloseTo(plain(candidate), plain(name)));
  return meant === undefined ? '' : `; did you mean "${meant}"?`;
}

/** `eligibleTotal` and `eligible-total` are spellings of `eligible_total`. */
const plain = (name: string): string => shortened(name).toLowerCase().replace(/[_-]/g, '');

/** Whether a name is another one, its beginning, or one edit away from it. */
function isCloseTo(meant: string, name: string): boolean {
  if (name === meant) return true;
  if (name.length < 3) return false;
  return meant.startsWith(name) || isOneEditAway(meant, name);
}

/** An edit inserts, removes or replaces a letter, or swaps two neighbors. */
function isOneEditAway(a: string, b: string): boolean {
  let same = 0;
  while (same < a.length && a[same] === b[same]) same += 1;
  const [restOfA, restOfB] = [a.slice(same), b.slice(same)];
  const swapped = `${restOfB[1] ?? ''}${restOfB[0] ?? ''}${restOfB.slice(2)}`;
  return (
    [restOfB, restOfB.slice(1), swapped].includes(restOfA) || [restOfB, restOfB.slice(1)].includes(restOfA.slice(1))
  );
}
