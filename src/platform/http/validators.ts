import { applyDecorators, type Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import {
  ArrayMaxSize,
  ArrayMinSize,
  ArrayNotEmpty,
  IsArray,
  IsDefined,
  IsIn,
  IsInt,
  IsOptional,
  Max,
  Min,
  ValidateBy,
  ValidateNested,
  type ValidationArguments,
} from 'class-validator';
import { OPERATOR } from '../values/caller.js';
import { bareDocument, isDocument, SENT_DOCUMENT_PATTERN } from '../values/document.js';
import { UUID } from '../values/ids.js';
import { MONEY_PATTERN, parseMoney } from '../values/money.js';
import {
  MAX_METADATA_MEMBERS,
  MAX_METADATA_VALUE,
  METADATA_KEY,
  type FaultOf,
  isLine,
  textFault,
  type TextKind,
  textPattern,
} from '../values/texts.js';
import { isCalendarDay, isInstant } from '../values/time.js';
import { Converted, toDto } from './to-dto.js';

export const rule = (name: string, faultOf: FaultOf): PropertyDecorator =>
  ValidateBy({
    name,
    validator: {
      validate: (value: unknown) => faultOf(value) === undefined,
      defaultMessage: (given) => faultOf(given?.value) ?? '',
    },
  });

/** Money in BRL as a decimal string; greater than zero unless `zero` is allowed. */
export function IsMoney(options: { zero: boolean }): PropertyDecorator {
  return applyDecorators(
    rule('isMoney', moneyFault(options)),
    ApiProperty({ type: String, pattern: MONEY_PATTERN.source }),
  );
}

/** The only currency, which a caller can state. */
export function IsBrl(): PropertyDecorator {
  return applyDecorators(
    IsOptional(),
    rule('isBrl', (value) => (value === 'BRL' ? undefined : 'must be "BRL", the only currency')),
    ApiProperty({ type: String, enum: ['BRL'], example: 'BRL', required: false }),
  );
}

/** Money that is at most another member of the same body, if both are valid. */
export function IsAtMost(member: string): PropertyDecorator {
  const isMoney = (value: unknown): value is string => typeof value === 'string' && MONEY_PATTERN.test(value);
  return ValidateBy({
    name: 'isAtMost',
    validator: {
      validate: (value: unknown, { object }: ValidationArguments) => {
        const limit = (object as Record<string, unknown>)[member];
        return !isMoney(value) || !isMoney(limit) || parseMoney(value) <= parseMoney(limit);
      },
      defaultMessage: () => `must be at most the ${member}`,
    },
  });
}

/** An ID that the caller chooses. */
export const IsCallerId = (): PropertyDecorator => IsText('id', 100);

/** The ID of an API user, or the word for the operator. */
export const IsUserId = (): PropertyDecorator => IsIdOf('an API user', OPERATOR);

/** The UUID of something, in lower case afterwards. @param word is allowed in its place. */
export function IsIdOf(something: string, word?: string): PropertyDecorator {
  const detail = `must be the UUID of ${something}${word === undefined ? '' : `, or "${word}"`}`;
  return applyDecorators(
    Converted((value) => (typeof value === 'string' && UUID.test(value.toLowerCase()) ? value.toLowerCase() : value)),
    rule('isIdOf', (value) => (typeof value === 'string' && (value === word || UUID.test(value)) ? undefined : detail)),
    ApiProperty({ type: String, maxLength: 36, ...(word === undefined && { format: 'uuid' }) }),
  );
}

/** A text of the caller. @param isFilled whether it must say something. */
export function IsText(kind: TextKind, maximum: number, isFilled = isLine(kind)): PropertyDecorator {
  return applyDecorators(
    rule('isText', textFault(kind, maximum, isFilled)),
    ApiProperty({ type: String, ...(isFilled && { minLength: 1 }), maxLength: maximum, pattern: textPattern(kind) }),
  );
}

/** A customer's taxpayer number (CPF or CNPJ), without punctuation afterwards. */
export function IsDocument(): PropertyDecorator {
  return applyDecorators(
    Converted((value) => (typeof value === 'string' ? bareDocument(value) : value)),
    rule('isDocument', documentFault),
    ApiProperty({ type: String, pattern: SENT_DOCUMENT_PATTERN.source }),
  );
}

/** An object. It is converted to a DTO before validation. */
export function IsObjectOf(type: () => Type<object>): PropertyDecorator {
  return applyDecorators(
    IsDefined({ message: 'is required' }),
    ValidateNested({ message: 'must be an object' }),
    Converted((value, place) => (isObject(value) ? toDto(type(), value, place) : '')),
    ApiProperty({ type: () => type() }),
  );
}

/** What a list of a request has, and how many: `least` is 0 by default. */
interface Bounds {
  of: string;
  least?: 0 | 1;
  most: number;
  /** Whether each element is read later, on its own: then it stays as it was sent. */
  areApart?: true;
}

/**
 * An array of objects within bounds. Its elements are converted to DTOs before validation. An element that is not
 * an object becomes a value that nested validation refuses with its index; otherwise validation would skip `null` and
 * descend into nested arrays. An array that is too long is not converted, because it can have ten thousand elements.
 */
export function IsListOf(type: () => Type<object>, { of, least = 0, most, areApart }: Bounds): PropertyDecorator {
  const message = { message: `must be an array of ${least} to ${most} ${of}` };
  const ofElements = [
    ValidateNested({ each: true, message: 'must be an object' }),
    Converted((value, { pointer, unknown }) =>
      Array.isArray(value) && value.length <= most
        ? value.map((element: unknown, at) =>
            isObject(element) ? toDto(type(), element, { pointer: `${pointer}/${at}`, unknown }) : '',
          )
        : value,
    ),
  ];
  return applyDecorators(
    IsArray(message),
    ArrayMinSize(least, message),
    ArrayMaxSize(most, message),
    ...(areApart ? [] : ofElements),
    ApiProperty({ type: () => type(), isArray: true, ...(least && { minItems: least }), maxItems: most }),
  );
}

/** A word of a list in a query. */
export function IsQueryWord(words: readonly string[]): PropertyDecorator {
  const isWord = IsIn(words, { message: `must be ${words.join(' or ')}` });
  return (target, member) => {
    isWord(target, member);
    // Importers make a value of their own for a parameter without an example.
    const example = words.length === 1 ? { example: words[0] } : {};
    ApiProperty({ type: String, enum: words, required: false, ...example })(target, member);
  };
}

/** A query parameter of one or more words of a list, which is repeated or has them separated by commas. */
export function IsQueryWords(words: readonly string[]): PropertyDecorator {
  const documented = { type: String, enum: [...words], isArray: true, required: false };
  const message = `must be one or more of ${words.join(', ')}, separated by commas`;
  return applyDecorators(
    ApiProperty(documented),
    Converted((value) => [value].flat().flatMap((one) => (typeof one === 'string' ? one.split(',') : ''))),
    IsIn(words, { each: true, message }),
  );
}

/** A list of one or more words in a body. @param enumName of the words in the OpenAPI document. */
export function IsWordList(words: readonly string[], enumName: string, maxItems = words.length): PropertyDecorator {
  const options = { message: `must be a list of one or more of ${words.join(', ')}` };
  return applyDecorators(
    IsArray(options),
    ArrayNotEmpty(options),
    ArrayMaxSize(maxItems, options),
    IsIn(words, { each: true, ...options }),
    ApiProperty({ enum: words, enumName, isArray: true, minItems: 1, maxItems }),
  );
}

/** A whole number in a query: digits only, without a sign, a decimal point or an exponent. */
export function IsQueryInteger(minimum: number, maximum: number): PropertyDecorator {
  return applyDecorators(
    Converted((value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value)),
    IsWholeNumber(minimum, maximum),
    ApiProperty({ required: false }),
  );
}

export function IsWholeNumber(minimum: number, maximum: number): PropertyDecorator {
  const message = `must be a whole number from ${minimum} to ${maximum}`;
  return applyDecorators(
    IsInt({ message }),
    Min(minimum, { message }),
    Max(maximum, { message }),
    ApiProperty({ type: 'integer', minimum, maximum }),
  );
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function IsInstant(): PropertyDecorator {
  return applyDecorators(rule('isInstant', instantFault), ApiProperty({ type: String, format: 'date-time' }));
}

export function IsDay(): PropertyDecorator {
  return applyDecorators(rule('isDay', dayFault), ApiProperty({ type: String, format: 'date' }));
}

/** What is wrong with a short text that is not money. The first pattern that matches decides. */
const MONEY_FAULTS: [RegExp, string][] = [
  [/^\d+,\d+$/, 'must have a point as decimal separator'],
  [/^[\d.]*,[\d.,]*$/, 'must have a point as decimal separator, and no other separator'],
  [/^\d+\.\d{3,}$/, 'must have at most two decimals, and no thousands separator'],
  [/^[1-9]\d{9,}(\.\d*)?$/, 'must be at most "999999999.99"'],
  [/^-\d/, 'must not be negative'],
];

export const moneyFault =
  ({ zero }: { zero: boolean }): FaultOf =>
  (value) => {
    if (typeof value === 'number') return 'must be a string, in quotes, such as "49.90"';
    const text = typeof value === 'string' && value.length <= 30 ? value : '';
    if (MONEY_PATTERN.test(text)) return zero || parseMoney(text) > 0 ? undefined : 'must be greater than zero';
    const known = MONEY_FAULTS.find(([pattern]) => pattern.test(text));
    return known?.[1] ?? 'must be a decimal string such as "49.90", at most "999999999.99"';
  };

export const documentFault: FaultOf = (value) => {
  if (typeof value === 'number') return 'must be a string, in quotes, such as "52998224725"';
  const text = typeof value === 'string' && value.length <= 30 ? value : '';
  if (isDocument(text)) return undefined;
  if (isDocument(text.toUpperCase())) return 'must have capital letters';
  return 'must be a CPF of 11 digits or a CNPJ of 14 characters (twelve digits or capital letters, then two digits)';
};

const instantFault: FaultOf = (value) => {
  if (isInstant(value)) return undefined;
  if (typeof value === 'string' && isInstant(`${value}Z`)) return 'must end with Z, or with an offset such as -03:00';
  if (typeof value === 'string' && isInstant(value.replace(' ', '+'))) return 'must have "+" encoded as %2B';
  return 'must be an instant such as "2026-11-20T13:45:00.000Z"';
};

export const dayFault: FaultOf = (value) =>
  isCalendarDay(value) ? undefined : 'must be a calendar day in the years 1970 to 9998, such as "2026-11-20"';

/** An object of a few strings that the service keeps for the caller. */
export function IsMetadata(): PropertyDecorator {
  return applyDecorators(rule('isMetadata', faultOf), ApiMetadata({ isLimited: true }));
}

export function ApiMetadata({ isLimited = false } = {}): PropertyDecorator {
  return ApiProperty({
    type: 'object',
    ...(isLimited && { maxProperties: MAX_METADATA_MEMBERS, propertyNames: { pattern: METADATA_KEY.source } }),
    additionalProperties: {
      type: 'string',
      ...(isLimited && { maxLength: MAX_METADATA_VALUE, pattern: textPattern('note') }),
    },
    example: { store: 'SP-014', till: '3' },
  });
}

const metadataFault = textFault('note', MAX_METADATA_VALUE);

function faultOf(value: unknown): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return 'must be an object of strings, such as {"store":"SP-014"}';
  const members = Object.entries(value);
  if (members.length > MAX_METADATA_MEMBERS) return `must have at most ${MAX_METADATA_MEMBERS} members`;
  const [key] = members.find(([name]) => !METADATA_KEY.test(name)) ?? [];
  if (key !== undefined) return 'must have keys of 1 to 40 characters, which are A-Z, a-z, 0-9, "_", "." and "-"';
  const wrong = members.find(([, text]) => metadataFault(text) !== undefined);
  return wrong && `has the member "${wrong[0]}", which ${metadataFault(wrong[1])}`;
}
